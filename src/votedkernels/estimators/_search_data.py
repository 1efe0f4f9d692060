"""The data of a search by cross-validation, and the score of votes on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import _safe_indexing

from ..kernels.base import FloatArray, IntArray, count_rows
from ..preparation.numbers import NumberTargets
from ..preparation.sample import class_factors, weighted_classes
from ._fold_scores import GridPoint
from ._relevance import learn_feature_scales

#: The names of a choice of kernels and complexity, and an unfitted estimator with that choice.
Alternative = tuple[dict[str, Any], Any]


@dataclass(frozen=True)
class SearchData:
    """The data of a search, and how to score votes on them.

    Attributes
    ----------
    X, classes, codes, sample_weight : the validated training data
    splits : pairs of arrays, the indices of training rows and of test rows
    scorer : a scikit-learn scorer, or None for accuracy
    score_params : further arguments for the scorer, such as weights
    numeric : whether ``classes`` are the distinct targets of regression
    """

    X: Any
    classes: Any
    codes: IntArray
    sample_weight: Any
    splits: Sequence[tuple[IntArray, IntArray]]
    scorer: Any
    score_params: dict[str, Any]
    numeric: bool = False

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for regression."""
        return 0 if self.numeric else len(self.classes)

    @property
    def labels(self) -> Any:
        """The class of each row."""
        return self.classes[self.codes]

    @property
    def row_weights(self) -> FloatArray:
        """The weight that the user passed for each row, or 1."""
        if self.sample_weight is None:
            return np.ones(len(self.codes))
        return np.asarray(self.sample_weight)

    @property
    def has_scales(self) -> bool:
        """Whether feature scales can be learned: the rows are dense, with several features."""
        return isinstance(self.X, np.ndarray) and self.X.ndim == 2 and self.X.shape[1] > 1

    def learn_scales(self, rows: IntArray) -> tuple[float, ...]:
        """Return feature scales learned from some rows."""
        targets, w = np.asarray(self.labels[rows], dtype=np.float64), self.row_weights[rows]
        return learn_feature_scales(self.X[rows], targets, w)

    def loss_weights(self, class_weight: Any) -> FloatArray:
        """Return the weight of each row in the loss; they sum to 1."""
        weights = self.row_weights
        factors = class_factors(class_weight, self.classes, self.codes, weights)
        weights = weighted_classes(weights, factors, self.codes)
        return np.asarray(weights / weights.sum())

    def score(self, numbers: NumberTargets | None, decisions: FloatArray, rows: IntArray) -> float:
        """Return the score of votes on some rows; ``numbers`` knows the unit of the targets."""
        params = {name: subset(value, rows, self.X) for name, value in self.score_params.items()}
        if numbers is not None:
            if self.scorer is None:
                errors = numbers.scale * numbers.errors(decisions[:, 0], self.codes[rows])
                return -float(np.average(errors, weights=params.get("sample_weight")))
            known = KnownNumbers(decisions[:, 0] * numbers.scale + numbers.center)
            X, y = _safe_indexing(self.X, rows), self.classes[self.codes[rows]]
            return float(self.scorer(known, X, y, **params))
        if self.scorer is not None:
            flat = decisions[:, 0] if decisions.shape[1] == 1 else decisions
            model = GridPoint(flat, self.classes)
            X, y = _safe_indexing(self.X, rows), self.classes[self.codes[rows]]
            return float(self.scorer(model, X, y, **params))
        if decisions.shape[1] == 1:
            predicted = (decisions[:, 0] > 0).astype(np.intp)
        else:
            predicted = decisions.argmax(axis=1)
        return float(np.average(predicted == self.codes[rows], weights=params.get("sample_weight")))


class KnownNumbers(RegressorMixin, BaseEstimator):
    """A stand-in model for scorers, whose predictions on the validation rows are already known."""

    def __init__(self, predictions: FloatArray) -> None:
        self.predictions = predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions for the validation rows; X is ignored."""
        del X
        return self.predictions


def subset(value: Any, rows: IntArray, X: Any) -> Any:
    """Return some rows' entries, or the value itself if it does not have one entry per row."""
    if hasattr(value, "__len__") and len(value) == count_rows(X):
        return _safe_indexing(value, rows)
    return value
