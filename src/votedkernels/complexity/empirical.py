"""The empirical Rademacher complexity itself, estimated by Monte Carlo over random signs."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from ..kernels.base import FloatArray, in_moderate_units
from ..kernels.columns import Columns
from .base import ComplexityMeasure

#: Sums of more signs than this are drawn from their limit, the normal distribution.
MOST_SIGNS = 2.0**53


class Empirical(ComplexityMeasure):
    """Mean over random signs of ``max_c |sum_i sigma_i K(x_i, c)| / m``, for any kernel.

    A sample of weight s gets the sum of s signs. The maximum is over the given centres. If these
    are the training rows, the result is a good penalty but not a valid term in a bound.

    Parameters
    ----------
    n_draws : int, default=64
        Number of sign vectors. Four times as many halve the error.
    random_state : int, default=0
        Seed of the signs.
    """

    measures_rules = True

    def __init__(self, n_draws: int = 64, *, random_state: int = 0) -> None:
        self.n_draws = n_draws
        self.random_state = random_state

    def measure_with_errors(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the means over the draws and their standard errors."""
        if not isinstance(self.n_draws, Integral) or self.n_draws < 2:
            raise ValueError(f"n_draws of Empirical must be an integer >= 2, got {self.n_draws!r}.")
        weights, root = in_moderate_units(sample_weight)
        signs = draw_signs(sample_weight, int(self.n_draws), self.random_state) / root
        suprema = columns.at_hand().suprema(signs, f) / weights.sum() / root
        error = suprema.std(axis=1, ddof=1) / np.sqrt(self.n_draws)
        return suprema.mean(axis=1), np.asarray(error)


def draw_signs(sample_weight: FloatArray, n_draws: int, random_state: int) -> FloatArray:
    """Return sums of s_i random signs, shape (n_draws, n_samples).

    The integer part of a weight is the number of signs; the fractional part scales one more sign,
    so that the variance is always s_i. For very large weights, the sum is drawn from the normal
    distribution, which it equals in double precision.
    """
    random = np.random.default_rng(random_state)
    huge = sample_weight > MOST_SIGNS
    countable = np.where(huge, 0.0, sample_weight)
    whole = np.floor(countable)
    rest = np.sqrt(countable - whole)
    shape = (n_draws, len(sample_weight))
    counts = random.binomial(whole.astype(np.int64), 0.5, size=shape)
    signs = 2.0 * counts - whole
    if rest.any():
        signs += rest * random.choice([-1.0, 1.0], size=shape)
    if huge.any():
        signs += np.sqrt(np.where(huge, sample_weight, 0.0)) * random.standard_normal(shape)
    return np.asarray(signs)
