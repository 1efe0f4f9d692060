"""Columns whose values are all stored, for many small problems over parts of the same rows.

A search solves hundreds of problems, on several folds and with many penalties. If memory allows,
the p kernel matrices are evaluated once, and each fold takes its rows and centres from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np

from .base import FloatArray, IntArray, Rows
from .coded import Codes
from .columns import Columns
from .local_columns import LocalColumns, covers

#: Bytes that all kernel matrices together may take.
MOST_BYTES = 2**29


def stack_columns(columns: Columns) -> Columns:
    """Return the columns with all values stored, or unchanged if there are too many values."""
    if not isinstance(columns, LocalColumns):
        return columns
    plain = [k for k in range(columns.n_kernels) if not columns.family_of(k).is_coded]
    if 8 * len(plain) * columns.n_rows * columns.n_centers > min(MOST_BYTES, columns.budget.memory):
        return columns
    everyone = np.arange(columns.n_centers)
    values = np.empty((len(plain), columns.n_rows, columns.n_centers))
    place = 0
    for f, family in enumerate(columns.families):
        if family.is_coded:
            continue
        base = columns.base(f, np.arange(columns.n_rows), everyone)
        for member in family.members(base):
            columns.budget.check_time()
            values[place] = member
            place += 1
    return StackedColumns(columns, values)


class StackedColumns(Columns):
    """Columns together with all their values.

    Parameters
    ----------
    source : LocalColumns
    values : array of shape (n_plain_kernels, n_rows, n_centers)
        The values of all kernels except rules, which are cheap to evaluate from their codes.
    """

    def __init__(self, source: LocalColumns, values: FloatArray) -> None:
        super().__init__(
            source.families,
            source.n_rows,
            source.n_centers,
            outside=source.outside,
            budget=source.budget,
        )
        self._source = source
        self._values = values
        self._rows, self._centers = np.arange(source.n_rows), np.arange(source.n_centers)
        self._plain = np.array([not self.family_of(k).is_coded for k in range(self.n_kernels)])
        #: The place of each kernel in ``values``.
        self._place = np.cumsum(self._plain) - 1
        self._codes = dict(source.coded())
        self._largest = np.ones(self.n_kernels)  # for rules
        self._largest[self._plain] = np.abs(values).max(axis=(1, 2), initial=0.0)

    def correlate(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) in one pass; see `Columns`."""
        self.budget.check_time()
        if not self._codes:
            return self._correlate_plain(v, centers)
        out = np.empty((self.n_kernels, self.n_centers if centers is None else len(centers)))
        out[self._plain] = self._correlate_plain(v, centers)
        return self.add_rules(out, v, centers)

    def coded(self) -> Iterator[tuple[int, Codes]]:
        """Yield the number and the codes of each coded family."""
        yield from self._codes.items()

    def _correlate_plain(self, v: FloatArray, centers: IntArray | None) -> FloatArray:
        active = np.flatnonzero(v)
        if centers is not None:
            return np.asarray(v[active] @ self._values[:, active[:, None], centers])
        if 2 * len(active) > self.n_rows:
            return np.asarray(v @ self._values)
        return np.asarray(v[active] @ self._values[:, active])

    def sums(self, v: FloatArray, kernels: IntArray, centers: IntArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for the columns (kernels[t], centers[t]) only."""
        active = np.flatnonzero(v)
        return np.asarray(v[active] @ self.take(kernels, centers, active))

    def diagonal_range(self, f: int, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Return the smallest and the largest K_k(x, x), and the weighted sum over rows."""
        return self.at_hand().diagonal_range(f, weights)

    def take(
        self, kernels: IntArray, centers: IntArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the columns (kernels[t], centers[t]) on some rows."""
        n_rows = self.n_rows if rows is None else len(rows)
        out = np.empty((n_rows, len(kernels)))
        rules = np.flatnonzero(~self._plain[kernels])
        if len(rules):
            where = self._centers[centers[rules]], self._rows if rows is None else self._rows[rows]
            out[:, rules] = self._source.take(kernels[rules], *where)
        for kernel in np.unique(kernels[self._plain[kernels]]):
            mine = np.flatnonzero(kernels == kernel)
            values = self._values[self._place[kernel]]
            if rows is None:
                out[:, mine] = values[:, centers[mine]]
            else:
                out[:, mine] = values[np.ix_(rows, centers[mine])]
        return out

    def vote(
        self,
        kernels: IntArray,
        centers: IntArray,
        weights: FloatArray,
        rows: IntArray | None = None,
    ) -> FloatArray:
        """Return sum_t weights[t] K_{kernels[t]}(x_i, c_{centers[t]}) for every row."""
        return np.asarray(self.take(kernels, centers, rows) @ weights)

    def largest(self) -> FloatArray:
        """Return a bound on ``|K_k|`` for each kernel."""
        return self._largest

    def error_growth(self) -> FloatArray:
        """Return the factor by which each K_k's rounding error exceeds that of a single number."""
        return self._source.error_growth()

    def centers_at(self, numbers: IntArray) -> Rows:
        """Return the centres with these numbers."""
        return self._source.centers_at(self._centers[numbers])

    def points(self, rows: IntArray) -> tuple[Rows, Rows]:
        """Return the requested rows, as rows and as centres."""
        return self._source.points(self._rows[rows])

    def part(self, rows: IntArray, centers: IntArray) -> StackedColumns:
        """Return the same kernels over some of the rows and centres, with copies of the values.

        If these are all rows and centres, the values are shared, not copied.
        """
        if covers((self.n_rows, self.n_centers), rows, centers):
            return self
        part = copy(self)
        part._rows, part._centers = self._rows[rows], self._centers[centers]  # noqa: SLF001
        values = self._values
        part._codes = {f: c.restricted(rows, centers) for f, c in self._codes.items()}  # noqa: SLF001
        part._values = np.ascontiguousarray(values[:, rows][:, :, centers])  # noqa: SLF001
        part.n_rows, part.n_centers = len(rows), len(centers)
        return part

    def restricted(self, rows: IntArray, centers: IntArray) -> LocalColumns:
        """Return the same kernels over some of the rows and centres, without stored values."""
        return self._source.restricted(self._rows[rows], self._centers[centers])

    def at_hand(self) -> LocalColumns:
        """Return the same columns, without stored values."""
        everything = len(self._rows) == self._source.n_rows
        if everything and len(self._centers) == self._source.n_centers:
            return self._source
        return self._source.restricted(self._rows, self._centers)
