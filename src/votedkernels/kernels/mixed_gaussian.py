"""Gaussian kernels over tables with numbers, categories and gaps.

    K_k(x, c) = exp(-gamma_k unit ||z(x) - z(c)||^2)

z is the `Embedding` of the training rows: standardised numbers, and unit vectors for categories.
Two different categories are at squared distance 2, which is also the mean for two standardised
numbers. Over categories alone, these are overlap kernels: K depends only on the number of columns
in which x and c differ.

``unit="scale"`` is 1 / (sum of the variances of z), so that the mean squared distance between
two training rows is 2 in this unit, however many columns and categories there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Self

import numpy as np

from .base import FloatArray, IntArray, Numbers, Table, in_moderate_units, is_number, squared_norms
from .embedding import Embedding
from .gaussian import NORMS_AT_ONCE, Gaussian


class MixedGaussian(Gaussian):
    """Gaussian kernels over numeric and categorical columns, which may have gaps (NaN).

    Numbers are standardised, and categories become unit vectors, based on the training rows. A
    missing number counts as the mean of its column; a missing category counts as a separate value.

    Parameters
    ----------
    gammas : tuple of float, default=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
        Inverse squared widths, in multiples of ``unit``; each defines one kernel.
    numeric : sequence of int, default=None
        Column numbers of the numeric features; None for all that are not categorical.
    categorical : sequence of int, default=()
        Column numbers of the features whose numbers encode categories.
    unit : "scale" or float, default="scale"
        ``"scale"`` is 1 / (sum of the variances of all coordinates) on the training rows.

    Attributes
    ----------
    unit_ : float
        The unit used.
    means_, factors_ : array
        For each numeric column, the value that replaces a gap, and 1 / the standard deviation.
    category_values_, category_counts_, category_gaps_ : array
        The categories of all categorical columns one after the other, how many each column has,
        and whether it has gaps.
    """

    accepts_sparse = False

    accepts_gaps = True

    learns_from_rows = True

    def __init__(
        self,
        gammas: Numbers = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        *,
        numeric: Sequence[int] | None = None,
        categorical: Sequence[int] = (),
        unit: float | str = "scale",
    ) -> None:
        super().__init__(gammas, unit=unit)
        self.numeric = numeric
        self.categorical = categorical

    def fit(self, X: Table, sample_weight: FloatArray) -> Self:
        """Learn the embedding and the unit from the sample."""
        super().fit(X, sample_weight)
        kind = "mixed gaussian" if len(self.means_) else "overlap"
        self.names_ = [f"{kind}(gamma={gamma:g})" for gamma in self.gammas_]
        return self

    def _resolve(self, X: Table, sample_weight: FloatArray) -> None:
        """Learn the embedding and the unit."""
        self.n_features_ = int(X.shape[1])
        numeric, categorical = self._columns()
        learned = Embedding.learn(np.asarray(X), sample_weight, numeric, categorical)
        self.means_, self.factors_ = learned.means, learned.factors
        self.category_values_, self.category_counts_ = learned.values, learned.counts
        self.category_gaps_ = learned.gaps
        self.origin_ = None  # points are near 0
        self.unit_ = self._resolve_unit(learned.points(np.asarray(X)), sample_weight)

    def _resolve_unit(self, points: FloatArray, sample_weight: FloatArray) -> float:
        if not isinstance(self.unit, str):
            if not (is_number(self.unit) and self.unit > 0):
                raise ValueError(
                    f"unit of MixedGaussian must be 'scale' or a positive number, got "
                    f"{self.unit!r}."
                )
            return float(self.unit)
        if self.unit != "scale":
            raise ValueError(
                f"unit of MixedGaussian must be 'scale' or a positive number, got {self.unit!r}."
            )
        weights, _ = in_moderate_units(sample_weight)
        share = weights / weights.sum()
        variance = float((share @ np.square(points - share @ points)).sum())
        return 1.0 / variance if variance > 0 else 1.0

    def _columns(self) -> tuple[IntArray, IntArray]:
        """Return the numeric and the categorical columns; raise if they are not valid."""
        categorical = list(self.categorical)
        everyone = range(self.n_features_)
        numeric = list(self.numeric) if self.numeric is not None else None
        if numeric is None:
            numeric = [column for column in everyone if column not in set(categorical)]
        both = [*numeric, *categorical]
        for column in both:
            if not isinstance(column, Integral) or not 0 <= column < self.n_features_:
                raise ValueError(
                    f"numeric and categorical of MixedGaussian must be column numbers from 0 to "
                    f"{self.n_features_ - 1}, got {column!r}."
                )
        if not both or len(set(both)) < len(both):
            raise ValueError(
                f"numeric and categorical of MixedGaussian must be distinct column numbers, and at "
                f"least one; got {numeric} and {categorical}."
            )
        return np.array(numeric, dtype=np.intp), np.array(categorical, dtype=np.intp)

    @property
    def embedding(self) -> Embedding:
        """The embedding learned from the training rows."""
        learned = (self.means_, self.factors_, self.category_values_, self.category_counts_)
        return Embedding(*self._columns(), *learned, self.category_gaps_)

    def points(self, X: Table) -> FloatArray:
        """Return the rows as points."""
        return self.embedding.points(np.asarray(X))

    def base(self, X: Table, centers: Table) -> FloatArray:
        """Return unit ||z(x) - z(c)||^2."""
        rows, others = self.points(X), self.points(centers)
        left = super().left_factor(rows)
        if left is None:
            return self._subtracted(rows, others)
        return self.multiply(left, super().right_factor(others))

    def left_factor(self, X: Table) -> FloatArray | None:
        """Return the left factor of the distances; None if that loses digits."""
        return super().left_factor(self.points(X))

    def right_factor(self, centers: Table) -> FloatArray:
        """Return the right factor of the distances."""
        return super().right_factor(self.points(centers))

    def keeps_base(self, n_values: int) -> bool:
        """Always true: distances take longer to compute than to read."""
        del n_values
        return True

    @property
    def set_by_sample(self) -> tuple[str, ...]:
        """The scaling of the columns, and the unit if it is ``"scale"``."""
        return ("the scaling of its columns", *super().set_by_sample)

    def _largest_norm(self, X: Table) -> float:
        starts = range(0, X.shape[0], NORMS_AT_ONCE)
        parts = (self.points(X[start : start + NORMS_AT_ONCE]) for start in starts)
        return max(float(squared_norms(part).max()) for part in parts)
