"""Gaussian kernels of several widths that share one squared distance.

K_k(x, c) = exp(-gamma_k b(x, c)),     b(x, c) = unit ||S (x - c)||^2

S is the diagonal matrix of feature_scales, or the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy import sparse

from .base import (
    FEW_FEATURES,
    SMALL_BASE,
    FloatArray,
    IntArray,
    KernelFamily,
    Numbers,
    Rows,
    Table,
    are_all,
    as_tuple,
    in_moderate_units,
    inner_products,
    is_number,
    is_sparse,
    resolve_scale,
    squared_norms,
)
from .sums import SeveralWeights, StoredBase, has_loops, sum_gaussians, sum_several_gaussians

#: Largest exponent for which distances come from a matrix product, whose error in the exponent is
#: about eps times this. Beyond it, rows and centres are subtracted, which is slower.
LARGEST_EXPONENT = 1e6
#: How much each unit of the largest exponent adds to the factor by which rounding errors grow.
PART_OF_GROWTH = 0.1
NORMS_AT_ONCE = 10_000


class Gaussian(KernelFamily):
    """Gaussian kernels ``exp(-gamma * unit * ||x - x'||^2)``, one per gamma.

    Parameters
    ----------
    gammas : tuple of float, default=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
        Inverse squared widths, in multiples of ``unit``; each defines one kernel.
    unit : "scale" or float, default="scale"
        ``"scale"`` is ``1 / (n_features * X.var())`` with the (weighted) variance of the
        training data. The paper's kernels have ``gammas=(1e-6, ..., 1.0), unit=1.0``.
    feature_scales : sequence of float, default=None
        Factors >= 0, one per feature, by which rows and centres are multiplied first. A large
        factor makes a feature count more, and 0 leaves it out. None means 1 for all.

    Attributes
    ----------
    unit_ : float
        The unit used.
    """

    accepts_sparse = True

    is_definite_by_formula = True

    is_nonnegative = True

    #: The diagonal of S, set by fit; None for the identity.
    scales_: FloatArray | None = None

    def __init__(
        self,
        gammas: Numbers = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
        *,
        unit: float | str = "scale",
        feature_scales: Sequence[float] | FloatArray | None = None,
    ) -> None:
        self.gammas = gammas
        self.unit = unit
        self.feature_scales = feature_scales

    @property
    def is_positive_definite(self) -> bool:
        """Always true for Gaussian kernels."""
        return True

    def fit(self, X: Table, sample_weight: FloatArray) -> Self:
        """Resolve ``unit="scale"`` on the sample."""
        gammas = as_tuple(self.gammas, parameter="gammas of Gaussian")
        for gamma in gammas:
            if not (is_number(gamma) and gamma > 0):
                raise ValueError(f"gammas of Gaussian must be positive numbers, got {gamma!r}.")
        if len(set(gammas)) < len(gammas):
            raise ValueError(f"gammas of Gaussian has repeated entries: {gammas}.")
        self.gammas_ = np.array([float(gamma) for gamma in gammas])
        self.scales_ = check_feature_scales(self.feature_scales, int(X.shape[1]))
        self._resolve(X, sample_weight)
        self.names_ = [f"gaussian(gamma={gamma:g})" for gamma in self.gammas_]
        return self

    def _resolve(self, X: Table, sample_weight: FloatArray) -> None:
        """Compute the unit and the origin from the sample."""
        X = self._scaled(X)
        parameter = f"unit of {type(self).__name__}"
        self.unit_ = resolve_scale(self.unit, X, sample_weight, parameter=parameter)
        self.n_features_ = int(X.shape[1])
        # Distances do not depend on the origin, but lose fewer digits if it is near the data.
        if is_sparse(X):
            self.origin_ = None
        else:
            weights, _ = in_moderate_units(sample_weight)
            self.origin_ = (weights @ X) / weights.sum()

    def _scaled(self, X: Table) -> Table:
        """Return S x for each row."""
        if self.scales_ is None:
            return X
        return X @ sparse.diags(self.scales_) if is_sparse(X) else X * self.scales_

    def base(self, X: Table, centers: Table) -> FloatArray:
        """Return unit ||S (x - c)||^2."""
        if not (is_sparse(X) or is_sparse(centers)):
            left = self.left_factor(X)
            if left is None:
                return self._subtracted(X, centers)
            return self.multiply(left, self.right_factor(centers))
        X, centers = self._scaled(X), self._scaled(centers)
        base = inner_products(X, centers * (-2.0 * self.unit_))
        base += (self.unit_ * squared_norms(X))[:, None]
        base += (self.unit_ * squared_norms(centers))[None, :]
        return np.maximum(base, 0.0, out=base)

    def _subtracted(self, X: FloatArray, centers: FloatArray) -> FloatArray:
        """Compute the base feature by feature: slow, but accurate for narrow kernels."""
        X, centers = self._scaled(X), self._scaled(centers)
        base = np.zeros((X.shape[0], centers.shape[0]), X.dtype)
        for x, c in zip(X.T, centers.T, strict=True):
            difference = np.subtract.outer(x, c)
            difference *= difference
            base += difference
        base *= self.unit_
        return base

    @property
    def _largest_gamma(self) -> float:
        return float(self.gammas_.max(initial=0.0))

    # The unit and the norms go into the small factors, because passes over the base are costly.

    def left_factor(self, X: Table) -> FloatArray | None:
        """Return [x, unit ||x||^2, 1] relative to our origin; None if that loses digits."""
        if is_sparse(X):
            return None
        X = self._scaled(X)
        X = X if self.origin_ is None else X - self.origin_
        norms = squared_norms(X)
        # Distances lose digits if rows and centres are far from the origin but near each other.
        largest = float(norms.max(initial=0.0))
        if self._largest_gamma * self.unit_ * largest > LARGEST_EXPONENT:
            return None
        return np.column_stack([X, self.unit_ * norms, np.ones_like(norms)])

    def right_factor(self, centers: Table) -> FloatArray:
        """Return [-2 unit c, 1, unit ||c||^2] relative to our origin."""
        centers = self._scaled(centers)
        centers = centers if self.origin_ is None else centers - self.origin_
        norms = squared_norms(centers)
        return np.column_stack(
            [-2.0 * self.unit_ * centers, np.ones_like(norms), self.unit_ * norms]
        )

    def multiply(
        self, left: FloatArray, right: FloatArray, out: FloatArray | None = None
    ) -> FloatArray:
        """Compute squared distances from their factors, and clip them at 0."""
        base = inner_products(left, right, out)
        return np.maximum(base, 0.0, out=base)

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return exp(-gammas[k] base)."""
        with np.errstate(over="ignore"):  # an exponent of -inf is correct: the kernel is 0
            values = base * -self.gammas_[k]
        return np.asarray(np.exp(values, out=values))

    def vote(
        self, base: FloatArray, members: IntArray, positions: IntArray, weights: FloatArray
    ) -> FloatArray:
        """Return `columns` times weights, computed in place where no column is repeated."""
        out = base if are_all(positions, base) else None
        return np.asarray(self._evaluated(base, members, positions, out) @ weights)

    def columns(self, base: FloatArray, members: IntArray, positions: IntArray) -> FloatArray:
        """Return the columns, each with its own width."""
        return self._evaluated(base, members, positions, None)

    def _evaluated(
        self, base: FloatArray, members: IntArray, positions: IntArray, out: FloatArray | None
    ) -> FloatArray:
        chosen = base if are_all(positions, base) else np.take(base, positions, axis=1)
        with np.errstate(over="ignore"):
            values = np.multiply(chosen, -self.gammas_[members], out=out)
        return np.asarray(np.exp(values, out=values))

    has_fused = True

    def correlate_fused(self, base: FloatArray | StoredBase, v: FloatArray) -> FloatArray:
        """Return `correlate`, computed by a compiled loop."""
        return sum_gaussians(base, v, self.gammas_)

    def correlate_several(self, base: FloatArray, several: SeveralWeights) -> FloatArray:
        """Return `correlate` for several v, by a compiled loop if there is one."""
        if not (has_loops() and self.has_fused):
            return super().correlate_several(base, several)
        return sum_several_gaussians(base, several, self.gammas_)

    def keeps_base(self, n_values: int) -> bool:
        """Whether to keep the base: with few features, it is faster to recompute than to read."""
        return n_values <= SMALL_BASE or self.n_features_ > FEW_FEATURES

    @property
    def set_by_sample(self) -> tuple[str, ...]:
        """The unit, if it is ``"scale"``."""
        return ('unit="scale"',) if isinstance(self.unit, str) else ()

    def supremum(self, radius: float | None) -> FloatArray | None:
        """Return 1, which no value exceeds."""
        del radius
        return np.ones(self.n_kernels)

    def largest(self, X: Table, centers: Table) -> FloatArray:
        """Return 1, which no value exceeds."""
        del X, centers
        return np.ones(self.n_kernels)

    def error_growth(self, X: Table) -> FloatArray:
        """Return the factor, which is large if large parts of the exponents cancel."""
        largest = self.unit_ * self._largest_norm(X)
        if not is_sparse(X):  # beyond this, rows and centres are subtracted
            largest = min(largest, LARGEST_EXPONENT / self._largest_gamma)
        return 1.0 + PART_OF_GROWTH * self.gammas_ * largest

    def _largest_norm(self, X: Table) -> float:
        origin = 0.0 if self.origin_ is None else self.origin_
        starts = range(0, X.shape[0], NORMS_AT_ONCE)
        parts = (self._scaled(X[start : start + NORMS_AT_ONCE]) for start in starts)
        return max(
            float(squared_norms(part if is_sparse(part) else part - origin).max()) for part in parts
        )

    def diagonal(self, X: Table, itself: Rows) -> FloatArray:
        """Return 1 for all x."""
        del itself
        return np.ones((self.n_kernels, X.shape[0]))


def check_feature_scales(
    scales: Sequence[float] | FloatArray | None, n_features: int
) -> FloatArray | None:
    """Return the diagonal of S, or None for the identity; raise if the scales are not valid."""
    if scales is None:
        return None
    found = np.asarray(scales, dtype=np.float64)
    if found.shape != (n_features,):
        raise ValueError(
            f"feature_scales of Gaussian must have one number per feature ({n_features}), got "
            f"shape {found.shape}."
        )
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise ValueError(
            f"feature_scales of Gaussian must be finite, >= 0 and not all 0, got {scales!r}."
        )
    return found
