"""A bounded dual simplex method for small dense linear programs.

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x

The master LPs of column generation are small, dense, and have all variables boxed; general
solvers spend their time on sparsity that is not there. Here a basis is a set B of variables x_j
between their bounds and as many rows S at a bound; everything else follows from

    x_B = inv(A_SB) (z_S - g_S),    z = A_B x_B + g,    g = A_N x_N.

The table Q = [inv(A_SB); A_B inv(A_SB)] is kept explicitly, and each pivot is one rank-one
update of it. Because every variable is boxed, any basis is dual feasible once its nonbasic
variables stand at the bounds that their reduced costs ask for: old bases are always a start,
whatever rows, variables or penalties have changed.

Each step takes the row of largest infeasibility in the steepest-edge norm and moves past all
breakpoints of the dual ratio test that still improve (the long step: variables passed on the
way flip from bound to bound).
"""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import blas

from ...exceptions import Infeasible
from ...kernels.base import FloatArray, IntArray
from .linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, LPResult

FEASIBILITY = 1e-9
PIVOT = 1e-9
REFACTOR_EVERY = 100
#: Compiled pivots between two looks at the clock.
PIVOTS_AT_ONCE = 10
#: Columns of the table kept free, for the basis to grow.
ROOM = 64
#: Solves that end well take up to four; where more do not help, another method is the quicker.
PIVOTS_PER_ROW = 10
PERTURBATION = 1e-10
TIE = 1e-12
ACCURACY = 1e-11
#: So often may a factorisation take back an end that was reached by updates.
MOST_DISPUTED = 10
#: How a run of pivots ends.
GOING, FEASIBLE, STUCK, LATE = range(4)


def solve_dense(
    lp: LinearProgram,
    *,
    basis: Basis | None = None,
    deadline: float | None = None,
    compiled: bool = False,
) -> LPResult | None:
    """Solve a linear program; None where the method breaks down, for others to try.

    Raises `Infeasible` where no variable can mend an infeasible row. ``compiled`` asks for
    numba, which pays for itself after some thousand pivots.
    """
    simplex = _DenseSimplex(lp, basis)
    n_pivots, limit, n_disputed = 0, PIVOTS_PER_ROW * (len(simplex.g) + 20), 0
    with np.errstate(all="ignore"):
        while n_pivots < limit and n_disputed < MOST_DISPUTED:
            simplex.refactor()
            outcome, done = simplex.advance(REFACTOR_EVERY, deadline, compiled=compiled)
            n_pivots += done
            if outcome == LATE:
                return None
            if outcome == FEASIBLE and (done == 0 or simplex.is_accurate()):
                return simplex.result(n_pivots)
            if outcome == STUCK and done == 0:
                raise Infeasible
            n_disputed += outcome in (FEASIBLE, STUCK)
    return None


class _DenseSimplex:
    def __init__(self, lp: LinearProgram, basis: Basis | None) -> None:
        self.lp = lp
        self.A = np.ascontiguousarray(lp.matrix)
        self.A_turned = np.ascontiguousarray(lp.matrix.T)
        n_rows, n_cols = self.A.shape
        # Ties among reduced costs make the method crawl; the basis is what is wanted, so costs
        # may be off by a hair.
        spread = np.modf(np.arange(1, n_cols + 1) * 0.6180339887498949)[0]
        self.cost = lp.cost * (1 + PERTURBATION * spread)
        self.in_basis = np.zeros(n_cols, bool)
        self.at_bound = np.zeros(n_rows, bool)
        if basis is not None:
            self.in_basis = basis.columns == BASIC
            self.at_bound = basis.rows != BASIC
        self.B = np.flatnonzero(self.in_basis)
        self.S = np.flatnonzero(self.at_bound)
        self.g = np.zeros(n_rows)
        self.n = self.capacity = 0

    # -- the state, computed anew ------------------------------------------------------

    def refactor(self) -> None:
        """Compute the table and all values from the basis, or from none where it is singular."""
        A = self.A
        if len(self.B) != len(self.S):
            self.B, self.S = self.B[:0], self.S[:0]
        if len(self.B):
            try:
                inverse = np.linalg.inv(A[np.ix_(self.S, self.B)])
            except np.linalg.LinAlgError:
                self.B, self.S = self.B[:0], self.S[:0]
            else:
                if not np.isfinite(inverse).all() or np.abs(inverse).max() > 1e13:
                    self.B, self.S = self.B[:0], self.S[:0]
        n, n_rows = len(self.B), A.shape[0]
        self.capacity = n + ROOM
        # Rows of the table: first those of x_B (room for more), then all rows z.
        self.Q = np.zeros((self.capacity + n_rows, self.capacity))
        if n:
            self.Q[:n, :n] = inverse
            self.Q[self.capacity :, :n] = A[:, self.B] @ inverse
        self.n = n
        self.in_basis[:] = False
        self.in_basis[self.B] = True
        self.at_bound[:] = False
        self.at_bound[self.S] = True
        self.basic_columns = np.zeros(self.capacity, np.intp)
        self.basic_columns[:n] = self.B
        self.bound_rows = np.zeros(self.capacity, np.intp)
        self.bound_rows[:n] = self.S
        self.A_bound = np.empty((self.capacity, A.shape[1]))
        self.A_bound[:n] = A[self.S]
        self._bound_slots()
        self._price()
        self._place_at_bounds()

    def _bound_slots(self) -> None:
        """Bounds and tolerances of all that may become infeasible, in the table's order.

        Free slots and rows at a bound never do.
        """
        lp, n, capacity = self.lp, self.n, self.capacity
        upper = lp.upper[self.basic_columns[:n]]
        nothing = np.full(capacity - n, np.inf)
        self.slot_lower = np.concatenate([np.zeros(n), -nothing, lp.row_lower])
        self.slot_upper = np.concatenate([upper, nothing, lp.row_upper])
        sizes = np.concatenate([upper, np.zeros(capacity - n), np.abs(lp.row_upper)])
        self.slot_tolerance = FEASIBILITY * (1 + sizes)
        self.slot_unit = np.repeat([0.0, 1.0], [capacity, len(self.g)])
        self.slot_lower[capacity + self.bound_rows[:n]] = -np.inf
        self.slot_upper[capacity + self.bound_rows[:n]] = np.inf

    def _set_slot(self, slot: int, lower: float, upper: float, size: float) -> None:
        self.slot_lower[slot], self.slot_upper[slot] = lower, upper
        self.slot_tolerance[slot] = FEASIBILITY * (1 + size)

    def _hold_row(self, row: int) -> None:
        self._set_slot(self.capacity + row, -np.inf, np.inf, 0.0)

    def _free_row(self, row: int) -> None:
        lower, upper = float(self.lp.row_lower[row]), float(self.lp.row_upper[row])
        self._set_slot(self.capacity + row, lower, upper, abs(upper))

    def _price(self) -> None:
        """Row duals and reduced costs of the basis."""
        n = self.n
        dual = np.zeros(len(self.g))
        dual[self.bound_rows[:n]] = self.cost[self.basic_columns[:n]] @ self.Q[:n, :n]
        self.dual = dual
        self.reduced = self.cost - dual @ self.A
        self.reduced[self.in_basis] = 0.0

    def _place_at_bounds(self) -> None:
        """Put nonbasic variables and rows where their reduced costs want them."""
        lp = self.lp
        at_upper = ~self.in_basis & (self.reduced > 0)
        self.x = np.where(at_upper, lp.upper, 0.0)
        self.side = np.where(at_upper, -1.0, 1.0)  # the way it can move
        self.z_bound = np.where(self.dual > 0, lp.row_upper, lp.row_lower)
        self.row_width = lp.row_upper - lp.row_lower
        self.row_side = np.where(self.dual > 0, -1.0, 1.0)
        self.row_side[self.row_width == 0] = 0.0  # an equation stays
        self.g = self.A @ self.x
        self._values()

    def _values(self) -> None:
        n, capacity = self.n, self.capacity
        rows = self.bound_rows[:n]
        self.values = self.Q[:, :n] @ (self.z_bound[rows] - self.g[rows])
        self.values[capacity:] += self.g

    def is_accurate(self) -> bool:
        """Whether the values still solve the basis' own two systems, after all updates."""
        basic, rows = self.basic_columns[: self.n], self.bound_rows[: self.n]
        square = self.A_bound[: self.n].take(basic, axis=1)
        missed = square @ self.values[: self.n] - (self.z_bound[rows] - self.g[rows])
        unpaid = self.cost[basic] - self.dual[rows] @ square
        return bool(np.abs([missed, unpaid]).max(initial=0.0) <= ACCURACY)

    # -- steps -------------------------------------------------------------------------

    def advance(
        self, limit: int, deadline: float | None, *, compiled: bool = False
    ) -> tuple[int, int]:
        """Do up to ``limit`` pivots; return (how it ended, how many were done)."""
        done = 0
        while done < limit:
            if deadline is not None and time.perf_counter() >= deadline:
                return LATE, done
            if self.n == self.capacity:
                break
            outcome, count = self._run_compiled(PIVOTS_AT_ONCE) if compiled else self.step()
            done += count
            if outcome != GOING:
                return outcome, done
        return GOING, done

    def step(self) -> tuple[int, int]:
        """Do one pivot, if there is one to do."""
        leaving = self.most_infeasible()
        if leaving is None:
            return FEASIBLE, 0
        return (GOING, 1) if self.pivot(*leaving) else (STUCK, 0)

    def _run_compiled(self, limit: int) -> tuple[int, int]:
        from .pivots import run_pivots

        lp = self.lp
        outcome, self.n, done = run_pivots(
            self.A, self.A_turned, lp.upper, lp.row_lower, lp.row_upper, self.row_width,
            self.Q, self.A_bound, self.basic_columns, self.bound_rows, self.in_basis,
            self.at_bound, self.x, self.side, self.z_bound, self.row_side, self.g, self.values,
            self.reduced, self.dual, self.slot_lower, self.slot_upper, self.slot_tolerance,
            FEASIBILITY, self.n, limit,
        )  # fmt: skip
        self.B, self.S = self.basic_columns[: self.n], self.bound_rows[: self.n]
        return outcome, done

    def most_infeasible(self) -> tuple[bool, int, float] | None:
        """Return (is it a row, its number, signed infeasibility), or None when feasible."""
        below, above = self.slot_lower - self.values, self.values - self.slot_upper
        off = np.maximum(below, above)
        bad = (off > self.slot_tolerance).nonzero()[0]
        if len(bad) == 0:
            return None
        table = self.Q.take(bad, axis=0)
        norms = self.slot_unit[bad] + np.einsum("ij,ij->i", table, table)
        slot = int(bad[(off[bad] ** 2 / norms).argmax()])
        signed = float(above[slot] if above[slot] > below[slot] else -below[slot])
        is_row = slot >= self.capacity
        return is_row, slot - self.capacity if is_row else slot, signed

    def pivot(self, is_row: bool, number: int, off: float) -> bool:
        """Exchange the infeasible variable with the one that the long ratio test finds.

        ``off`` is how far it lies above its upper (positive) or below its lower bound.
        """
        n, A, lp = self.n, self.A, self.lp
        rows = self.bound_rows[:n]
        table_row = self.Q[self.capacity + number if is_row else number, :n].copy()
        alpha = table_row @ self.A_bound[:n]
        np.subtract(A[number] if is_row else 0.0, alpha, out=alpha)
        alpha[self.in_basis] = 0.0
        entering = self._long_step(alpha, table_row, off)
        if entering is None:
            return False
        enters_row, j, flips_x, flips_s = entering
        # Variables passed on the way flip to their other bound.
        if len(flips_x):
            side = self.side[flips_x]
            self.g += (side * lp.upper[flips_x]) @ self.A_turned[flips_x]
            self.x[flips_x] = np.where(side > 0, lp.upper[flips_x], 0.0)
            self.side[flips_x] = -side
        if len(flips_s):
            r = rows[flips_s]
            self.z_bound[r] = np.where(self.row_side[r] > 0, lp.row_upper[r], lp.row_lower[r])
            self.row_side[r] *= -1.0
        if enters_row:
            column = self.Q[:, j].copy()
            step = self.dual[rows[j]] / table_row[j]
        else:
            entries = self.A_turned[j]
            column = -(self.Q[:, :n] @ entries[rows])
            column[self.capacity :] += entries
            step = self.reduced[j] / alpha[j]
        # Reduced costs move along the table's row.
        self.reduced -= step * alpha
        self.dual[rows] -= step * table_row
        self._exchange(is_row, number, off, enters_row, j, column, table_row, step)
        self._values()
        return True

    def _long_step(
        self, alpha: FloatArray, table_row: FloatArray, off: float
    ) -> tuple[bool, int, IntArray, IntArray] | None:
        """Return (enters a row, which, variables that flip, rows that flip)."""
        n_cols, rows = len(self.x), self.bound_rows[: self.n]
        # The leaving value must move by -off. A variable at its lower bound moves up.
        gain = np.concatenate([alpha * self.side, table_row * self.row_side[rows]])
        if off > 0:
            np.negative(gain, out=gain)
        can = (gain > PIVOT).nonzero()[0]
        if len(can) == 0:
            return None
        gain = gain[can]
        ratio = np.abs(np.concatenate([self.reduced, self.dual[rows]])[can]) / gain
        width = np.concatenate([self.lp.upper, self.row_width[rows]])[can]
        order = ratio.argsort()
        covered = (gain * width)[order].cumsum()
        last = min(int(covered.searchsorted(abs(off))), len(order) - 1)
        # Among candidates as good up to rounding, the largest pivot is the safest.
        ranked = ratio[order]
        first = int(ranked.searchsorted(ranked[last] - TIE))
        group = order[first : int(ranked.searchsorted(ranked[last] + TIE, side="right"))]
        chosen = int(group[gain[group].argmax()])
        passed = order[:last]
        flips = can[passed[passed != chosen]]
        is_x = flips < n_cols
        j = int(can[chosen])
        return j >= n_cols, j - n_cols if j >= n_cols else j, flips[is_x], flips[~is_x] - n_cols

    def _exchange(
        self,
        is_row: bool,
        number: int,
        off: float,
        enters_row: bool,
        j: int,
        column: FloatArray,
        table_row: FloatArray,
        step: float,
    ) -> None:
        """Update the table and the two lists for one of the four kinds of pivot."""
        n, capacity, Q, lp = self.n, self.capacity, self.Q, self.lp
        pivot = column[capacity + number if is_row else number]
        padded = np.zeros(capacity)
        padded[:n] = table_row
        # Q -= column (x) table_row / pivot, in place: Q is the transpose of a Fortran array.
        blas.dger(-1.0 / pivot, padded, column, a=Q.T, overwrite_a=1)
        if not enters_row and self.x[j] != 0:
            self.g -= self.A_turned[j] * self.x[j]
            self.x[j], self.side[j] = 0.0, 1.0
        if is_row and enters_row:  # row `number` takes the place of row S[j]
            Q[:, j] = column / pivot
            gone = int(self.bound_rows[j])
            self.bound_rows[j] = number
            self.A_bound[j] = self.A[number]
            self.at_bound[gone], self.at_bound[number] = False, True
            self._free_row(gone)
            self._hold_row(number)
            self.dual[gone] = 0.0
            self.dual[number] = step
            self._stand(number, off)
        elif is_row:  # row `number` and variable j join the basis
            Q[:, n] = column / pivot
            Q[n, :n] = -table_row / pivot
            Q[n, n] = 1.0 / pivot
            self.basic_columns[n], self.bound_rows[n] = j, number
            self.A_bound[n] = self.A[number]
            self.in_basis[j], self.at_bound[number] = True, True
            self._hold_row(number)
            self._set_slot(n, 0.0, float(lp.upper[j]), float(lp.upper[j]))
            self.reduced[j] = 0.0
            self.dual[number] = step
            self._stand(number, off)
            self.n += 1
        else:
            i = self.basic_columns[number]
            if off > 0:  # its x has been 0 while it was basic
                self.x[i], self.side[i] = lp.upper[i], -1.0
                self.g += self.A_turned[i] * self.x[i]
            self.in_basis[i] = False
            self.reduced[i] = step
            if enters_row:  # variable i and row S[j] leave
                self.at_bound[self.bound_rows[j]] = False
                self.dual[self.bound_rows[j]] = 0.0
                self._free_row(int(self.bound_rows[j]))
                last = n - 1
                size = float(self.slot_upper[last])
                self._set_slot(number, 0.0, size, size)
                self._set_slot(last, -np.inf, np.inf, 0.0)
                Q[:, j] = Q[:, last]
                Q[:, last] = 0.0
                Q[number] = Q[last]
                Q[last] = 0.0
                self.bound_rows[j] = self.bound_rows[last]
                self.A_bound[j] = self.A_bound[last]
                self.basic_columns[number] = self.basic_columns[last]
                self.n -= 1
            else:  # variable j takes the place of variable i
                Q[number, :n] = -table_row / pivot
                self.basic_columns[number] = j
                self._set_slot(number, 0.0, float(lp.upper[j]), float(lp.upper[j]))
                self.in_basis[j] = True
                self.reduced[j] = 0.0
        self.B = self.basic_columns[: self.n]
        self.S = self.bound_rows[: self.n]

    def _stand(self, row: int, off: float) -> None:
        self.z_bound[row] = self.lp.row_upper[row] if off > 0 else self.lp.row_lower[row]
        if self.row_width[row] > 0:
            self.row_side[row] = -1.0 if off > 0 else 1.0

    def result(self, iterations: int) -> LPResult:
        """Return the answer that the basis stands for."""
        x = self.x.copy()
        x[self.B] = self.values[: self.n]
        columns = np.where(self.x > 0, UPPER, LOWER).astype(np.int8)
        columns[self.B] = BASIC
        rows = np.where(self.z_bound == self.lp.row_upper, UPPER, LOWER).astype(np.int8)
        rows[~self.at_bound] = BASIC
        return LPResult(x, self.dual.copy(), Basis(columns, rows), iterations)
