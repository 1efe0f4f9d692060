"""What a solver returns, and a check that its certificate holds despite rounding.

A solution is a vote, a dual vector, and the two values that enclose the optimum. F and D are sums
in double precision. Their rounding errors, relative to F, are about

    eps * sum_t |a_t| max|K_t| / F      (the votes, where large terms cancel)
    eps * sum_i u_i * max_k max|K_k| / L_k      (the dual constraints)

They are negligible on ordinary data, but invalidate the certificate if kernels reach 1e20 and the
penalty is 1e-3. If the values of a kernel are themselves sums that cancel, the errors are
larger (`error_growth`). The hybrid norm adds sums over pairs of weights, with errors of about

    eps * rho sum_k max|K_k| (sum_j |a_kj|)^2 / F      (the square, and that of v)
    eps * rho max_k (sum_j |v_kj|) max|K_k| / L_k      (the part of v in the dual constraints)

If these errors are not small compared with the tolerance or the gap, they are estimated again with
the norm of each row instead of the largest one: a few outliers make max|K| large, but few of the
values in a sum. If that does not help, they are estimated from the actual sums of |a K| and u |K|,
row by row and column by column. If they are still too large, F and D are recomputed in extended
precision (`numpy.longdouble`), by the simplest code possible, and rounded away from each other by
what even that may err. If the problem is too large for that, its lower bound is reduced by the
error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, Rows, take_rows
from ..kernels.columns import Columns, blocks
from .problem import Problem, Terms

#: Allowance for the accumulated rounding error of a sum and of the values in it, in units in the
#: last place. The exponentials of NumPy and of compiled loops account for one or two, on any CPU.
ULPS = 100
#: The largest number of kernel values that are computed in extended precision.
EXTENDED_VALUES = 4 * 10**7
EXTENDED_ROWS = 256


@dataclass(frozen=True)
class Solution:
    """A vote with its certificate.

    ``objective`` is F at ``terms``, and ``dual_bound`` is the lower bound that ``dual`` proves.
    Both are computed from the data by `votedkernels.problem`, never taken from an LP solver.
    ``terms`` refers to ``columns`` by index. With the hybrid norm, ``dual_terms`` is the part v of
    the dual.
    """

    columns: Columns
    terms: Terms
    dual: FloatArray
    objective: float
    dual_bound: float
    n_iter: int
    stop_reason: str
    dual_terms: Terms | None = None

    @property
    def gap(self) -> float:
        """Bound on the distance to the optimum: objective - dual_bound."""
        return max(0.0, self.objective - self.dual_bound)

    def is_optimal(self, tol: float) -> bool:
        """Whether gap <= tol * objective."""
        return self.gap <= tol * self.objective

    def improved_by(self, later: Solution, tol: float) -> Solution:
        """Return the better vote and the better bound of two solutions of the same problem."""
        vote = later if later.objective <= self.objective else self
        proof = later if later.dual_bound >= self.dual_bound else self
        both = replace(
            vote,
            dual=proof.dual,
            dual_terms=proof.dual_terms,
            dual_bound=proof.dual_bound,
            n_iter=self.n_iter + later.n_iter,
            stop_reason=later.stop_reason,
        )
        return replace(both, stop_reason="optimal") if both.is_optimal(tol) else both


def verify(problem: Problem, solution: Solution, tol: float) -> Solution:
    """Return the solution with values that can be trusted despite rounding."""
    if solution.objective == 0:
        return solution
    doubt = rounding_error(problem, solution)
    allowed = max(0.1 * tol, 0.01 * solution.gap / solution.objective)
    if doubt > allowed:
        doubt = min(doubt, rounding_error_by_rows(problem, solution))
    if doubt <= allowed:
        return solution
    if problem.columns.n_values <= EXTENDED_VALUES:
        columns = problem.columns.at_hand()
        columns = columns.within(columns.budget.until(math.inf))  # a check must not be cut short
        problem = replace(problem, columns=columns)
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
    """Estimate how much rounding may have changed F and D, relative to F."""
    if solution.objective == 0 or len(solution.terms.kernels) == 0:
        return 0.0
    largest = problem.columns.largest() * problem.columns.error_growth()
    terms, eps = solution.terms, ULPS * float(np.finfo(np.float64).eps)
    votes = float(np.abs(terms.weights) @ largest[terms.kernels]) / solution.objective
    priced = problem.penalties > 0
    ratios = largest[priced] / problem.penalties[priced]
    if problem.squares is not None:
        # An error in a correlation is multiplied by the weight that it implies, at the optimum
        # a_kj.
        return eps * 2 * votes
    error = max(votes, float(solution.dual.sum()) * float(ratios.max(initial=0.0)))
    if problem.l2_penalty:
        error += problem.l2_penalty * _hybrid_error(problem, solution, largest)
    return eps * error


def rounding_error_by_rows(problem: Problem, solution: Solution) -> float:
    """Return the same estimate, but with a bound on |K| for each row; infinite with a squared norm.

    The errors of F add up to about sum_t |a_t| sum_i w_i |K_t(x_i)|.
    """
    if problem.l2_penalty:
        return math.inf
    columns, terms = problem.columns, solution.terms
    rows = np.arange(problem.n_rows) if problem.hinge_rows is None else problem.hinge_rows
    w = np.bincount(rows, problem.w, problem.n_rows).astype(np.float64, copy=False)
    growth = columns.error_growth()
    of_vote, of_dual = (
        columns.largest_sums(v) * growth for v in (w, problem.signed(solution.dual))
    )
    votes = float(np.abs(terms.weights) @ of_vote[terms.kernels]) / solution.objective
    priced = problem.penalties > 0
    ratios = of_dual[priced] / problem.penalties[priced]
    return ULPS * float(np.finfo(np.float64).eps) * max(votes, float(ratios.max(initial=0.0)))


def _hybrid_error(problem: Problem, solution: Solution, largest: FloatArray) -> float:
    """Return what the sums of the hybrid norm add to the error, divided by eps and rho."""
    error = 0.0
    for terms in (solution.terms, solution.dual_terms or solution.terms):
        mass = np.bincount(terms.kernels, np.abs(terms.weights), problem.columns.n_kernels)
        error += float(largest @ mass**2) / solution.objective
        error += float((mass * largest / problem.penalties).max(initial=0.0))
    return error


def closer_rounding_error(problem: Problem, solution: Solution) -> float:
    """Return the same estimate as `rounding_error`, but from the actual sizes of the sums."""
    columns, terms = problem.columns.at_hand(), solution.terms
    eps = ULPS * float(np.finfo(np.float64).eps)
    eps *= float(columns.error_growth().max())
    values = columns.take(terms.kernels, terms.centers)
    error = eps * (np.abs(values) @ np.abs(terms.weights))
    f = values @ terms.weights + terms.intercept
    error = problem.at_hinges(error)
    at_stake = problem.margins(f) < 1 + error
    objective_error = float(problem.w[at_stake] @ error[at_stake])
    u = problem.into_box(solution.dual)
    excess = problem.excess(problem.correlate(u))
    worst = excess + eps * problem.excess(columns.correlate_sizes(np.abs(problem.signed(u))))
    too_high = float(worst.max(initial=1.0)) - float(excess.max(initial=1.0))
    return max(objective_error / solution.objective, too_high)


def extended_values(problem: Problem, solution: Solution) -> tuple[float, float]:
    """Return (F, D) of a solution, recomputed from the data in extended precision.

    F is rounded up and D down, by the errors that sums of this precision may still have.
    """
    columns, terms = problem.columns.at_hand(), solution.terms
    u = problem.into_box(solution.dual).astype(np.longdouble)
    v = problem.y.astype(np.longdouble) * u
    if problem.hinge_rows is not None:
        v, of_hinges = np.zeros(problem.n_rows, np.longdouble), v
        np.add.at(v, problem.hinge_rows, of_hinges)
    f = np.full(columns.n_rows, np.longdouble(terms.intercept))
    correlation = np.zeros((columns.n_kernels, columns.n_centers), np.longdouble)
    f_error, correlation_error = np.zeros_like(f), np.zeros_like(correlation)
    eps = ULPS * np.finfo(np.longdouble).eps * columns.error_growth()
    centers = _widen(columns.centers)
    for number, family in enumerate(columns.families):
        members = columns.members_of(number)
        for rows in blocks(columns.n_rows, EXTENDED_ROWS):
            base = family.base(_widen(take_rows(columns.X, rows)), centers)
            base = base.astype(np.longdouble, copy=False)
            for k, member in enumerate(members):
                values = family.member(base, k)
                sizes, mine = np.abs(values), terms.kernels == member
                chosen, weights = terms.centers[mine], terms.weights[mine]
                correlation[member] += v[rows] @ values
                correlation_error[member] += eps[member] * (np.abs(v[rows]) @ sizes)
                f[rows] += values[:, chosen] @ weights
                f_error[rows] += eps[member] * (sizes[:, chosen] @ np.abs(weights))
    loss = problem.w @ np.maximum(0, problem.shortfalls(f) + problem.at_hinges(f_error))
    price = problem.penalties[terms.kernels] @ np.abs(terms.weights.astype(np.longdouble))
    _, square = _extended_gradient(problem, terms)
    dual_terms = solution.dual_terms or Terms.none()
    gradient, dual_square = _extended_gradient(problem, dual_terms)
    excess = problem.excess(np.abs(correlation - gradient) + correlation_error)
    total = u.sum() if problem.goals is None else problem.goals @ u
    shrink = 1 / max(1, excess.max())
    if problem.squares is not None:
        shrink = np.longdouble(1)
        dual_square = problem.cost_of_excess(np.abs(correlation) + correlation_error)
    if dual_square > 0:
        shrink = min(shrink, total / dual_square)
    bound = shrink * total - shrink**2 * dual_square / 2
    return float(loss + price + square / 2), max(0.0, float(bound))


def _extended_gradient(
    problem: Problem, terms: Terms
) -> tuple[NDArray[np.longdouble], np.longdouble]:
    """Return `norm_gradient` and `square` in extended precision; zeros without the hybrid norm."""
    columns = problem.columns.at_hand()
    gradient = np.zeros((columns.n_kernels, columns.n_centers), np.longdouble)
    if problem.squares is not None:
        gradient = problem.norm_gradient(terms).astype(np.longdouble)
    if problem.squares is not None or not problem.l2_penalty or problem.center_rows is None:
        return gradient, np.longdouble(gradient[terms.kernels, terms.centers] @ terms.weights)
    centers = _widen(columns.centers)
    for number, family in enumerate(columns.families):
        for k, member in enumerate(columns.members_of(number)):
            mine = terms.kernels == member
            if not mine.any():
                continue
            rows = problem.center_rows[terms.centers[mine]]
            base = family.base(_widen(take_rows(columns.X, rows)), centers)
            values = family.member(base.astype(np.longdouble, copy=False), k)
            gradient[member] = problem.l2_penalty * (terms.weights[mine] @ values)
    return gradient, np.longdouble(gradient[terms.kernels, terms.centers] @ terms.weights)


def _widen(X: Rows) -> Rows:
    """Return numbers in extended precision; leave objects and column numbers unchanged."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        return X.astype(np.longdouble)
    if hasattr(X, "toarray"):
        return np.asarray(X.toarray()).astype(np.longdouble)
    return X
