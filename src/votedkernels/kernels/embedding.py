"""Rows of a table as points: numbers standardised, gaps filled in, categories as unit vectors.

    number      (x - mean) / standard deviation; a gap is 0, as if it were the mean
    category    one coordinate per value of the training rows: 1 for its own value, else 0

The mean is filled in because kernels see squared distances: no other value has a smaller mean
squared distance from the training rows. A missing category is a separate value if gaps occur in
the training rows. A value that does not occur there is 0 in all coordinates, so it is equally far
from every known value. A number that is constant there carries no information and becomes 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .base import FloatArray, IntArray, in_moderate_units


@dataclass(frozen=True)
class Embedding:
    """An embedding learned from the training rows.

    Attributes
    ----------
    numeric, categorical : columns of each kind
    means, factors : the mean of each numeric column, and 1 / its standard deviation
    values : the distinct values of all categorical columns, one column after the other
    counts : how many distinct values each column has
    gaps : 1 for each categorical column with gaps, else 0
    """

    numeric: IntArray
    categorical: IntArray
    means: FloatArray
    factors: FloatArray
    values: FloatArray
    counts: FloatArray
    gaps: FloatArray

    @classmethod
    def learn(
        cls, X: FloatArray, sample_weight: FloatArray, numeric: IntArray, categorical: IntArray
    ) -> Self:
        """Learn means, deviations and categories from weighted rows."""
        weights, _ = in_moderate_units(sample_weight)
        moments = [_moments(X[:, column], weights) for column in numeric]
        known = [X[:, column] for column in categorical]
        values = [np.unique(column[~np.isnan(column)]) for column in known]
        return cls(
            numeric,
            categorical,
            means=np.array([mean for mean, _ in moments], np.float64),
            factors=np.array([factor for _, factor in moments], np.float64),
            values=np.concatenate([np.zeros(0), *values]),
            counts=np.array([len(of_column) for of_column in values], np.float64),
            gaps=np.array([np.isnan(column).any() for column in known], np.float64),
        )

    def points(self, X: FloatArray) -> FloatArray:
        """Return the rows as points."""
        numbers = (X[:, self.numeric] - self.means) * self.factors
        np.nan_to_num(numbers, copy=False, nan=0.0)
        parts, first = [numbers], 0
        for column, count, gap in zip(self.categorical, self.counts, self.gaps, strict=True):
            values = self.values[first : first + int(count)]
            first += int(count)
            parts.append(np.equal.outer(X[:, column], values).astype(np.float64))
            if gap:
                parts.append(np.isnan(X[:, [column]]).astype(np.float64))
        return np.concatenate(parts, axis=1)


def _moments(column: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the mean, and 1 / the standard deviation (0 for a constant column)."""
    known = ~np.isnan(column)
    column, weights = column[known], weights[known]
    if not len(column):
        return 0.0, 0.0
    lowest, highest = float(column.min()), float(column.max())
    middle, half = lowest / 2 + highest / 2, highest / 2 - lowest / 2
    if half <= 8 * np.finfo(np.float64).eps * abs(middle):
        return middle, 0.0
    moved = (column - middle) / half  # so that squares neither overflow nor vanish
    share = weights / weights.sum()
    mean = float(share @ moved)
    deviation = float(np.sqrt(share @ np.square(moved - mean)))
    return middle + half * mean, 1.0 / (half * deviation)
