"""Polynomial kernels of several degrees that share one inner product.

    K_d(x, c) = b(x, c)^d,     b(x, c) = gamma x.c + coef0

All degrees are computed from one block of b by repeated multiplication.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Self

import numpy as np

from .base import (
    FEW_FEATURES,
    SMALL_BASE,
    TILE_CENTERS,
    TILE_ROWS,
    FloatArray,
    IntArray,
    KernelFamily,
    Numbers,
    Rows,
    Table,
    are_all,
    as_tuple,
    inner_products,
    is_number,
    is_sparse,
    resolve_scale,
    squared_norms,
)
from .sums import SeveralWeights, StoredBase, has_loops, sum_powers, sum_several_powers

#: Largest power of ten: sums over samples and products with weights must stay finite.
LARGEST_EXPONENT = 290.0


class Polynomial(KernelFamily):
    """Polynomial kernels ``(gamma x.x' + coef0) ** degree``, one per degree.

    Parameters
    ----------
    degrees : tuple of int, default=(1, 2, ..., 10)
        Degrees; each defines one kernel.
    gamma : "scale" or float, default="scale"
        Factor of the inner product; ``"scale"`` is ``1 / (n_features * X.var())`` with
        the (weighted) variance of the training data. The paper's kernels have ``gamma=1.0``.
    coef0 : float, default=1.0
        Constant added to the inner product. If it is negative, the kernels are not treated as
        positive definite.

    Attributes
    ----------
    gamma_ : float
        The factor used.
    """

    accepts_sparse = True

    is_definite_by_formula = True

    def __init__(
        self,
        degrees: Numbers = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        *,
        gamma: float | str = "scale",
        coef0: float = 1.0,
    ) -> None:
        self.degrees = degrees
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def is_positive_definite(self) -> bool:
        """Whether every member is positive definite: true if coef0 >= 0."""
        return self.coef0 >= 0

    def fit(self, X: Table, sample_weight: FloatArray) -> Self:
        """Resolve ``gamma="scale"`` on the sample."""
        degrees = as_tuple(self.degrees, parameter="degrees of Polynomial")
        for degree in degrees:
            if not is_number(degree) or degree != int(degree) or degree < 1:
                raise ValueError(f"degrees of Polynomial must be integers >= 1, got {degree!r}.")
        if len(set(degrees)) < len(degrees):
            raise ValueError(f"degrees of Polynomial has repeated entries: {degrees}.")
        if not is_number(self.coef0):
            raise ValueError(f"coef0 of Polynomial must be a finite number, got {self.coef0!r}.")
        self.degrees_ = np.array([int(degree) for degree in degrees])
        self.gamma_ = resolve_scale(self.gamma, X, sample_weight, parameter="gamma of Polynomial")
        self.n_features_ = int(X.shape[1])
        self.names_ = [f"polynomial(degree={degree})" for degree in self.degrees_]
        return self

    def base(self, X: Table, centers: Table) -> FloatArray:
        """Return gamma x.c + coef0."""
        left = self.left_factor(X)
        if left is not None and not is_sparse(centers):
            return self.multiply(left, self.right_factor(centers))
        base = inner_products(X, centers)
        base *= self.gamma_
        base += self.coef0
        return base

    # gamma and coef0 go into the factors, which are small, because passes over the base are costly.

    def left_factor(self, X: Table) -> FloatArray | None:
        """Return [gamma x, coef0]."""
        if is_sparse(X):
            return None
        return np.column_stack([X * self.gamma_, np.full_like(X, self.coef0, shape=X.shape[0])])

    def right_factor(self, centers: Table) -> FloatArray:
        """Return [c, 1]."""
        return np.column_stack([centers, np.ones_like(centers, shape=centers.shape[0])])

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return base ** degrees[k] by repeated multiplication."""
        power = base.copy()
        for _ in range(self.degrees_[k] - 1):
            power *= base
        return power

    def members(self, base: FloatArray) -> Iterator[FloatArray]:
        """Yield the powers in turn, each from the previous one if the degrees ascend."""
        if (np.diff(self.degrees_) < 0).any():
            yield from super().members(base)
            return
        power, degree = base.copy(), 1
        for wanted in self.degrees_:
            for _ in range(degree, wanted):
                power *= base
            degree = wanted
            yield power

    def _largest_base(self, X: Table, centers: Table) -> float:
        """Return a bound on |gamma x.c + coef0|, by Cauchy-Schwarz."""
        norms = [math.sqrt(float(squared_norms(A).max(initial=0.0))) for A in (X, centers)]
        return self.gamma_ * norms[0] * norms[1] + abs(self.coef0)

    needs_radius = True

    @property
    def set_by_sample(self) -> tuple[str, ...]:
        """Gamma, if it is ``"scale"``."""
        return ('gamma="scale"',) if isinstance(self.gamma, str) else ()

    def supremum(self, radius: float | None) -> FloatArray | None:
        """Return (gamma radius^2 + |coef0|)^degree."""
        if radius is None:
            return None
        largest = self.gamma_ * radius**2 + abs(self.coef0)
        with np.errstate(over="ignore"):  # an infinite result is refused by callers
            return np.asarray(largest ** self.degrees_.astype(np.float64))

    def largest(self, X: Table, centers: Table) -> FloatArray:
        """Return a bound on |K_k| for each degree."""
        return np.asarray(self._largest_base(X, centers) ** self.degrees_.astype(np.float64))

    def largest_sums(self, X: Table, centers: Table, v: FloatArray) -> FloatArray:
        """Return a bound by Cauchy-Schwarz in which each row has its own norm."""
        radius = math.sqrt(float(squared_norms(centers).max(initial=0.0)))
        bases = self.gamma_ * radius * np.sqrt(squared_norms(X)) + abs(self.coef0)
        return np.array([float(np.abs(v) @ bases**degree) for degree in self.degrees_])

    def check_range(self, X: Table, centers: Table) -> None:
        """Raise before any work if a degree would overflow."""
        largest = self._largest_base(X, centers)
        if largest > 1 and math.isfinite(largest):
            limit = LARGEST_EXPONENT / math.log10(largest)
        else:
            limit = math.inf if largest <= 1 else 0.0
        too_high = self.degrees_[self.degrees_ > limit]
        if len(too_high):
            cures = ["scale X"]
            if self.gamma != "scale":
                cures.append("use gamma='scale'")
            if limit >= 1:
                cures.append(f"leave out degrees above {int(limit)}")
            raise ValueError(
                f"kernel polynomial(degree={too_high.min()}) overflows float64 on this data "
                f"(gamma x.x' + coef0 may reach {largest:.2g}); {', or '.join(cures)}."
            )

    def diagonal(self, X: Table, itself: Rows) -> FloatArray:
        """Return (gamma x.x + coef0) ** degree."""
        del itself
        base = self.gamma_ * squared_norms(X) + self.coef0
        return np.stack([self.member(base, k) for k in range(self.n_kernels)])

    def feature_dimension(self, k: int) -> float:
        """Return the dimension of the feature space of member k."""
        degree = int(self.degrees_[k])
        n_variables = self.n_features_ if self.coef0 != 0 else self.n_features_ - 1
        return float(math.comb(n_variables + degree, degree))

    def correlate(self, base: FloatArray, v: FloatArray) -> FloatArray:
        """Return sum_i v_i b_ij^d for all degrees, in tiles whose powers stay in the cache."""
        order = np.argsort(self.degrees_, kind="stable")
        out = np.zeros((self.n_kernels, base.shape[1]))
        for left in range(0, base.shape[1], TILE_CENTERS):
            cols = slice(left, left + TILE_CENTERS)
            for top in range(0, base.shape[0], TILE_ROWS):
                rows = slice(top, top + TILE_ROWS)
                tile, weights = base[rows, cols], v[rows]
                power, degree = tile.copy(), 1
                for k in order:
                    while degree < self.degrees_[k]:
                        power *= tile
                        degree += 1
                    out[k, cols] += weights @ power
        return out

    @property
    def has_fused(self) -> bool:  # type: ignore[override]
        """Whether the compiled loops apply: they exist up to degree 10."""
        return int(self.degrees_.max()) <= 10

    def correlate_fused(self, base: FloatArray | StoredBase, v: FloatArray) -> FloatArray:
        """Return `correlate`, computed by a compiled loop."""
        return sum_powers(base, v, self.degrees_)

    def correlate_several(self, base: FloatArray, several: SeveralWeights) -> FloatArray:
        """Return `correlate` for several v, by a compiled loop if there is one."""
        if not (has_loops() and self.has_fused):
            return super().correlate_several(base, several)
        return sum_several_powers(base, several, self.degrees_)

    def keeps_base(self, n_values: int) -> bool:
        """Whether to keep the base: with few features, it is faster to recompute than to read."""
        return n_values <= SMALL_BASE or self.n_features_ > FEW_FEATURES

    def vote(
        self, base: FloatArray, members: IntArray, positions: IntArray, weights: FloatArray
    ) -> FloatArray:
        """Return `columns` times weights; columns share their powers."""
        return np.asarray(self.columns(base, members, positions) @ weights)

    def columns(self, base: FloatArray, members: IntArray, positions: IntArray) -> FloatArray:
        """Return the columns, computed in order of degree; unfinished columns come last."""
        degrees = self.degrees_[members]
        order = np.argsort(degrees, kind="stable")
        gathered = base if are_all(positions[order], base) else np.take(base, positions[order], 1)
        power = gathered.copy()
        for degree in range(2, int(degrees.max(initial=1)) + 1):
            finished = int(np.count_nonzero(degrees < degree))
            power[:, finished:] *= gathered[:, finished:]
        if are_all(order, base):
            return power
        out = np.empty_like(power)
        out[:, order] = power
        return out
