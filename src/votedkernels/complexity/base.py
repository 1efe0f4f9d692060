"""The base class of complexity measures, and checks that they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..kernels.base import FloatArray, KernelFamily
from ..kernels.columns import Columns


class ComplexityMeasure(BaseEstimator):
    """Base class of complexity measures.

    A subclass defines `measure`, or `measure_with_errors` if its values are estimates.
    """

    def measure(self, columns: Columns, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return r_k for each member of family number ``f``."""
        return self.measure_with_errors(columns, f, sample_weight)[0]

    def measure_with_errors(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return r_k and the standard errors, which are 0 for a formula."""
        values = self.measure(columns, f, sample_weight)
        return values, np.zeros_like(values)

    def memory_needed(self, family: KernelFamily, n_rows: int, memory: int) -> int:
        """Return the bytes needed to measure a family, in addition to blocks of kernel values.

        ``memory`` bytes are available. The fit is refused if more are needed.
        """
        del family, n_rows, memory
        return 0

    def admits(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> NDArray[np.bool_] | None:
        """Return which columns of family ``f`` may vote, (n_members, n_centers); None for all."""
        del columns, f, sample_weight
        return None


def positive_range(
    columns: Columns, f: int, weights: FloatArray, *, measure: str
) -> tuple[FloatArray, FloatArray]:
    """Return kappa_k^2 and weighted traces of a family; raise if it is not positive definite."""
    require_positive_definite(columns.families[f], measure=measure)
    smallest, largest, trace = columns.diagonal_range(f, weights)
    require_positive(smallest, columns.families[f])
    return largest, trace


def require_positive_definite(family: KernelFamily, *, measure: str) -> None:
    """Raise if a family is not declared positive definite."""
    if not family.is_positive_definite:
        raise ValueError(
            f"complexity {measure!r} needs positive definite kernels, and "
            f"{family.names_[0]} is not declared positive definite; use complexity='massart', or "
            "declare it (positive_definite=True) if it is."
        )


def require_positive(smallest: FloatArray, family: KernelFamily) -> None:
    """Raise if the smallest K_k(x_i, x_i) of a member shows that it is not positive definite."""
    if smallest.min() < 0:
        k = int(np.argmin(smallest))
        raise ValueError(
            f"kernel {family.names_[k]} is declared positive definite but K(x, x) = "
            f"{smallest[k]:.3g} at a training row or a centre; use complexity='massart'."
        )
