"""The parameters of an estimator that preparation reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Parameters(Protocol):
    """An estimator with the parameters of our classifier.

    Users may pass anything. Parameters that are checked only when they are used have the type
    object here; the docstring of the classifier lists the valid values.
    """

    kernels: object
    complexity: object
    centers: object
    solver: str
    l2_penalty: float
    l2_norm: str
    relaxation: float | str | None
    fit_intercept: bool
    class_weight: Mapping[object, float] | str | None
    memory_limit: int | str | None
    n_jobs: int | None
    random_state: object
    n_features_in_: int


class LossParameters(Protocol):
    """An estimator with the loss of our regressor."""

    loss: str
    epsilon: float | str
    quantile: float
    fit_intercept: bool


class QuantileParameters(LossParameters, Protocol):
    """An estimator with all parameters that matter for several quantiles."""

    quantiles: Sequence[float] | None
    conformal: bool
    solver: str
    relaxation: float | str | None
    l2_penalty: float


class Penalties(Protocol):
    """An estimator with the penalties of our classifier."""

    complexity_penalty: float | str
    l1_penalty: float | str
    relaxation: float | str | None
