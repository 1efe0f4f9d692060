"""Coordinate descent that converges.

The paper's rule moves one weight at a time, the one with the steepest subgradient, and stalls
where no single weight can improve although several together could (`paper_rule`). Here the
steepest coordinates, some at once, join a pool, and all weights of the pool move jointly, by
Newton steps on a smoothed problem whose smoothing goes to zero (`barrier`). Between rounds, one
pass over all columns gives the proved gap and the next coordinates. No LP solver takes part.

With a hybrid norm the pool's answer is that of a quadratic problem, and a column is steep where
the correlation of the dual vector with it, less the pull of the votes that share its kernel,
exceeds its penalty. Without one, the pool's answer is at the end known so well that its corner
can be read off it: the rows on the margin and the columns with a weight determine each other, and
are solved for to the last digits.

Kernels without a penalty have no place in the smoothed problem, which divides by penalties. They
get a small one, a share of their largest value, which goes to zero as well: see `with_floors`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels.base import FloatArray, IntArray
from ..kernels.columns import blocks
from ..kernels.definiteness import require_definite
from ..problem import Problem, Solution, Terms
from .barrier import PoolSolution, solve_pool
from .incumbent import Incumbent, Round
from .lp.linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, LPResult
from .lp.refinement import solve_basis
from .subsample import decision_in_any_case, solve_subsample

#: Coordinates that may join in a round, and at least as a share of the pool.
COORDINATES_PER_ROUND = 40
SHARE_PER_ROUND = 0.5
SMALLEST_SUBSAMPLE = 400
SUBSAMPLE_TOL = 1e-2
#: A column leaves the pool after so many rounds without weight, once the pool is large.
IDLE_ROUNDS = 3
LARGE_POOL = 150
#: Double precision has no more to give when the gap did not shrink for so long.
ROUNDS_WITHOUT_GAIN = 15
#: Columns that are evaluated in one go.
COLUMNS_AT_ONCE = 128
#: Vectors of one number per row that a step takes.
VECTORS = 40
#: Penalties that stand for none, in units of the kernel's largest value, one after the other.
FLOORS = (1e-3, 1e-5, 1e-7, 1e-9)
#: Smaller penalties than this, in the same units, are none to the smoothed problem.
VANISHING = 1e-30
#: How far these problems are solved; what is proved about them is nothing about the one given.
FLOOR_TOL = 1e-8


def solve_by_coordinate_descent(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    deadline: float | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
    best: Incumbent | None = None,
) -> Solution:
    """Minimise F to a relative gap of ``tol``; parameters as for column generation.

    ``best`` is what another solver found, to go on from.
    """
    if best is None:
        best = Incumbent(problem)
    else:
        start = best.terms
    if vanishing_penalties(problem).any():
        return _solve_without_penalties(
            problem, tol=tol, max_iter=max_iter, deadline=deadline, start=start,
            on_round=on_round, best=best,
        )  # fmt: skip
    n_iter = last_gain = 0
    smallest_gap = np.inf
    try:
        pool = Pool(problem)
        if start is None and not problem.l2_penalty:  # whose centres must stay rows
            solve = partial(solve_by_coordinate_descent, tol=SUBSAMPLE_TOL)
            start = solve_subsample(problem, solve, smallest=SMALLEST_SUBSAMPLE, deadline=deadline)
        u, v = problem.feasible_box(problem.w), Terms.none()
        if start is not None and len(start.kernels):
            best.offer_scaled(start, decision_in_any_case(problem, start))
            pool.add_terms(start)
            u, v = pool.improve(best, tol, 1.0, deadline)
        for n_iter in count(1):
            u = problem.feasible_box(u)
            correlation, square = problem.dual_parts(u, v)
            best.offer_dual(u, problem.dual_value(u, correlation, square), v)
            if on_round is not None and on_round(best.round(n_iter)):
                return best.verified(n_iter, "interrupted", tol)
            if best.is_optimal(tol):
                return best.verified(n_iter, "optimal", tol)
            if deadline is not None and time.perf_counter() >= deadline:
                break
            gap = (best.objective - best.dual_bound) / best.objective
            if gap < 0.99 * smallest_gap:
                smallest_gap, last_gain = gap, n_iter
            elif n_iter - last_gain >= ROUNDS_WITHOUT_GAIN:
                return best.verified(n_iter, pool.reason_to_give_up, tol)
            if not pool.add_steepest(problem.excess(correlation), tol) and not pool.sharpen():
                return best.verified(n_iter, pool.reason_to_give_up, tol)
            u, v = pool.improve(best, tol, gap, deadline)
            if max_iter is not None and n_iter >= max_iter:
                return best.verified(n_iter, best.reason("max-iter", tol), tol)
    except SolverInterrupted as stop:  # on a part of the rows
        vote = stop.solution.terms
        best.offer_scaled(vote, decision_in_any_case(problem, vote))
        raise SolverInterrupted(best.verified(n_iter, "interrupted", tol)) from None
    except KeyboardInterrupt:
        raise SolverInterrupted(best.verified(n_iter, "interrupted", tol)) from None
    except OutOfTime:
        pass
    return best.verified(n_iter, "time-limit", tol)


def _solve_without_penalties(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None,
    deadline: float | None,
    start: Terms | None,
    on_round: Callable[[Round], bool] | None,
    best: Incumbent,
) -> Solution:
    """Minimise F where some kernels have no penalty, by way of ever smaller ones.

    The bound stays 0, so that only F = 0 is proved to be optimal.
    """
    n_iter = 0

    def report(state: Round) -> bool:
        """Pass on what a round found, with its value in the problem given."""
        terms = state.solution.terms
        best.offer_vote(terms, problem.decision(terms))
        return on_round is not None and on_round(best.round(n_iter + state.n_iter))

    try:
        for share in FLOORS:
            found = solve_by_coordinate_descent(
                with_floors(problem, share),
                tol=min(tol, FLOOR_TOL),
                max_iter=None if max_iter is None else max_iter - n_iter,
                deadline=deadline,
                start=start,
                on_round=report,
            )
            n_iter += found.n_iter
            best.offer_vote(found.terms, problem.decision(found.terms))
            if best.is_optimal(tol):
                return best.verified(n_iter, "optimal", tol)
            if found.stop_reason not in ("optimal", "precision"):
                return best.verified(n_iter, found.stop_reason, tol)
            if max_iter is not None and n_iter >= max_iter:
                return best.verified(n_iter, "max-iter", tol)
            start = best.terms
    except SolverInterrupted as stop:
        best.offer_vote(stop.solution.terms, problem.decision(stop.solution.terms))
        raise SolverInterrupted(best.verified(n_iter, "interrupted", tol)) from None
    except OutOfTime:
        return best.verified(n_iter, "time-limit", tol)
    return best.verified(n_iter, "precision", tol)


def with_floors(problem: Problem, share: float) -> Problem:
    """Return the problem with a share of max |K_k| as the penalty of kernels that have none."""
    largest = problem.gram.largest()
    floors = share * np.where(largest > 0, largest, 1.0)
    vanishing = vanishing_penalties(problem)
    return replace(problem, penalties=np.where(vanishing, floors, problem.penalties))


def vanishing_penalties(problem: Problem) -> NDArray[np.bool_]:
    """Return which kernels have no penalty, or one that is nothing against their values."""
    return np.asarray(problem.penalties <= VANISHING * problem.gram.largest())


class Pool:
    """The columns whose weights move, scaled to a largest value of 1."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kernels = np.zeros(0, np.intp)
        self.centers = np.zeros(0, np.intp)
        self.idle = np.zeros(0, np.intp)
        self.scale = np.zeros(0)
        self.Z = np.zeros((problem.n_rows, 0))
        self.member = np.zeros((problem.gram.n_kernels, problem.gram.n_centers), bool)
        self.accuracy = 0.1
        everything = problem.gram.n_kernels * problem.gram.n_centers
        self.most = most_columns(problem.n_rows, problem.gram.memory_left, everything)
        #: Whether memory has kept columns out.
        self.is_cramped = False

    @property
    def reason_to_give_up(self) -> str:
        """Why no round gains any more."""
        return "memory-limit" if self.is_cramped else "precision"

    def add_terms(self, terms: Terms) -> None:
        """Take in the columns of a vote; the heaviest ones where there is no room for all."""
        if len(terms.kernels) > self.most:
            self.is_cramped = True
            share = np.abs(terms.weights) * self.problem.gram.largest()[terms.kernels]
            chosen = np.sort(np.argsort(-share, kind="stable")[: self.most])
            self.add(terms.kernels[chosen], terms.centers[chosen])
        else:
            self.add(terms.kernels, terms.centers)

    def add(self, kernels: IntArray, centers: IntArray) -> None:
        """Take in columns that are not there yet."""
        fresh = ~self.member[kernels, centers]
        kernels, centers = kernels[fresh], centers[fresh]
        self.member[kernels, centers] = True
        Z, scale = self._signed_columns(kernels, centers)
        self.Z = np.concatenate([self.Z, Z], axis=1) if len(self.kernels) else Z
        self.kernels = np.concatenate([self.kernels, kernels])
        self.centers = np.concatenate([self.centers, centers])
        self.scale = np.concatenate([self.scale, scale])
        self.idle = np.concatenate([self.idle, np.zeros(len(kernels), np.intp)])

    def _signed_columns(
        self, kernels: IntArray, centers: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return y K_c(x) / max |K_c|, and the latter; no more than a block takes memory beside."""
        Z = np.empty((self.problem.n_rows, len(kernels)))
        for part in blocks(len(kernels), COLUMNS_AT_ONCE):
            Z[:, part] = self.problem.gram.columns(kernels[part], centers[part])
        Z *= self.problem.y[:, None]
        scale = np.maximum(Z.max(axis=0, initial=0.0), -Z.min(axis=0, initial=0.0))
        scale[scale == 0] = 1.0
        Z /= scale
        return Z, scale

    def add_steepest(self, excess: FloatArray, tol: float) -> bool:
        """Take in the coordinates of steepest descent, one kernel a centre for variety."""
        excess = np.where(self.member, 0.0, excess)
        kernels = excess.argmax(axis=0)
        worst = excess[kernels, np.arange(excess.shape[1])]
        most = max(COORDINATES_PER_ROUND, int(SHARE_PER_ROUND * len(self.kernels)))
        order = np.argsort(-worst, kind="stable")[:most]
        order = order[worst[order] > 1 + 0.1 * min(tol, 1e-6)]
        if len(order) == 0:
            return False
        self._drop_idle()
        if len(self.kernels) + len(order) > self.most:
            self.is_cramped = True
            self._drop(self.idle > 0)  # which are without weight now
            order = order[: max(0, self.most - len(self.kernels))]
        self.add(kernels[order], order)
        return len(order) > 0

    def sharpen(self) -> bool:
        """Ask for a more accurate answer of the same pool; False at the limit of precision."""
        self.accuracy *= 1e-2
        return self.accuracy > 1e-8

    def _drop_idle(self) -> None:
        if len(self.kernels) >= LARGE_POOL:
            self._drop(self.idle >= IDLE_ROUNDS)

    def _drop(self, columns: NDArray[np.bool_]) -> None:
        keep = ~columns
        if keep.all():
            return
        self.member[self.kernels[~keep], self.centers[~keep]] = False
        self.kernels, self.centers = self.kernels[keep], self.centers[keep]
        self.idle, self.scale, self.Z = self.idle[keep], self.scale[keep], self.Z[:, keep]

    def improve(
        self, best: Incumbent, tol: float, gap: float, deadline: float | None = None
    ) -> tuple[FloatArray, Terms]:
        """Move all weights jointly; offer the vote; return the two parts of the dual vector."""
        problem = self.problem
        penalties = problem.penalties[self.kernels] / self.scale
        balance = problem.y if problem.fit_intercept else None
        wanted = self.accuracy * max(min(tol, 1e-6), min(gap, 1.0) ** 1.5)
        squared = self._squared() if problem.l2_penalty else None
        if len(best.terms.kernels) == 0:  # half a pool is no vote: have one first
            deadline = None
        most_kept = most_rows(problem.n_rows, len(self.kernels), problem.gram.memory_left)
        found = solve_pool(
            self.Z, problem.w, penalties, wanted, balance, squared,
            most_kept=most_kept, deadline=deadline,
        )  # fmt: skip
        self._offer(best, found)
        self.idle = np.where(found.weights != 0, 0, self.idle + 1)
        if squared is not None:  # the answer is no corner
            weights = found.dual_weights / self.scale
            return found.dual, Terms(self.kernels, self.centers, weights).nonzero()
        corner = read_off_corner(self.Z, problem.w, penalties, found, balance)
        if corner is not None:
            self._offer(best, corner)
        return found.dual if corner is None else corner.dual, Terms.none()

    def _squared(self) -> FloatArray:
        """Return rho K_k(c_i, c_j) for scaled columns of one kernel, 0 for those of two."""
        problem = self.problem
        assert problem.center_rows is not None
        out = np.zeros((len(self.kernels), len(self.kernels)))
        for k in np.unique(self.kernels):
            mine = np.flatnonzero(self.kernels == k)
            rows = problem.center_rows[self.centers[mine]]
            values = problem.gram.columns(self.kernels[mine], self.centers[mine], rows)
            if not problem.gram.family_of(k).is_definite_by_formula:
                require_definite(values, problem.gram.names[k])
            out[np.ix_(mine, mine)] = 0.5 * problem.l2_penalty * (values + values.T)
        return out / self.scale / self.scale[:, None]

    def _offer(self, best: Incumbent, found: PoolSolution) -> None:
        terms = Terms(self.kernels, self.centers, found.weights / self.scale, found.intercept)
        f = self.problem.y * (self.Z @ found.weights) + found.intercept
        best.offer_vote(terms, f)


def pool_bytes(n_rows: int, n_pool: int, n_kept: int) -> int:
    """Return the most memory that columns and one step of theirs take.

    The columns and two more of their size (a block of weighted ones and its product; at the corner,
    with an intercept, one more row and those with a weight), or the columns and the linear system
    with its factors.
    """
    columns = 3 * n_rows * n_pool + 5 * n_pool**2
    system = n_rows * n_pool + 2 * n_kept * n_pool + 2 * (n_kept + n_pool) ** 2
    return 8 * (max(columns, system) + VECTORS * n_rows)


def most_columns(n_rows: int, memory: int, everything: int) -> int:
    """Return how many columns fit, of all there are, with as many rows on the margin."""

    def fits(n: int) -> bool:
        return pool_bytes(n_rows, n, min(n, n_rows)) <= memory

    return max(1, _largest(fits, everything))


def most_rows(n_rows: int, n_pool: int, memory: int) -> int:
    """Return how many rows on the margin fit beside so many columns."""
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
) -> PoolSolution | None:
    """Return the corner near an interior answer, to the last digits; None if there is none.

    At a corner there are as many rows strictly between their bounds, 0 < u < w, as columns with
    a weight (and an intercept).
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
    lp = LinearProgram(np.ones(len(w)), w / unit, matrix, lower / unit, upper / unit)
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
