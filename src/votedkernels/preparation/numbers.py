"""Regression targets: numbers, which are learned in units of their own spread.

Problems are solved for (t - center) / scale. The centre is the median of the targets (0 without an
intercept) and the scale is their mean absolute distance from it. So penalties do not depend on
the target's unit. F is divided by the scale, weights are measured in it, and the penalties L_k
stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TypeGuard

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..problem import Vote
from ..problem.losses import EpsilonInsensitive, Loss, Pinball, best_constant
from .parameters import LossParameters, QuantileParameters

LOSSES = ("epsilon-insensitive", "absolute", "quantile")
MEDIAN = 0.5
#: ``epsilon="auto"``, in units of the scale.
AUTO_EPSILON = 0.1


@dataclass(frozen=True)
class NumberTargets:
    """The unit of the targets, and the loss in that unit.

    Attributes
    ----------
    values : the distinct targets; rows refer to them by their codes
    loss : the loss, for targets that are centred and scaled
    center, scale : what is subtracted from the targets, and what they are then divided by
    """

    values: FloatArray
    loss: Loss
    center: float
    scale: float

    @classmethod
    def of_estimator(
        cls, estimator: LossParameters, values: FloatArray, codes: IntArray, weights: FloatArray
    ) -> NumberTargets:
        """Return a regressor's targets, for rows with these codes and weights."""
        targets = values[codes]
        center = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            if estimator.fit_intercept:
                hinges = Pinball(0.5).hinges(targets, weights)
                assert hinges.goals is not None
                center = best_constant(hinges.signs, hinges.weights, hinges.goals)
            scale = float(np.average(np.abs(targets - center), weights=weights))
        if not np.isfinite(scale):
            raise ValueError(
                f"the target is too large for double precision (its largest absolute value is "
                f"{np.abs(values).max():.3g}); divide it by a constant."
            )
        scale = scale or 1.0
        return cls(values, make_loss(estimator, scale), center, scale)

    @property
    def relaxed_loss(self) -> Loss:
        """The loss for relaxed weights: with epsilon = 0, since its corners are rounded anyway."""
        return self.loss if isinstance(self.loss, Pinball) else EpsilonInsensitive(0.0)

    def scaled(self, codes: IntArray) -> FloatArray:
        """Return the targets of rows, centred and scaled."""
        return np.asarray((self.values[codes] - self.center) / self.scale)

    def errors(self, decisions: FloatArray, codes: IntArray) -> FloatArray:
        """Return the loss of votes on scaled targets, with epsilon = 0, shape (..., n_rows)."""
        error = self.scaled(codes) - decisions
        if isinstance(self.loss, Pinball):
            quantile = self.loss.quantile
            return np.asarray(np.maximum(quantile * error, (quantile - 1) * error))
        return np.abs(error)

    def in_units(self, vote: Vote) -> Vote:
        """Convert a vote on scaled targets to the unit of the targets."""
        constants = vote.intercepts * self.scale + self.center
        return replace(vote, weights=vote.weights * self.scale, intercepts=constants)


def make_loss(estimator: LossParameters, scale: float) -> Loss:
    """Return the loss of a regressor, for targets divided by ``scale``."""
    if estimator.loss == "quantile":
        return Pinball(float(estimator.quantile))
    if estimator.loss == "absolute":
        return EpsilonInsensitive(0.0)
    epsilon = estimator.epsilon
    return EpsilonInsensitive(AUTO_EPSILON if isinstance(epsilon, str) else epsilon / scale)


def check_loss(estimator: LossParameters) -> None:
    """Raise for an invalid loss, before any work is done."""
    if estimator.loss not in LOSSES:
        known = ", ".join(map(repr, LOSSES))
        raise ValueError(f"loss must be one of {known}, got {estimator.loss!r}.")
    epsilon = estimator.epsilon
    is_auto = isinstance(epsilon, str) and epsilon == "auto"
    if not is_auto and not (_is_number(epsilon) and 0 <= epsilon < np.inf):
        raise ValueError(f"epsilon must be a finite number >= 0 or 'auto', got {epsilon!r}.")
    check_quantiles([estimator.quantile], "quantile")
    if estimator.loss != "quantile" and estimator.quantile != MEDIAN:
        raise ValueError(
            f"quantile={estimator.quantile!r} needs loss='quantile', got loss={estimator.loss!r}."
        )


def check_several_quantiles(estimator: QuantileParameters) -> None:
    """Raise unless the quantiles are valid and all other parameters allow several quantiles."""
    quantiles = estimator.quantiles
    if not isinstance(estimator.conformal, bool | np.bool_):
        raise ValueError(f"conformal must be True or False, got {estimator.conformal!r}.")
    if quantiles is None:
        if estimator.conformal:
            raise ValueError(
                "conformal=True needs several quantiles; give, for example, "
                "loss='quantile', quantiles=(0.1, 0.5, 0.9)."
            )
        return
    if np.ndim(quantiles) != 1 or len(quantiles) == 0:
        raise ValueError(f"quantiles must be a list of numbers, got {quantiles!r}.")
    check_quantiles(list(quantiles), "each of quantiles")
    if not np.all(np.diff(quantiles) > 0):
        raise ValueError(f"quantiles must increase, got {quantiles!r}.")
    needed = {
        "loss": "quantile",
        "solver": "column-generation",
        "relaxation": None,
        "l2_penalty": 0.0,
        "fit_intercept": True,
    }
    for name, value in needed.items():
        if getattr(estimator, name) != value:
            raise ValueError(
                f"quantiles needs {name}={value!r}, got {getattr(estimator, name)!r}; change it, "
                "or fit one quantile."
            )


def check_quantiles(quantiles: Sequence[object], name: str) -> None:
    """Raise unless all quantiles are between 0 and 1."""
    for value in quantiles:
        if not (_is_number(value) and 0 < value < 1):
            raise ValueError(f"{name} must be above 0 and below 1, got {value!r}.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)
