"""A bounded dual simplex method for small dense linear programs.

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x

The master LPs of column generation are small and dense, and all their variables are boxed; general
solvers spend their time on sparsity that is not there. Here the table of `tableau` is stored
explicitly, and each pivot is a rank-one update of it. Any basis is dual feasible, so an old basis
is always a valid start, even if rows, variables or penalties have changed.

This is the dual simplex method [1]_ for boxed variables [2]_. Each step

1. chooses the value with the largest infeasibility in the dual steepest-edge norm [3]_ (the norms
   are updated, and recomputed with the tableau),
2. finds what enters by the bound-flipping ratio test [4]_, [5]_: the step passes all breakpoints
   that still improve the dual objective, and the variables passed flip to their other bound,
3. updates the duals, the table and the values.

`tableau` implements these steps, and `pivots` compiles them. The table outlives the program: the
next program, with more rows or other bounds, starts from it. It is recomputed from the basis
(`factorise`) only when the two systems of the basis show that rounding errors have accumulated.

References
----------
.. [1] C. Lemke (1954). The dual method of solving the linear programming problem. Naval Research
   Logistics Quarterly 1.
.. [2] A. Koberstein (2005). The dual simplex method, techniques for a fast and stable
   implementation. PhD thesis, Universität Paderborn.
.. [3] J. Forrest, D. Goldfarb (1992). Steepest-edge simplex algorithms for linear programming.
   Mathematical Programming 57.
.. [4] R. Fourer (1994). Notes on the dual simplex method. Northwestern University.
.. [5] I. Maros (2003). A generalized dual phase-2 simplex algorithm. European Journal of
   Operational Research 149.
"""

from __future__ import annotations

import time

import numpy as np

from ...exceptions import Infeasible
from ...kernels.base import FloatArray, IntArray
from .linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, LPResult, Table
from .tableau import (
    FEASIBLE,
    GOING,
    STUCK,
    Program,
    Tableau,
    most_infeasible,
    prepare,
    run_pivots,
    update_values,
)

#: Free columns in a new table, which let the basis grow.
ROOM = 64
#: A basis whose inverse has larger entries is treated as singular.
LARGEST_INVERSE = 1e13
#: Pivots between two checks for rounding errors.
CHECK_EVERY = 100
#: Pivots between two checks of the clock.
PIVOTS_AT_ONCE = 20
#: Successful solves need at most four; beyond ten, another method is faster.
PIVOTS_PER_ROW = 10
#: Largest residual of the basis' two systems that is allowed after updates.
ACCURACY = 1e-11
#: Give up after a new factorisation has contradicted this many final states.
MOST_DISPUTED = 10
#: The deadline has ended a run of pivots; `tableau` defines the other ways in which a run ends.
LATE = 3


def solve_dense(
    lp: LinearProgram,
    *,
    basis: Basis | None = None,
    deadline: float | None = None,
    compiled: bool = False,
) -> LPResult | None:
    """Solve a linear program; return None if the method breaks down or is late.

    Raises `Infeasible` if an infeasible row cannot be repaired by any variable. ``compiled`` asks
    for numba, which pays off after a few thousand pivots.
    """
    simplex = _DenseSimplex(lp, basis)
    n_pivots, limit, n_disputed = 0, PIVOTS_PER_ROW * (len(lp.row_lower) + 20), 0
    with np.errstate(all="ignore"):
        simplex.start(None if basis is None else basis.table)
        while n_pivots < limit and n_disputed < MOST_DISPUTED:
            outcome, done = simplex.advance(CHECK_EVERY, deadline, compiled=compiled)
            n_pivots += done
            is_new = simplex.is_new and done == 0
            if outcome == LATE:
                return None
            if outcome == FEASIBLE and (is_new or simplex.is_accurate()):
                return simplex.result(n_pivots)
            if outcome == STUCK and is_new:
                raise Infeasible
            n_disputed += outcome in (FEASIBLE, STUCK)
            if outcome == GOING:
                simplex.go_on()
            else:
                simplex.refactor()
    return None


class _DenseSimplex:
    """A linear program, its current basis, and the tableau of that basis.

    Call ``start`` or ``refactor`` before anything else.
    """

    tableau: Tableau

    def __init__(self, lp: LinearProgram, basis: Basis | None) -> None:
        self.lp = lp
        self.program = prepare(lp)
        self._rows = np.empty(lp.matrix.shape)  # room for A_S, used by one tableau after another
        self.B = self.S = np.empty(0, np.intp)
        if basis is not None:
            self.B = np.flatnonzero(basis.columns == BASIC)
            self.S = np.flatnonzero(basis.rows != BASIC)
        self.n = 0
        self.is_new = False  # whether the table was computed from the basis, before any pivot

    @property
    def capacity(self) -> int:
        """The largest basis for which the table has room."""
        return int(self.tableau.Q.shape[1])

    def start(self, table: Table | None) -> None:
        """Start from a table of the basis if there is an accurate one, else from the basis."""
        if table is None or len(table.columns) != len(self.B):
            self.refactor()
            return
        self._use(table)
        if not self.is_accurate():
            self.refactor()

    def go_on(self) -> None:
        """Make room, and remove rounding errors; the table itself is kept if it is accurate."""
        accurate = self.is_accurate()
        if accurate:
            self._use(self.table())
        if not (accurate and self.is_accurate()):
            self.refactor()

    def refactor(self) -> None:
        """Compute the tableau from the basis, or from the empty basis if it is singular."""
        self._use(factorise(self.program, self.B, self.S))
        self.is_new = True

    def _use(self, table: Table) -> None:
        self.tableau, n = make_tableau(self.program, table, self._rows)
        self.is_new = False
        self._set_size(n)

    def table(self) -> Table:
        """Return the table of the current basis."""
        Q, n, known = self.tableau.Q, self.n, np.ones(len(self.lp.row_lower), bool)
        return Table(self.B, self.S, Q[:n, :n], Q[self.capacity :, :n], known)

    def _set_size(self, n: int) -> None:
        self.n = n
        self.B, self.S = self.tableau.basic_columns[:n], self.tableau.bound_rows[:n]

    def is_accurate(self) -> bool:
        """Whether the values still solve the basis' own two systems after all updates."""
        t = self.tableau
        square = t.A_bound[: self.n].take(self.B, axis=1)
        primal = square @ t.values[: self.n] - (t.z_bound[self.S] - t.g[self.S])
        dual = self.program.cost[self.B] - t.dual[self.S] @ square
        return bool(np.abs([primal, dual]).max(initial=0.0) <= ACCURACY)

    def result(self, iterations: int) -> LPResult:
        """Return the solution of the current basis."""
        t = self.tableau
        x = t.x.copy()
        x[self.B] = t.values[: self.n]
        columns = np.where(t.x > 0, UPPER, LOWER).astype(np.int8)
        columns[self.B] = BASIC
        rows = np.where(t.z_bound == self.lp.row_upper, UPPER, LOWER).astype(np.int8)
        rows[~t.at_bound] = BASIC
        return LPResult(x, t.dual.copy(), Basis(columns, rows, self.table()), iterations)

    def advance(self, limit: int, deadline: float | None, *, compiled: bool) -> tuple[int, int]:
        """Do up to ``limit`` pivots; return (how the run ended, how many were done)."""
        done = 0
        while done < limit:
            if deadline is not None and time.perf_counter() >= deadline:
                return LATE, done
            if self.n == self.capacity:
                break
            outcome, count = self.run(min(PIVOTS_AT_ONCE, limit - done), compiled=compiled)
            done += count
            if outcome != GOING:
                return outcome, done
        return GOING, done

    def run(self, limit: int, *, compiled: bool) -> tuple[int, int]:
        """Do up to ``limit`` pivots without checking the clock."""
        run = run_pivots
        if compiled:
            from .pivots import run_pivots as run
        outcome, n, done = run(self.program, self.tableau, self.n, limit)
        self._set_size(n)
        if outcome == FEASIBLE and done:  # the values are the sum of many steps
            update_values(self.tableau, n)
            if most_infeasible(self.tableau)[0] >= 0:
                outcome = GOING
        return outcome, done


def factorise(program: Program, B: IntArray, S: IntArray) -> Table:
    """Return the table of a basis, or of the empty basis if A_SB is singular."""
    inverse = _inverse(program.A, B, S)
    if inverse is None:
        B, S = B[:0], S[:0]
        inverse = np.eye(len(B))
    products = program.A[:, B] @ inverse
    return Table(B, S, inverse, products, np.ones(len(products), bool))


def make_tableau(program: Program, table: Table, A_bound: FloatArray) -> tuple[Tableau, int]:
    """Return the tableau of the basis with this table, and the size of the basis.

    Because every variable is boxed, nonbasic variables can always be placed at the bounds that
    their reduced costs require: any basis is dual feasible. ``A_bound``, an array with the shape
    of A, is overwritten and becomes part of the tableau.
    """
    B, S = table.columns, table.rows
    n, (n_rows, n_cols) = len(B), program.A.shape
    capacity = n + ROOM
    Q = np.zeros((capacity + n_rows, capacity))
    Q[:n, :n] = table.inverse
    Q[capacity:, :n] = table.products
    unknown = np.flatnonzero(~table.known)
    if len(unknown):
        Q[capacity + unknown, :n] = program.A[np.ix_(unknown, B)] @ table.inverse
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
    norms = np.einsum("ij,ij->i", Q, Q)
    norms[:capacity] += norms[:capacity] == 0  # for free slots, so that nothing divides by 0
    norms[capacity:] += 1.0
    tableau = Tableau(
        Q, basic_columns, bound_rows, A_bound, in_basis, at_bound, x, side, z_bound, row_side,
        program.A @ x, dual, reduced, np.empty(len(Q)), *slots, norms,
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
