"""The guarantee for a fitted model, whose terms form a mixture to which the theorems apply."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..kernels.base import FloatArray, IntArray, KernelFamily, Rows, count_rows, is_sparse
from ..kernels.coded import CodedFamily
from ..problem import Vote
from .other_bounds import (
    bound_by_compression,
    bound_by_test,
    check_rows_of_fit,
    contains_support_vector,
    with_weights,
)
from .theorems import (
    GeneralizationBound,
    constant_bound,
    radius_on_grid,
    smallest_bound,
)

#: The methods that bound an error.
METHODS = ("theorem", "compression", "test", "best")


class VotingModel(Protocol):
    """What the theorems require of a fitted model; see `VotedKernelClassifier`."""

    classes_: NDArray[np.generic]
    kernels_: list[KernelFamily]
    kernel_names_: list[str]
    support_: IntArray
    support_vectors_: Rows
    term_support_indices_: IntArray
    term_weights_: FloatArray
    term_kernel_indices_: IntArray
    intercept_: FloatArray
    kernel_mass_: FloatArray
    objective_: float
    dual_gap_: float
    class_objectives_: FloatArray
    class_dual_gaps_: FloatArray
    centers: Any
    fit_intercept: bool

    def decision_function(self, X: object) -> FloatArray:
        """Return the vote f(x) at rows in the same form as in ``fit``."""


def generalization_bound(
    model: VotingModel,
    X: object,
    y: ArrayLike,
    *,
    delta: float,
    radius: float | None,
    sample_weight: ArrayLike | None,
    method: str,
    vote: Vote,
    rows: Rows,
) -> GeneralizationBound:
    """Bound the error of a fitted model, given a sample; see `VoteMixin`.

    ``vote`` is the vote of the model, and ``rows`` are X as the kernels see them.
    """
    check_is_fitted(model, "term_weights_")
    _check_arguments(model, delta, radius, sample_weight)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if method != "test" and any(family.is_continuous for family in model.kernels_):
        raise ValueError(
            "the bounds hold for finitely many kernels, and ContinuousGaussian has infinitely "
            "many; use Gaussian with widths fixed beforehand, or method='test'."
        )
    if method == "theorem":
        return bound_by_theorem(model, X, y, delta=delta, radius=radius)
    signs = signs_of(model.classes_, y, count_rows(rows))
    if method == "test":
        if contains_support_vector(model, rows):
            raise ValueError(
                "method='test' needs rows that the model has not seen, but X holds a support "
                "vector; pass other rows, or use method='compression'."
            )
        return bound_by_test(model, X, signs, delta)
    own_centers = model.centers is not None and np.ndim(model.centers) > 0
    if method == "best" and (own_centers or (model.term_support_indices_ < 0).any()):
        return bound_by_theorem(model, X, y, delta=delta, radius=radius)
    part = delta / 2 if method == "best" else delta
    check_rows_of_fit(model, rows)
    reasons = _data_dependent(model)
    compressed, weights = bound_by_compression(vote, rows, signs, _count_families(model), part)
    compressed = replace(
        compressed,
        is_guarantee=not reasons,
        reasons=tuple(reasons),
        rounded=with_weights(model, weights),
    )
    if method == "compression":
        return compressed
    try:
        by_theorem = bound_by_theorem(model, X, y, delta=part, radius=radius)
    except ValueError:
        if radius is not None:  # it may be wrong, so tell the user
            raise
        # The theorems do not apply to this model.
        return replace(compressed, delta=delta)
    best = min(by_theorem, compressed, key=lambda bound: bound.value)
    return replace(best, delta=delta)


def _data_dependent(model: VotingModel) -> list[str]:
    """Return the reasons why the kernels are not fixed beforehand."""
    return [
        f"{type(family).__name__}({name}) is computed from the training sample; set a number"
        for family in model.kernels_
        for name in family.set_by_sample
    ]


def bound_by_theorem(
    model: VotingModel, X: object, y: ArrayLike, *, delta: float, radius: float | None
) -> GeneralizationBound:
    """Return the smaller of the bounds from Theorems 1 and 2."""
    decision = model.decision_function(X)
    signs = signs_of(model.classes_, y, len(decision))
    if model.term_weights_.shape[1] == 0:
        return constant_bound(signs * decision <= 0, delta)
    reasons = _data_dependent(model)
    assumed: dict[str, object] = {}
    ball: float | None = None
    if any(family.needs_radius for family in model.kernels_):
        largest = max(_largest_norm(X), _largest_norm(model.support_vectors_))
        if radius is None:
            ball, share = radius_on_grid(largest)
            delta_left = delta * share
        elif largest > radius * (1 + 1e-12):
            raise ValueError(
                f"radius={radius:g}, but a row has norm {largest:.6g}; use a radius that no row "
                "can ever exceed, or None to choose one at the cost of a share of delta."
            )
        else:
            ball, delta_left = float(radius), delta
            assumed["radius"] = ball
    else:
        delta_left = delta
    suprema, complexities = _families(model, ball, len(decision), assumed)
    weights = np.abs(model.term_weights_[0])
    sizes = weights * suprema[model.term_kernel_indices_]
    intercept = abs(float(model.intercept_[0]))
    A = float(sizes.sum()) + intercept
    mixed = float(sizes @ complexities[model.term_kernel_indices_])
    mixed += intercept / math.sqrt(len(decision))
    p = _count_families(model) + (1 if model.fit_intercept else 0)
    bound = smallest_bound(
        signs * decision / A,
        mixed / A,
        max(1, p),
        delta_left,
        is_guarantee=not reasons,
        reasons=reasons,
        assumed=assumed,
    )
    # The terms include the share of delta that the radius used; the bound holds for all of delta.
    return replace(bound, delta=delta)


def _check_arguments(
    model: VotingModel, delta: float, radius: float | None, sample_weight: ArrayLike | None
) -> None:
    check_delta(delta)
    if radius is not None and not (np.isfinite(radius) and radius > 0):
        raise ValueError(f"radius must be a positive number or None, got {radius!r}.")
    check_two_classes(model.classes_)
    if sample_weight is not None and np.ptp(np.asarray(sample_weight, dtype=float)) > 0:
        raise ValueError(
            "the theorems hold for independent samples of equal weight; sample_weight must be None."
        )


def check_delta(delta: float) -> None:
    """Raise unless delta is a probability."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}.")


def check_two_classes(classes: NDArray[np.generic]) -> None:
    """Raise if there are more than two classes."""
    if len(classes) != 2:
        raise ValueError(
            f"the theorems hold for two classes, and the model has {len(classes)}; bound "
            "the one-vs-rest problems separately."
        )


def signs_of(classes: NDArray[np.generic], y: ArrayLike, n: int) -> FloatArray:
    """Return +1 for the second class, -1 for the first."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}, but X has {n} rows.")
    unknown = set(y.tolist()) - set(np.asarray(classes).tolist())
    if unknown:
        raise ValueError(
            f"y has labels {sorted(map(str, unknown))} that the model does not know; its classes "
            f"are {list(classes)}."
        )
    if len(set(y.tolist())) < 2:
        raise ValueError(
            f"y has only one class, {y[0]!r}; pass a sample that is large enough to contain both "
            "classes."
        )
    return np.where(y == classes[1], 1.0, -1.0)


def _largest_norm(X: object) -> float:
    if is_sparse(X):
        return math.sqrt(float(X.multiply(X).sum(axis=1).max()))
    X = np.asarray(X, dtype=np.float64)
    return math.sqrt(float(np.einsum("ij,ij->i", X, X).max(initial=0.0)))


def _families(
    model: VotingModel, radius: float | None, m: int, assumed: dict[str, object]
) -> tuple[FloatArray, FloatArray]:
    """Return sup|K_k| and the complexity of H_k / sup|K_k| for each kernel.

    Bounds that the user declared are added to ``assumed``.
    """
    suprema, complexities = [], []
    for family in model.kernels_:
        largest = family.supremum(radius)
        if largest is None:
            raise ValueError(
                f"the largest value of kernel {family.names_[0]} is unknown, and a guarantee needs "
                "a bound on it that does not come from the sample; set bound= if the family has it."
            )
        if not np.isfinite(largest).all():
            name = family.names_[int(np.argmin(np.isfinite(largest)))]
            raise ValueError(
                f"kernel {name} overflows within radius={radius:g}; use a smaller radius or "
                "lower degrees."
            )
        if getattr(family, "bound", None) is not None:
            assumed[f"bound of {family.names_[0]}"] = family.bound
        suprema.append(largest)
        complexities.append(np.broadcast_to(_complexity(model, family, m), largest.shape))
    return np.concatenate(suprema), np.concatenate(complexities)


def _complexity(model: VotingModel, family: KernelFamily, m: int) -> float | FloatArray:
    if family.is_positive_definite:
        return 1 / math.sqrt(m)
    if isinstance(family, CodedFamily):  # the growth function applies to every sample
        return np.sqrt(2 * family.log_growth(m) / m)
    if model.centers is None or np.ndim(model.centers) == 0:
        raise ValueError(
            f"kernel {family.names_[0]} is not positive definite and its centres are training "
            "rows, so its class depends on the sample and the theorems do not apply. Fit with "
            "centers=<an array that is independent of the sample>, or declare the kernel "
            "positive definite if it is."
        )
    return math.sqrt(2 * math.log(2 * count_rows(model.centers)) / m)


def _count_families(model: VotingModel) -> int:
    """Return the number of kernels that model selection could choose from."""
    return int(getattr(model, "n_kernels_tried_", len(model.kernel_names_)))
