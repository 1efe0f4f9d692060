"""Gaussian kernels of all widths in a range.

    K_gamma(x, c) = exp(-gamma unit ||x - c||^2),     low <= gamma <= high

The family has infinitely many members. At any time it lists finitely many of them in ``gammas_``:
after `fit` the knots, at which complexities are measured, and in a fitted model the widths with a
nonzero weight.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from .base import FloatArray, Table, is_number
from .gaussian import Gaussian

KNOTS_PER_DECADE = 2
SMALLEST_LOW = float(np.finfo(np.float64).tiny)


class ContinuousGaussian(Gaussian):
    """Gaussian kernels ``exp(-gamma * unit * ||x - x'||^2)`` for all gamma in [low, high].

    The vote is optimal among all widths in the range, not only among those of a grid, and its
    certificate covers all of them. Complexities are measured at fixed knots, two per decade, and
    interpolated linearly in log gamma between them.

    Parameters
    ----------
    low, high : float, default=0.01, 100.0
        The range of inverse squared widths, in multiples of ``unit``. The more decades the range
        spans, the longer the fit takes.
    unit : "scale" or float, default="scale"
        As for `Gaussian`.

    Attributes
    ----------
    gammas_ : array
        The widths with a nonzero weight. If this is the only family,
        ``gammas_[term_kernel_indices_]`` are the widths of the terms.
    knots_ : array
        The widths at which complexities were measured.
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

    #: Members are chosen during the fit; see `votedkernels.solvers.continuum`.
    is_continuous = True

    def fit(self, X: Table, sample_weight: FloatArray) -> Self:
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
                f"normal number in double precision, got {self.low!r}."
            )
        ratio = float(self.high) / float(self.low)
        decades = np.log10(ratio) if ratio < np.inf else np.log10(self.high) - np.log10(self.low)
        n_intervals = int(np.ceil(KNOTS_PER_DECADE * decades))
        self.knots_ = np.geomspace(self.low, self.high, n_intervals + 1)
        self.knots_[[0, -1]] = self.low, self.high
        self._resolve(X, sample_weight)
        self.gammas_ = self.knots_
        self.names_ = _names(self.knots_)
        return self

    @property
    def _largest_gamma(self) -> float:
        return float(self.high)

    def with_widths(self, gammas: FloatArray) -> Self:
        """Return the fitted family with these members."""
        family = copy(self)
        family.gammas_ = np.asarray(gammas, dtype=np.float64)
        prefix = self.names_[0].partition("gaussian(")[0]  # the user's name for the family
        family.names_ = [prefix + name for name in _names(family.gammas_)]
        return family


def _names(gammas: FloatArray) -> list[str]:
    return [f"gaussian(gamma={gamma:.6g})" for gamma in gammas]
