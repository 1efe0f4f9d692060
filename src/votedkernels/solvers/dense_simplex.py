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

from ..kernels.base import FloatArray, IntArray
from .linear_program import BASIC, LOWER, UPPER, Basis, Infeasible, LinearProgram, LPResult

FEASIBILITY = 1e-9
PIVOT = 1e-9
REFACTOR_EVERY = 100
PERTURBATION = 1e-10


def solve_dense(
    lp: LinearProgram, *, basis: Basis | None = None, deadline: float | None = None
) -> LPResult | None:
    """Solve a linear program; None where the method breaks down, for others to try.

    Raises `Infeasible` where no variable can mend an infeasible row.
    """
    simplex = _DenseSimplex(lp, basis)
    limit = 50 * (len(simplex.g) + 20)
    with np.errstate(all="ignore"):
        for iteration in range(limit):
            if iteration % REFACTOR_EVERY == 0 and not simplex.refactor():
                return None
            if deadline is not None and time.perf_counter() >= deadline:
                return None
            leaving = simplex.most_infeasible()
            if leaving is None:
                if simplex.fresh:
                    return simplex.result(iteration)
                if not simplex.refactor():  # a last look with exact numbers
                    return None
                continue
            if not simplex.pivot(*leaving):
                if simplex.fresh:
                    raise Infeasible
                if not simplex.refactor():
                    return None
    return None


class _DenseSimplex:
    def __init__(self, lp: LinearProgram, basis: Basis | None) -> None:
        self.lp = lp
        self.A = np.ascontiguousarray(lp.matrix)
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
        self.fresh = False

    # -- the state, computed anew ------------------------------------------------------

    def refactor(self) -> bool:
        """Compute the table and all values from the basis; False where it is singular."""
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
        self.capacity = n + REFACTOR_EVERY + 1
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
        self._price()
        self._place_at_bounds()
        self.fresh = True
        return True

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
        self.x = np.where(~self.in_basis & (self.reduced > 0), lp.upper, 0.0)
        self.z_bound = np.where(self.dual > 0, lp.row_upper, lp.row_lower)
        self.g = self.A @ self.x
        self._values()

    def _values(self) -> None:
        n, capacity = self.n, self.capacity
        rows = self.bound_rows[:n]
        values = self.Q[:, :n] @ (self.z_bound[rows] - self.g[rows])
        self.x_basic = values[:n]
        self.z = values[capacity:] + self.g

    # -- one step ----------------------------------------------------------------------

    def most_infeasible(self) -> tuple[bool, int, float] | None:
        """Return (is it a row, its number, signed infeasibility), or None when feasible."""
        n, capacity = self.n, self.capacity
        upper = self.lp.upper[self.basic_columns[:n]]
        below, above = -self.x_basic, self.x_basic - upper
        x_off = np.maximum(below, above)
        z_below, z_above = self.lp.row_lower - self.z, self.z - self.lp.row_upper
        z_off = np.maximum(z_below, z_above)
        z_off[self.bound_rows[:n]] = 0.0
        x_bad = np.flatnonzero(x_off > FEASIBILITY * (1 + upper))
        size = 1 + np.abs(self.lp.row_upper)
        z_bad = np.flatnonzero(z_off > FEASIBILITY * size)
        best, choice = 0.0, None
        if len(x_bad):
            table = self.Q[x_bad, :n]
            score = x_off[x_bad] ** 2 / np.einsum("ij,ij->i", table, table)
            k = int(np.argmax(score))
            i = int(x_bad[k])
            off = -below[i] if below[i] > above[i] else above[i]
            best, choice = score[k], (False, i, float(off))
        if len(z_bad):
            table = self.Q[capacity + z_bad, :n]
            score = z_off[z_bad] ** 2 / (1 + np.einsum("ij,ij->i", table, table))
            k = int(np.argmax(score))
            if score[k] > best:
                r = int(z_bad[k])
                off = -z_below[r] if z_below[r] > z_above[r] else z_above[r]
                choice = (True, r, float(off))
        return choice

    def pivot(self, is_row: bool, number: int, off: float) -> bool:
        """Exchange the infeasible variable with the one that the long ratio test finds.

        ``off`` is how far it lies above its upper (positive) or below its lower bound.
        """
        n, A, lp = self.n, self.A, self.lp
        rows = self.bound_rows[:n]
        table_row = self.Q[self.capacity + number if is_row else number, :n].copy()
        spread = np.zeros(len(self.g))
        spread[rows] = table_row
        alpha = -(spread @ A)
        if is_row:
            alpha += A[number]
        alpha[self.in_basis] = 0.0
        entering = self._long_step(alpha, table_row, off)
        if entering is None:
            return False
        enters_row, j, flips_x, flips_s = entering
        # Variables passed on the way flip to their other bound.
        if len(flips_x):
            moved = np.where(self.x[flips_x] > 0, 0.0, lp.upper[flips_x])
            self.g += A[:, flips_x] @ (moved - self.x[flips_x])
            self.x[flips_x] = moved
        if len(flips_s):
            r = rows[flips_s]
            at_upper = self.z_bound[r] == lp.row_upper[r]
            self.z_bound[r] = np.where(at_upper, lp.row_lower[r], lp.row_upper[r])
        if enters_row:
            column = self.Q[:, j].copy()
            step = self.dual[rows[j]] / table_row[j]
        else:
            column = -(self.Q[:, :n] @ A[rows, j])
            column[self.capacity :] += A[:, j]
            column[n : self.capacity] = 0.0
            step = self.reduced[j] / alpha[j]
        # Reduced costs move along the table's row.
        self.reduced -= step * alpha
        self.dual[rows] -= step * table_row
        self._exchange(is_row, number, off, enters_row, j, column, table_row, step)
        self.fresh = False
        self._values()
        return True

    def _long_step(
        self, alpha: FloatArray, table_row: FloatArray, off: float
    ) -> tuple[bool, int, IntArray, IntArray] | None:
        """Return (enters a row, which, variables that flip, rows that flip)."""
        lp, n = self.lp, self.n
        rows = self.bound_rows[:n]
        # The leaving value must move by -off. A variable at its lower bound moves up.
        direction = -1.0 if off > 0 else 1.0
        up_x = np.where(self.x > 0, -1.0, 1.0)
        gain_x = direction * alpha * up_x
        lower, upper = lp.row_lower[rows], lp.row_upper[rows]
        up_s = np.where(self.z_bound[rows] == upper, -1.0, 1.0)
        gain_s = direction * table_row * up_s
        gain_s[lower == upper] = 0.0  # an equation stays
        can_x = np.flatnonzero(gain_x > PIVOT)
        can_s = np.flatnonzero(gain_s > PIVOT)
        if len(can_x) + len(can_s) == 0:
            return None
        gain = np.concatenate([gain_x[can_x], gain_s[can_s]])
        price = np.concatenate([np.abs(self.reduced[can_x]), np.abs(self.dual[rows[can_s]])])
        width = np.concatenate([lp.upper[can_x], (upper - lower)[can_s]])
        ratio = price / gain
        order = np.argsort(ratio, kind="stable")
        covered = np.cumsum(gain[order] * width[order])
        last = int(np.searchsorted(covered, abs(off)))
        last = min(last, len(order) - 1)
        # Among candidates as good up to rounding, the largest pivot is the safest.
        tied = last
        close = ratio[order[last]] + 1e-12
        while tied + 1 < len(order) and ratio[order[tied + 1]] <= close:
            tied += 1
        first = last
        while first > 0 and ratio[order[first - 1]] >= ratio[order[last]] - 1e-12:
            first -= 1
        group = order[first : tied + 1]
        chosen = int(group[np.argmax(gain[group])])
        passed = order[:last]
        passed = passed[passed != chosen]
        is_x = passed < len(can_x)
        flips_x = can_x[passed[is_x]]
        flips_s = can_s[passed[~is_x] - len(can_x)]
        if chosen < len(can_x):
            return False, int(can_x[chosen]), flips_x, flips_s
        return True, int(can_s[chosen - len(can_x)]), flips_x, flips_s

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
        if not enters_row:
            self.g -= self.A[:, j] * self.x[j]
            self.x[j] = 0.0
        if is_row and enters_row:  # row `number` takes the place of row S[j]
            Q[:, j] = column / pivot
            gone = self.bound_rows[j]
            self.bound_rows[j] = number
            self.at_bound[gone], self.at_bound[number] = False, True
            self.dual[gone] = 0.0
            self.dual[number] = step
            self._stand(number, off)
        elif is_row:  # row `number` and variable j join the basis
            Q[:, n] = column / pivot
            Q[n, :n] = -table_row / pivot
            Q[n, n] = 1.0 / pivot
            self.basic_columns[n], self.bound_rows[n] = j, number
            self.in_basis[j], self.at_bound[number] = True, True
            self.reduced[j] = 0.0
            self.dual[number] = step
            self._stand(number, off)
            self.n += 1
        else:
            i = self.basic_columns[number]
            self.x[i] = lp.upper[i] if off > 0 else 0.0
            self.g += self.A[:, i] * self.x[i]
            self.in_basis[i] = False
            self.reduced[i] = step
            if enters_row:  # variable i and row S[j] leave
                self.at_bound[self.bound_rows[j]] = False
                self.dual[self.bound_rows[j]] = 0.0
                last = n - 1
                Q[:, j] = Q[:, last]
                Q[:, last] = 0.0
                Q[number] = Q[last]
                Q[last] = 0.0
                self.bound_rows[j] = self.bound_rows[last]
                self.basic_columns[number] = self.basic_columns[last]
                self.n -= 1
            else:  # variable j takes the place of variable i
                Q[number, :n] = -table_row / pivot
                self.basic_columns[number] = j
                self.in_basis[j] = True
                self.reduced[j] = 0.0
        self.B = self.basic_columns[: self.n]
        self.S = self.bound_rows[: self.n]

    def _stand(self, row: int, off: float) -> None:
        self.z_bound[row] = self.lp.row_upper[row] if off > 0 else self.lp.row_lower[row]

    def result(self, iterations: int) -> LPResult:
        """Return the answer that the basis stands for."""
        x = self.x.copy()
        x[self.B] = self.x_basic
        columns = np.where(self.x > 0, UPPER, LOWER).astype(np.int8)
        columns[self.B] = BASIC
        rows = np.where(self.z_bound == self.lp.row_upper, UPPER, LOWER).astype(np.int8)
        rows[~self.at_bound] = BASIC
        return LPResult(x, self.dual.copy(), Basis(columns, rows), iterations)
