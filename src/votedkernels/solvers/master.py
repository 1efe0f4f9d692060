"""The master problem of column generation: a pool of columns on the rows near the margin.

In its dual form, the pool's columns are rows of a small LP and the samples its variables:

    max  sum_i u_i     s.t.  0 <= u_i <= w_i,   |sum_i u_i y_i K_c(x_i)| <= L_c   for c in the pool

The weights a_c are the duals of its rows. A new column is a new row and a new penalty only
moves bounds, so the last basis stays a good start.

Samples far from the margin are constants of the LP: u_i = 0 where y_i f(x_i) is clearly above
1, u_i = w_i where it is clearly below. `Master.solve` frees those that the answer proves
wrongly fixed and solves again until none is left.

Scaling: rows are divided by s_c = max |K_c|, and u is counted in units of
theta = min(mean w, median L_c / s_c). Then matrix entries are at most 1 and all bounds are of
order 1 or larger, whatever the penalties. Where penalties are so small that u would have to be
exact to more digits than there are, no method may solve that LP; larger units then give votes
that are good, if not proved to be.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray
from ..problem import Problem, Terms
from .lp.ladder import solve_lp
from .lp.linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram
from .lp.refinement import solve_basis

COLUMNS_PER_ROUND = 40
IDLE_ROUNDS = 4
CROWDED_POOL = 200
SETTLED_EXCESS = 1.2
FEWEST_ROWS = 300
ROWS_PER_TERM = 4
MARGIN_SLACK = 1e-9
ROWS_PER_ROOT = 6
STORE_ALL_ROWS = 4000
MANY_INSIDE = 1000
#: Units that differ by less than this factor are no different.
COARSER = 1e3


class Master:
    """A pool of columns and its restricted LP.

    Parameters
    ----------
    problem : Problem
    deadline : float or None
        Of `time.perf_counter`.
    """

    def __init__(self, problem: Problem, *, deadline: float | None = None) -> None:
        self.problem = problem
        self.deadline = deadline
        n = problem.n_rows
        self.kernels = np.zeros(0, np.intp)
        self.centers = np.zeros(0, np.intp)
        self.idle = np.zeros(0, np.intp)  # rounds since a column last had a weight
        self.member = np.zeros((problem.gram.n_kernels, problem.gram.n_centers), bool)
        self.scale = np.zeros(0)
        self.column_status = np.full(n, UPPER, np.int8)
        self.row_status = np.zeros(0, np.int8)
        self.balance_status = BASIC  # of the row sum_i u_i y_i = 0, with an intercept
        self.margins = np.zeros(n)
        self.u = problem.w.copy()
        self.settled = False
        self.coarseness = 0  # which of the units of u is used
        self.failures: Counter[str] = Counter()  # of LP methods, in a row
        self.is_cramped = False  # whether memory has kept columns out
        self._n_variables = min(n, FEWEST_ROWS)  # of the last LP
        # Values of the pool's columns, shape (n_pool, n_stored), on the rows stored so far.
        self._stored = np.arange(n) if n <= STORE_ALL_ROWS else np.zeros(0, np.intp)
        self._where = np.full(n, -1, np.intp)
        self._where[self._stored] = np.arange(len(self._stored))
        self._values = np.zeros((0, len(self._stored)))

    # -- the pool ----------------------------------------------------------------------

    def add_columns(self, kernels: IntArray, centers: IntArray) -> None:
        """Take columns into the pool; they start without weight."""
        fresh = ~self.member[kernels, centers]
        kernels, centers = kernels[fresh], centers[fresh]
        self.member[kernels, centers] = True
        values = self.problem.gram.columns(kernels, centers, self._stored).T
        self._values = np.concatenate([self._values, values])
        self.kernels = np.concatenate([self.kernels, kernels])
        self.centers = np.concatenate([self.centers, centers])
        self.idle = np.concatenate([self.idle, np.zeros(len(kernels), np.intp)])
        self.row_status = np.concatenate([self.row_status, np.full(len(kernels), BASIC, np.int8)])
        largest = np.abs(values).max(axis=1, initial=0.0)
        self.scale = np.concatenate([self.scale, np.where(largest > 0, largest, 1.0)])

    def add_worst(self, excess: FloatArray, tol: float, candidates: IntArray | None = None) -> bool:
        """Take in the columns that violate most, one kernel a centre for variety.

        ``excess`` has a column for each centre, or for each of the ``candidates``. False when
        no column outside the pool is violated.
        """
        if candidates is None:
            candidates = np.arange(excess.shape[1])
        excess = np.where(self.member[:, candidates], 0.0, excess)
        kernels = excess.argmax(axis=0)
        worst = excess[kernels, np.arange(len(candidates))]
        order = np.argsort(-worst, kind="stable")[:COLUMNS_PER_ROUND]
        order = order[worst[order] > 1 + 0.1 * min(tol, 1e-6)]
        if len(order) == 0:
            return False
        self.settled = bool(worst[order[0]] < SETTLED_EXCESS)
        if len(self.kernels) > CROWDED_POOL:
            self.drop_idle_columns(IDLE_ROUNDS)
        if len(order) > self.room:
            self.is_cramped = True
            self.drop_idle_columns(1)  # which are without weight now
            order = order[: self.room]
        self.add_columns(kernels[order], candidates[order])
        return len(order) > 0

    @property
    def room(self) -> int:
        """How many more columns fit in memory.

        An LP of q columns takes twice their values on the rows stored, four times those on its own
        rows, and four squares of side q. Blocks of kernel values are not needed meanwhile.
        """
        gram = self.problem.gram
        half = (2 * len(self._stored) + 4 * self._n_variables) / 8
        most = (half**2 + (gram.memory_left + gram.block_memory) / 32) ** 0.5 - half
        return max(0, int(most) - len(self.kernels))

    def drop_idle_columns(self, rounds: int) -> None:
        """Forget columns that had no weight for so many rounds (never one twice)."""
        keep = (self.idle < rounds) | (self.row_status != BASIC)
        if keep.all():
            return
        self.member[self.kernels[~keep], self.centers[~keep]] = False
        self.kernels, self.centers = self.kernels[keep], self.centers[keep]
        self.idle, self.scale = self.idle[keep], self.scale[keep]
        self.row_status, self._values = self.row_status[keep], self._values[keep]

    def _columns_on(self, rows: IntArray) -> FloatArray:
        """Return the pool's columns on some rows, shape (n_pool, n_rows)."""
        missing = rows[self._where[rows] < 0]
        if len(missing):
            values = self.problem.gram.columns(self.kernels, self.centers, missing).T
            self._where[missing] = len(self._stored) + np.arange(len(missing))
            self._stored = np.concatenate([self._stored, missing])
            self._values = np.concatenate([self._values, values], axis=1)
        if len(rows) == len(self._stored) and np.array_equal(rows, self._stored):
            return self._values
        return self._values[:, self._where[rows]]

    def _decision(self, terms: Terms) -> FloatArray:
        if len(self._stored) == self.problem.n_rows:
            used = terms.weights != 0
            f = np.empty(self.problem.n_rows)
            f[self._stored] = terms.weights[used] @ self._values[used]
            return f + terms.intercept
        return self.problem.decision(terms.nonzero())

    # -- the restricted LP -------------------------------------------------------------

    def solve(self) -> tuple[Terms, FloatArray, FloatArray] | None:
        """Return (terms, u, decision) optimal for the pool; None when no LP was solved."""
        problem = self.problem
        free, high = self._choose_rows()
        self._forget_rows(free)
        # what the samples fixed at u = w add to the pool's rows
        fixed = np.where(high, problem.y * problem.w, 0.0)
        offset = problem.gram.sums(fixed, self.kernels, self.centers)
        while True:
            answer = self._solve_restricted(free, high, offset)
            if answer is None:
                if not high.any() or self._out_of_time():
                    return None
                freed = self._nearest(high, 2 * int(free.sum()))  # wrongly fixed: infeasible
            else:
                terms, u = answer
                decision = self._decision(terms)
                self.margins = problem.y * decision
                freed = ~free & np.where(
                    high, self.margins > 1 + MARGIN_SLACK, self.margins < 1 - MARGIN_SLACK
                )
                if not freed.any() or self._out_of_time():
                    break
            lost = np.flatnonzero(freed & high)
            offset = offset - self._columns_on(lost) @ (problem.y * problem.w)[lost]
            free, high = free | freed, high & ~freed
        self.u = u
        self.idle = np.where(terms.weights != 0, 0, self.idle + 1)
        return terms, u, decision

    def start_from(self, decision: FloatArray) -> None:
        """Take a vote's values at the rows as a first guess of which samples are where."""
        self.margins = self.problem.y * decision
        inside = self.margins < 1
        self.u = np.where(inside, self.problem.w, 0.0)
        self.column_status = np.where(inside, UPPER, LOWER).astype(np.int8)
        self.settled = True

    def _out_of_time(self) -> bool:
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def _choose_rows(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks of the rows that are variables and of those fixed at u = w."""
        n = self.problem.n_rows
        inside = self.margins < 1
        basic = self.column_status == BASIC
        n_near = max(FEWEST_ROWS, ROWS_PER_TERM * int(basic.sum()), int(ROWS_PER_ROOT * n**0.5))
        near = self._nearest(np.ones(n, bool), n_near)
        high = inside & ~near & ~basic
        if not self.settled or high.sum() <= max(n_near, MANY_INSIDE):
            return near | basic | inside | (self.u > 0), np.zeros(n, bool)
        return near | basic, high

    def _nearest(self, among: NDArray[np.bool_], n_near: int) -> NDArray[np.bool_]:
        """Return the mask of the rows nearest to the margin among some."""
        rows = np.flatnonzero(among)
        if n_near >= len(rows):
            return among.copy()
        distance = np.abs(1 - self.margins[rows])
        near = np.zeros_like(among)
        near[rows[np.argpartition(distance, n_near)[:n_near]]] = True
        return near

    def _forget_rows(self, keep: NDArray[np.bool_]) -> None:
        """Drop stored values of rows that are no longer needed, where they are many."""
        if self.problem.n_rows <= STORE_ALL_ROWS or len(self._stored) < 2 * keep.sum():
            return
        kept = keep[self._stored]
        self._stored, self._values = self._stored[kept], self._values[:, kept]
        self._where[:] = -1
        self._where[self._stored] = np.arange(len(self._stored))

    def _solve_restricted(
        self, free: NDArray[np.bool_], high: NDArray[np.bool_], offset: FloatArray
    ) -> tuple[Terms, FloatArray] | None:
        problem, rows, fixed = self.problem, np.flatnonzero(free), np.flatnonzero(high)
        units = self._units(rows)
        while True:
            unit = units[min(self.coarseness, len(units) - 1)]
            lp, basis = self._program(rows, fixed, offset, unit)
            result = solve_lp(
                lp,
                basis=basis,
                deadline=self.deadline,
                may_be_infeasible=len(fixed) > 0,
                compiled=problem.gram.is_compiled,
                failures=self.failures,
            )
            if result is not None:
                break
            if len(fixed) or self.coarseness + 1 >= len(units) or self._out_of_time():
                return None
            self.coarseness += 1
            self.failures.clear()
        result = solve_basis(lp, result)
        self.column_status[:] = LOWER
        self.column_status[fixed] = UPPER
        self.column_status[rows] = result.basis.columns
        n_pool = len(self.kernels)
        self.row_status = result.basis.rows[:n_pool]
        self.balance_status = int(result.basis.rows[-1])
        u = np.zeros(problem.n_rows)
        u[fixed] = problem.w[fixed]
        u[rows] = np.clip(result.x * unit, 0.0, problem.w[rows])
        weights = np.where(self.row_status == BASIC, 0.0, result.row_dual[:n_pool] / self.scale)
        intercept = float(result.row_dual[-1]) if problem.fit_intercept else 0.0
        return Terms(self.kernels, self.centers, weights, intercept), u

    def _program(
        self, rows: IntArray, fixed: IntArray, offset: FloatArray, unit: float
    ) -> tuple[LinearProgram, Basis]:
        """Return the LP with u in some unit, and the last basis."""
        problem, row_scale, row_status = self.problem, self.scale * unit, self.row_status
        penalties = problem.penalties[self.kernels]
        matrix = self._columns_on(rows) * problem.y[rows] / self.scale[:, None]
        lower, upper = (-penalties - offset) / row_scale, (penalties - offset) / row_scale
        if problem.fit_intercept:
            matrix = np.vstack([matrix, problem.y[rows]])
            balance = -(problem.y * problem.w)[fixed].sum() / unit
            lower, upper = np.append(lower, balance), np.append(upper, balance)
            row_status = np.append(row_status, np.int8(self.balance_status))
        self._n_variables = len(rows)
        lp = LinearProgram(np.ones(len(rows)), problem.w[rows] / unit, matrix, lower, upper)
        return lp, Basis(self.column_status[rows], row_status)

    def _units(self, rows: IntArray) -> list[float]:
        """Return units of u, the one that is best for the gap first."""
        coarse = float(self.problem.w[rows].mean())
        penalties = self.problem.penalties[self.kernels]
        relative = (penalties / self.scale)[penalties > 0]
        fine = min(coarse, float(np.median(relative))) if len(relative) else coarse
        return [fine] if coarse < COARSER * fine else [fine, (fine * coarse) ** 0.5, coarse]
