"""The certificate where double precision is in doubt.

F and D are sums in double precision. Their rounding errors, relative to F, are about

    eps * sum_t |a_t| max|K_t| / F      (the votes, where large terms cancel)
    eps * sum_i u_i * max_k max|K_k| / L_k      (the dual constraints)

which is nothing on ordinary data, and everything for kernels of size 1e20 with a penalty of
1e-3. Kernels whose own values come out of sums that cancel have larger errors (`error_growth`).
Where it comes near to what is to be proved, a second look takes the sums of |a K| and u |K| as
they are, row by row and column by column, in place of such bounds. Where that is not enough, both
values are computed once more in extended precision (`numpy.longdouble`), by the simplest code
there is. Problems too large for this get their bound lowered by the error. The
hybrid norm's own sums, of a pair of weights each, have errors of about

    eps * rho sum_k max|K_k| (sum_j |a_kj|)^2 / F      (the square, and that of v)
    eps * rho max_k (sum_j |v_kj|) max|K_k| / L_k      (the pull of v in the dual constraints)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels.base import FloatArray, take_rows
from ..kernels.columns import blocks
from .problem import Problem, Terms
from .solution import Solution

#: Rounding errors pile up: this many units in the last place are taken for one sum and the values
#: in it. Of these, the exponentials of NumPy and of compiled loops take one or two on any CPU.
ULPS = 100
#: Kernel values that may be computed in extended precision.
EXTENDED_VALUES = 4 * 10**7
EXTENDED_ROWS = 256


def verify(problem: Problem, solution: Solution, tol: float) -> Solution:
    """Return the solution with values that rounding cannot have spoiled."""
    doubt = rounding_error(problem, solution)
    relative_gap = solution.gap / solution.objective if solution.objective > 0 else 0.0
    allowed = max(0.1 * tol, 0.01 * relative_gap)
    if doubt <= allowed:
        return solution
    gram = problem.gram
    n_values = gram.n_kernels * gram.n_rows * gram.n_centers
    if n_values <= EXTENDED_VALUES:
        gram = gram.at_hand()
        gram.deadline = None  # a proof that stops half-way is none
        problem = replace(problem, gram=gram)
        if not problem.l2_penalty and closer_rounding_error(problem, solution) <= allowed:
            return solution
        objective, bound = extended_values(problem, solution)
    else:
        objective = solution.objective
        bound = max(0.0, solution.dual_bound - doubt * objective)
    reason = solution.stop_reason
    if reason == "optimal" and objective - bound > tol * objective:
        reason = "precision"
    return replace(solution, objective=objective, dual_bound=bound, stop_reason=reason)


def rounding_error(problem: Problem, solution: Solution) -> float:
    """Return about how much rounding may have changed F and D, relative to F."""
    if solution.objective == 0 or len(solution.terms.kernels) == 0:
        return 0.0
    largest = problem.gram.largest() * problem.gram.error_growth()
    terms, eps = solution.terms, ULPS * float(np.finfo(np.float64).eps)
    votes = float(np.abs(terms.weights) @ largest[terms.kernels]) / solution.objective
    priced = problem.penalties > 0
    ratios = largest[priced] / problem.penalties[priced]
    error = max(votes, float(solution.dual.sum()) * float(ratios.max(initial=0.0)))
    if problem.l2_penalty:
        error += problem.l2_penalty * _hybrid_error(problem, solution, largest)
    return eps * error


def _hybrid_error(problem: Problem, solution: Solution, largest: FloatArray) -> float:
    """Return what the hybrid norm's sums add to the error, over eps and rho."""
    error = 0.0
    for terms in (solution.terms, solution.dual_terms or solution.terms):
        mass = np.bincount(terms.kernels, np.abs(terms.weights), problem.gram.n_kernels)
        error += float(largest @ mass**2) / solution.objective
        error += float((mass * largest / problem.penalties).max(initial=0.0))
    return error


def closer_rounding_error(problem: Problem, solution: Solution) -> float:
    """Return the same from the sizes that the sums really have."""
    gram, terms, eps = problem.gram, solution.terms, ULPS * float(np.finfo(np.float64).eps)
    eps *= float(gram.error_growth().max())
    columns = gram.columns(terms.kernels, terms.centers)
    error = eps * (np.abs(columns) @ np.abs(terms.weights))
    f = columns @ terms.weights + terms.intercept
    at_stake = problem.y * f < 1 + error
    objective_error = float(problem.w[at_stake] @ error[at_stake])
    u = problem.feasible_box(solution.dual)
    excess = problem.excess(problem.correlate(u))
    worst = excess + eps * problem.excess(gram.correlate_sizes(u))
    too_high = float(worst.max(initial=0.0)) - max(1.0, float(excess.max(initial=0.0)))
    return max(objective_error / solution.objective, too_high)


def extended_values(problem: Problem, solution: Solution) -> tuple[float, float]:
    """Return (F, D) of a solution, in extended precision from the data."""
    gram, terms = problem.gram, solution.terms
    u = problem.feasible_box(solution.dual).astype(np.longdouble)
    y = problem.y.astype(np.longdouble)
    f = np.full(gram.n_rows, np.longdouble(terms.intercept))
    correlation = np.zeros((gram.n_kernels, gram.n_centers), np.longdouble)
    centers = _widen(gram.centers)
    for number, family in enumerate(gram.families):
        members = gram.members_of(number)
        for rows in blocks(gram.n_rows, EXTENDED_ROWS):
            base = family.base(_widen(take_rows(gram.X, rows)), centers)
            base = base.astype(np.longdouble, copy=False)
            for k, member in enumerate(members):
                values = family.member(base, k)
                correlation[member] += (u * y)[rows] @ values
                mine = terms.kernels == member
                f[rows] += values[:, terms.centers[mine]] @ terms.weights[mine]
    loss = problem.w @ np.maximum(0, 1 - y * f)
    price = problem.penalties[terms.kernels] @ np.abs(terms.weights.astype(np.longdouble))
    _, square = _extended_pull(problem, terms)
    pull, dual_square = _extended_pull(problem, solution.dual_terms or Terms.none())
    excess = problem.excess(correlation - pull)
    shrink, total = 1 / max(1, excess.max()), u.sum()
    if dual_square > 0:
        shrink = min(shrink, total / dual_square)
    bound = shrink * total - shrink**2 * dual_square / 2
    return float(loss + price + square / 2), max(0.0, float(bound))


def _extended_pull(problem: Problem, terms: Terms) -> tuple[Any, Any]:
    """Return `Problem.pull` and `Problem.square` in extended precision; zeros without l2."""
    gram = problem.gram
    pull = np.zeros((gram.n_kernels, gram.n_centers), np.longdouble)
    if not problem.l2_penalty or problem.center_rows is None:
        return pull, np.longdouble(0)
    centers = _widen(gram.centers)
    for number, family in enumerate(gram.families):
        for k, member in enumerate(gram.members_of(number)):
            mine = terms.kernels == member
            if not mine.any():
                continue
            rows = problem.center_rows[terms.centers[mine]]
            base = family.base(_widen(take_rows(gram.X, rows)), centers)
            values = family.member(base.astype(np.longdouble, copy=False), k)
            pull[member] = problem.l2_penalty * (terms.weights[mine] @ values)
    return pull, pull[terms.kernels, terms.centers] @ terms.weights


def _widen(X: Any) -> FloatArray:
    """Numbers in extended precision; sparse matrices, objects and column numbers as they are."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        return X.astype(np.longdouble)
    if hasattr(X, "toarray"):
        return np.asarray(X.toarray()).astype(np.longdouble)
    return X  # type: ignore[no-any-return]
