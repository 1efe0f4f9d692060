"""The tableau of the dense dual simplex, and its pivots.

The linear program is

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x.

A basis is a set B of n variables between their bounds and a set S of n rows at a bound. The other
variables, N, are at a bound, and

    x_B = inv(A_SB) (z_S - g_S),    z = A_B x_B + g,    g = A_N x_N,
    dual_S = cost_B inv(A_SB),      reduced = cost - dual A.

The table Q = [inv(A_SB); A_B inv(A_SB)] has one row per slot. The first ``capacity`` slots are for
basic variables, of which n are in use; then there is one slot per row of A. The columns of Q
belong to S. Unused rows and columns are 0.

`dense_simplex` makes the tableau of a basis. `pivots` has compiled versions of the same pivots,
except for their effect on the basis and the borders of Q (`exchange`). If you change the fields of
the tuples, delete numba's cache of ``pivots.py``, which does not notice such changes.

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
#: Relative change in the costs that breaks ties.
PERTURBATION = 1e-10
#: Smaller pivots are not used.
PIVOT = 1e-9
#: Dual ratios that differ by less are tied.
TIE = 1e-12
#: Squared norms are at least this, whatever rounding does to their updates.
SMALLEST_NORM = 1e-12
NOTHING = np.empty(0)
#: How a run of pivots ends: at its limit, with a feasible basis, or with nothing that can enter.
GOING, FEASIBLE, STUCK = range(3)


class Program(NamedTuple):
    """The linear program in the form that pivots need; no pivot changes it."""

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
    """The arrays described in the module docstring; pivots update them in place."""

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
    #: The squared norm of each row of Q, plus 1 for the rows of A.
    norms: FloatArray


class Exchange(NamedTuple):
    """A pivot: the variable or row in ``slot`` leaves, and ``chosen`` enters.

    ``off`` is how far the leaving value is above its upper bound (positive) or below its lower
    bound (negative). ``chosen`` is an index that counts the variables first, then the rows at a
    bound. ``column`` and ``table_row`` are the entering column and the leaving row of the table
    before the pivot. ``step`` is the dual step. ``value`` and ``norm`` are those of the entering
    variable after the pivot.
    """

    slot: int
    off: float
    chosen: int
    column: FloatArray
    table_row: FloatArray
    step: float
    value: float
    norm: float


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


def update_values(t: Tableau, n: int) -> None:
    """Compute x_B and z from the table."""
    rows, capacity = t.bound_rows[:n], t.Q.shape[1]
    np.matmul(t.Q[:, :n], t.z_bound[rows] - t.g[rows], out=t.values)
    t.values[capacity:] += t.g


def run_pivots(program: Program, t: Tableau, n: int, limit: int) -> tuple[int, int, int]:
    """Do up to ``limit`` pivots in place; return (outcome, size of the basis, pivots done)."""
    capacity = t.Q.shape[1]
    for done in range(limit):
        if n == capacity:
            return GOING, n, done
        slot, off = most_infeasible(t)
        if slot < 0:
            return FEASIBLE, n, done
        table_row = t.Q[slot, :n].copy()
        # How the leaving value changes with each nonbasic variable.
        alpha = program.A[slot - capacity].copy() if slot >= capacity else np.zeros(len(t.x))
        alpha -= table_row @ t.A_bound[:n]
        alpha[t.in_basis] = 0.0
        chosen, passed = long_step(program, t, alpha, table_row, off)
        if chosen < 0:
            return STUCK, n, done
        moved = flip(program, t, n, passed[passed != chosen])
        column, entries, pivot, step = enter(program, t, chosen, alpha, table_row)
        np.subtract(t.reduced, step * alpha, out=t.reduced)
        t.dual[t.bound_rows[:n]] -= step * table_row
        t.norms[slot] = table_row @ table_row + (slot >= capacity)  # discards update errors
        norm = t.norms[slot] / pivot**2
        sweep_table(t.Q, t.norms, t.values, table_row, pivot, slot, column, entries, moved)
        value = move_values(t, slot, off, chosen, column)
        e = Exchange(slot, off, chosen, column, table_row, step, value, norm)
        n = exchange(program, t, n, e)
    return GOING, n, limit


def sweep_table(
    Q: FloatArray,
    norms: FloatArray,
    values: FloatArray,
    table_row: FloatArray,
    pivot: float,
    slot: int,
    column: FloatArray,
    entries: FloatArray,
    moved: FloatArray,
) -> None:
    """Do everything that a pivot does to whole rows of Q, and to their norms.

    If ``moved`` is not empty, rows at a bound have moved, and the values move with them. If
    ``entries`` is not empty, a variable enters, and ``column`` is completed. Then
    column (x) table_row / pivot is subtracted from Q. The norms are those after the exchange.
    """
    n = len(table_row)
    if len(moved):
        values += Q[:, :n] @ moved
    if len(entries):
        column -= Q[:, :n] @ entries
    factors = column / pivot
    norms += factors * (factors * norms[slot] - 2.0 * (Q[:, :n] @ table_row))
    np.maximum(norms, SMALLEST_NORM, out=norms)
    padded = np.zeros(Q.shape[1])
    padded[:n] = table_row
    # In place: Q is the transpose of a Fortran array.
    blas.dger(-1.0, padded, factors, a=Q.T, overwrite_a=True)


def most_infeasible(t: Tableau) -> tuple[int, float]:
    """Return (slot, signed infeasibility); slot -1 if all are feasible."""
    below, above = t.slot_lower - t.values, t.values - t.slot_upper
    off = np.maximum(below, above)
    bad = (off > t.slot_tolerance).nonzero()[0]
    if len(bad) == 0:
        return -1, 0.0
    slot = int(bad[(off[bad] ** 2 / t.norms[bad]).argmax()])
    return slot, float(above[slot] if above[slot] > below[slot] else -below[slot])


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


def flip(program: Program, t: Tableau, n: int, passed: IntArray) -> FloatArray:
    """Move variables and rows to their other bound; return how far z_S - g_S moves, or nothing."""
    if len(passed) == 0:
        return NOTHING
    n_cols, capacity, bound_rows = len(t.x), t.Q.shape[1], t.bound_rows[:n]
    is_row = passed >= n_cols
    variables, positions = passed[~is_row], passed[is_row] - n_cols
    side, upper = t.side[variables], program.upper[variables]
    change = (side * upper) @ program.A_transposed[variables]
    t.x[variables] = np.where(side > 0, upper, 0.0)
    t.side[variables] = -side
    np.add(t.g, change, out=t.g)
    t.values[capacity:] += change
    moved = -change[bound_rows]
    if len(positions):
        rows = bound_rows[positions]
        side, lower, upper = t.row_side[rows], program.row_lower[rows], program.row_upper[rows]
        moved[positions] += side * program.row_width[rows]
        t.z_bound[rows] = np.where(side > 0, upper, lower)
        t.row_side[rows] = -side
    return moved


def enter(
    program: Program, t: Tableau, chosen: int, alpha: FloatArray, table_row: FloatArray
) -> tuple[FloatArray, FloatArray, float, float]:
    """Return the entering column of the table, the pivot and the dual step.

    A variable's column still lacks the product of Q with the variable's entries in S. These entries
    are the second result, which is empty if a row enters.
    """
    n, n_cols, capacity = len(table_row), len(t.x), t.Q.shape[1]
    if chosen >= n_cols:
        j = chosen - n_cols
        pivot = table_row[j]
        return t.Q[:, j].copy(), NOTHING, pivot, t.dual[t.bound_rows[j]] / pivot
    entries, pivot = program.A_transposed[chosen], alpha[chosen]
    column = np.zeros(len(t.values))
    column[capacity:] = entries
    return column, entries[t.bound_rows[:n]], pivot, t.reduced[chosen] / pivot


def move_values(t: Tableau, slot: int, off: float, chosen: int, column: FloatArray) -> float:
    """Move the leaving value to its bound; return the entering variable's value."""
    bound = t.slot_upper[slot] if off > 0 else t.slot_lower[slot]
    step = (bound - t.values[slot]) / column[slot]
    np.add(t.values, step * column, out=t.values)
    return float(step + t.x[chosen]) if chosen < len(t.x) else 0.0


def exchange(program: Program, t: Tableau, n: int, e: Exchange) -> int:
    """Update the basis and the borders of Q for one of the four kinds of pivot; return the size."""
    Q, capacity, n_cols = t.Q, t.Q.shape[1], len(t.x)
    pivot, position = e.column[e.slot], e.chosen - n_cols
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
        make_basic(program, t, n, e)
        hold_row(program, t, n, e)
        return n + 1
    _make_nonbasic(program, t, e)
    if enters_row:  # a variable and a row leave the basis
        free_row(program, t, t.bound_rows[position])
        _close_gap(t, e.slot, position, n - 1)
        return n - 1
    Q[e.slot, :n] = -e.table_row / pivot  # one variable takes the place of another
    make_basic(program, t, e.slot, e)
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


def make_basic(program: Program, t: Tableau, position: int, e: Exchange) -> None:
    """Put the entering variable at a position of B."""
    j = e.chosen
    t.values[position], t.norms[position] = e.value, e.norm
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
    t.values[slot], t.norms[slot] = t.values[last], t.norms[last]
    t.values[last] = 0.0
    t.Q[:, position] = t.Q[:, last]
    t.Q[:, last] = 0.0
    t.Q[slot] = t.Q[last]
    t.Q[last] = 0.0
    t.bound_rows[position] = t.bound_rows[last]
    t.A_bound[position] = t.A_bound[last]
    t.basic_columns[slot] = t.basic_columns[last]
