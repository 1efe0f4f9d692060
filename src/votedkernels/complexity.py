"""Complexity measures: r_k, a bound of the Rademacher complexity of H_k = {+-K_k(., c)}.

With raw sample weights s_i (they count repetitions), m = sum_i s_i and
kappa_k^2 = max_i K_k(x_i, x_i):

    trace       kappa_k sqrt(sum_i s_i K_k(x_i, x_i)) / m             positive definite kernels
    dimension   kappa_k^2 sqrt(d_k), d_k the dimension of feature space        polynomials
    massart     max_c sqrt(sum_i s_i K_k(x_i, c)^2) sqrt(2 log(2 n_centers)) / m    any kernel

Trace is the paper's Lemma 1. Dimension is its Lemma 2 without the factor 12 sqrt(pi / m), as
the paper's experiments use it. Massart is the finite-class lemma over the given centres.
All scale with the kernel: c K has complexity c r_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .kernels.base import FloatArray
from .kernels.gram import Gram


class ComplexityMeasure(BaseEstimator):
    """Base class of complexity measures: `measure` gives r_k for the members of a family."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return r_k for each member of family ``f`` of the Gram columns."""
        raise NotImplementedError


class Trace(ComplexityMeasure):
    """Trace bound (Lemma 1 of the paper), for positive definite kernels."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return kappa sqrt(trace) / m."""
        family = gram.families[f]
        if not family.is_positive_definite:
            raise ValueError(
                f"complexity 'trace' needs positive definite kernels, and "
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
        kappa = np.sqrt(diagonal.max(axis=1))
        trace = diagonal @ sample_weight
        return np.asarray(kappa * np.sqrt(trace) / sample_weight.sum())


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
        kappa_squared = gram.diagonal(f).max(axis=1)
        dimensions = [dimension(k) for k in range(family.n_kernels)]
        return np.asarray(kappa_squared * np.sqrt(dimensions))


class Massart(ComplexityMeasure):
    """Massart's finite-class bound over the given centres, for any kernel."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return the largest column norm times sqrt(2 log(2 n_centers)) / m."""
        largest = gram.squares(sample_weight, f).max(axis=1)
        factor = np.sqrt(2 * np.log(2 * gram.n_centers)) / sample_weight.sum()
        return np.asarray(np.sqrt(largest) * factor)


class Auto(ComplexityMeasure):
    """Trace where a family declares itself positive definite, else Massart."""

    def measure(self, gram: Gram, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return the complexities by the measure that fits the family."""
        chosen = Trace() if gram.families[f].is_positive_definite else Massart()
        return chosen.measure(gram, f, sample_weight)


MEASURES: dict[str, type[ComplexityMeasure]] = {
    "auto": Auto,
    "trace": Trace,
    "dimension": Dimension,
    "massart": Massart,
}


def resolve_measure(spec: Any) -> ComplexityMeasure:
    """Return a measure from its name or itself."""
    if isinstance(spec, ComplexityMeasure):
        return spec
    if isinstance(spec, str) and spec in MEASURES:
        return MEASURES[spec]()
    raise ValueError(
        f"complexity must be one of {', '.join(map(repr, MEASURES))}, a complexity measure, an "
        f"array with one number per kernel, or a list with one measure per family; got {spec!r}."
    )


def measure_complexities(spec: Any, gram: Gram, sample_weight: FloatArray) -> FloatArray:
    """Return r_k for every kernel.

    Parameters
    ----------
    spec : str, ComplexityMeasure, array of numbers, or list of one measure per family
    gram : Gram
    sample_weight : array of shape (n_rows,)
        Raw weights; they count repetitions.
    """
    n_families = len(gram.families)
    if isinstance(spec, str | ComplexityMeasure):
        measures = [resolve_measure(spec)] * n_families
    elif _are_numbers(spec):
        return _given_complexities(spec, gram)
    elif isinstance(spec, Sequence):
        if len(spec) != n_families:
            raise ValueError(
                f"complexity has {len(spec)} entries for {n_families} kernel families; "
                "a list needs one measure per family."
            )
        measures = [resolve_measure(entry) for entry in spec]
    else:
        measures = [resolve_measure(spec)]
    return np.concatenate(
        [measure.measure(gram, f, sample_weight) for f, measure in enumerate(measures)]
    )


def _are_numbers(spec: Any) -> bool:
    if isinstance(spec, np.ndarray):
        return True
    return isinstance(spec, Sequence) and len(spec) > 0 and all(isinstance(r, Real) for r in spec)


def _given_complexities(spec: Any, gram: Gram) -> FloatArray:
    values = np.asarray(spec, dtype=np.float64)
    if values.shape != (gram.n_kernels,):
        raise ValueError(
            f"complexity has shape {values.shape}, but there are {gram.n_kernels} kernels "
            f"({gram.names[0]} ... {gram.names[-1]}); give one number per kernel."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("complexity must hold finite numbers >= 0.")
    return values
