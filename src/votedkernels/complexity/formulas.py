"""Complexities in closed form: trace, dimension, Massart's lemma."""

from __future__ import annotations

import numpy as np

from ..kernels.base import FloatArray, in_moderate_units
from ..kernels.columns import Gram
from .base import ComplexityMeasure, positive_range


class Trace(ComplexityMeasure):
    """Trace bound (Lemma 1 of the paper), for positive definite kernels."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return kappa sqrt(trace) / m."""
        weights, root = in_moderate_units(sample_weight)
        largest, trace = positive_range(gram, f, weights, measure="trace")
        return np.asarray(np.sqrt(largest) * np.sqrt(trace) / weights.sum() / root)


class Dimension(ComplexityMeasure):
    """Dimension bound (Lemma 2 of the paper, constant and 1/sqrt(m) dropped), for polynomials."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return kappa^2 sqrt(dimension of the feature space)."""
        family = gram.families[f]
        dimension = getattr(family, "feature_dimension", None)
        if dimension is None:
            raise ValueError(
                f"complexity 'dimension' needs polynomial kernels, and {family.names_[0]} has no "
                "feature space of finite dimension; use complexity='trace' or 'massart'."
            )
        _, kappa_squared, _ = gram.diagonal_range(f, in_moderate_units(sample_weight)[0])
        dimensions = [dimension(k) for k in range(family.n_kernels)]
        return np.asarray(kappa_squared * np.sqrt(dimensions))


class Massart(ComplexityMeasure):
    """Massart's finite-class bound over the given centres, for any kernel."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return the largest column norm times sqrt(2 log(2 n_centers)) / m."""
        weights, root = in_moderate_units(sample_weight)
        largest = gram.squares(weights, f).max(axis=1)
        factor = np.sqrt(2 * np.log(2 * gram.n_centers)) / weights.sum()
        return np.asarray(np.sqrt(largest) * factor / root)


class Auto(ComplexityMeasure):
    """Trace where a family declares itself positive definite, else Massart."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return the complexities by the measure that fits the family."""
        chosen = Trace() if gram.families[f].is_positive_definite else Massart()
        return chosen.measure(gram, f, sample_weight)
