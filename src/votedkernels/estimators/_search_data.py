"""The data of a search by cross-validation, and the score of votes on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..kernels.base import FloatArray, IntArray, count_rows
from ..preparation.class_weights import class_factors, weighted_classes
from ._fold_scores import GridPoint
from .classifier import VotedKernelClassifier

#: The names of a choice of kernels and complexity, and an unfitted classifier with that choice.
Alternative = tuple[dict[str, Any], VotedKernelClassifier]


@dataclass(frozen=True)
class SearchData:
    """The data of a search, and how to score votes on them.

    Attributes
    ----------
    X, classes, codes, sample_weight : the validated training data
    splits : pairs of arrays, the indices of training rows and of test rows
    scorer : a scikit-learn scorer, or None for accuracy
    score_params : further arguments for the scorer, such as weights
    """

    X: Any
    classes: Any
    codes: IntArray
    sample_weight: Any
    splits: Sequence[tuple[IntArray, IntArray]]
    scorer: Any
    score_params: dict[str, Any]

    @property
    def labels(self) -> Any:
        """The class of each row."""
        return self.classes[self.codes]

    @property
    def row_weights(self) -> FloatArray:
        """The weight of each row as given by the user, or 1."""
        if self.sample_weight is None:
            return np.ones(len(self.codes))
        return np.asarray(self.sample_weight)

    def loss_weights(self, class_weight: Any) -> FloatArray:
        """Return the weight of each row in the loss; they sum to 1."""
        weights = self.row_weights
        factors = class_factors(class_weight, self.classes, self.codes, weights)
        weights = weighted_classes(weights, factors, self.codes)
        return np.asarray(weights / weights.sum())

    def score(self, decisions: FloatArray, rows: IntArray) -> float:
        """Return the score of votes on some rows."""
        params = {name: subset(value, rows, self.X) for name, value in self.score_params.items()}
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


def subset(value: Any, rows: IntArray, X: Any) -> Any:
    """Return the entries for some rows, or the value itself if it does not have one per row."""
    if hasattr(value, "__len__") and len(value) == count_rows(X):
        return _safe_indexing(value, rows)
    return value
