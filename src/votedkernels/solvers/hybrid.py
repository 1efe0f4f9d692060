"""Coordinate descent for the hybrid norm: l1, and squared norms in the kernels' spaces.

The rounds are those of `coordinate_descent`: the steepest coordinates join a pool, all weights of
the pool move jointly (`squared_barrier`), and one pass over all columns gives the proved gap and
the next coordinates. A column outside the pool is steep where the correlation of the dual vector
with it, less the pull of the votes that share its kernel, exceeds its penalty.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import numpy as np

from ..kernels.base import FloatArray
from ..kernels.gram import OutOfTime
from ..problem import Problem, Terms
from ..solution import Solution
from .incumbent import Incumbent, Round, SolverInterrupted
from .squared_barrier import solve_squared_pool

COORDINATES_PER_ROUND = 100
#: A column leaves the pool after so many rounds without weight.
IDLE_ROUNDS = 3
#: Double precision has no more to give when the gap did not shrink for so long.
ROUNDS_WITHOUT_GAIN = 10


def solve_hybrid(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    deadline: float | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Minimise F with its squared norms to a relative gap of ``tol``."""
    best = Incumbent(problem)
    n_iter = last_gain = 0
    smallest_gap = np.inf
    try:
        pool = SquaredPool(problem)
        u, v = problem.feasible_box(problem.w), Terms.none()
        for n_iter in count(1):
            u, pull = problem.feasible_box(u), problem.pull(v)
            correlation = problem.correlate(u) - pull
            best.offer_dual(u, correlation, problem.square(v, pull), v)
            if on_round is not None and on_round(best.round(n_iter)):
                return best.verified(n_iter, "interrupted", tol)
            if best.is_optimal(tol):
                return best.verified(n_iter, "optimal", tol)
            if max_iter is not None and n_iter >= max_iter:
                return best.verified(n_iter, "max-iter", tol)
            if deadline is not None and time.perf_counter() >= deadline:
                break
            gap = (best.objective - best.dual_bound) / best.objective
            if gap < 0.99 * smallest_gap:
                smallest_gap, last_gain = gap, n_iter
            elif n_iter - last_gain >= ROUNDS_WITHOUT_GAIN:
                return best.verified(n_iter, "precision", tol)
            if not pool.add_steepest(problem.excess(correlation), tol):
                pool.accuracy *= 0.1
            u, v = pool.improve(best, tol, gap)
    except KeyboardInterrupt:
        raise SolverInterrupted(best.verified(n_iter, "interrupted", tol)) from None
    except OutOfTime:
        pass
    return best.verified(n_iter, "time-limit", tol)


class SquaredPool:
    """The columns whose weights move; they are scaled to a largest value of 1."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.member = np.zeros((problem.gram.n_kernels, problem.gram.n_centers), bool)
        self.idle = np.zeros(self.member.shape, np.intp)
        self.accuracy = 0.1

    def add_steepest(self, excess: FloatArray, tol: float) -> bool:
        """Take in the coordinates of steepest descent; False if there are none."""
        excess = np.where(self.member, 0.0, excess).ravel()
        steepest = np.argsort(-excess, kind="stable")[:COORDINATES_PER_ROUND]
        steepest = steepest[excess[steepest] > 1 + 0.1 * min(tol, 1e-6)]
        if len(steepest) == 0:
            return False
        self.member &= self.idle < IDLE_ROUNDS
        self.member.ravel()[steepest] = True
        self.idle.ravel()[steepest] = 0
        return True

    def improve(self, best: Incumbent, tol: float, gap: float) -> tuple[FloatArray, Terms]:
        """Move all weights jointly; offer the vote; return the two parts of the dual vector."""
        problem, (kernels, centers) = self.problem, np.nonzero(self.member)
        columns = problem.gram.columns(kernels, centers)
        scale = np.abs(columns).max(axis=0, initial=0.0)
        scale[scale == 0] = 1.0
        found = solve_squared_pool(
            columns * problem.y[:, None] / scale,
            problem.w,
            problem.penalties[kernels] / scale,
            problem.l2_penalty * self._products() / scale / scale[:, None],
            self.accuracy * max(min(tol, 1e-6), min(gap, 1.0) ** 1.5),
            problem.y if problem.fit_intercept else None,
        )
        weights = found.weights / scale
        best.offer_vote(
            Terms(kernels, centers, weights, found.intercept), columns @ weights + found.intercept
        )
        self.idle[kernels, centers] += 1
        self.idle[kernels[weights != 0], centers[weights != 0]] = 0
        return found.dual, Terms(kernels, centers, found.dual_weights / scale).nonzero()

    def _products(self) -> FloatArray:
        """Return K_k(c_i, c_j) for columns of one kernel, 0 for those of two."""
        kernels, centers = np.nonzero(self.member)
        out = np.zeros((len(kernels), len(kernels)))
        assert self.problem.center_rows is not None
        for k in np.unique(kernels):
            mine = np.flatnonzero(kernels == k)
            rows = self.problem.center_rows[centers[mine]]
            values = self.problem.gram.columns(kernels[mine], centers[mine], rows)
            out[np.ix_(mine, mine)] = 0.5 * (values + values.T)
        return out
