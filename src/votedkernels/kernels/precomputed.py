"""A kernel given by its values: X is the matrix of K(x_i, c_j)."""

from __future__ import annotations

from typing import Self

import numpy as np

from .base import FloatArray, IntArray, KernelFamily, Rows

#: Sums over samples and products with weights must stay finite.
LARGEST_VALUE = 1e290


class Precomputed(KernelFamily):
    """One kernel whose values you provide.

    In ``fit``, X is the square matrix of K(x_i, x_j): row i holds the values at sample i, and
    column j is the function K(., x_j). In ``predict``, X has one column per training row. The
    matrix need not be symmetric or positive definite.

    Parameters
    ----------
    positive_definite : bool, default=False
        Declare that the kernel is positive definite. The trace complexity is then allowed, and
        stable rank needs no singular values.
    """

    is_precomputed = True

    def __init__(self, *, positive_definite: bool = False) -> None:
        self.positive_definite = positive_definite

    @property
    def is_positive_definite(self) -> bool:
        """Whether the user declared the kernel positive definite."""
        return self.positive_definite

    def fit(self, X: Rows, sample_weight: FloatArray) -> Self:
        """Name the kernel; nothing depends on the sample."""
        del X, sample_weight
        self.names_ = ["precomputed"]
        return self

    # If `is_precomputed` is true, X is a matrix, and centres are its column numbers. Other families
    # have other kinds of rows.

    def check_range(self, X: FloatArray, centers: Rows) -> None:  # type: ignore[override]
        """Raise before any work if sums over rows would overflow."""
        del centers
        largest = max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))
        if largest > LARGEST_VALUE:
            raise ValueError(
                f"kernel {self.names_[0]} has values as large as {largest:.2g}, and their sums "
                "overflow float64; scale the matrix, as in X / np.abs(X).max()."
            )

    def base(self, X: FloatArray, centers: IntArray) -> FloatArray:  # type: ignore[override]
        """Return the columns of X whose numbers are the centres."""
        return np.asarray(X[:, centers])

    def largest(self, X: FloatArray, centers: IntArray) -> FloatArray:  # type: ignore[override]
        """Return the largest absolute value."""
        return np.array([np.abs(X[:, centers]).max(initial=0.0)])

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return the base itself."""
        del k
        return base
