"""How a model performs on rows that it has not seen: the whole fit is repeated in folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import _safe_split

from ..display.models import last_step
from ..kernels.base import FloatArray, IntArray

#: Probabilities are grouped into this many bins with equal numbers of rows.
BINS = 8
#: Bins with fewer rows than this are not informative.
LEAST_ROWS = 10
#: The smallest probability in the log loss.
SMALLEST = 1e-15


@dataclass(frozen=True)
class HeldOut:
    """Predictions on held-out rows.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    true, predicted : arrays of shape (n_rows,)
        Indices into ``classes``.
    probabilities : array of shape (n_rows, n_classes), or None
    fold_errors : array of shape (n_folds,)
    """

    classes: Any
    true: IntArray
    predicted: IntArray
    probabilities: FloatArray | None
    fold_errors: FloatArray

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        return float(np.mean(self.true != self.predicted))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean over folds, as if folds were independent."""
        return float(np.std(self.fold_errors, ddof=1) / np.sqrt(len(self.fold_errors)))

    def confusion(self) -> IntArray:
        """Return how many rows of each class (row) were predicted as each class (column)."""
        counts = np.zeros((len(self.classes),) * 2, np.intp)
        np.add.at(counts, (self.true, self.predicted), 1)
        return counts

    def log_loss(self) -> float:
        """Return the mean negative logarithm of the probability of the correct class."""
        assert self.probabilities is not None
        right = self.probabilities[np.arange(len(self.true)), self.true]
        return float(-np.log(np.maximum(right, SMALLEST)).mean())

    def brier_score(self) -> float:
        """Return the mean squared distance of probabilities from 0 and 1, summed over classes."""
        assert self.probabilities is not None
        outcome = np.eye(len(self.classes))[self.true]
        return float(((self.probabilities - outcome) ** 2).sum(axis=1).mean())

    def reliability(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the mean predicted probability, observed share and row count of each bin.

        With two classes, this is the probability of the second one. With more, it is that of the
        predicted class, and the share is that of correct predictions.
        """
        assert self.probabilities is not None
        if len(self.classes) == 2:
            predicted, happened = self.probabilities[:, 1], self.true == 1
        else:
            predicted, happened = self.probabilities.max(axis=1), self.true == self.predicted
        n_bins = max(1, min(BINS, len(predicted) // LEAST_ROWS))
        bins = np.array_split(np.argsort(predicted, kind="stable"), n_bins)
        return (
            np.array([predicted[rows].mean() for rows in bins]),
            np.array([happened[rows].mean() for rows in bins]),
            np.array([len(rows) for rows in bins]),
        )


def predict_held_out(
    model: Any, X: Any, y: Any, n_folds: int, on_fold: Callable[[str], None] | None = None
) -> HeldOut | None:
    """Fit a copy of the model on each training part, and predict the rows that it leaves out.

    A search is repeated in each fold, so its choices are tested too. Returns None if some
    class has a single row.
    """
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    n_folds = min(n_folds, int(np.bincount(codes).min()))
    if n_folds < 2:
        return None
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    predicted = np.zeros(len(codes), np.intp)
    # The copy of a model from a file is a plain vote, which may have no probabilities.
    has_probabilities = hasattr(silent_copy(model), "predict_proba")
    probabilities = np.zeros((len(codes), len(classes))) if has_probabilities else None
    errors = []
    for number, (train, test) in enumerate(splitter.split(np.zeros((len(codes), 1)), codes), 1):
        if on_fold is not None:
            on_fold(f"held-out fold {number} of {n_folds}")
        fold = silent_copy(model)
        X_train, y_train = _safe_split(fold, X, classes[codes], train)
        X_test, _ = _safe_split(fold, X, classes[codes], test, train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows has issued the same warnings
            fold.fit(X_train, y_train)
            predicted[test] = np.searchsorted(classes, fold.predict(X_test))
            if probabilities is not None:
                probabilities[test] = fold.predict_proba(X_test)
        errors.append(float(np.mean(predicted[test] != codes[test])))
    return HeldOut(classes, codes, predicted, probabilities, np.array(errors))


def silent_copy(model: Any) -> Any:
    """Return an unfitted copy of a model that prints nothing."""
    copy = clone(model)
    last_step(copy).set_params(verbose=0)
    return copy
