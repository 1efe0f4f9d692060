"""Values of some columns on some rows, where both sets grow and shrink.

A master reads the same values in each round. They are stored in an array with room for more
columns, so that a few new ones do not copy all the others.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray

#: A new array has room for so many times as many columns. What is not used takes no memory yet.
ROOM = 1.25


class StoredColumns:
    """Values of columns on rows.

    Attributes
    ----------
    rows : array of shape (n_stored,)
        The rows whose values are stored, in no particular order.
    n_columns : int
    """

    def __init__(self, n_rows: int, rows: IntArray) -> None:
        self.rows = rows
        self.n_columns = 0
        self._array = np.empty((0, len(rows)))
        self._place = np.full(n_rows, -1, np.intp)  # of each row among the stored ones
        self._place[rows] = np.arange(len(rows))

    @property
    def values(self) -> FloatArray:
        """All values, shape (n_columns, n_stored); valid until columns are removed."""
        return self._array[: self.n_columns]

    @property
    def nbytes(self) -> int:
        """Bytes that the array takes."""
        return self._array.nbytes

    def copy(self) -> Self:
        """Return a copy, without room for more."""
        other = type(self)(len(self._place), self.rows)
        other.append(self.values)
        return other

    def append(self, values: FloatArray) -> None:
        """Add columns, whose values have the shape (n_new, n_stored)."""
        n = self.n_columns + len(values)
        if n > len(self._array):
            array = np.empty((max(n, int(ROOM * self.n_columns)), len(self.rows)))
            array[: self.n_columns] = self.values
            self._array = array
        self._array[self.n_columns : n] = values
        self.n_columns = n

    def keep_columns(self, kept: NDArray[np.bool_]) -> None:
        """Remove all other columns."""
        places = np.flatnonzero(kept)
        for new, old in enumerate(places):
            if new != old:
                self._array[new] = self._array[old]
        self.n_columns = len(places)

    def missing(self, rows: IntArray) -> IntArray:
        """Return those of some rows whose values are not stored."""
        return rows[self._place[rows] < 0]

    def add_rows(self, rows: IntArray, values: FloatArray) -> None:
        """Add rows that are missing; their values have the shape (n_columns, n_new)."""
        self._place[rows] = len(self.rows) + np.arange(len(rows))
        self.rows = np.concatenate([self.rows, rows])
        self._array = np.concatenate([self.values, values], axis=1)

    def keep_rows(self, kept: NDArray[np.bool_]) -> None:
        """Remove all other rows; ``kept`` has an entry for each of `rows`."""
        self.rows, self._array = self.rows[kept], self.values[:, kept]
        self._place[:] = -1
        self._place[self.rows] = np.arange(len(self.rows))

    def on(self, rows: IntArray) -> FloatArray:
        """Return the values on some stored rows, shape (n_columns, n_rows)."""
        if len(rows) == len(self.rows) and np.array_equal(rows, self.rows):
            return self.values
        return self.values[:, self._place[rows]]

    def vote(self, weights: FloatArray) -> FloatArray:
        """Return the sum of all columns times their weights, in the order of the rows.

        All rows must be stored. Columns without a weight are left out if they are many, since
        reading them takes time.
        """
        used = weights != 0
        if 2 * np.count_nonzero(used) < len(weights):
            sums = weights[used] @ self.values[used]
        else:
            sums = weights @ self.values
        out = np.empty(len(self.rows))
        out[self.rows] = sums
        return out
