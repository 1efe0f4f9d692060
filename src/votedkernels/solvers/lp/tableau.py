"""The tableau of the dense dual simplex, and its pivots in NumPy.

The linear program is

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x.

A basis is a set B of n variables between their bounds and a set S of n rows at a bound. The other
variables, N, are at a bound, and

    x_B = inv(A_SB) (z_S - g_S),    z = A_B x_B + g,    g = A_N x_N,
    dual_S = cost_B inv(A_SB),      reduced = cost - dual A.

The table Q = [inv(A_SB); A_B inv(A_SB)] has one row per slot. The first ``capacity`` slots are for
basic variables, of which n are in use; then there is one slot per row of A. Its columns belong to
S. Unused rows and columns are 0.

`pivots` has the same pivots for numba. Most are written twice, because NumPy and numba are fast
with different code; numba compiles the rest from here. If you change the fields of the tuples,
delete numba's cache of ``pivots.py``, which does not notice that.

What can enter is numbered: first the variables, then the rows at a bound, in the order of S.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from ...kernels.base import FloatArray, IntArray
from .linear_program import LinearProgram

#: A bound may be exceeded by this much, relative to 1 + its size.
FEASIBILITY = 1e-9
#: Free columns of a new table, which let the basis grow.
ROOM = 64
#: Relative change of the costs that breaks ties.
PERTURBATION = 1e-10
#: A basis whose inverse has larger entries is treated as singular.
LARGEST_INVERSE = 1e13
#: Smaller pivots are not used.
PIVOT = 1e-9
#: Dual ratios that differ by less are tied.
TIE = 1e-12
#: How a run of pivots ends: at its limit, with a feasible basis, or with nothing that can enter.
GOING, FEASIBLE, STUCK = range(3)


class Program(NamedTuple):
    """The linear program as pivots need it; no pivot changes it."""

    A: FloatArray
    A_transposed: FloatArray
    cost: FloatArray
    upper: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    row_width: FloatArray
    #: How far each variable, and each row, may exceed its bounds.
    tolerance: FloatArray
    row_tolerance: FloatArray


class Tableau(NamedTuple):
    """The arrays of the module docstring; pivots update them in place."""

    Q: FloatArray
    #: B and S in their first n entries, and the rows A_S.
    basic_columns: IntArray
    bound_rows: IntArray
    A_bound: FloatArray
    in_basis: NDArray[np.bool_]
    at_bound: NDArray[np.bool_]
    #: Nonbasic variables (0 for basic ones), and the direction in which each can move.
    x: FloatArray
    side: FloatArray
    #: The bound at which each row is or would be, and the direction in which it can move.
    z_bound: FloatArray
    row_side: FloatArray
    g: FloatArray
    dual: FloatArray
    reduced: FloatArray
    #: x_B and z, in the order of the slots, with their bounds and tolerances. Free slots and rows
    #: at a bound cannot become infeasible: their bounds are infinite.
    values: FloatArray
    slot_lower: FloatArray
    slot_upper: FloatArray
    slot_tolerance: FloatArray


class Exchange(NamedTuple):
    """A pivot: the variable or row in ``slot`` leaves, and ``chosen`` enters.

    ``off`` is how far the leaving value is above its upper bound (positive) or below its lower
    bound (negative). ``chosen`` is an index that counts the variables first, then the rows at a
    bound. ``column`` and ``table_row`` are the entering column and the leaving row of the table
    before the pivot. ``step`` is the dual step.
    """

    slot: int
    off: float
    chosen: int
    column: FloatArray
    table_row: FloatArray
    step: float


def prepare(lp: LinearProgram) -> Program:
    """Return the program with slightly perturbed costs and its matrix in both orders.

    Ties among reduced costs cause many steps of length 0. Only the basis matters in the end, so
    the costs need not be exact.
    """
    spread = np.modf(np.arange(1, lp.matrix.shape[1] + 1) * 0.6180339887498949)[0]
    return Program(
        A=np.ascontiguousarray(lp.matrix),
        A_transposed=np.ascontiguousarray(lp.matrix.T),
        cost=lp.cost * (1 + PERTURBATION * spread),
        upper=lp.upper,
        row_lower=lp.row_lower,
        row_upper=lp.row_upper,
        row_width=lp.row_upper - lp.row_lower,
        tolerance=FEASIBILITY * (1 + lp.upper),
        row_tolerance=FEASIBILITY * (1 + np.abs(lp.row_upper)),
    )


def factorise(
    program: Program, B: IntArray, S: IntArray, A_bound: FloatArray
) -> tuple[Tableau, int]:
    """Return the tableau of a basis and its size; of the empty basis if A_SB is singular.

    Because every variable is boxed, nonbasic variables can always be placed at the bounds that
    their reduced costs require: any basis is dual feasible. ``A_bound``, an array of the shape of
    A, is overwritten and becomes part of the tableau.
    """
    inverse = _inverse(program.A, B, S)
    if inverse is None:
        B, S, inverse = B[:0], S[:0], np.zeros((0, 0))
    n, (n_rows, n_cols) = len(B), program.A.shape
    capacity = n + ROOM
    Q = np.zeros((capacity + n_rows, capacity))
    Q[:n, :n] = inverse
    if n:
        Q[capacity:, :n] = program.A[:, B] @ inverse
    basic_columns, bound_rows = np.zeros(capacity, np.intp), np.zeros(capacity, np.intp)
    basic_columns[:n], bound_rows[:n] = B, S
    A_bound[:n] = program.A[S]
    in_basis, at_bound = np.zeros(n_cols, bool), np.zeros(n_rows, bool)
    in_basis[B], at_bound[S] = True, True
    dual = np.zeros(n_rows)
    dual[S] = program.cost[B] @ Q[:n, :n]
    reduced = program.cost - dual @ program.A
    reduced[in_basis] = 0.0
    at_upper = ~in_basis & (reduced > 0)
    x = np.where(at_upper, program.upper, 0.0)
    side = np.where(at_upper, -1.0, 1.0)
    z_bound = np.where(dual > 0, program.row_upper, program.row_lower)
    row_side = np.where(dual > 0, -1.0, 1.0)
    row_side[program.row_width == 0] = 0.0  # an equation cannot move
    slots = _slots(program, B, S, capacity)
    tableau = Tableau(
        Q, basic_columns, bound_rows, A_bound, in_basis, at_bound, x, side, z_bound, row_side,
        program.A @ x, dual, reduced, np.empty(len(Q)), *slots,
    )  # fmt: skip
    update_values(tableau, n)
    return tableau, n


def _inverse(A: FloatArray, B: IntArray, S: IntArray) -> FloatArray | None:
    """Return inv(A_SB); None if the basis is empty or singular."""
    if len(B) != len(S) or len(B) == 0:
        return None
    try:
        inverse = np.linalg.inv(A[np.ix_(S, B)])
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(inverse).all() or np.abs(inverse).max() > LARGEST_INVERSE:
        return None
    return np.asarray(inverse, dtype=np.float64)


def _slots(
    program: Program, B: IntArray, S: IntArray, capacity: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the lower bounds, upper bounds and tolerances of all slots."""
    unused = np.full(capacity - len(B), np.inf)
    lower = np.concatenate([np.zeros(len(B)), -unused, program.row_lower])
    upper = np.concatenate([program.upper[B], unused, program.row_upper])
    lower[capacity + S], upper[capacity + S] = -np.inf, np.inf
    tolerance = np.concatenate([program.tolerance[B], np.zeros_like(unused), program.row_tolerance])
    return lower, upper, tolerance


def update_values(t: Tableau, n: int) -> None:
    """Compute x_B and z from the table."""
    rows, capacity = t.bound_rows[:n], t.Q.shape[1]
    np.matmul(t.Q[:, :n], t.z_bound[rows] - t.g[rows], out=t.values)
    t.values[capacity:] += t.g


def run_pivots(program: Program, t: Tableau, n: int, limit: int) -> tuple[int, int, int]:
    """Do up to ``limit`` pivots in place; return (outcome, size of the basis, pivots done)."""
    for done in range(limit):
        if n == t.Q.shape[1]:
            return GOING, n, done
        slot, off = most_infeasible(t)
        if slot < 0:
            return FEASIBLE, n, done
        table_row = t.Q[slot, :n].copy()
        alpha = price_row(program, t, slot, table_row)
        chosen, passed = long_step(program, t, alpha, table_row, off)
        if chosen < 0:
            return STUCK, n, done
        flip(program, t, passed[passed != chosen])
        column, step = enter(program, t, chosen, alpha, table_row)
        np.subtract(t.reduced, step * alpha, out=t.reduced)
        t.dual[t.bound_rows[:n]] -= step * table_row
        n = exchange(program, t, n, Exchange(slot, off, chosen, column, table_row, step))
        update_values(t, n)
    return GOING, n, limit


def most_infeasible(t: Tableau) -> tuple[int, float]:
    """Return (slot, signed infeasibility); slot -1 if all are feasible."""
    below, above = t.slot_lower - t.values, t.values - t.slot_upper
    off = np.maximum(below, above)
    bad = (off > t.slot_tolerance).nonzero()[0]
    if len(bad) == 0:
        return -1, 0.0
    table = t.Q.take(bad, axis=0)
    norms = np.einsum("ij,ij->i", table, table)
    norms[bad.searchsorted(t.Q.shape[1]) :] += 1.0  # of rows, which have a unit of their own
    slot = int(bad[(off[bad] ** 2 / norms).argmax()])
    return slot, float(above[slot] if above[slot] > below[slot] else -below[slot])


def price_row(program: Program, t: Tableau, slot: int, table_row: FloatArray) -> FloatArray:
    """Return how the leaving value changes with each nonbasic variable."""
    capacity = t.Q.shape[1]
    alpha = table_row @ t.A_bound[: len(table_row)]
    np.subtract(program.A[slot - capacity] if slot >= capacity else 0.0, alpha, out=alpha)
    alpha[t.in_basis] = 0.0
    return np.asarray(alpha)


def long_step(
    program: Program, t: Tableau, alpha: FloatArray, table_row: FloatArray, off: float
) -> tuple[int, IntArray]:
    """Return what enters (-1 if nothing can), and what is passed on the way."""
    rows = t.bound_rows[: len(table_row)]
    # The leaving value must move by -off. A variable at its lower bound moves up.
    gain = np.concatenate([alpha * t.side, table_row * t.row_side[rows]])
    if off > 0:
        np.negative(gain, out=gain)
    can = (gain > PIVOT).nonzero()[0]
    if len(can) == 0:
        return -1, can
    gain = gain[can]
    ratio = np.abs(np.concatenate([t.reduced, t.dual[rows]])[can]) / gain
    width = np.concatenate([program.upper, program.row_width[rows]])[can]
    order = ratio.argsort()
    covered = (gain * width)[order].cumsum()
    last = min(int(covered.searchsorted(abs(off))), len(order) - 1)
    # Among tied candidates the largest pivot is the safest.
    ranked = ratio[order]
    first = int(ranked.searchsorted(ranked[last] - TIE))
    group = order[first : int(ranked.searchsorted(ranked[last] + TIE, side="right"))]
    chosen = group[gain[group].argmax()]
    return int(can[chosen]), can[order[:last]]


def flip(program: Program, t: Tableau, passed: IntArray) -> None:
    """Move variables and rows to their other bound."""
    n_cols, g = len(t.x), t.g
    is_row = passed >= n_cols
    variables, positions = passed[~is_row], passed[is_row] - n_cols
    if len(variables):
        side, upper = t.side[variables], program.upper[variables]
        g += (side * upper) @ program.A_transposed[variables]
        t.x[variables] = np.where(side > 0, upper, 0.0)
        t.side[variables] = -side
    if len(positions):
        rows = t.bound_rows[positions]
        lower, upper = program.row_lower[rows], program.row_upper[rows]
        t.z_bound[rows] = np.where(t.row_side[rows] > 0, upper, lower)
        t.row_side[rows] *= -1.0


def enter(
    program: Program, t: Tableau, chosen: int, alpha: FloatArray, table_row: FloatArray
) -> tuple[FloatArray, float]:
    """Return the entering column of the table and the dual step."""
    n, n_cols, capacity = len(table_row), len(t.x), t.Q.shape[1]
    if chosen >= n_cols:
        j = chosen - n_cols
        return t.Q[:, j].copy(), t.dual[t.bound_rows[j]] / table_row[j]
    entries = program.A_transposed[chosen]
    column = -(t.Q[:, :n] @ entries[t.bound_rows[:n]])
    column[capacity:] += entries
    return column, t.reduced[chosen] / alpha[chosen]


def exchange(program: Program, t: Tableau, n: int, e: Exchange) -> int:
    """Update the basis and the table by one of the four kinds of pivot; return its new size."""
    Q, capacity, n_cols = t.Q, t.Q.shape[1], len(t.x)
    pivot, position = e.column[e.slot], e.chosen - n_cols
    padded = np.zeros(capacity)
    padded[:n] = e.table_row
    # Q -= column (x) table_row / pivot, in place: Q is the transpose of a Fortran array.
    blas.dger(-1.0 / pivot, padded, e.column, a=Q.T, overwrite_a=1)
    is_row, enters_row = e.slot >= capacity, e.chosen >= n_cols
    if not enters_row:
        _lift(program, t, e.chosen)
    if is_row and enters_row:  # one row takes the place of another
        Q[:, position] = e.column / pivot
        free_row(program, t, t.bound_rows[position])
        hold_row(program, t, position, e)
        return n
    if is_row:  # a row and a variable join the basis
        Q[:, n] = e.column / pivot
        Q[n, :n] = -e.table_row / pivot
        Q[n, n] = 1.0 / pivot
        make_basic(program, t, n, e.chosen)
        hold_row(program, t, n, e)
        return n + 1
    _make_nonbasic(program, t, e)
    if enters_row:  # a variable and a row leave the basis
        free_row(program, t, t.bound_rows[position])
        _close_gap(t, e.slot, position, n - 1)
        return n - 1
    Q[e.slot, :n] = -e.table_row / pivot  # one variable takes the place of another
    make_basic(program, t, e.slot, e.chosen)
    return n


def free_row(program: Program, t: Tableau, row: int) -> None:
    """Let a row leave its bound."""
    slot = t.Q.shape[1] + row
    t.at_bound[row] = False
    t.dual[row] = 0.0
    t.slot_lower[slot], t.slot_upper[slot] = program.row_lower[row], program.row_upper[row]
    t.slot_tolerance[slot] = program.row_tolerance[row]


def hold_row(program: Program, t: Tableau, position: int, e: Exchange) -> None:
    """Put the leaving row at the bound that it violates, at a position of S."""
    row = e.slot - t.Q.shape[1]
    t.bound_rows[position] = row
    t.A_bound[position] = program.A[row]
    t.at_bound[row] = True
    t.dual[row] = e.step
    t.slot_lower[e.slot], t.slot_upper[e.slot] = -np.inf, np.inf
    t.z_bound[row] = program.row_upper[row] if e.off > 0 else program.row_lower[row]
    if program.row_width[row] > 0:
        t.row_side[row] = -1.0 if e.off > 0 else 1.0


def _lift(program: Program, t: Tableau, j: int) -> None:
    """Remove the contribution of variable j, which becomes basic, from g."""
    if t.x[j] != 0:
        g = t.g
        g -= program.A_transposed[j] * t.x[j]
        t.x[j], t.side[j] = 0.0, 1.0


def make_basic(program: Program, t: Tableau, position: int, j: int) -> None:
    """Put variable j at a position of B."""
    t.basic_columns[position] = j
    t.in_basis[j] = True
    t.reduced[j] = 0.0
    t.slot_lower[position], t.slot_upper[position] = 0.0, program.upper[j]
    t.slot_tolerance[position] = program.tolerance[j]


def _make_nonbasic(program: Program, t: Tableau, e: Exchange) -> None:
    """Put the leaving variable at the bound that it violates."""
    i = t.basic_columns[e.slot]
    if e.off > 0:  # x is 0 for basic variables
        t.x[i], t.side[i] = program.upper[i], -1.0
        g = t.g
        g += program.A_transposed[i] * t.x[i]
    t.in_basis[i] = False
    t.reduced[i] = e.step


def _close_gap(t: Tableau, slot: int, position: int, last: int) -> None:
    """Move the last entries of B and S to the positions that have become free."""
    t.slot_upper[slot], t.slot_tolerance[slot] = t.slot_upper[last], t.slot_tolerance[last]
    t.slot_lower[last], t.slot_upper[last] = -np.inf, np.inf
    t.Q[:, position] = t.Q[:, last]
    t.Q[:, last] = 0.0
    t.Q[slot] = t.Q[last]
    t.Q[last] = 0.0
    t.bound_rows[position] = t.bound_rows[last]
    t.A_bound[position] = t.A_bound[last]
    t.basic_columns[slot] = t.basic_columns[last]
