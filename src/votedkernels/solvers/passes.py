"""Prices dual vectors one after another, each from the sums of the one before.

A pass computes q_kj = sum_i v_i K_k(x_i, c_j) for all columns. At most rows, u_i stays at a bound
from one round to the next, so v_i does not change. As sums are linear in v, the next pass only
needs the rows whose v_i has changed:

    q(v_new) = q(v) + q(v_new - v)

The sums of the columns that decide the bound, those closest to their penalties, are then computed
afresh from all rows. Rounding errors of the others add up with each pass. They stay as small as
those of a few full sums, since a full pass follows when sum_i |v_i| of all passes together exceeds
`MOST_MASS` times that of v.

With an intercept, u is balanced again in each round, which changes all v_i of one sign by a few
units in the last place. Changes of that size are left out. They do not add up, because the next
change is measured from the v whose sums are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..kernels.columns import Columns
from ..problem import Prices, Problem

#: A full pass follows if more than this share of the rows with v_i != 0 have changed.
MOST_CHANGED = 0.5
MOST_MASS = 3.0
#: A smaller relative change of v_i is rounding.
ROUNDING = 32 * float(np.finfo(np.float64).eps)
#: How many centres are summed afresh in each pass.
FRESH = 64
#: With fewer kernel values than this, a pass is always full.
FEW_VALUES = 10**6


@dataclass(frozen=True)
class Sums:
    """The sums of all kernels for one v; ``mass`` is sum_i |v_i| of all passes that led to them."""

    v: FloatArray
    values: FloatArray
    mass: float

    def change_to(self, v: FloatArray) -> FloatArray:
        """Return by how much another v differs from this one; 0 where that is rounding."""
        change = v - self.v
        return np.where(np.abs(change) <= ROUNDING * np.abs(v), 0.0, change)


class Passes:
    """Passes over the columns of one problem, whose penalties may change in between."""

    def __init__(self) -> None:
        self._last: Sums | None = None

    def copy(self) -> Passes:
        """Return a copy that can be continued independently."""
        other = Passes()
        other._last = self._last  # which never changes
        return other

    def price(self, problem: Problem, u: FloatArray) -> Prices:
        """Return the same as `Problem.price`, in less time."""
        columns, v = problem.columns, problem.signed(u)
        if not columns.keeps_sums or is_small(columns, v):
            return problem.price(u)
        return self.priced(problem, u, columns.sum_kernels(self.missing(v)))

    def missing(self, v: FloatArray) -> FloatArray:
        """Return the vector of which `priced` needs the sums: the change of v, or v itself."""
        change = self._small_change(v)
        return v if change is None else change

    def priced(self, problem: Problem, u: FloatArray, values: FloatArray) -> Prices:
        """Return the prices of u, given the sums of `missing`."""
        columns, v = problem.columns, problem.signed(u)
        change = self._small_change(v)
        if self._last is None or change is None:
            self._last = Sums(v, values, 0.0)
        else:
            values = self._last.values + values
            mass = self._last.mass + float(np.abs(change).sum())
            worst = most_extreme(problem.excess(values), FRESH)
            values[:, worst] = columns.sum_kernels(v, worst)
            self._last = Sums(np.where(change == 0, self._last.v, v), values, mass)
        return problem.price(u, values)

    def excess(self, problem: Problem, u: FloatArray, centers: IntArray) -> FloatArray:
        """Return `Problem.excess` of the columns at some centres."""
        columns, v = problem.columns, problem.signed(u)
        change = self._small_change(v)
        if self._last is None or change is None:
            return problem.excess(columns.correlate(v, centers), centers)
        values = self._last.values[:, centers] + columns.sum_kernels(change, centers)
        return problem.excess(columns.add_rules(values, v, centers), centers)

    def sums(
        self, columns: Columns, v: FloatArray, kernels: IntArray, centers: IntArray
    ) -> FloatArray:
        """Return `Columns.sums`: sum_i v_i K_k(x_i, c_j) for some columns."""
        if self._last is None or any(family.is_coded for family in columns.families):
            return columns.sums(v, kernels, centers)
        change = self._last.change_to(v)
        if np.count_nonzero(change) >= np.count_nonzero(v):
            return columns.sums(v, kernels, centers)
        return self._last.values[kernels, centers] + columns.sums(change, kernels, centers)

    def _small_change(self, v: FloatArray) -> FloatArray | None:
        """Return by how much v has changed; None if the sums should be computed afresh."""
        if self._last is None:
            return None
        change = self._last.change_to(v)
        if np.count_nonzero(change) > MOST_CHANGED * np.count_nonzero(v):
            return None
        mass = self._last.mass + float(np.abs(change).sum())
        return None if mass > MOST_MASS * float(np.abs(v).sum()) else change


def is_small(columns: Columns, v: FloatArray) -> bool:
    """Whether a full pass is cheap."""
    return columns.n_kernels * columns.n_centers * int(np.count_nonzero(v)) < FEW_VALUES


def most_extreme(excess: FloatArray, n: int) -> IntArray:
    """Return the n centres whose columns come closest to their penalties or exceed them most."""
    largest = excess.max(axis=0, initial=0.0)
    if n >= len(largest):
        return np.arange(len(largest))
    return np.sort(np.argpartition(-largest, n)[:n])
