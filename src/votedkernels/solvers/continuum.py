"""Learning over a continuum of widths, by exchange.

Some widths are chosen, the problem over these is solved by any solver, and its dual vector is
priced over the whole continuum (`widths`). Widths that violate their dual constraint join,
widths without a weight leave. The dual vector, scaled down by the bound on the violation, proves
a lower bound for the continuum; the fit ends when that is near enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels import continuous_family
from ..kernels.base import FloatArray
from ..problem import Problem, Solution, Terms
from .incumbent import Round
from .widths import price_widths

#: Widths that join in a round.
WIDTHS_PER_ROUND = 30
#: The share of ``tol`` that the problem over finitely many widths may use up.
INNER_SHARE = 0.25
MAX_ROUNDS = 200


def solve_over_continuum(
    problem: Problem,
    solve: Callable[..., Solution],
    *,
    tol: float,
    max_iter: int | None = None,
    deadline: float | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Minimise F over all widths to a relative gap of ``tol``, with another solver's help.

    Parameters as for the solvers; ``max_iter`` counts rounds of that solver.
    """
    best: Solution | None = None
    n_iter, bound, dual = 0, 0.0, np.zeros(problem.n_rows)
    start: Terms | None = None

    def report(state: Round) -> bool:
        """Pass on what a round found, with the bound that holds for all widths."""
        solution = _better(best, state.solution)
        solution = replace(solution, dual_bound=bound, dual=dual, n_iter=n_iter + state.n_iter)
        return on_round is not None and on_round(Round(n_iter + state.n_iter, solution))

    def finished(reason: str) -> Solution:
        assert best is not None
        if best.objective - bound <= tol * best.objective:
            reason = "optimal"
        return replace(best, dual=dual, dual_bound=bound, n_iter=n_iter, stop_reason=reason)

    for n_round in count(1):
        left = None if max_iter is None else max_iter - n_iter
        try:
            found = solve(
                problem, tol=INNER_SHARE * tol, max_iter=left, deadline=deadline, start=start,
                on_round=report,
            )  # fmt: skip
        except SolverInterrupted as stop:
            best, reason = _better(best, stop.solution), "interrupted"
            raise SolverInterrupted(finished(reason)) from None
        n_iter += found.n_iter
        best = _better(best, found)
        u = problem.feasible_box(found.dual)
        target = float(u.sum()) / ((1 - tol) * best.objective) if best.objective > 0 else np.inf
        try:
            prices = price_widths(problem, u, max(1.0, target), WIDTHS_PER_ROUND)
            others = float(problem.excess(problem.correlate(u)).max(initial=0.0))
        except OutOfTime:
            return finished("time-limit")
        except KeyboardInterrupt:
            raise SolverInterrupted(finished("interrupted")) from None
        proved = float(u.sum()) / max(1.0, prices.excess, others)
        if proved > bound:
            bound, dual = proved, u
        if best.objective - bound <= tol * best.objective:
            return finished("optimal")
        if found.stop_reason not in ("optimal", "precision"):
            return finished(found.stop_reason)
        if len(prices.gammas) == 0 or n_round == MAX_ROUNDS:
            return finished("precision")
        if deadline is not None and time.perf_counter() >= deadline:
            return finished("time-limit")
        problem, start = _exchanged(problem, best, prices.gammas)
    raise AssertionError("count ends by a return")


def _better(old: Solution | None, new: Solution) -> Solution:
    return new if old is None or new.objective < old.objective else old


def _exchanged(problem: Problem, best: Solution, gammas: FloatArray) -> tuple[Problem, Terms]:
    """Return the problem over the knots, the widths in use and some new ones, and its start."""
    family = continuous_family(best.gram.families)
    assert problem.continuum is not None
    assert family is not None
    first = best.gram.n_kernels - family.n_kernels
    own = best.terms.kernels >= first
    in_use = family.gammas_[best.terms.kernels[own] - first]
    widths = np.unique(np.concatenate([problem.continuum.knots, in_use, gammas]))
    kernels = best.terms.kernels.copy()
    kernels[own] = first + np.searchsorted(widths, in_use)
    return with_widths(problem, widths), replace(best.terms, kernels=kernels)


def with_widths(problem: Problem, gammas: FloatArray) -> Problem:
    """Return the problem over these widths of its continuous family."""
    family = continuous_family(problem.gram.families)
    assert problem.continuum is not None
    assert family is not None
    first = problem.gram.n_kernels - family.n_kernels
    penalties = problem.continuum.penalties_at(gammas)
    return replace(
        problem,
        gram=problem.gram.with_last(family.with_widths(gammas)),
        penalties=np.concatenate([problem.penalties[:first], penalties]),
    )
