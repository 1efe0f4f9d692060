"""The pool of coordinate descent, whose weights all move together.

Columns are scaled so that their largest absolute value is 1. `DescentPool.improve` minimises F over
the weights of the pool by the interior point method of `barrier`. If the optimum is a corner, it
computes that corner exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray
from ..kernels.columns import blocks
from ..kernels.definiteness import require_definite
from ..problem import Problem, Terms
from .barrier import PoolSolution, solve_pool
from .lp.linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, LPResult, solve_basis
from .master import ColumnPool, largest_values
from .rounds import Incumbent

#: At most this many coordinates join in a round, or this share of the pool if that is more.
COORDINATES_PER_ROUND = 40
SHARE_PER_ROUND = 0.5
#: Once the pool is large, a column leaves it after this many rounds without a weight.
IDLE_ROUNDS = 3
LARGE_POOL = 150
#: How many columns are evaluated at a time.
COLUMNS_AT_ONCE = 128
#: How many vectors with one number per row a step needs.
VECTORS = 40


class DescentPool(ColumnPool):
    """The columns whose weights move, scaled to a largest absolute value of 1."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.Z = np.zeros((len(problem.y), 0))
        #: How accurately to solve the next step.
        self.accuracy = 0.1
        everything = problem.columns.n_kernels * problem.columns.n_centers
        self.most = most_columns(len(problem.y), problem.budget.memory, everything)

    @property
    def reason_to_give_up(self) -> str:
        """The stop reason if rounds no longer improve the vote."""
        return "memory-limit" if self.is_cramped else "precision"

    def add_terms(self, terms: Terms) -> None:
        """Add the columns of a vote, or the heaviest of them if there is no room for all."""
        if len(terms.kernels) > self.most:
            self.is_cramped = True
            share = np.abs(terms.weights) * self.problem.columns.largest()[terms.kernels]
            chosen = np.sort(np.argsort(-share, kind="stable")[: self.most])
            self.add(terms.kernels[chosen], terms.centers[chosen])
        else:
            self.add(terms.kernels, terms.centers)

    def add(self, kernels: IntArray, centers: IntArray) -> None:
        """Add the columns that are not in the pool yet."""
        kernels, centers = self.admit(kernels, centers)
        Z, scale = self._signed_columns(kernels, centers)
        self.Z = np.concatenate([self.Z, Z], axis=1) if self.Z.shape[1] else Z
        self.scale = np.concatenate([self.scale, scale])

    def _signed_columns(
        self, kernels: IntArray, centers: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return y K_c(x) / max |K_c| and max |K_c|, using little memory beyond the result."""
        Z = np.empty((len(self.problem.y), len(kernels)))
        for part in blocks(len(kernels), COLUMNS_AT_ONCE):
            values = self.problem.columns.take(kernels[part], centers[part])
            Z[:, part] = self.problem.at_hinges(values)
        Z *= self.problem.y[:, None]
        scale = largest_values(Z, axis=0)
        Z /= scale
        return Z, scale

    def add_steepest(self, excess: FloatArray, tol: float) -> bool:
        """Add the coordinates of steepest descent; return False if there are none, or no room."""
        most = max(COORDINATES_PER_ROUND, int(SHARE_PER_ROUND * len(self.kernels)))
        kernels, centers, worst = self.worst_outside(excess, tol, most)
        if len(worst) == 0:
            return False
        if len(self.kernels) >= LARGE_POOL:
            self._drop(self.idle >= IDLE_ROUNDS)
        if len(self.kernels) + len(worst) > self.most:
            self.is_cramped = True
            self._drop(self.idle > 0)  # columns without a weight now
        room = max(0, self.most - len(self.kernels))
        self.add(kernels[:room], centers[:room])
        return room > 0

    def sharpen(self) -> bool:
        """Ask for a more accurate solution on the pool; return False at the limit of precision."""
        self.accuracy *= 1e-2
        return self.accuracy > 1e-8

    def _drop(self, columns: NDArray[np.bool_]) -> None:
        if columns.any():
            self.dismiss(columns)
            self.Z = self.Z[:, ~columns]

    def improve(self, best: Incumbent, tol: float, gap: float) -> tuple[FloatArray, Terms]:
        """Move all weights together, offer the vote, and return both parts of the dual, u and v."""
        problem = self.problem
        penalties = problem.penalties[self.kernels] / self.scale
        balance = problem.y if problem.fit_intercept else None
        wanted = self.accuracy * max(min(tol, 1e-6), min(gap, 1.0) ** 1.5)
        squared = self._squared() if problem.l2_penalty else None
        # Until there is a vote, ignore the deadline: an unfinished step yields none.
        deadline = problem.budget.deadline if len(best.terms.kernels) else None
        most_kept = most_rows(len(problem.y), len(self.kernels), problem.budget.memory)
        found = solve_pool(
            self.Z, problem.w, penalties, wanted, balance, squared,
            goals=problem.goals, most_kept=most_kept, deadline=deadline,
        )  # fmt: skip
        self._offer(best, found)
        self.note_weights(found.weights)
        if squared is not None:  # the optimum is not a corner
            weights = found.dual_weights / self.scale
            return found.dual, Terms(self.kernels, self.centers, weights).nonzero()
        corner = read_off_corner(self.Z, problem.w, penalties, found, balance, problem.goals)
        if corner is not None:
            self._offer(best, corner)
        return found.dual if corner is None else corner.dual, Terms.none()

    def _squared(self) -> FloatArray:
        """Return rho K_k(c_i, c_j) between scaled columns; 0 if their kernels differ."""
        problem = self.problem
        if problem.squares is not None:
            squares = problem.squares[self.kernels, self.centers]
            return np.diag(problem.l2_penalty * squares / self.scale**2)
        assert problem.center_rows is not None
        out = np.zeros((len(self.kernels), len(self.kernels)))
        for k in np.unique(self.kernels):
            mine = np.flatnonzero(self.kernels == k)
            rows = problem.center_rows[self.centers[mine]]
            values = problem.columns.take(self.kernels[mine], self.centers[mine], rows)
            if not problem.columns.family_of(k).is_definite_by_formula:
                require_definite(values, problem.columns.names[k])
            out[np.ix_(mine, mine)] = 0.5 * problem.l2_penalty * (values + values.T)
        return out / self.scale / self.scale[:, None]

    def _offer(self, best: Incumbent, found: PoolSolution) -> None:
        terms = Terms(self.kernels, self.centers, found.weights / self.scale, found.intercept)
        f = self.problem.y * (self.Z @ found.weights)
        if self.problem.hinge_rows is not None:  # any hinge of a row will do
            f = f[np.unique(self.problem.hinge_rows, return_index=True)[1]]
        best.offer_vote(terms, f + found.intercept)


def pool_bytes(n_rows: int, n_pool: int, n_kept: int) -> int:
    """Return the peak memory, in bytes, of the columns and one step.

    The peak is the larger of two sums: the columns and two more arrays of their size (a block of
    weighted columns and its product; at the corner, a copy with a row for the intercept, and the
    columns with a weight), or the columns and the linear system with its factors.
    """
    columns = 3 * n_rows * n_pool + 5 * n_pool**2
    system = n_rows * n_pool + 2 * n_kept * n_pool + 2 * (n_kept + n_pool) ** 2
    return 8 * (max(columns, system) + VECTORS * n_rows)


def least_pool_bytes(n_rows: int) -> int:
    """Return the memory, in bytes, that the first step needs."""
    n_pool = min(n_rows, COORDINATES_PER_ROUND)
    return pool_bytes(n_rows, n_pool, n_pool)


def most_columns(n_rows: int, memory: int, everything: int) -> int:
    """Return how many columns fit in memory together with the same number of rows on the margin."""

    def fits(n: int) -> bool:
        return pool_bytes(n_rows, n, min(n, n_rows)) <= memory

    return max(1, _largest(fits, everything))


def most_rows(n_rows: int, n_pool: int, memory: int) -> int:
    """Return how many rows on the margin fit in memory together with ``n_pool`` columns."""
    return _largest(lambda n: pool_bytes(n_rows, n_pool, n) <= memory, n_rows)


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number up to ``most`` that fits, by bisection; 0 if none does."""
    if fits(most):
        return most
    fewer, more = 0, most
    while more - fewer > 1:
        middle = (fewer + more) // 2
        fewer, more = (middle, more) if fits(middle) else (fewer, middle)
    return fewer


def read_off_corner(
    Z: FloatArray,
    w: FloatArray,
    penalties: FloatArray,
    found: PoolSolution,
    balance: FloatArray | None,
    goals: FloatArray | None = None,
) -> PoolSolution | None:
    """Return the corner near an interior solution, to full precision; None if there is none.

    At a corner, the number of rows strictly between their bounds, 0 < u < w, equals the number of
    columns with a weight (plus one for an intercept).
    """
    matrix, lower, upper = Z.T, -penalties, penalties
    weights = found.weights
    if balance is not None:
        matrix = np.vstack([matrix, balance])
        lower, upper = np.append(lower, 0.0), np.append(upper, 0.0)
        weights = np.append(weights, found.intercept)
    rows = np.where(weights > 0, UPPER, np.where(weights < 0, LOWER, BASIC)).astype(np.int8)
    if balance is not None:
        rows[-1] = UPPER
    n_basic = int((rows != BASIC).sum())
    inner = np.minimum(found.dual, w - found.dual) / w
    columns = np.where(found.dual > 0.5 * w, UPPER, LOWER).astype(np.int8)
    if n_basic:
        columns[np.argsort(-inner, kind="stable")[:n_basic]] = BASIC
    unit = float(w.mean())
    cost = np.ones(len(w)) if goals is None else goals
    lp = LinearProgram(cost, w / unit, matrix, lower / unit, upper / unit)
    guess = LPResult(found.dual / unit, weights, Basis(columns, rows), 0)
    solved = solve_basis(lp, guess)
    if solved is guess:
        return None
    intercept = float(solved.row_dual[-1]) if balance is not None else 0.0
    return PoolSolution(
        solved.row_dual[: Z.shape[1]],
        intercept,
        np.clip(solved.x * unit, 0.0, w),
        found.dual_weights,
        found.n_steps,
    )
