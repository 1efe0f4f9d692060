"""Conformal shifts: how far to move each quantile so that the right share of targets is below it.

Fitted quantiles adapt to their own training rows. So they are refitted without each fold in turn,
and compared with the held-out targets: e_i = t_i - q(x_i). A quantile tau above the
median is moved by the smallest shift s with

    #{i : e_i <= s} >= tau (n + 1),

one below the median by the largest s with #{i : e_i < s} <= tau (n + 1); the median is not moved
(conformalised quantile regression, Romano, Patterson and Candès 2019, with held-out folds instead
of held-out rows). With weights, counts are sums of weights, and n + 1 is their sum plus their mean.

A shift may be negative for an upper quantile and positive for a lower one, which narrows intervals
that are too wide. Quantiles could then cross, so they are kept in order and on their side of the
median, or of the midpoint between the two quantiles next to it. This can only widen an interval,
so the interval contains at least as many targets as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.metaestimators import _safe_split

from ..exceptions import FitLimitError
from ..kernels import clone_families
from ..kernels.base import FloatArray
from ..preparation.validation import validate_numbers, validate_rows, validate_weights

#: A model without a fifth of few rows errs more than the model on all rows, so its shifts are too
#: large. Without a twentieth, the difference is small; with many rows, it is small in any case.
FOLDS, FEWEST_FOLDS = 20, 5
MANY_ROWS = 1000
MEDIAN = 0.5


def learn_shifts(estimator: Any, X: Any, y: Any, sample_weight: Any) -> FloatArray:
    """Return the shift of each quantile of a regressor, in the unit of the target.

    Parameters
    ----------
    estimator : VotedKernelRegressor
        For each fold, an unfitted copy is fitted on the other folds.
    X, y, sample_weight : training data, as for ``fit``
    """
    families = [family for _, family in clone_families(estimator.kernels)]
    X = validate_rows(estimator, X, families, reset=False)
    values, codes = validate_numbers(X, y)
    y, n_rows = values[codes], len(codes)
    w = np.ones(n_rows)
    if sample_weight is not None:
        w = validate_weights(sample_weight, X, codes, least=1)
    quantiles = np.asarray(estimator.quantiles, dtype=np.float64)
    errors = np.zeros((n_rows, len(quantiles)))
    single = clone(estimator).set_params(conformal=False, verbose=0)
    n_folds = count_folds(n_rows)
    if estimator.time_limit is not None:
        single.set_params(time_limit=estimator.time_limit / (n_folds + 1))
    for train, test in KFold(n_folds, shuffle=True, random_state=0).split(np.zeros((n_rows, 1))):
        weights = None if sample_weight is None else w[train]
        rows, targets = _safe_split(single, X, y, train)
        others, held_out = _safe_split(single, X, y, test, train)
        try:
            single.fit(rows, targets, weights)
        except FitLimitError as error:
            raise FitLimitError(f"conformal=True fits {n_folds} times more: {error}") from None
        errors[test] = held_out[:, None] - single.predict_quantiles(others)
    return np.array(
        [shift_of(column, w, tau) for column, tau in zip(errors.T, quantiles, strict=True)]
    )


def count_folds(n_rows: int) -> int:
    """Return the number of folds for this many rows."""
    if n_rows < FEWEST_FOLDS:
        raise ValueError(
            f"conformal=True needs at least {FEWEST_FOLDS} rows, got n_samples = {n_rows}; add "
            "rows, or use conformal=False."
        )
    return FEWEST_FOLDS if n_rows > MANY_ROWS else min(FOLDS, n_rows)


def shift_of(errors: FloatArray, w: FloatArray, tau: float) -> float:
    """Return the shift of one quantile, given the errors at held-out rows and their weights."""
    if np.isclose(tau, MEDIAN):
        return 0.0
    if tau < MEDIAN:
        return -shift_of(-errors, w, 1.0 - tau)
    order = np.argsort(errors, kind="stable")
    sums = np.cumsum(w[order])
    due = tau * (sums[-1] + w.mean()) * (1.0 - 1e-12)
    # With too few rows for a guarantee, use the largest error.
    return float(errors[order[min(int(np.searchsorted(sums, due)), len(order) - 1)]])


def shifted(values: FloatArray, shifts: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return the shifted quantiles, of shape (n_rows, n_quantiles), in order."""
    lower = int(np.count_nonzero(quantiles < MEDIAN))
    upper = int(np.count_nonzero(quantiles <= MEDIAN))
    # The median itself or, if it is not among the quantiles, those on both sides of it.
    beside = slice(lower, upper) if lower < upper else slice(max(0, lower - 1), lower + 1)
    middle = values[:, beside].mean(axis=1, keepdims=True)
    moved = np.array(values + shifts)
    moved[:, :lower] = np.minimum(moved[:, :lower], middle)
    moved[:, upper:] = np.maximum(moved[:, upper:], middle)
    moved[:, :lower] = np.minimum.accumulate(moved[:, :lower][:, ::-1], axis=1)[:, ::-1]
    moved[:, upper:] = np.maximum.accumulate(moved[:, upper:], axis=1)
    return moved
