"""Thresholds: the columns sign(x_f - t), one for each gap between training values of a feature.

    K_f(x, c) = 1 if x_f > t, -1 if x_f <= t, 0 if x_f is missing

t lies between c_f and the next larger value of the feature in the training sample. The largest
value has no threshold. The last member is the constant 1, so that both sides of a rule can have
any vote. It also makes the model independent of the direction of a feature: the thresholds of -x_f
are those of x_f.

Let V_r be the sum of v over rows whose value has rank <= r, and V the sum over rows without gaps.
Then sum_i v_i K_f(x_i, c) = V - 2 V_r for a centre of rank r: one pass prices all thresholds.

Complexity. On m rows, d features have at most d (m + 1) different thresholds, hence 2 d (m + 1)
columns and negated columns, of norm at most sqrt(m). By Massart's lemma, the Rademacher complexity
of the family is at most sqrt(2 log(2 d (m + 1)) / m), on every sample. This is the paper's remark
on growth functions. The constant is a class of two functions, with the bound sqrt(2 log(2) / m).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .base import FloatArray
from .coded import CodedFamily


class Threshold(CodedFamily):
    """Rules ``x_f > t``, for each feature and each t between two of its training values.

    A gap (NaN) votes for neither side.

    Parameters
    ----------
    features : sequence of int, default=None
        Column numbers of the features that get thresholds; None for all.
    """

    def __init__(self, features: Sequence[int] | None = None) -> None:
        self.features = features

    def _set_members(self) -> None:
        super()._set_members()
        self.features_ = np.append(self.features_, -1)
        self.names_.append("constant")
        self.ordered_ = self.features_ >= 0

    def levels(self, k: int, values: FloatArray) -> FloatArray:
        """Return t for each value, NaN for the largest; the level of the constant is 0."""
        if self.features_[k] < 0:
            return np.zeros(len(values))
        known = self.values_[k]
        cuts = np.append(between(known[:-1], known[1:]), np.nan)
        ranks = np.searchsorted(known, values, side="right") - 1
        ranks[(ranks < 0) | np.isnan(values)] = len(known) - 1
        return np.asarray(cuts[ranks]) if len(known) else np.full(len(values), np.nan)

    def evaluate(self, k: int, values: FloatArray, levels: FloatArray) -> FloatArray:
        """Return 1 above t, -1 below, 0 for a gap."""
        if self.features_[k] < 0:
            return np.ones((len(values), len(levels)))
        columns = np.where(values[:, None] > levels, 1.0, -1.0)
        columns[np.isnan(values)] = 0.0
        columns[:, np.isnan(levels)] = 0.0
        return columns

    def table(self, k: int, sums: FloatArray) -> FloatArray:
        """Return the sums for all thresholds, using prefix sums."""
        table = np.zeros_like(sums)
        if self.features_[k] < 0:
            table[0] = sums[0]
            return table
        prefix = np.cumsum(sums[:-1])
        np.multiply(prefix[:-1], -2.0, out=table[:-2])
        table[:-2] += prefix[-1:]
        return table

    def sizes(self, k: int, sums: FloatArray) -> FloatArray:
        """Return the sum over all rows without a gap, for each threshold."""
        del k
        return np.full(len(sums), float(sums[:-1].sum()))

    def rule(self, k: int, level: float, feature: str, category: str | None = None) -> str:
        """Return "feature > t"."""
        del category
        return "constant" if self.features_[k] < 0 else f"{feature} > {level:.6g}"

    def log_growth(self, m: float) -> FloatArray:
        """Return log(2 d (m + 1)), and log(2) for the constant."""
        of_thresholds = math.log(2 * (self.n_kernels - 1) * (m + 1))
        return np.where(self.features_ >= 0, of_thresholds, math.log(2))


def between(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return numbers t with lower <= t < upper, in the middle if rounding allows."""
    middle = lower / 2 + upper / 2  # a sum could overflow
    return np.where((lower <= middle) & (middle < upper), middle, lower)
