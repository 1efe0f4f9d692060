"""Rules about categories and gaps.

    Categories   K_f(x, c) = 1 if x_f = c_f, else 0         one column for each value of a feature
    Missing      K_f(x, c) = 1 if x_f and c_f are missing, else 0       one column for each feature

In `Categories`, neither a gap (NaN) nor a value that is not in the training sample equals any
value, so neither gets a vote.

Complexity. If the features have Q values in total, there are Q columns, of norm at most sqrt(m), so
the Rademacher complexity is at most sqrt(2 log(2 Q) / m) by Massart's lemma. For gaps, Q is the
number of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from .base import FloatArray, Table
from .coded import CodedFamily


class Categories(CodedFamily):
    """Rules ``x_f = v``, for each feature and each of its training values.

    Parameters
    ----------
    features : sequence of int, default=None
        Column numbers of the features to treat as categories; None for all.
    """

    def __init__(self, features: Sequence[int] | None = None) -> None:
        self.features = features

    def fit(self, X: Table, sample_weight: FloatArray) -> Self:
        """Find the distinct values of each feature."""
        super().fit(X, sample_weight)
        self.n_values_ = sum(len(values) for values in self.values_)
        return self

    def levels(self, k: int, values: FloatArray) -> FloatArray:
        """Return the value itself; NaN for a gap or a value that is not in the sample."""
        return np.where(np.isin(values, self.values_[k]), values, np.nan)

    def evaluate(self, k: int, values: FloatArray, levels: FloatArray) -> FloatArray:
        """Return 1 where the value equals that of the column."""
        del k
        return np.equal.outer(values, levels).astype(np.float64)

    def table(self, k: int, sums: FloatArray) -> FloatArray:
        """Return the sums for all values."""
        del k
        table = sums.copy()
        table[-1] = 0.0
        return table

    def sizes(self, k: int, sums: FloatArray) -> FloatArray:
        """Return the same sums as `table`, since no value is negative."""
        return self.table(k, sums)

    def rule(self, k: int, level: float, feature: str, category: str | None = None) -> str:
        """Return "feature = value"."""
        del k
        return f"{feature} = {f'{level:.6g}' if category is None else category}"

    def log_growth(self, m: float) -> FloatArray:
        """Return log(2 Q)."""
        del m
        return np.full(self.n_kernels, np.log(2.0 * max(1, self.n_values_)))


class Missing(CodedFamily):
    """Rules ``x_f is missing``, for each feature.

    Parameters
    ----------
    features : sequence of int, default=None
        Column numbers of the features; None for all. A feature without gaps in the training sample
        has no rule.
    """

    def __init__(self, features: Sequence[int] | None = None) -> None:
        self.features = features

    def levels(self, k: int, values: FloatArray) -> FloatArray:
        """Return 0 for a gap, NaN for any other value."""
        del k
        return np.where(np.isnan(values), 0.0, np.nan)

    def evaluate(self, k: int, values: FloatArray, levels: FloatArray) -> FloatArray:
        """Return 1 where row and centre both have a gap, else 0."""
        del k
        return np.logical_and.outer(np.isnan(values), ~np.isnan(levels)).astype(np.float64)

    def table(self, k: int, sums: FloatArray) -> FloatArray:
        """Return the sum over gaps."""
        del k
        table = np.zeros_like(sums)
        table[-1] = sums[-1]
        return table

    def sizes(self, k: int, sums: FloatArray) -> FloatArray:
        """Return the same sums as `table`, since no value is negative."""
        return self.table(k, sums)

    def rule(self, k: int, level: float, feature: str, category: str | None = None) -> str:
        """Return "feature is missing"."""
        del k, level, category
        return f"{feature} is missing"

    def log_growth(self, m: float) -> FloatArray:
        """Return log(2 d)."""
        del m
        return np.full(self.n_kernels, np.log(2.0 * self.n_kernels))
