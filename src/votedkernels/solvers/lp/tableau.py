"""The condensed tableau of the dense dual simplex, and its pivots.

The linear program is

    max  cost.x     s.t.  0 <= x <= upper,   row_lower <= z <= row_upper,   z = A x.

Variables and rows are numbered together: first the variables, then the rows. As many of them as A
has rows are basic; the others are nonbasic, each at one of its bounds, and

    basic = T nonbasic,     cost.x = reduced.nonbasic.

At first, z is basic, x is nonbasic, and T = A. A pivot exchanges what is basic in slot p with what
is nonbasic in place q. With e_p and e_q for unit vectors, it changes T to

    T - (T[:, q] + e_p) (T[p] - e_q)^T / T[p, q],

which has the shape of A again [1]_. A pivot reads one row of T and a few of its columns. So the
products of the last pivots are kept as factors, T = table + left right^T, and are added to the
table many at a time, in one matrix product. This is several times faster than a pass through the
table for each pivot.

References
----------
.. [1] A. Tucker (1960). A combinatorial equivalence of matrices. Proceedings of Symposia in Applied
   Mathematics 10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from ... import _native
from ...kernels.base import FloatArray, IntArray
from .linear_program import LinearProgram, Table

#: A bound may be exceeded by this much, relative to 1 + its size.
FEASIBILITY = 1e-9
#: Relative change in the costs that breaks ties.
PERTURBATION = 1e-10
#: For programs with very many ties: larger changes, each of which starts from the basis of the last
#: one. If only the last is missing, a billionth of the objective may be left to be gained.
FROM_LARGE = (1e-7, 1e-8, 1e-9, PERTURBATION)
#: Smaller pivots are not used.
PIVOT = 1e-9
#: Dual ratios that differ by less are tied.
TIE = 1e-12
#: Squared norms are at least this.
SMALLEST_NORM = 1e-12
#: The products of so many pivots are added to the table at once.
TOGETHER = 32
#: How a run of pivots ends: at its limit, with a feasible basis, or with nothing that can enter.
GOING, FEASIBLE, STUCK = range(3)


class Program(NamedTuple):
    """The linear program in the form that pivots need: variables and rows have one numbering."""

    A: FloatArray
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    #: How far each value may exceed its bounds.
    tolerance: FloatArray

    @property
    def n_variables(self) -> int:
        """The number of the first row."""
        return int(self.A.shape[1])


def prepare(lp: LinearProgram, perturbation: float = PERTURBATION) -> Program:
    """Return the program with slightly perturbed costs.

    Ties among reduced costs cause many steps of length 0. Only the basis matters in the end, so
    the costs need not be exact.
    """
    n_rows, n_variables = lp.matrix.shape
    spread = np.modf(np.arange(1, n_variables + 1) * 0.6180339887498949)[0]
    upper = np.concatenate([lp.upper, lp.row_upper])
    return Program(
        A=lp.matrix,
        cost=np.concatenate([lp.cost * (1 + perturbation * spread), np.zeros(n_rows)]),
        lower=np.concatenate([np.zeros(n_variables), lp.row_lower]),
        upper=upper,
        tolerance=FEASIBILITY * (1 + np.abs(upper)),
    )


class Tableau:
    """A basis of a program, with everything that pivots change.

    Attributes
    ----------
    basic, nonbasic : arrays of shape (n_rows,) and (n_variables,)
        What is in each slot, and what is in each place.
    table : array of shape (n_rows, n_variables)
        T without the products of the last pivots.
    values, lower, upper, tolerance, norms : arrays of shape (n_rows,)
        Of what is basic: its value, its bounds, by how much it may exceed them, and the square by
        which its infeasibility is divided.
    at, side, width, reduced : arrays of shape (n_variables,)
        Of what is nonbasic: the bound at which it is, the direction in which it can move (0 if
        nowhere), how far, and its reduced cost.
    """

    def __init__(self, program: Program, table: Table) -> None:
        self.program = program
        self.basic, self.nonbasic = table.basic.astype(np.intp), table.nonbasic.astype(np.intp)
        self.table = complete(program.A, table)
        self.settle()

    def settle(self) -> None:
        """Compute everything from the table.

        Each variable and row has two bounds, so whatever is nonbasic can be placed at the bound
        that its reduced cost requires: any basis is dual feasible.
        """
        n_rows, n_variables = self.table.shape
        self.left = np.zeros((n_rows, TOGETHER), order="F")
        self.right = np.zeros((n_variables, TOGETHER), order="F")
        self.n_kept = 0
        program, basic, nonbasic = self.program, self.basic, self.nonbasic
        self.lower, self.upper = program.lower[basic], program.upper[basic]
        self.tolerance = program.tolerance[basic]
        self.reduced = program.cost[nonbasic] + program.cost[basic] @ self.table
        low, high = program.lower[nonbasic], program.upper[nonbasic]
        self.width = high - low
        self.at = np.where(self.reduced > 0, high, low)
        self.side = np.where(self.reduced > 0, -1.0, 1.0)
        self.side[self.width == 0] = 0.0
        self.values = self.table @ self.at
        self.is_fresh = True  # whether values and reduced costs are those of the table
        inverse = self.table[:, nonbasic >= n_variables]
        self.norms = np.einsum("ij,ij->i", inverse, inverse) + (basic >= n_variables)
        np.maximum(self.norms, SMALLEST_NORM, out=self.norms)

    def run(self, limit: int) -> tuple[int, int]:
        """Do up to ``limit`` pivots; return (how the run ended, how many were done).

        A basis is called feasible only if the values that are computed from its table are.
        """
        done = 0
        while done < limit:
            outcome, count = self.pivot(limit - done)
            done += count
            if outcome == STUCK:
                return STUCK, done
            if outcome == FEASIBLE and self.is_fresh:
                return FEASIBLE, done
            if outcome == FEASIBLE or self.n_kept == TOGETHER:
                self.absorb()
            if outcome == FEASIBLE:
                self.refresh()
        return GOING, done

    def pivot(self, limit: int) -> tuple[int, int]:
        """Do up to ``limit`` pivots while there is room for their products; return as `run`."""
        if _native.loops is None:
            outcome, done = self.pivot_with_numpy(limit)
        else:
            outcome, done = self.pivot_with_loops(limit)
        self.is_fresh &= done == 0
        return outcome, done

    def pivot_with_loops(self, limit: int) -> tuple[int, int]:
        """Do the same as `pivot` with compiled loops."""
        assert _native.loops is not None
        program = self.program
        outcome, done, self.n_kept = _native.loops.pivot(
            self.n_kept, limit, self.table.T, self.left.T, self.right.T, self.basic, self.nonbasic,
            self.values, self.lower, self.upper, self.tolerance, self.norms,
            self.at, self.side, self.width, self.reduced,
            program.lower, program.upper, program.tolerance,
        )  # fmt: skip
        return outcome, done

    def pivot_with_numpy(self, limit: int) -> tuple[int, int]:
        """Do the same as `pivot` without compiled loops, a few times more slowly."""
        for done in range(limit):
            if self.n_kept == TOGETHER:
                return GOING, done
            slot, off = self.most_infeasible()
            if slot < 0:
                return FEASIBLE, done
            row = self.row(slot)
            place, passed = self.long_step(row, off)
            if place < 0:
                return STUCK, done
            column = self.column(place)
            self.flip(passed)
            self.exchange(slot, place, row, column, above=off > 0)
        return GOING, limit

    def row(self, slot: int) -> FloatArray:
        """Return a row of T."""
        kept = self.n_kept
        return np.asarray(self.table[slot] + self.right[:, :kept] @ self.left[slot, :kept])

    def column(self, place: int) -> FloatArray:
        """Return a column of T."""
        kept = self.n_kept
        return np.asarray(self.table[:, place] + self.left[:, :kept] @ self.right[place, :kept])

    def absorb(self) -> None:
        """Add the products of the last pivots to the table."""
        kept, self.n_kept = self.n_kept, 0
        if kept:
            self.table = blas.dgemm(
                1.0, self.left[:, :kept], self.right[:, :kept], 1.0, self.table,
                trans_b=True, overwrite_c=True,
            )  # fmt: skip

    def refresh(self) -> None:
        """Compute values and costs from the table, into which all pivots are absorbed."""
        cost = self.program.cost
        self.values = self.table @ self.at
        self.reduced = cost[self.nonbasic] + cost[self.basic] @ self.table
        self.is_fresh = True

    def most_infeasible(self) -> tuple[int, float]:
        """Return (slot, by how much it is above its upper bound or, negative, below its lower).

        The slot is -1 if all are feasible.
        """
        below, above = self.lower - self.values, self.values - self.upper
        off = np.maximum(below, above)
        score = np.where(off > self.tolerance, off * off / self.norms, 0.0)
        slot = int(score.argmax()) if len(score) else -1
        if slot < 0 or score[slot] == 0:
            return -1, 0.0
        return slot, float(above[slot] if above[slot] > below[slot] else -below[slot])

    def long_step(self, row: FloatArray, off: float) -> tuple[int, IntArray]:
        """Return the place of what enters (-1 if nothing can), and what is passed on the way."""
        # The leaving value must move by -off. What is at its lower bound moves up.
        gain = row * (-self.side if off > 0 else self.side)
        can = (gain > PIVOT).nonzero()[0]
        if len(can) == 0:
            return -1, can
        gain = gain[can]
        ratio = np.abs(self.reduced[can]) / gain
        order = ratio.argsort()
        covered = (gain * self.width[can])[order].cumsum()
        last = min(int(covered.searchsorted(abs(off))), len(order) - 1)
        # Among tied candidates the largest pivot is the safest.
        ranked = ratio[order]
        first = int(ranked.searchsorted(ranked[last] - TIE))
        group = order[first : int(ranked.searchsorted(ranked[last] + TIE, side="right"))]
        chosen = can[group[gain[group].argmax()]]
        passed = can[order[:last]]
        return int(chosen), passed[passed != chosen]

    def flip(self, places: IntArray) -> None:
        """Move what is in some places to its other bound."""
        if len(places) == 0:
            return
        change, kept = self.side[places] * self.width[places], self.n_kept
        self.values += self.table[:, places] @ change
        self.values += self.left[:, :kept] @ (change @ self.right[places, :kept])
        self.at[places] += change
        self.side[places] *= -1.0

    def exchange(
        self, slot: int, place: int, row: FloatArray, column: FloatArray, *, above: bool
    ) -> None:
        """Move the value in a slot to the bound that it exceeds, by moving what is in a place.

        The two then change roles. The row is overwritten.
        """
        pivot, program = row[place], self.program
        leaving, entering = self.basic[slot], self.nonbasic[place]
        factors = column / pivot
        norm = self.norms[slot]
        np.maximum(self.norms, factors * factors * norm, out=self.norms)
        self.norms[slot] = max(norm / pivot**2, SMALLEST_NORM)
        step = self.reduced[place] / pivot
        self.reduced -= step * row
        self.reduced[place] = step
        bound = self.upper[slot] if above else self.lower[slot]
        move = (bound - self.values[slot]) / pivot
        self.values += move * column
        self.values[slot] = self.at[place] + move
        self.basic[slot], self.nonbasic[place] = entering, leaving
        self.lower[slot], self.upper[slot] = program.lower[entering], program.upper[entering]
        self.tolerance[slot] = program.tolerance[entering]
        self.at[place] = bound
        self.width[place] = program.upper[leaving] - program.lower[leaving]
        self.side[place] = 0.0 if self.width[place] == 0 else (-1.0 if above else 1.0)
        factors[slot] += 1.0 / pivot
        row[place] -= 1.0
        np.negative(factors, out=self.left[:, self.n_kept])
        self.right[:, self.n_kept] = row
        self.n_kept += 1


def complete(A: FloatArray, table: Table) -> FloatArray:
    """Return T for the basis of a table, of which some of the last rows and columns are unknown."""
    n_rows, n_variables = A.shape
    basic, nonbasic = table.basic, table.nonbasic
    known_rows, known_places = table.entries.shape
    T = np.empty((n_rows, n_variables), order="F")
    T[:known_rows, :known_places] = table.entries
    if known_rows < n_rows:  # these slots have rows
        fresh = A[basic[known_rows:] - n_variables]
        has_variable = (basic[:known_rows] < n_variables).nonzero()[0]
        T[known_rows:, :known_places] = (
            fresh[:, basic[has_variable]] @ T[has_variable, :known_places]
        )
        direct = (nonbasic[:known_places] < n_variables).nonzero()[0]
        T[known_rows:, direct] += fresh[:, nonbasic[direct]]
    if known_places < n_variables:  # these places have variables
        fresh = A[:, nonbasic[known_places:]]
        at_bound = (nonbasic[:known_places] >= n_variables).nonzero()[0]
        T[:, known_places:] = -(T[:, at_bound] @ fresh[nonbasic[at_bound] - n_variables])
        has_row = (basic >= n_variables).nonzero()[0]
        T[has_row, known_places:] += fresh[basic[has_row] - n_variables]
    return T
