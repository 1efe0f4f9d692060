"""Fits with ``probability=True``: votes on held-out rows, and probabilities fitted to them.

The folds depend only on the content of the rows, and identical rows are in the same fold. So the
probabilities do not depend on the order of the rows, and a weight has the same effect as repeated
rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split

from .._system.budget import Budget
from ..exceptions import FitLimitError
from ..kernels import continuous_family
from ..kernels.base import IntArray
from ..kernels.families import is_for_tables
from ..preparation.training import Training
from ..preparation.validation import validate_rows, validate_weights
from ._fitted_attributes import PENALTIES
from ._probabilities import fit_scale

#: Number of folds; there are fewer if a class has fewer distinct rows.
FOLDS = 5
#: Relative gap of the votes in the folds, unless ``tol`` is larger.
TOL = 1e-3


def scale_of_classifier(
    estimator: Any,
    training: Training,
    X: Any,
    sample_weight: Any,
    budget: Budget,
    *,
    on_fold: Callable[[str], None] | None = None,
) -> float:
    """Return the scale of a classifier's probabilities; pass each fold's name to ``on_fold``."""
    places, codes = training.places, training.codes
    if places is None:
        raise ValueError("probability=True does not work with Dask arrays; use probability=False.")
    folds = assign_folds(codes)
    X = validate_rows(estimator, X, training.columns.families, reset=False)
    if sample_weight is not None:
        sample_weight = validate_weights(sample_weight, X, codes[places])
    labels = np.asarray(training.classes)[codes[places]]
    # Rows of weight 0 have the place -1 and belong to no fold.
    distinct, first = np.unique(places, return_index=True)
    first = first[distinct >= 0]
    decisions = np.full((len(codes), training.n_problems), np.nan)
    n_folds = int(folds.max()) + 1
    for number in range(n_folds):
        if on_fold is not None:
            on_fold(f"probabilities, fold {number + 1} of {n_folds}")
        held_out = np.flatnonzero(folds == number)
        train = np.flatnonzero((places >= 0) & ~np.isin(places, held_out))
        model = model_of_fold(estimator, training, budget.share(n_folds - number))
        weights = None if sample_weight is None else sample_weight[train]
        X_train, y_train = _safe_split(model, X, labels, train)
        X_test, _ = _safe_split(model, X, labels, first[held_out], train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                votes = model.fit(X_train, y_train, weights).decision_function(X_test)
            except FitLimitError:
                continue
        decisions[held_out] = votes.reshape(len(held_out), -1)
    known = np.isfinite(decisions).all(axis=1)
    if not known.any():
        raise FitLimitError(
            f"time_limit={estimator.time_limit!r} left no time for probabilities; use a larger "
            "time_limit, or use probability=False."
        )
    return fit_scale(decisions[known], codes[known], training.w[known], training.m)


def model_of_fold(estimator: Any, training: Training, budget: Budget) -> Any:
    """Return an unfitted classifier with the penalties of the fit on all rows.

    These are attributes of the fitted estimator. They are not computed again, because the fit may
    have used up its share of the time.
    """
    complexity_penalty, l1_penalty = (getattr(estimator, name) for name in PENALTIES)
    changes = {
        "probability": False,
        "verbose": 0,
        "complexity_penalty": complexity_penalty,
        "l1_penalty": l1_penalty,
        "tol": max(TOL, estimator.tol),
    }
    if continuous_family(training.columns.families) is None and training.allowed is None:
        changes["complexity"] = training.complexities
    if is_for_tables(estimator.kernels):
        changes["kernels"] = [clone(family) for family in training.columns.families]
    if estimator.time_limit is not None:
        changes["time_limit"] = budget.time_limit
    return type(estimator)(**estimator.get_params(deep=False) | changes)


def assign_folds(codes: IntArray) -> IntArray:
    """Return the fold of each distinct row. The rows of each class are dealt to the folds in turn.

    A row that is the only one of its class is never held out; its fold is -1.
    """
    counts = np.bincount(codes)
    n_folds = min(FOLDS, int(counts[counts > 1].min(initial=FOLDS)))
    folds = np.full(len(codes), -1, np.intp)
    for code in np.flatnonzero(counts > 1):
        folds[codes == code] = np.arange(counts[code]) % n_folds
    if folds.max() < 0:
        raise ValueError(
            "probability=True holds out rows of each class, but each class has only one row; "
            "add rows, or use probability=False."
        )
    return folds
