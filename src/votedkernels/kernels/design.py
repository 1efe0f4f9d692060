"""A design matrix: the chosen columns at all rows, used only for sums over the rows.

B has a row B_i for every row x_i and a column for every chosen term. `LocalDesign` holds it in this
process. `distributed.DaskDesign` leaves it on the workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.linalg import blas

from .base import FloatArray, IntArray


class Design(ABC):
    """A design matrix B of shape (n_rows, n_columns)."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""

    @abstractmethod
    def values(self, z: FloatArray) -> FloatArray:
        """Return B z."""

    @abstractmethod
    def sums(self, v: FloatArray) -> FloatArray:
        """Return B^T v."""

    @abstractmethod
    def squares(self, v: FloatArray) -> FloatArray:
        """Return sum_i v_i B_ij^2 for each column j."""

    @abstractmethod
    def products(self, v: FloatArray, rows: IntArray | slice) -> FloatArray:
        """Return the upper triangle of sum_i v_i (B_i, 1) (B_i, 1)^T over some rows, v >= 0."""

    @abstractmethod
    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> Design:
        """Return a design in which ``function`` is applied to each block of rows."""


class LocalDesign(Design):
    """A design matrix in this process."""

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        n_rows, n_columns = self.matrix.shape
        return n_rows, n_columns

    def values(self, z: FloatArray) -> FloatArray:
        """Return B z."""
        return np.asarray(self.matrix @ z)

    def sums(self, v: FloatArray) -> FloatArray:
        """Return B^T v."""
        return np.asarray(self.matrix.T @ v)

    def squares(self, v: FloatArray) -> FloatArray:
        """Return sum_i v_i B_ij^2 for each column j."""
        return np.asarray(v @ self.matrix**2)

    def products(self, v: FloatArray, rows: IntArray | slice) -> FloatArray:
        """Return the upper triangle of sum_i v_i (B_i, 1) (B_i, 1)^T over some rows, v >= 0."""
        roots = np.sqrt(v[rows])
        n_columns = self.matrix.shape[1]
        if len(roots) == 0:  # BLAS does not accept empty arrays
            return np.zeros((n_columns + 1, n_columns + 1))
        scaled = np.empty((len(roots), n_columns + 1), order="F")
        np.multiply(self.matrix[rows], roots[:, None], out=scaled[:, :n_columns])
        scaled[:, n_columns] = roots
        return np.asarray(blas.dsyrk(1.0, scaled, trans=1))

    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> LocalDesign:
        """Return a design in which ``function`` is applied to each block of rows."""
        return LocalDesign(function(self.matrix))


class RepeatedDesign(Design):
    """A design whose row p is row ``rows[p]`` of another design, without copying its values."""

    def __init__(self, design: Design, rows: IntArray) -> None:
        self.design, self.rows = design, rows

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.rows), self.design.shape[1]

    def values(self, z: FloatArray) -> FloatArray:
        """Return B z."""
        return self.design.values(z)[self.rows]

    def sums(self, v: FloatArray) -> FloatArray:
        """Return B^T v."""
        return self.design.sums(self._gathered(self.rows, v))

    def squares(self, v: FloatArray) -> FloatArray:
        """Return sum_p v_p B_pj^2 for each column j."""
        return self.design.squares(self._gathered(self.rows, v))

    def products(self, v: FloatArray, rows: IntArray | slice) -> FloatArray:
        """Return the upper triangle of sum_p v_p (B_p, 1) (B_p, 1)^T over some rows, v >= 0."""
        sums = self._gathered(self.rows[rows], v[rows])
        return self.design.products(sums, np.flatnonzero(sums))

    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> RepeatedDesign:
        """Return a design in which ``function`` is applied to each block of rows."""
        return RepeatedDesign(self.design.mapped(function), self.rows)

    def _gathered(self, rows: IntArray, v: FloatArray) -> FloatArray:
        """Return the sum of v over the repetitions of each row."""
        return np.bincount(rows, v, self.design.shape[0]).astype(np.float64, copy=False)
