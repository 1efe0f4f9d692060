"""Gaussian kernels of several widths over one squared distance.

K_k(x, c) = exp(-gamma_k b(x, c)),     b(x, c) = unit ||x - c||^2
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from .base import (
    FEW_FEATURES,
    SMALL_BASE,
    FloatArray,
    IntArray,
    KernelFamily,
    as_tuple,
    in_moderate_units,
    inner_products,
    is_number,
    resolve_scale,
)
from .polynomial import _squared_norms

#: A product of factors is wrong by about eps times this in the exponent; beyond, rows and centres
#: are subtracted, which takes longer.
LARGEST_EXPONENT = 1e6
#: Of the units in the last place that a certificate counts for a value, so many for one part of it.
PART_OF_GROWTH = 0.1
NORMS_AT_ONCE = 10_000


class Gaussian(KernelFamily):
    """Gaussian kernels ``exp(-gamma * unit * ||x - x'||^2)``, one per gamma.

    Parameters
    ----------
    gammas : tuple of float, default=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
        Inverse squared widths, in multiples of ``unit``; each is one kernel.
    unit : "scale" or float, default="scale"
        ``"scale"`` is ``1 / (n_features * X.var())`` with the (weighted) variance of the
        training data. The paper's kernels are ``gammas=(1e-6, ..., 1.0), unit=1.0``.

    Attributes
    ----------
    unit_ : float
        The unit used.
    """

    accepts_sparse = True

    is_definite_by_formula = True

    def __init__(
        self,
        gammas: Any = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
        *,
        unit: float | str = "scale",
    ) -> None:
        self.gammas = gammas
        self.unit = unit

    @property
    def is_positive_definite(self) -> bool:
        """Gaussian kernels are positive definite."""
        return True

    def fit(self, X: Any, sample_weight: FloatArray) -> Self:
        """Resolve ``unit="scale"`` on the sample."""
        gammas = as_tuple(self.gammas, parameter="gammas of Gaussian")
        for gamma in gammas:
            if not (is_number(gamma) and gamma > 0):
                raise ValueError(f"gammas of Gaussian must be positive numbers, got {gamma!r}.")
        if len(set(gammas)) < len(gammas):
            raise ValueError(f"gammas of Gaussian has repeated entries: {gammas}.")
        self.gammas_ = np.array([float(gamma) for gamma in gammas])
        self._resolve(X, sample_weight)
        self.names_ = [f"gaussian(gamma={gamma:g})" for gamma in self.gammas_]
        return self

    def _resolve(self, X: Any, sample_weight: FloatArray) -> None:
        """Take from the sample what distances need."""
        parameter = f"unit of {type(self).__name__}"
        self.unit_ = resolve_scale(self.unit, X, sample_weight, parameter=parameter)
        self.n_features_ = int(X.shape[1])
        # Distances do not change when the origin moves; near the data they lose fewer digits.
        if sparse.issparse(X):
            self.origin_ = None
        else:
            weights, _ = in_moderate_units(sample_weight)
            self.origin_ = (weights @ X) / weights.sum()

    def base(self, X: Any, centers: Any) -> FloatArray:
        """Return unit ||x - c||^2."""
        if not (sparse.issparse(X) or sparse.issparse(centers)):
            left = self.left_factor(X)
            if left is None:
                return self._subtracted(X, centers)
            return self.multiply(left, self.right_factor(centers))
        base = inner_products(X, centers * (-2.0 * self.unit_))
        base += (self.unit_ * _squared_norms(X))[:, None]
        base += (self.unit_ * _squared_norms(centers))[None, :]
        return np.maximum(base, 0.0, out=base)

    def _subtracted(self, X: FloatArray, centers: FloatArray) -> FloatArray:
        """Return unit ||x - c||^2 feature by feature: slow, and right however narrow a kernel."""
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

    # The unit and the norms go into the smaller arrays: every pass over the base counts.

    def left_factor(self, X: Any) -> FloatArray | None:
        """Return [x, unit ||x||^2, 1], from our own origin; None where that loses digits."""
        if sparse.issparse(X):
            return None
        X = X if self.origin_ is None else X - self.origin_
        norms = _squared_norms(X)
        # Only rows and centres that are both far out and near each other lose digits.
        largest = float(norms.max(initial=0.0))
        if self._largest_gamma * self.unit_ * largest > LARGEST_EXPONENT:
            return None
        return np.column_stack([X, self.unit_ * norms, np.ones_like(norms)])

    def right_factor(self, centers: Any) -> FloatArray:
        """Return [-2 unit c, 1, unit ||c||^2], from our own origin."""
        centers = centers if self.origin_ is None else centers - self.origin_
        norms = _squared_norms(centers)
        return np.column_stack(
            [-2.0 * self.unit_ * centers, np.ones_like(norms), self.unit_ * norms]
        )

    def multiply(
        self, left: FloatArray, right: FloatArray, out: FloatArray | None = None
    ) -> FloatArray:
        """Return squared distances, never below 0, from their factors."""
        base = inner_products(left, right, out)
        return np.maximum(base, 0.0, out=base)

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return exp(-gammas[k] base)."""
        with np.errstate(over="ignore"):  # an exponent of -inf is right: the kernel is 0
            values = base * -self.gammas_[k]
        return np.asarray(np.exp(values, out=values))

    def vote(
        self, base: FloatArray, members: IntArray, positions: IntArray, weights: FloatArray
    ) -> FloatArray:
        """Return the votes; those of a single width are computed in place."""
        n = base.shape[1]
        if len(set(members.tolist())) > 1 or not np.array_equal(positions, np.arange(n)):
            return super().vote(base, members, positions, weights)
        with np.errstate(over="ignore"):
            base *= -self.gammas_[members[0]]
        return np.exp(base, out=base) @ weights

    has_fused = True

    def correlate_fused(self, base: FloatArray, v: FloatArray) -> FloatArray:
        """Return `correlate` of the turned base by a compiled loop."""
        from . import _fused

        out = np.zeros((self.n_kernels, base.shape[0]))
        _fused.add_gaussians(base, v, self.gammas_, out)
        return out

    def keeps_base(self, n_values: int) -> bool:
        """Distances over few features are recomputed faster than read back."""
        return n_values <= SMALL_BASE or self.n_features_ > FEW_FEATURES

    @property
    def set_by_sample(self) -> tuple[str, ...]:
        """``unit="scale"`` is."""
        return ('unit="scale"',) if isinstance(self.unit, str) else ()

    def supremum(self, radius: float | None) -> FloatArray | None:
        """No value exceeds 1."""
        return np.ones(self.n_kernels)

    def largest(self, X: Any, centers: Any) -> FloatArray:
        """No value exceeds 1."""
        return np.ones(self.n_kernels)

    def error_growth(self, X: Any) -> FloatArray:
        """Return it from the parts of the exponents, which cancel."""
        largest = self.unit_ * self._largest_norm(X)
        if not sparse.issparse(X):  # blocks with larger ones are subtracted
            largest = min(largest, LARGEST_EXPONENT / self._largest_gamma)
        return 1.0 + PART_OF_GROWTH * self.gammas_ * largest

    def _largest_norm(self, X: Any) -> float:
        origin = 0.0 if self.origin_ is None else self.origin_
        parts = (X[start : start + NORMS_AT_ONCE] for start in range(0, X.shape[0], NORMS_AT_ONCE))
        return max(
            float(_squared_norms(part if sparse.issparse(part) else part - origin).max())
            for part in parts
        )

    def diagonal(self, X: Any, itself: Any) -> FloatArray:
        """Every K(x, x) is 1."""
        return np.ones((self.n_kernels, X.shape[0]))
