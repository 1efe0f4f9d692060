"""The tableau of the dense dual simplex: everything that follows from a basis.

The linear program is

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x.

A basis is a set B of n variables between their bounds and a set S of n rows at a bound. The other
variables, N, are at a bound, and

    x_B = inv(A_SB) (z_S - g_S),    z = A_B x_B + g,    g = A_N x_N,
    dual_S = cost_B inv(A_SB),      reduced = cost - dual A.

The table Q = [inv(A_SB); A_B inv(A_SB)] has one row per slot. The first ``capacity`` slots are for
basic variables, of which n are in use; then there is one slot per row of A. Its columns belong to
S. Unused rows and columns are 0.

Both versions of the pivots, `plain_pivots` in NumPy and `pivots` compiled, work on these tuples.
If you change their fields, delete numba's cache of ``pivots.py``, which does not notice that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
