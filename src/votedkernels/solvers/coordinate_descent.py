"""Coordinate descent that converges.

The paper's rule moves one weight at a time, the one with the steepest subgradient. It stalls when
no single weight can improve F, although several together could (`paper_rule`). Here, several of
the steepest coordinates join a pool in each round, and all weights of the pool move together, by
Newton steps on a smoothed problem whose smoothing tends to zero (`barrier`). Between rounds, one
pass over all columns finds the proved gap and the next coordinates. No LP solver is needed.

With a hybrid norm, the problem on the pool is quadratic. A column is then steep if its correlation
with the dual vector, minus the pull of the terms that share its kernel, exceeds its penalty.
Without a hybrid norm, the optimum on the pool is a corner. Once the solution is accurate enough,
that corner is known: the rows on the margin and the columns with a weight determine each other, and
a linear system yields them to the last digit.

The smoothed problem divides by penalties, so every kernel needs one. Kernels without a penalty get
a small one, a fraction of their largest value, which also tends to zero; see `with_floors`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem, Solution, Terms
from .descent_pool import DescentPool
from .rounds import Finished, Round, Rounds, solve_subsample

SMALLEST_SUBSAMPLE = 400
SUBSAMPLE_TOL = 1e-2
#: If the gap does not shrink for this many rounds, double precision is exhausted.
ROUNDS_WITHOUT_GAIN = 15
#: The gap counts as smaller only if it is below this share of the smallest so far.
SHRUNK = 0.99
#: Successive substitutes for missing penalties, in units of the kernel's largest value.
FLOORS = (1e-3, 1e-5, 1e-7, 1e-9)
#: Penalties below this, in the same units, count as missing.
VANISHING = 1e-30
#: Relative gap for the problems with substitutes. It proves nothing about the original problem.
FLOOR_TOL = 1e-8


def solve_by_coordinate_descent(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Minimise F to a relative gap of ``tol``; the options are those of column generation."""
    return descend(Rounds(problem, tol=tol, max_iter=max_iter, on_round=on_round), start)


def descend(rounds: Rounds, start: Terms | None) -> Solution:
    """Run further rounds on a problem, starting from a vote if there is one."""
    if vanishing_penalties(rounds.problem).any():
        return rounds.run(lambda: _lower_floors(rounds, start))
    return rounds.run(lambda: _descend(rounds, start))


def _descend(rounds: Rounds, start: Terms | None) -> str:
    problem = rounds.problem
    if start is None and problem.center_rows is None:  # the hybrid norm needs centres that are rows
        solve = partial(solve_by_coordinate_descent, tol=SUBSAMPLE_TOL)
        start = solve_subsample(problem, solve, smallest=SMALLEST_SUBSAMPLE)
    return grow_pool(rounds, start, DescentPool(problem))


def grow_pool(rounds: Rounds, start: Terms | None, pool: DescentPool) -> str:
    """Add the steepest coordinates round by round; return why no improvement is possible.

    If the pool has columns already, it goes on from its last solution.
    """
    problem, best, tol = rounds.problem, rounds.best, rounds.tol
    u, v = problem.empty_dual(), Terms.none()
    if start is not None and len(start.kernels):
        rounds.offer_start(start)
        pool.add_terms(start)
    if len(pool.kernels):
        u, v = pool.improve(best, tol, 1.0)
    smallest_gap, last_gain = np.inf, rounds.n_iter
    while True:
        rounds.begin()
        u = problem.into_box(u)
        correlation, square = problem.dual_parts(u, v)
        best.offer_dual(u, problem.dual_value(u, correlation, square), v)
        rounds.bounded()
        gap = (best.objective - best.dual_bound) / best.objective
        if gap < SHRUNK * smallest_gap:
            smallest_gap, last_gain = gap, rounds.n_iter
        elif rounds.n_iter - last_gain >= ROUNDS_WITHOUT_GAIN:
            return pool.reason_to_give_up
        if not pool.add_steepest(problem.excess(correlation), tol) and not pool.sharpen():
            return pool.reason_to_give_up
        u, v = pool.improve(best, tol, gap)
        rounds.moved()


def _lower_floors(rounds: Rounds, start: Terms | None) -> str:
    """Minimise F if some kernels have no penalty: add one, and decrease it step by step.

    The bound stays 0, so only F = 0 can be proved optimal.
    """
    problem, best = rounds.problem, rounds.best
    done = rounds.n_iter

    def report(state: Round) -> bool:
        """Report a round, with the value of its vote in the original problem."""
        terms = state.solution.terms
        best.offer_vote(terms, problem.decision(terms))
        rounds.n_iter = done + state.n_iter
        return rounds.on_round is not None and rounds.on_round(best.round(rounds.n_iter))

    for share in FLOORS:
        found = solve_by_coordinate_descent(
            with_floors(problem, share),
            tol=min(rounds.tol, FLOOR_TOL),
            max_iter=None if rounds.max_iter is None else rounds.max_iter - done,
            start=start,
            on_round=report,
        )
        rounds.n_iter = done = done + found.n_iter
        best.offer_vote(found.terms, problem.decision(found.terms))
        if best.is_optimal(rounds.tol):
            raise Finished("optimal")
        if found.stop_reason not in ("optimal", "precision"):
            return found.stop_reason
        rounds.moved()
        start = best.terms
    return "precision"


def with_floors(problem: Problem, share: float) -> Problem:
    """Return the problem with a share of max |K_k| as the penalty of kernels without one."""
    largest = problem.columns.largest()
    floors = share * np.where(largest > 0, largest, 1.0)
    vanishing = vanishing_penalties(problem)
    return replace(problem, penalties=np.where(vanishing, floors, problem.penalties))


def vanishing_penalties(problem: Problem) -> NDArray[np.bool_]:
    """Return which kernels have no penalty, or one that is negligible next to their values."""
    return np.asarray(problem.penalties <= VANISHING * problem.columns.largest())
