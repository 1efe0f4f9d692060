"""A bounded dual simplex method for small dense linear programs.

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x

The master LPs of column generation are small and dense, and all their variables are boxed; general
solvers spend their time on sparsity that is not there. Here the table of `tableau` is stored
explicitly, and each pivot is a rank-one update of it. Any basis is dual feasible, so an old basis
is always a valid start, whichever rows, variables or penalties have changed.

This is the dual simplex method [1]_ for boxed variables [2]_. Each step

1. chooses the value with the largest infeasibility in the dual steepest-edge norm [3]_ (the norms
   are computed from the explicit table, not updated),
2. finds what enters by the bound-flipping ratio test [4]_, [5]_: the step passes all breakpoints
   that still improve the dual objective, and the variables passed flip to their other bound,
3. updates the duals, the table and the values.

`tableau` does these steps in NumPy, `pivots` in compiled code.

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
from .linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram, LPResult
from .tableau import FEASIBLE, GOING, STUCK, Tableau, factorise, prepare, run_pivots

REFACTOR_EVERY = 100
#: Pivots between two looks at the clock.
PIVOTS_AT_ONCE = 20
#: Successful solves need at most four; beyond ten, another method is faster.
PIVOTS_PER_ROW = 10
#: Largest residual of the basis' two systems after updates.
ACCURACY = 1e-11
#: Give up after a new factorisation has contradicted this many final states.
MOST_DISPUTED = 10
#: The deadline has ended a run of pivots; it can also end in the ways of `tableau`.
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
    """A linear program, its current basis, and the tableau of that basis.

    ``refactor`` must be called before anything else.
    """

    tableau: Tableau

    def __init__(self, lp: LinearProgram, basis: Basis | None) -> None:
        self.lp = lp
        self.program = prepare(lp)
        self._rows = np.empty(lp.matrix.shape)  # room for A_S, used by one tableau after another
        self.B = self.S = np.zeros(0, np.intp)
        if basis is not None:
            self.B = np.flatnonzero(basis.columns == BASIC)
            self.S = np.flatnonzero(basis.rows != BASIC)
        self.n = 0

    @property
    def capacity(self) -> int:
        """The largest basis for which the table has room."""
        return int(self.tableau.Q.shape[1])

    def refactor(self) -> None:
        """Compute the tableau from the basis, or from the empty basis if it is singular."""
        self.tableau, n = factorise(self.program, self.B, self.S, self._rows)
        self._set_size(n)

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
        return LPResult(x, t.dual.copy(), Basis(columns, rows), iterations)

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
            outcome, count = self.run(min(PIVOTS_AT_ONCE, limit - done), compiled=compiled)
            done += count
            if outcome != GOING:
                return outcome, done
        return GOING, done

    def run(self, limit: int, *, compiled: bool) -> tuple[int, int]:
        """Do up to ``limit`` pivots without a look at the clock."""
        run = run_pivots
        if compiled:
            from .pivots import run_pivots as run
        outcome, n, done = run(self.program, self.tableau, self.n, limit)
        self._set_size(n)
        return outcome, done
