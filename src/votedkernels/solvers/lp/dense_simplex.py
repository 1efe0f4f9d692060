"""A bounded dual simplex method for small dense linear programs.

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x

The master LPs of column generation are small and dense, and all their variables are boxed; general
solvers spend their time on sparsity that is not there. Here the whole tableau is stored. Any basis
is dual feasible, so an old basis is always a valid start, even if rows, variables or penalties have
changed.

This is the dual simplex method [1]_ for boxed variables [2]_. Each step

1. chooses the value with the largest infeasibility relative to its norm: at the start the dual
   steepest-edge norm [3]_, then Devex' lower bound for it [6]_,
2. finds what enters by the bound-flipping ratio test [4]_, [5]_: the step passes all breakpoints
   that still improve the dual objective, and the variables passed flip to their other bound,
3. updates the reduced costs, the values and the tableau.

`tableau` implements these steps. The table outlives the program: the next program, with more rows
or other bounds, starts from it. It is recomputed from the basis (`factorise`) only when the two
systems of the basis show that rounding errors have accumulated.

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
.. [6] P. Harris (1973). Pivot selection methods of the Devex LP code. Mathematical Programming 5.
"""

from __future__ import annotations

import time

import numpy as np

from ...exceptions import Infeasible
from ...kernels.base import FloatArray, IntArray
from .linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, LPResult, Table
from .tableau import (
    FEASIBILITY,
    FEASIBLE,
    FROM_LARGE,
    GOING,
    PERTURBATION,
    STUCK,
    Program,
    Tableau,
    prepare,
)

#: A basis whose inverse has larger entries is treated as singular.
LARGEST_INVERSE = 1e13
#: Pivots between two checks for rounding errors.
CHECK_EVERY = 100
#: Pivots between two checks of the clock.
PIVOTS_AT_ONCE = 20
#: Successful solves need at most four; beyond ten, another method is faster.
PIVOTS_PER_ROW = 10
#: Largest residuals of the basis' two systems that are allowed after updates, beside those that
#: rounding leaves in any case, in units of the sum of sizes.
ACCURACY, DUAL_ACCURACY = 1e-9, 1e-8
ROUNDING = 64 * float(np.finfo(np.float64).eps)
#: Before the end, residuals may be larger by this factor: they only guide the choice of pivots.
ON_THE_WAY = 100.0
#: Give up after a new factorisation has contradicted this many final states.
MOST_DISPUTED = 10
#: The deadline has ended a run of pivots; `tableau` defines the other ways in which a run ends.
LATE = 3


def solve_dense(
    lp: LinearProgram, *, basis: Basis | None = None, deadline: float | None = None
) -> LPResult | None:
    """Solve a linear program; return None if the method breaks down or is late.

    Rules have two values, so their rows have very many ties, between which pivots may go back and
    forth. Larger changes of the costs then lead to a basis near the optimum.

    Raises `Infeasible` if an infeasible row cannot be repaired by any variable.
    """
    if has_row_out_of_reach(lp):
        raise Infeasible
    result = _solve(lp, basis, deadline, PERTURBATION)
    return _solve_from_large(lp, basis, deadline) if result is None else result


def _solve_from_large(
    lp: LinearProgram, basis: Basis | None, deadline: float | None
) -> LPResult | None:
    """Solve a program with more and more accurate costs; return None if two or more are missing."""
    found: list[LPResult] = []
    for perturbation in FROM_LARGE:
        result = _solve(lp, basis, deadline, perturbation)
        if result is None:
            break
        found.append(result)
        basis = result.basis
    return found[-1] if len(found) >= len(FROM_LARGE) - 1 else None


def _solve(
    lp: LinearProgram, basis: Basis | None, deadline: float | None, perturbation: float
) -> LPResult | None:
    """Solve a linear program with perturbed costs; return None as `solve_dense` does."""
    n_pivots, limit, n_disputed = 0, PIVOTS_PER_ROW * (len(lp.row_lower) + 20), 0
    with np.errstate(all="ignore"):
        simplex = _DenseSimplex(lp, basis, perturbation)
        while n_pivots < limit and n_disputed < MOST_DISPUTED:
            outcome, done = simplex.advance(CHECK_EVERY, deadline)
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


def has_row_out_of_reach(lp: LinearProgram) -> bool:
    """Whether a row cannot come near its bounds wherever the variables are in their box."""
    away = np.flatnonzero((lp.row_lower > 0) | (lp.row_upper < 0))  # not at 0, where x = 0 is
    if len(away) == 0:
        return False
    matrix = lp.matrix[away]
    most = np.maximum(matrix, 0.0) @ lp.upper
    least = matrix @ lp.upper - most
    room = FEASIBILITY * (1 + most - least)
    too_high, too_low = lp.row_lower[away] > most + room, lp.row_upper[away] < least - room
    return bool((too_high | too_low).any())


class _DenseSimplex:
    """A linear program, its current basis, and the tableau of that basis."""

    def __init__(
        self, lp: LinearProgram, basis: Basis | None, perturbation: float = PERTURBATION
    ) -> None:
        self.lp = lp
        self.program = prepare(lp, perturbation)
        table = None if basis is None else basis.table
        if table is not None:
            self.tableau = Tableau(self.program, table)
            self.is_new = False  # whether the table was computed from the basis, before any pivot
        if table is None or not self.is_accurate():
            columns = np.empty(0) if basis is None else basis.columns
            rows = np.empty(0) if basis is None else basis.rows
            self._factorise(np.flatnonzero(columns == BASIC), np.flatnonzero(rows != BASIC))

    def go_on(self) -> None:
        """Remove rounding errors; the table itself is kept if it is accurate."""
        self.is_new = False
        self.tableau.absorb()
        self.tableau.settle()
        if not self.is_accurate(ON_THE_WAY):
            self.refactor()

    def refactor(self) -> None:
        """Compute the tableau from the basis, or from the empty basis if it is singular."""
        first = self.program.n_variables
        basic, nonbasic = self.tableau.basic, self.tableau.nonbasic
        self._factorise(np.sort(basic[basic < first]), np.sort(nonbasic[nonbasic >= first]) - first)

    def _factorise(self, B: IntArray, S: IntArray) -> None:
        self.tableau = Tableau(self.program, factorise(self.program, B, S))
        self.is_new = True

    def solution(self) -> tuple[FloatArray, FloatArray]:
        """Return x, and the duals of the rows."""
        t, n = self.tableau, self.program.n_variables
        both, duals = np.empty(n + len(t.basic)), np.zeros(n + len(t.basic))
        both[t.basic], both[t.nonbasic], duals[t.nonbasic] = t.values, t.at, t.reduced
        return both[:n], duals[n:]

    def is_accurate(self, factor: float = 1.0) -> bool:
        """Whether the values still solve the basis' own two systems after all updates.

        Residuals may be larger by a ``factor`` than those allowed at the end.
        """
        t, program, n = self.tableau, self.program, self.program.n_variables
        held, between = t.nonbasic >= n, t.basic[t.basic < n]
        x, duals = self.solution()
        S = t.nonbasic[held] - n
        # Like the tolerances of bounds, these errors are relative to bounds above 1.
        primal = np.abs((program.A @ x)[S] - t.at[held]) / (1 + np.abs(t.at[held]))
        # An outlier's column has large entries; its error is relative to those.
        sizes = np.maximum(1.0, np.abs(program.A[:, between]).max(axis=0, initial=0.0))
        off = np.abs((program.cost[:n] - duals @ program.A)[between])
        dual = float((off / sizes).max(initial=0.0))
        # Most entries of A are at most 1, so the sums measure the rounding errors of the products.
        return bool(
            primal.max(initial=0.0) <= factor * (ACCURACY + ROUNDING * np.abs(x).sum())
            and dual <= factor * (DUAL_ACCURACY + ROUNDING * np.abs(duals).sum())
        )

    def result(self, iterations: int) -> LPResult:
        """Return the solution of the current basis, all of whose pivots are in the table."""
        t, n = self.tableau, self.program.n_variables
        x, duals = self.solution()
        columns = np.where(x > 0, UPPER, LOWER).astype(np.int8)
        columns[t.basic[t.basic < n]] = BASIC
        rows = np.full(len(duals), BASIC, np.int8)
        held = t.nonbasic >= n
        S = t.nonbasic[held] - n
        rows[S] = np.where(t.at[held] == self.lp.row_upper[S], UPPER, LOWER)
        table = Table(t.table, t.basic, t.nonbasic)
        return LPResult(x, duals, Basis(columns, rows, table), iterations)

    def advance(self, limit: int, deadline: float | None) -> tuple[int, int]:
        """Do up to ``limit`` pivots; return (how the run ended, how many were done)."""
        done = 0
        while done < limit:
            if deadline is not None and time.perf_counter() >= deadline:
                return LATE, done
            outcome, count = self.tableau.run(min(PIVOTS_AT_ONCE, limit - done))
            done += count
            if outcome != GOING:
                return outcome, done
        return GOING, done


def factorise(program: Program, B: IntArray, S: IntArray) -> Table:
    """Return the table of a basis, or of the empty basis if A_SB is singular."""
    A, (n_rows, n_variables) = program.A, program.A.shape
    basic, nonbasic = n_variables + np.arange(n_rows), np.arange(n_variables)
    T = np.array(A, order="F")
    inverse = _inverse(A, B, S)
    if inverse is not None:
        N, R = np.delete(nonbasic, B), np.delete(np.arange(n_rows), S)
        outside = -inverse @ A[np.ix_(S, N)]
        columns = A[np.ix_(R, B)]
        T[np.ix_(S, B)], T[np.ix_(S, N)] = inverse, outside
        T[np.ix_(R, B)] = columns @ inverse
        T[np.ix_(R, N)] += columns @ outside
        basic[S], nonbasic[B] = B, n_variables + S
    return Table(T, basic, nonbasic)


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
