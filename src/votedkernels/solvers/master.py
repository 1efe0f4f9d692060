"""The pool of columns, and its LP on the rows near the margin: the master of column generation.

Columns join the pool when they are violated, and leave it when they have had no weight for a while.

In its dual form, the pool's columns are the rows of a small LP, and the samples are its variables:

    max  sum_i u_i     s.t.  0 <= u_i <= w_i,   |sum_i u_i y_i K_c(x_i)| <= L_c   for c in the pool

For losses other than the hinge loss, the variables are the hinges of all samples, and the goals are
the costs (`problem.losses`).

The weights a_c are the duals of its rows. A new column adds a row, and a new penalty only moves
bounds, so the last basis remains a good start.

Samples far from the margin are constants in the LP: u_i = 0 if y_i f(x_i) is clearly above 1, and
u_i = w_i if it is clearly below. If the solution shows that some were fixed wrongly, `Master.solve`
frees them and solves again, until none is left.

Scaling: rows are divided by s_c = max |K_c|, and u is measured in units of
theta = min(mean w, median L_c / s_c). Then matrix entries are at most 1, and all bounds are of
order 1 or larger, for all penalties. If penalties are so small that u would need more digits than
double precision has, all methods may fail on this LP. Larger units then yield votes that are good,
but not proved to be optimal.
"""

from __future__ import annotations

from collections import Counter
from copy import copy

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray
from ..problem import Problem, Terms
from .lp.ladder import solve_lp
from .lp.linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, Table, solve_basis
from .passes import Passes

#: A column is violated if it exceeds its penalty by more than this share of the tolerance.
VIOLATION = 0.1
#: For this purpose, the tolerance is capped at this value.
LARGEST_TOL = 1e-6


class ColumnPool:
    """A selection of columns. Columns that have had no weight for some rounds are removed.

    Attributes
    ----------
    kernels, centers : arrays of shape (n_pool,)
        Which columns are in the pool.
    scale : array of shape (n_pool,)
        Largest absolute value of each column, by which solvers divide it.
    idle : array of shape (n_pool,)
        Number of rounds since each column last had a weight.
    member : array of shape (n_kernels, n_centers)
        Whether a column is in the pool.
    is_cramped : bool
        Whether columns were kept out for lack of memory.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kernels = np.empty(0, np.intp)
        self.centers = np.empty(0, np.intp)
        self.idle = np.empty(0, np.intp)
        self.scale = np.empty(0)
        self.member = np.zeros((problem.columns.n_kernels, problem.columns.n_centers), bool)
        self.is_cramped = False

    def admit(self, kernels: IntArray, centers: IntArray) -> tuple[IntArray, IntArray]:
        """Add columns without a weight; return those that were not in the pool before."""
        fresh = ~self.member[kernels, centers]
        kernels, centers = kernels[fresh], centers[fresh]
        self.member[kernels, centers] = True
        self.kernels = np.concatenate([self.kernels, kernels])
        self.centers = np.concatenate([self.centers, centers])
        self.idle = np.concatenate([self.idle, np.zeros(len(kernels), np.intp)])
        return kernels, centers

    def dismiss(self, columns: NDArray[np.bool_]) -> None:
        """Remove columns from the pool. They may come back if they are violated again."""
        keep = ~columns
        self.member[self.kernels[columns], self.centers[columns]] = False
        self.kernels, self.centers = self.kernels[keep], self.centers[keep]
        self.idle, self.scale = self.idle[keep], self.scale[keep]

    def note_weights(self, weights: FloatArray) -> None:
        """Count one more idle round for each column without a weight; reset the others to 0."""
        self.idle = np.where(weights != 0, 0, self.idle + 1)

    def worst_outside(
        self, excess: FloatArray, tol: float, most: int, candidates: IntArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the most violated columns outside the pool, and by how much they are violated.

        For variety, there is at most one kernel per centre. ``excess`` has a column for each
        centre, or for each of the ``candidates``.
        """
        limit = 1 + VIOLATION * min(tol, LARGEST_TOL)
        violated = np.flatnonzero(excess.max(axis=0, initial=0.0) > limit)
        candidates = violated if candidates is None else candidates[violated]
        excess = np.where(self.member[:, candidates], -np.inf, excess[:, violated])
        kernels = excess.argmax(axis=0)
        worst = excess[kernels, np.arange(len(candidates))]
        order = np.argsort(-worst, kind="stable")[:most]
        order = order[worst[order] > limit]
        return kernels[order], candidates[order], worst[order]


def largest_values(columns: FloatArray, axis: int) -> FloatArray:
    """Return the largest absolute value of each column; 1 for a column of zeros."""
    largest = np.maximum(columns.max(axis=axis, initial=0.0), -columns.min(axis=axis, initial=0.0))
    return np.where(largest > 0, largest, 1.0)


#: A round adds at least this many columns, or half as many as have a weight.
COLUMNS_PER_ROUND = 40
IDLE_ROUNDS = 4
CROWDED_POOL = 200
SETTLED_EXCESS = 1.2
FEWEST_ROWS = 300
ROWS_PER_TERM = 4
MARGIN_SLACK = 1e-9
ROWS_PER_ROOT = 6
#: So many times more rows are variables while columns are violated by more than SETTLED_EXCESS.
UNSETTLED = 2
#: With at most this many rows, columns are stored on all rows; with up to so many times more, if
#: they are in this process and there is memory for many columns.
STORE_ALL_ROWS, MORE_ROWS_AT_HAND, MANY_COLUMNS = 4000, 5, 2000
MANY_INSIDE = 1000
#: Units that differ by less than this factor count as equal.
COARSER = 1e3


class Master(ColumnPool):
    """A pool of columns and its restricted LP."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.passes = Passes()
        n = len(problem.y)
        self.margins = problem.margins(np.zeros(problem.n_rows))
        inside = self.margins < 1
        self.column_status = np.where(inside, UPPER, LOWER).astype(np.int8)
        self.row_status = np.empty(0, np.int8)
        self.balance_status = BASIC  # of the row sum_i u_i y_i = 0, with an intercept
        self.u = np.where(inside, problem.w, 0.0)
        self.settled = False
        self.coarseness = 0  # index of the unit of u in use
        self.failures: Counter[str] = Counter()  # consecutive, by LP method
        # The table of the last LP, its variables, and where each column was in it (or -1).
        self._table: Table | None = None
        self._variables = np.empty(0, np.intp)
        self._origins = np.empty(0, np.intp)
        self._n_variables = min(n, FEWEST_ROWS)  # in the last LP
        # Values of the pool's columns on the stored rows, shape (n_pool, n_stored).
        n = problem.n_rows
        has_room = problem.columns.keeps_sums and 8 * n * MANY_COLUMNS <= problem.budget.memory
        self._stores_all = n <= STORE_ALL_ROWS * (MORE_ROWS_AT_HAND if has_room else 1)
        self._stored = np.arange(n) if self._stores_all else np.empty(0, np.intp)
        self._where = np.full(n, -1, np.intp)
        self._where[self._stored] = np.arange(len(self._stored))
        self._values = np.empty((0, len(self._stored)))

    # -- the pool ----------------------------------------------------------------------

    def add_columns(self, kernels: IntArray, centers: IntArray) -> None:
        """Add columns to the pool, without a weight at first."""
        kernels, centers = self.admit(kernels, centers)
        values = self.problem.columns.take(kernels, centers, self._stored).T
        self._values = np.concatenate([self._values, values])
        self.scale = np.concatenate([self.scale, largest_values(values, axis=1)])
        self.row_status = np.concatenate([self.row_status, np.full(len(kernels), BASIC, np.int8)])
        self._origins = np.concatenate([self._origins, np.full(len(kernels), -1)])

    def add_heaviest(self, terms: Terms) -> None:
        """Add the columns of a vote, or those with the largest weights if room is scarce."""
        heaviest = np.argsort(-np.abs(terms.weights), kind="stable")[: self.room]
        chosen = np.sort(heaviest)
        self.add_columns(terms.kernels[chosen], terms.centers[chosen])

    def copy(self) -> Master:
        """Return a copy that can be continued independently."""
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray | Counter):
                setattr(other, name, value.copy())
        other.passes = self.passes.copy()
        return other

    @property
    def n_bytes(self) -> int:
        """Bytes that the largest arrays take."""
        return self._values.nbytes + (0 if self._table is None else self._table.entries.nbytes)

    def go_on_with(self, problem: Problem) -> None:
        """Continue with the same problem, but with other penalties or another budget."""
        self.problem, self.is_cramped = problem, False

    def add_worst(self, excess: FloatArray, tol: float, candidates: IntArray | None = None) -> bool:
        """Add the most violated columns; return False if none are outside, or there is no room.

        ``excess`` is as in `worst_outside`.
        """
        most = max(COLUMNS_PER_ROUND, int(np.count_nonzero(self.row_status != BASIC)) // 2)
        kernels, centers, worst = self.worst_outside(excess, tol, most, candidates)
        if len(worst) == 0:
            return False
        self.settled = bool(worst[0] < SETTLED_EXCESS)
        if len(self.kernels) > CROWDED_POOL:
            self.drop_idle_columns(IDLE_ROUNDS)
        if len(worst) > self.room:
            self.is_cramped = True
            self.drop_idle_columns(1)  # columns without a weight now
        room = self.room
        self.add_columns(kernels[:room], centers[:room])
        return room > 0

    @property
    def room(self) -> int:
        """How many more columns fit in memory.

        An LP with q columns needs memory for their values: twice on the stored rows, and four times
        on its own rows. It also needs six q-by-q matrices. Blocks of kernel values are not in use
        at that time.
        """
        budget = self.problem.budget
        half = (2 * len(self._stored) + 4 * self._n_variables) / 12
        most = (half**2 + (budget.memory + budget.block_memory) / 48) ** 0.5 - half
        return max(0, int(most) - len(self.kernels))

    def drop_idle_columns(self, rounds: int) -> None:
        """Drop columns that have had no weight for ``rounds`` rounds."""
        idle = (self.idle >= rounds) & (self.row_status == BASIC)
        if not idle.any():
            return  # without a copy of all values
        self.dismiss(idle)
        self.row_status, self._values = self.row_status[~idle], self._values[~idle]
        self._origins = self._origins[~idle]

    def _columns_on(self, rows: IntArray) -> FloatArray:
        """Return the pool's columns on some rows, shape (n_pool, n_rows)."""
        missing = rows[self._where[rows] < 0]
        if len(missing):
            values = self.problem.columns.take(self.kernels, self.centers, missing).T
            self._where[missing] = len(self._stored) + np.arange(len(missing))
            self._stored = np.concatenate([self._stored, missing])
            self._values = np.concatenate([self._values, values], axis=1)
        if len(rows) == len(self._stored) and np.array_equal(rows, self._stored):
            return self._values
        return self._values[:, self._where[rows]]

    def _columns_of(self, hinges: IntArray) -> FloatArray:
        """Return the pool's columns at the rows of some hinges."""
        if self.problem.hinge_rows is None:
            return self._columns_on(hinges)
        rows, places = np.unique(self.problem.hinge_rows[hinges], return_inverse=True)
        return self._columns_on(rows)[:, places]

    def _rows_of(self, hinges: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the rows that have at least one of these hinges."""
        if self.problem.hinge_rows is None:
            return hinges
        rows = np.zeros(self.problem.n_rows, bool)
        rows[self.problem.hinge_rows[hinges]] = True
        return rows

    def _decision(self, terms: Terms) -> FloatArray:
        if len(self._stored) == self.problem.n_rows:
            used = terms.weights != 0
            f = np.empty(self.problem.n_rows)
            f[self._stored] = terms.weights[used] @ self._values[used]
            return f + terms.intercept
        return self.problem.decision(terms.nonzero())

    # -- the restricted LP -------------------------------------------------------------

    def solve(self) -> tuple[Terms, FloatArray, FloatArray] | None:
        """Return (terms, u, decision) that are optimal on the pool; None if no LP was solved."""
        problem = self.problem
        free, high = self._choose_rows()
        self._forget_rows(free)
        # What the samples fixed at u = w add to the rows of the LP.
        fixed = problem.signed(np.where(high, problem.w, 0.0))
        offset = self.passes.sums(problem.columns, fixed, self.kernels, self.centers)
        while True:
            answer = self._solve_restricted(free, high, offset)
            if answer is None:
                if not high.any() or problem.budget.is_late:
                    return None
                freed = self._nearest(high, 2 * int(free.sum()))  # wrongly fixed: infeasible
            else:
                terms, u = answer
                decision = self._decision(terms)
                self.margins = problem.margins(decision)
                freed = ~free & np.where(
                    high, self.margins > 1 + MARGIN_SLACK, self.margins < 1 - MARGIN_SLACK
                )
                if not freed.any() or problem.budget.is_late:
                    break
            lost = np.flatnonzero(freed & high)
            offset = offset - self._columns_of(lost) @ (problem.y * problem.w)[lost]
            free, high = free | freed, high & ~freed
        self.u = u
        self.note_weights(terms.weights)
        return terms, u, decision

    def start_from(self, decision: FloatArray) -> None:
        """Use a vote's values to guess which side of the margin each sample is on."""
        self.margins = self.problem.margins(decision)
        inside = self.margins < 1
        self.u = np.where(inside, self.problem.w, 0.0)
        self.column_status = np.where(inside, UPPER, LOWER).astype(np.int8)
        self.settled = True

    def _choose_rows(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks of the rows that are variables and of those that are fixed at u = w."""
        n = len(self.margins)
        inside = self.margins < 1
        basic = self.column_status == BASIC
        n_near = max(FEWEST_ROWS, ROWS_PER_TERM * int(basic.sum()), int(ROWS_PER_ROOT * n**0.5))
        if not self.settled:
            n_near *= UNSETTLED
        near = self._nearest(np.ones(n, bool), n_near)
        high = inside & ~near & ~basic
        if high.sum() <= max(n_near, MANY_INSIDE):
            return near | basic | inside | (self.u > 0), np.zeros(n, bool)
        return near | basic, high

    def _nearest(self, among: NDArray[np.bool_], n_near: int) -> NDArray[np.bool_]:
        """Return a mask of the ``n_near`` rows nearest to the margin, among some rows."""
        rows = np.flatnonzero(among)
        if n_near >= len(rows):
            return among.copy()
        distance = np.abs(1 - self.margins[rows])
        near = np.zeros_like(among)
        near[rows[np.argpartition(distance, n_near)[:n_near]]] = True
        return near

    def _forget_rows(self, keep: NDArray[np.bool_]) -> None:
        """Drop the stored values of rows that are no longer needed, if there are many."""
        if self._stores_all or len(self._stored) < 2 * keep.sum():
            return
        kept = self._rows_of(keep)[self._stored]
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
                deadline=problem.budget.deadline,
                may_be_infeasible=len(fixed) > 0,
                failures=self.failures,
            )
            if result is not None:
                break
            if len(fixed) or self.coarseness + 1 >= len(units) or problem.budget.is_late:
                return None
            self.coarseness += 1
            self.failures.clear()
        result = solve_basis(lp, result)
        self.column_status[:] = LOWER
        self.column_status[fixed] = UPPER
        self.column_status[rows] = result.basis.columns
        n_pool = len(self.kernels)
        self._table, self._origins, self._variables = result.basis.table, np.arange(n_pool), rows
        self.row_status = result.basis.rows[:n_pool]
        self.balance_status = int(result.basis.rows[-1])
        u = np.zeros(len(problem.y))
        u[fixed] = problem.w[fixed]
        u[rows] = np.clip(result.x * unit, 0.0, problem.w[rows])
        # The scaled columns are at most 1, so weights smaller than this drown in rounding errors.
        dual = result.row_dual[:n_pool]
        least = np.finfo(np.float64).eps * np.abs(dual).max(initial=0.0)
        unused = (self.row_status == BASIC) | (np.abs(dual) <= least)
        weights = np.where(unused, 0.0, dual / self.scale)
        intercept = float(result.row_dual[-1]) if problem.fit_intercept else 0.0
        return Terms(self.kernels, self.centers, weights, intercept), u

    def _program(
        self, rows: IntArray, fixed: IntArray, offset: FloatArray, unit: float
    ) -> tuple[LinearProgram, Basis]:
        """Return the LP with u in the given unit, and the last basis."""
        problem, row_scale, row_status = self.problem, self.scale * unit, self.row_status
        penalties = problem.penalties[self.kernels]
        matrix = self._columns_of(rows) * problem.y[rows]
        matrix /= self.scale[:, None]
        lower, upper = (-penalties - offset) / row_scale, (penalties - offset) / row_scale
        if problem.fit_intercept:
            matrix = np.vstack([matrix, problem.y[rows]])
            balance = -(problem.y * problem.w)[fixed].sum() / unit
            lower, upper = np.append(lower, balance), np.append(upper, balance)
            row_status = np.append(row_status, np.int8(self.balance_status))
        self._n_variables = len(rows)
        cost = np.ones(len(rows)) if problem.goals is None else problem.goals[rows]
        lp = LinearProgram(cost, problem.w[rows] / unit, matrix, lower, upper)
        return lp, Basis(self.column_status[rows], row_status, self._table_on(rows))

    def _table_on(self, rows: IntArray) -> Table | None:
        """Return the table of the last LP, adapted to an LP on the given rows."""
        if self._table is None:
            return None
        places = np.searchsorted(self._variables, rows)
        places[places == len(self._variables)] = 0
        variables = np.where(self._variables[places] == rows, places, -1)
        balance = [len(self._table.basic) - 1] if self.problem.fit_intercept else []
        return self._table.moved(variables, np.append(self._origins, balance).astype(np.intp))

    def _units(self, rows: IntArray) -> list[float]:
        """Return units for u, starting with the one that yields the smallest gap."""
        coarse = float(self.problem.w[rows].mean())
        penalties = self.problem.penalties[self.kernels]
        relative = (penalties / self.scale)[penalties > 0]
        fine = min(coarse, float(np.median(relative))) if len(relative) else coarse
        return [fine] if coarse < COARSER * fine else [fine, (fine * coarse) ** 0.5, coarse]
