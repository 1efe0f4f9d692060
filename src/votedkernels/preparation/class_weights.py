"""The weights of rows in the loss: sample weights times class weights, scaled to sum to 1."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..kernels.base import FloatArray, IntArray, in_moderate_units
from .placement import Labels


def class_factors(
    class_weight: Mapping[object, float] | str | None,
    classes: Labels,
    codes: IntArray,
    weights: FloatArray,
) -> FloatArray:
    """Return the factor of each class in the loss."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}."
            )
        weights, _ = in_moderate_units(weights)
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        return np.asarray(mass.sum() / (len(classes) * mass))
    unknown = [label for label in class_weight if label not in set(np.asarray(classes).tolist())]
    if unknown and len(unknown) == len(class_weight):
        raise ValueError(
            f"The classes, {unknown}, in class_weight are not in the data, which has "
            f"{list(classes)}."
        )
    factors = np.array(
        [float(class_weight.get(label, 1.0)) for label in np.asarray(classes).tolist()]
    )
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ValueError(f"class_weight must hold positive numbers, got {class_weight!r}.")
    return factors


def weighted_classes(weights: FloatArray, factors: FloatArray, codes: IntArray) -> FloatArray:
    """Return sample weights times class factors, up to a common factor that avoids overflow."""
    products = in_moderate_units(weights)[0] * in_moderate_units(factors)[0][codes]
    return np.asarray(products)


def loss_weights(
    class_weight: Mapping[object, float] | str | None,
    classes: Labels,
    codes: IntArray,
    weights: FloatArray,
) -> FloatArray:
    """Return the weights w_i, which sum to 1; raise if one is negligible next to the others."""
    factors = class_factors(class_weight, classes, codes, weights)
    w = weighted_classes(weights, factors, codes)
    w /= w.sum()
    if w.min() < np.finfo(np.float64).tiny:
        raise ValueError(
            "sample_weight, multiplied by class_weight, spans more orders of magnitude than double "
            "precision can hold: the smallest weight vanishes next to the largest. Use weights of "
            "similar size, or a weight of 0 for rows that should not count."
        )
    return w
