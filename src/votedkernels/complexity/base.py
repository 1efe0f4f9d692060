"""What a complexity measure is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..kernels.base import FloatArray
from ..kernels.gram import Gram


class ComplexityMeasure(BaseEstimator):
    """Base class of complexity measures: `measure` gives r_k for the members of a family.

    A measure that estimates overrides `measure_with_errors` too.
    """

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return r_k for each member of family ``f`` of the Gram columns."""
        return self.measure_with_errors(gram, f, sample_weight)[0]

    def measure_with_errors(
        self, gram: Gram, f: int, sample_weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return r_k and their standard errors, which are 0 for a formula."""
        values = self.measure(gram, f, sample_weight)
        return values, np.zeros_like(values)

    def admits(self, gram: Gram, f: int, sample_weight: FloatArray) -> NDArray[np.bool_] | None:
        """Return which columns of family ``f`` may vote, (n_members, n_centers); None for all."""
        return None


def positive_diagonal(gram: Gram, f: int, *, measure: str) -> FloatArray:
    """Return K_k(x_i, x_i) of a family that is positive definite; raise where it is not."""
    family = gram.families[f]
    if not family.is_positive_definite:
        raise ValueError(
            f"complexity {measure!r} needs positive definite kernels, and "
            f"{family.names_[0]} does not declare itself so; use complexity='massart', or "
            "declare it (positive_definite=True) if it is."
        )
    diagonal = gram.diagonal(f)
    if diagonal.min(initial=0.0) < 0:
        k = int(np.argmin(diagonal.min(axis=1)))
        raise ValueError(
            f"kernel {family.names_[k]} is declared positive definite but K(x, x) = "
            f"{diagonal[k].min():.3g} at a training row; use complexity='massart'."
        )
    return diagonal
