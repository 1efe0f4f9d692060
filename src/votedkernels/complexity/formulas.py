"""Complexities in closed form: trace, dimension, Massart's lemma; see the package docstring."""

from __future__ import annotations

import numpy as np

from ..kernels.base import FloatArray, in_moderate_units
from ..kernels.columns import Columns
from .base import ComplexityMeasure, positive_range


class Trace(ComplexityMeasure):
    """Trace bound (Lemma 1 of the paper), for positive definite kernels."""

    def measure(self, columns: Columns, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return kappa sqrt(trace) / m."""
        weights, root = in_moderate_units(sample_weight)
        largest, trace = positive_range(columns, f, weights, measure="trace")
        return np.asarray(np.sqrt(largest) * np.sqrt(trace) / weights.sum() / root)


class Dimension(ComplexityMeasure):
    """Dimension bound (Lemma 2 of the paper, without constant and 1/sqrt(m)), for polynomials."""

    def measure(self, columns: Columns, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return kappa^2 sqrt(dimension of the feature space)."""
        family = columns.families[f]
        dimension = getattr(family, "feature_dimension", None)
        if dimension is None:
            raise ValueError(
                f"complexity 'dimension' needs polynomial kernels: {family.names_[0]} has no "
                "feature space of finite dimension. Use complexity='trace' or 'massart'."
            )
        _, kappa_squared, _ = columns.diagonal_range(f, in_moderate_units(sample_weight)[0])
        dimensions = [dimension(k) for k in range(family.n_kernels)]
        return np.asarray(kappa_squared * np.sqrt(dimensions))


class Massart(ComplexityMeasure):
    """Massart's finite-class bound over the given centres, for any kernel."""

    measures_rules = True

    def measure(self, columns: Columns, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return the largest column norm times sqrt(2 log(2 n_centers)) / m."""
        weights, root = in_moderate_units(sample_weight)
        largest = columns.at_hand().squares(weights, f).max(axis=1)
        factor = np.sqrt(2 * np.log(2 * columns.n_centers)) / weights.sum()
        return np.asarray(np.sqrt(largest) * factor / root)
