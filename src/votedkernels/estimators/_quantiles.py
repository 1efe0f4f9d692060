"""Regressors with ``quantiles``: several quantiles are fitted together, as sums of layers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .._system.stack_level import user_stacklevel
from ..exceptions import FitLimitError
from ..kernels import continuous_family
from ..kernels.base import FloatArray
from ..preparation.training import Training
from ..preparation.validation import validate_rows
from ..problem import Terms, Vote
from ..problem.losses import Pinball
from ..solvers.quantiles import QuantileProblem, solve_quantiles
from ._conformal import shifted
from ._fitted_attributes import LIMITS, PENALTIES, TRAINING_ERROR, describe_certified
from ._voting import NumberVoteMixin


def has_several(self: QuantilesMixin) -> bool:
    """Return True if several quantiles are fitted together; otherwise, say how to do that."""
    if self.quantiles is None:
        raise AttributeError(
            "several quantiles are needed; fit with loss='quantile', quantiles=(0.1, 0.5, 0.9)."
        )
    return True


class QuantilesMixin(NumberVoteMixin):
    """Predictions of several quantiles. Sums of layers cannot cross, not even through rounding."""

    quantiles: Any
    conformal_shifts_: FloatArray

    def predict(self, X: Any) -> FloatArray:
        """Return the prediction for each row; with several quantiles, the median.

        Parameters
        ----------
        X : rows in the same form as in ``fit``; for ``Precomputed()``, kernel values against all
            training rows

        Returns
        -------
        array of shape (n_samples,)
        """
        if self.quantiles is None:
            return super().predict(X)
        return np.asarray(
            self.predict_quantiles(X)[:, self._place_of(0.5, "predict returns the median")]
        )

    @available_if(has_several)
    def predict_quantiles(self, X: Any) -> FloatArray:
        """Return all quantiles for each row. They never decrease along a row.

        Parameters
        ----------
        X : rows in the same form as in ``fit``

        Returns
        -------
        array of shape (n_samples, n_quantiles)
        """
        vote = self._fitted_vote()
        layers = vote.decide(validate_rows(self, X, vote.families, reset=False))
        values = np.asarray(np.cumsum(layers, axis=1))
        if not hasattr(self, "conformal_shifts_"):
            return values
        return shifted(values, self.conformal_shifts_, np.asarray(self.quantiles, np.float64))

    @available_if(has_several)
    def predict_interval(self, X: Any, alpha: float = 0.2) -> FloatArray:
        """Return the quantiles alpha / 2 and 1 - alpha / 2 for each row.

        Parameters
        ----------
        X : rows in the same form as in ``fit``
        alpha : float, default=0.2
            The share of targets outside the interval. Both quantiles must have been fitted.

        Returns
        -------
        array of shape (n_samples, 2)
        """
        if not (isinstance(alpha, Real) and 0 < alpha < 1):
            raise ValueError(f"alpha must be above 0 and below 1, got {alpha!r}.")
        ends = [
            self._place_of(level, f"alpha={alpha!r} needs it")
            for level in (alpha / 2, 1 - alpha / 2)
        ]
        return np.asarray(self.predict_quantiles(X)[:, ends])

    def _place_of(self, level: float, reason: str) -> int:
        found = np.flatnonzero(np.isclose(self.quantiles, level, rtol=0.0, atol=1e-9))
        if len(found) == 0:
            raise ValueError(
                f"the quantile {level:g} was not fitted ({reason}); quantiles is "
                f"{tuple(self.quantiles)}. Add it to quantiles, and fit again."
            )
        return int(found[0])


def fit_quantiles(estimator: Any, training: Training) -> dict[str, Any]:
    """Fit several quantiles together; return the fitted attributes."""
    columns, numbers = training.columns, training.numbers
    assert numbers is not None
    if continuous_family(columns.families) is not None:
        raise ValueError("quantiles needs finitely many kernels; use Gaussian.")
    widening = np.concatenate(
        [np.full(family.n_kernels, family.is_nonnegative) for family in columns.families]
    )
    if not widening.any():
        raise ValueError(
            "quantiles needs a kernel that is never negative, so that upper quantiles can exceed "
            "lower ones; add Gaussian() to kernels."
        )
    penalties = training.penalties_of(estimator)
    prices = penalties[0] * training.complexities + penalties[1]
    problem = QuantileProblem(
        columns,
        numbers.scaled(training.codes),
        training.w,
        np.asarray(estimator.quantiles, dtype=np.float64),
        prices,
        widening,
    )
    found = solve_quantiles(problem, tol=estimator.tol, max_iter=estimator.max_iter)
    constants = numbers.scale * np.array([layer.intercept for layer in found.layers])
    constants[0] += numbers.center
    vote = Vote.gather(found.layers, constants, columns, training.centers)
    vote = replace(vote, weights=numbers.scale * vote.weights)
    gap = max(0.0, found.objective - found.dual_bound)
    _warn_of_gap(estimator, found.stop_reason, found.objective, gap, len(vote.kernels))
    certificates = tuple(
        training.unit * np.array([value]) for value in (found.objective, found.dual_bound, gap)
    )
    return {
        **dict(zip(PENALTIES, penalties, strict=True)),
        **describe_certified(training, prices, vote, certificates),
        TRAINING_ERROR: training_error(training, problem.quantiles, found.layers),
        "n_iter_": found.n_iter,
        "stop_reason_": found.stop_reason,
    }


def training_error(training: Training, quantiles: FloatArray, layers: Sequence[Terms]) -> float:
    """Return the mean pinball loss of all quantiles on the training rows."""
    assert training.numbers is not None
    constants = np.array([layer.intercept for layer in layers])
    votes = np.cumsum(training.decisions(layers, constants), axis=1)
    errors = []
    for quantile, votes_of_one in zip(quantiles, votes.T, strict=True):
        numbers = replace(training.numbers, loss=Pinball(float(quantile)))
        errors.append(replace(training, numbers=numbers).error(votes_of_one[:, None]))
    return float(np.mean(errors))


def _warn_of_gap(estimator: Any, reason: str, objective: float, gap: float, n_terms: int) -> None:
    """Warn if the fit stopped before the optimum; raise if a limit ended it before any vote."""
    if gap <= estimator.tol * objective:
        return
    if reason in LIMITS and n_terms == 0:
        parameter = LIMITS[reason]
        raise FitLimitError(
            f"{parameter}={getattr(estimator, parameter)!r} ended the fit before any kernel got a "
            f"weight; use a larger {parameter}, fewer centers, or fewer kernels."
        )
    warnings.warn(
        f"The fit stopped ({reason}) at a relative duality gap of {gap / objective:.2g}, above "
        f"tol={estimator.tol:.2g}.",
        ConvergenceWarning,
        stacklevel=user_stacklevel(),
    )
