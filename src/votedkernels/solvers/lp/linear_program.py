"""Linear programs in the form that our solvers use, and the exact solution of a basis.

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= A x <= row_upper

`solve_basis` solves the linear systems of a basis by LU factors with iterative refinement:
residuals are computed in extended precision (Wilkinson, Rounding Errors in Algebraic Processes,
1963; Moler, Iterative refinement in floating point, Journal of the ACM 14, 1967).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ...kernels.base import FloatArray, IntArray

#: Basis statuses: at the lower bound, between the bounds, at the upper bound.
LOWER, BASIC, UPPER = 0, 1, 2
#: After a relative change below this, a second one would be smaller than the rounding errors.
SMALL_CHANGE = 1e-9
#: After a relative change below this, there is no need for extended precision.
TINY_CHANGE = 1e-11


@dataclass(frozen=True)
class Table:
    """What the dense simplex computed from a basis, for the next program that starts from it.

    Variables and rows are numbered together, as in `tableau`: first the variables, then the rows.

    Attributes
    ----------
    entries : array of shape (n_known_slots, n_known_places)
        The tableau, where it is known: all of it, or its first rows and columns.
    basic, nonbasic : arrays of shape (n_rows,) and (n_variables,)
        What is in each row and in each column of the tableau.
    """

    entries: FloatArray
    basic: IntArray
    nonbasic: IntArray

    def moved(self, variables: IntArray, rows: IntArray) -> Table | None:
        """Return the table for a program with other variables and rows.

        ``variables`` and ``rows`` say for each variable and row of the new program which one it was
        in the old program, or -1 if it was not there. The result is None if the new program lacks a
        basic variable or a row at a bound.
        """
        n_old, n_new = len(self.nonbasic), len(variables)
        labels = np.full(n_old + len(self.basic), -1)
        origins = np.concatenate([variables, np.where(rows >= 0, n_old + rows, -1)])
        known = np.flatnonzero(origins >= 0)
        labels[origins[known]] = known
        basic, nonbasic = labels[self.basic], labels[self.nonbasic]
        if (basic[self.basic < n_old] < 0).any() or (nonbasic[self.nonbasic >= n_old] < 0).any():
            return None
        slots, places = basic >= 0, nonbasic >= 0
        fresh = np.flatnonzero(origins < 0)
        entries = self.entries.T  # a tableau is stored by columns
        if not places.all():
            entries = entries[places]
        return Table(
            (entries if slots.all() else entries[:, slots]).T,
            np.concatenate([basic[slots], fresh[fresh >= n_new]]),
            np.concatenate([nonbasic[places], fresh[fresh < n_new]]),
        )


@dataclass(frozen=True)
class Basis:
    """Basis statuses (LOWER, BASIC, UPPER) of columns and rows, and the table if it is known."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]
    table: Table | None = None


@dataclass(frozen=True)
class LPResult:
    """A solution: x, the row duals (of the maximisation), and the basis."""

    x: FloatArray
    row_dual: FloatArray
    basis: Basis
    iterations: int


@dataclass(frozen=True)
class LinearProgram:
    """max cost.x  s.t.  0 <= x <= upper, row_lower <= A x <= row_upper."""

    cost: FloatArray
    upper: FloatArray
    matrix: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray


def solve_basis(lp: LinearProgram, result: LPResult) -> LPResult:
    """Solve the basis' two square systems again, with iterative refinement.

    Rows at a bound (S) and variables between their bounds (B) determine both solutions:
    A_SB x_B = bound_S - A_SN x_N  and  A_SB^T dual_S = cost_B. LP solvers stop at an error of 1e-9;
    these solutions are as accurate as the matrix allows. The result is returned unchanged if the
    systems are singular, or if the solutions differ from it by more than rounding errors.
    """
    at_bound = result.basis.rows != BASIC
    between = result.basis.columns == BASIC
    if at_bound.sum() != between.sum():
        return result
    x = np.where(result.basis.columns == UPPER, lp.upper, 0.0)
    row_dual = np.zeros(len(at_bound))
    if between.any():
        rows = lp.matrix[at_bound]
        square = rows[:, between]
        bound = np.where(result.basis.rows == UPPER, lp.row_upper, lp.row_lower)[at_bound]
        right = bound - rows @ np.where(between, 0.0, x)
        try:
            with np.errstate(all="ignore"):
                factors = lu_factors(square)
                x[between] = _refined(square, factors, right, transposed=False)
                row_dual[at_bound] = _refined(square, factors, lp.cost[between], transposed=True)
        except (linalg.LinAlgError, ValueError):
            return result
    close = 1e-6 * (1 + np.abs(result.row_dual).max(initial=0.0))
    excess = np.maximum(-x, x - lp.upper).max(initial=0.0)
    if not (np.isfinite(x).all() and np.isfinite(row_dual).all()):
        return result
    if excess > 1e-6 or np.abs(row_dual - result.row_dual).max(initial=0.0) > close:
        return result
    return replace(result, x=x, row_dual=row_dual)


def lu_factors(square: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the LU factors of a matrix; raise, without a warning, if it is singular.

    An empty matrix counts as singular: LAPACK would print a complaint about it.
    """
    if square.size == 0:
        raise linalg.LinAlgError("empty matrix")
    lu, pivots, info = linalg.lapack.dgetrf(square)
    if info != 0:
        raise linalg.LinAlgError("singular matrix")
    return lu, pivots


def _refined(
    square: FloatArray, factors: tuple[FloatArray, IntArray], right: FloatArray, *, transposed: bool
) -> FloatArray:
    """Solve a system, and correct the solution using its residual: twice, or once if that does."""
    solution = linalg.lu_solve(factors, right, trans=int(transposed), check_finite=False)
    residual = right - (square.T if transposed else square) @ solution
    change = linalg.lu_solve(factors, residual, trans=int(transposed), check_finite=False)
    if np.abs(change).max() <= TINY_CHANGE * np.abs(solution).max():
        return np.asarray(solution + change, dtype=np.float64)
    matrix = (square.T if transposed else square).astype(np.longdouble)
    for _ in range(2):
        residual = (right - matrix @ solution.astype(np.longdouble)).astype(np.float64)
        change = linalg.lu_solve(factors, residual, trans=int(transposed), check_finite=False)
        solution = solution + change
        if np.abs(change).max() <= SMALL_CHANGE * np.abs(solution).max():
            break
    return np.asarray(solution, dtype=np.float64)
