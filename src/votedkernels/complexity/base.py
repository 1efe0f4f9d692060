"""What a complexity measure is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..kernels.base import FloatArray, KernelFamily
from ..kernels.columns import Gram


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

    def memory_needed(self, family: KernelFamily, n_rows: int, memory: int) -> int:
        """Return the bytes that measuring a family takes, beside blocks, of ``memory`` at hand.

        More than that, and the fit is refused.
        """
        return 0

    def admits(self, gram: Gram, f: int, sample_weight: FloatArray) -> NDArray[np.bool_] | None:
        """Return which columns of family ``f`` may vote, (n_members, n_centers); None for all."""
        return None


def positive_range(
    gram: Gram, f: int, weights: FloatArray, *, measure: str
) -> tuple[FloatArray, FloatArray]:
    """Return kappa_k^2 and the weighted traces of a family; raise if not positive definite."""
    require_positive_definite(gram.families[f], measure=measure)
    smallest, largest, trace = gram.diagonal_range(f, weights)
    require_positive(smallest, gram.families[f])
    return largest, trace


def require_positive_definite(family: KernelFamily, *, measure: str) -> None:
    """Raise for a family that does not declare itself positive definite."""
    if not family.is_positive_definite:
        raise ValueError(
            f"complexity {measure!r} needs positive definite kernels, and "
            f"{family.names_[0]} does not declare itself so; use complexity='massart', or "
            "declare it (positive_definite=True) if it is."
        )


def require_positive(smallest: FloatArray, family: KernelFamily) -> None:
    """Raise where the smallest K_k(x_i, x_i) of a member disproves that it is."""
    if smallest.min() < 0:
        k = int(np.argmin(smallest))
        raise ValueError(
            f"kernel {family.names_[k]} is declared positive definite but K(x, x) = "
            f"{smallest[k]:.3g} at a training row or a centre; use complexity='massart'."
        )
