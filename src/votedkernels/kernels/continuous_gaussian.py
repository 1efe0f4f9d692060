"""Gaussian kernels of every width between two ends.

    K_gamma(x, c) = exp(-gamma unit ||x - c||^2),     low <= gamma <= high

The family has infinitely many members. At any time it holds a finite list of them, ``gammas_``:
after `fit` the knots, at which complexities are measured, and in a fitted model the widths that
got a weight.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from .base import FloatArray, is_number
from .gaussian import Gaussian

KNOTS_PER_DECADE = 2
SMALLEST_LOW = float(np.finfo(np.float64).tiny)


class ContinuousGaussian(Gaussian):
    """Gaussian kernels ``exp(-gamma * unit * ||x - x'||^2)`` of every gamma in [low, high].

    The vote is optimal among all widths of the range, not only those of a grid, and its
    certificate holds for all of them. The complexity of a width is measured at fixed knots, two
    a decade, and taken linear in log gamma between them.

    Parameters
    ----------
    low, high : float, default=0.01, 100.0
        The range of inverse squared widths, in multiples of ``unit``. The work grows with the
        number of decades between them.
    unit : "scale" or float, default="scale"
        As for `Gaussian`.

    Attributes
    ----------
    gammas_ : array
        The widths that got a weight; ``gammas_[term_kernel_indices_]`` are those of the terms,
        where this is the only family.
    knots_ : array
        Where complexities were measured.
    unit_ : float
        The unit used.

    Examples
    --------
    >>> from votedkernels import ContinuousGaussian, VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(60, random_state=0)
    >>> model = VotedKernelClassifier(ContinuousGaussian(0.1, 10.0), l1_penalty=0.1).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-6 * model.objective_)
    True
    """

    def __init__(
        self, low: float = 0.01, high: float = 100.0, *, unit: float | str = "scale"
    ) -> None:
        self.low = low
        self.high = high
        self.unit = unit

    #: Members are chosen while solving; see `votedkernels.solvers.continuum`.
    is_continuous = True

    def fit(self, X: Any, sample_weight: FloatArray) -> Self:
        """Resolve ``unit="scale"`` and place the knots."""
        for name in ("low", "high"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0):
                raise ValueError(
                    f"{name} of ContinuousGaussian must be a positive number, got {value!r}."
                )
        if self.low > self.high:
            raise ValueError(
                f"low of ContinuousGaussian must not exceed high, got low={self.low!r} and "
                f"high={self.high!r}."
            )
        if self.low < SMALLEST_LOW:
            raise ValueError(
                f"low of ContinuousGaussian must be at least {SMALLEST_LOW:.1e}, the smallest "
                f"number with all its digits in double precision, got {self.low!r}."
            )
        ratio = float(self.high) / float(self.low)
        decades = np.log10(ratio) if ratio < np.inf else np.log10(self.high) - np.log10(self.low)
        n_intervals = int(np.ceil(KNOTS_PER_DECADE * decades))
        self.knots_ = np.geomspace(self.low, self.high, n_intervals + 1)
        self.knots_[[0, -1]] = self.low, self.high
        self._resolve(X, sample_weight)
        self._set_widths(self.knots_)
        return self

    @property
    def _largest_gamma(self) -> float:
        return float(self.high)

    def with_widths(self, gammas: FloatArray) -> Self:
        """Return the fitted family with these members."""
        family = copy(self)
        family._set_widths(gammas)
        prefix = self.names_[0].partition("gaussian(")[0]  # the user's name of the family
        family.names_ = [prefix + name for name in family.names_]
        return family

    def _set_widths(self, gammas: FloatArray) -> None:
        self.gammas_ = np.asarray(gammas, dtype=np.float64)
        self.names_ = [f"gaussian(gamma={gamma:.6g})" for gamma in self.gammas_]
