"""Families whose columns each depend on one feature, and their pricing without a matrix.

Member k of such a family looks at one feature of x. Its column at a centre c depends on c only
through a number, the level of the column:

    K_k(x, c) = g(x_f, level_k(c_f))

Only a few of the columns differ: one for each distinct value of the feature. So rows and centres
are converted to codes, the ranks of their values. All sums over rows then come from the sums over
rows with equal codes (`Codes`), which takes n_rows + n_centers steps per member. A column that
repeats one at an earlier centre is reported as 0, so that solvers never choose it.

A vote stores the levels of its terms, and needs no centres for them: such a term is a rule, such as
"glucose > 127.5". The values are 0, 1 or -1. A gap (NaN) makes them 0, except in `Missing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .base import FloatArray, IntArray, KernelFamily, Table

#: Sums of n numbers lose up to n units in the last place; the rounding check allows for 100.
UNITS_ALLOWED = 100.0


class CodedFamily(KernelFamily):
    """Base class of families of rules about single features.

    A subclass defines `levels`, `evaluate`, `table`, `sizes`, `rule` and `log_growth`.

    Attributes
    ----------
    features_ : the feature of each member; -1 if it depends on none
    ordered_ : whether each member's columns are thresholds, so that neighbours are alike
    values_ : the distinct values of each member's feature in the sample, sorted, without gaps
    """

    is_coded = True
    accepts_gaps = True

    features: Sequence[int] | None
    features_: IntArray
    ordered_: NDArray[np.bool_]
    values_: list[FloatArray]

    def fit(self, X: Table, sample_weight: FloatArray) -> Self:
        """Find the distinct values of each feature."""
        del sample_weight
        self.n_features_ = int(X.shape[1])
        self._set_members()
        self.values_ = [_distinct(X, feature) for feature in self.features_]
        return self

    def _set_members(self) -> None:
        """Set ``features_`` and ``names_`` from the parameters and the number of features."""
        self.features_ = self._chosen_features()
        kind = type(self).__name__.lower()
        self.names_ = [f"{kind}(x{feature})" for feature in self.features_]
        self.ordered_ = np.zeros(len(self.features_), bool)

    def _chosen_features(self) -> IntArray:
        if self.features is None:
            return np.arange(self.n_features_)
        name = f"features of {type(self).__name__}"
        chosen = list(self.features)
        for feature in chosen:
            if not isinstance(feature, Integral) or not 0 <= feature < self.n_features_:
                raise ValueError(
                    f"{name} must be column numbers from 0 to {self.n_features_ - 1}, got "
                    f"{feature!r}."
                )
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"{name} must be distinct, and at least one; got {self.features!r}.")
        return np.array(chosen, dtype=np.intp)

    # -- what a subclass defines -------------------------------------------------------

    def levels(self, k: int, values: FloatArray) -> FloatArray:
        """Return member k's level at centres with these values; NaN if they have no column."""
        raise NotImplementedError

    def evaluate(self, k: int, values: FloatArray, levels: FloatArray) -> FloatArray:
        """Return the columns of member k with these levels, at rows with these values."""
        raise NotImplementedError

    def table(self, k: int, sums: FloatArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c) for each code of c, from the sums of v for each code of x.

        The last code is that of a gap.
        """
        raise NotImplementedError

    def sizes(self, k: int, sums: FloatArray) -> FloatArray:
        """Return the same for the absolute values of K_k, which are also its squares."""
        raise NotImplementedError

    def rule(self, k: int, level: float, feature: str, category: str | None = None) -> str:
        """Return the column as text, given the names of the feature and the category."""
        raise NotImplementedError

    def log_growth(self, m: float) -> FloatArray:
        """Return, for each member, the log of the number of columns that can differ on m rows.

        Negated columns count too. Members of one kind count together, as one class of functions.
        """
        raise NotImplementedError

    # -- the interface of families -----------------------------------------------------

    @property
    def base_axes(self) -> tuple[int, ...]:
        """One entry per member, since members share nothing."""
        return (self.n_kernels,)

    def base(self, X: Table, centers: Table) -> FloatArray:
        """Return the values of all members, along a third axis."""
        base = np.empty((X.shape[0], centers.shape[0], self.n_kernels))
        for k in range(self.n_kernels):
            levels = self.levels(k, self.values_of(k, centers))
            base[:, :, k] = self.evaluate(k, self.values_of(k, X), levels)
        return base

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return the values of member k."""
        return base[..., k]

    def values_of(self, k: int, X: Table) -> FloatArray:
        """Return the feature of member k at some rows."""
        feature = int(self.features_[k])
        return np.zeros(X.shape[0]) if feature < 0 else np.asarray(X[:, feature], np.float64)

    def rules(self, X: Table, members: IntArray, levels: FloatArray) -> FloatArray:
        """Return the columns of these members at these levels, shape (n_rows, n_terms)."""
        out = np.empty((X.shape[0], len(members)))
        for k in np.unique(members):
            mine = np.flatnonzero(members == k)
            out[:, mine] = self.evaluate(int(k), self.values_of(int(k), X), levels[mine])
        return out

    def keeps_base(self, n_values: int) -> bool:
        """Always false: the codes are kept instead."""
        del n_values
        return False

    def without_sample(self) -> Self:
        """Return the family without the values of the sample, which `rules` do not need."""
        lean = copy(self)
        lean.values_ = [np.zeros(0)] * self.n_kernels
        return lean

    def supremum(self, radius: float | None) -> FloatArray:
        """Return 1, which no value exceeds."""
        del radius
        return np.ones(self.n_kernels)

    def largest(self, X: Table, centers: Table) -> FloatArray:
        """Return 1, which no value exceeds."""
        del X, centers
        return np.ones(self.n_kernels)

    def error_growth(self, X: Table) -> FloatArray:
        """Return the factor: values are exact, but sums over codes accumulate rounding errors."""
        return np.full(self.n_kernels, 1.0 + 3.0 * X.shape[0] / UNITS_ALLOWED)


@dataclass(frozen=True)
class Codes:
    """A coded family over rows and centres.

    Attributes
    ----------
    family : CodedFamily
    rows, centers : arrays of shape (n_members, n_rows) and (n_members, n_centers)
        The ranks of values in ``family.values_``; the last code is that of a gap.
    levels : array of shape (n_members, n_centers)
    first : array of shape (n_members, n_centers)
        Whether a centre is the first with its column; False if there is no column.
    """

    family: CodedFamily
    rows: NDArray[np.int32]
    centers: NDArray[np.int32]
    levels: FloatArray
    first: NDArray[np.bool_]

    @classmethod
    def of(cls, family: CodedFamily, X: Table, centers: Table) -> Self:
        """Find the codes of rows and centres."""
        members = range(family.n_kernels)
        of_rows = np.array([_codes(family, k, X) for k in members])
        of_centers = np.array([_codes(family, k, centers) for k in members])
        levels = np.array([family.levels(k, family.values_of(k, centers)) for k in members])
        return cls(family, of_rows, of_centers, levels, _first_of(levels))

    def restricted(self, rows: IntArray, centers: IntArray) -> Self:
        """Return the codes of some of the rows and centres."""
        levels = self.levels[:, centers]
        parts = self.rows[:, rows], self.centers[:, centers]
        return type(self)(self.family, *parts, levels, _first_of(levels))

    def correlate(
        self,
        v: FloatArray,
        centers: IntArray | slice = slice(None),
        *,
        out: FloatArray | None = None,
        compiled: bool = False,
    ) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j); 0 for a column that repeats one at an earlier centre.

        With ``compiled``, thresholds are priced by a loop that reads each centre once.
        """
        if out is None:
            out = np.empty((len(self.rows), len(self.first[0, centers])))
        active = np.flatnonzero(v)
        for k, codes in enumerate(self.rows):
            of_centers, first = self.centers[k, centers], self.first[k, centers]
            if compiled and self.family.ordered_[k]:
                self._price_thresholds(k, codes[active], v[active], (of_centers, first), out[k])
                continue
            table = self.family.table(k, self._sums(k, codes[active], v[active]))
            np.multiply(table[of_centers], first, out=out[k])
        return out

    def _price_thresholds(
        self,
        k: int,
        codes: NDArray[np.int32],
        v: FloatArray,
        centers: tuple[NDArray[np.int32], NDArray[np.bool_]],
        out: FloatArray,
    ) -> None:
        from . import _fused

        n_values = len(self.family.values_[k])
        known = np.flatnonzero(codes < n_values)
        order = known[np.argsort(codes[known], kind="stable")]
        small = len(order) <= np.iinfo(np.uint16).max
        places: NDArray[np.unsignedinteger] = np.empty(n_values + 1, "u2" if small else "u4")
        _fused.price_thresholds(codes[order], v[order], places, *centers, out)

    def distinguishable(self, v: FloatArray) -> list[tuple[IntArray, FloatArray]]:
        """Return, for each member, the centres to consider and their sums sum_i v_i K_k(x_i, c_j).

        Only rows with v_i != 0 matter here. Thresholds between the same two of these rows have the
        same sum, so only the middle one of them is returned: a solver that added all of them would
        learn nothing new. With few such rows, this takes much less time than `correlate`.
        """
        active = np.flatnonzero(v)
        weights, found = v[active], []
        for k, of_rows in enumerate(self.rows):
            codes = of_rows[active]
            if self.family.ordered_[k]:
                found.append(self._middle_thresholds(k, codes, weights))
                continue
            table = self.family.table(k, self._sums(k, codes, weights))
            found.append((self.order[k], table[self.sorted_codes[k]]))
        return found

    def _middle_thresholds(
        self, k: int, codes: NDArray[np.int32], v: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Return one threshold between any two neighbouring codes of some rows, and its sum."""
        known = codes < len(self.family.values_[k])
        values, places = np.unique(codes[known], return_inverse=True)
        # Only the order of codes matters, so they are replaced by their ranks from 1 on. Rank 0 is
        # below all of them. After the last, there is a largest value, which has no threshold.
        sums = np.zeros(len(values) + 3)
        sums[1:-2] = np.bincount(places, v[known], len(values))
        sums[-1] = v[~known].sum()
        order = self.order[k]
        cuts = np.searchsorted(self.sorted_codes[k], values)
        cuts = np.concatenate([[0], cuts, [len(order)]])
        some = np.flatnonzero(cuts[1:] > cuts[:-1])
        middle = (cuts[:-1] + cuts[1:]) // 2
        return order[middle[some]], self.family.table(k, sums)[some]

    @cached_property
    def order(self) -> list[IntArray]:
        """For each member, the first centre of each of its columns, sorted by code."""
        return [
            centers[np.argsort(self.centers[k, centers], kind="stable")]
            for k, centers in enumerate(map(np.flatnonzero, self.first))
        ]

    @cached_property
    def sorted_codes(self) -> list[NDArray[np.int32]]:
        """The codes of the centres in `order`."""
        return [self.centers[k, order] for k, order in enumerate(self.order)]

    def correlate_sizes(self, v: FloatArray) -> FloatArray:
        """Return ``sum_i v_i |K_k(x_i, c_j)|``, which is also the sum of the squares."""
        out = np.zeros(self.first.shape)
        for k, codes in enumerate(self.rows):
            table = self.family.sizes(k, self._sums(k, codes, v))
            np.multiply(table[self.centers[k]], self.first[k], out=out[k])
        return out

    def _sums(self, k: int, codes: NDArray[np.int32], v: FloatArray) -> FloatArray:
        n_codes = len(self.family.values_[k]) + 1
        return np.bincount(codes, v, n_codes).astype(np.float64, copy=False)


def _distinct(X: Table, feature: int) -> FloatArray:
    if feature < 0:
        return np.zeros(1)
    values = np.asarray(X[:, feature], np.float64)
    return np.unique(values[~np.isnan(values)])


def _codes(family: CodedFamily, k: int, X: Table) -> NDArray[np.int32]:
    """Return the rank of each row's value among the sample's values; for a gap, their number.

    A value between two values of the sample gets the code of the lower one, and a value below all
    of them gets that of the lowest. Only centres that are not training rows can have such values.
    """
    values, known = family.values_of(k, X), family.values_[k]
    codes = np.searchsorted(known, values, side="right") - 1
    codes = np.maximum(codes, 0)
    codes[np.isnan(values)] = len(known)
    return codes.astype(np.int32)


def _first_of(levels: FloatArray) -> NDArray[np.bool_]:
    """Return whether each entry is the first with its value in its row, and not NaN."""
    first = np.zeros(levels.shape, bool)
    for k, row in enumerate(levels):
        _, places = np.unique(row, return_index=True)
        first[k, places] = True
    return first & ~np.isnan(levels)
