"""One fold of a cross-validation: the grid solved on its training rows, scored on the others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metaestimators import _safe_split

from .kernel_path import as_path, solve_grids
from .kernels import Gram
from .kernels.base import FloatArray
from .threads import single_blas_thread
from .training import Training
from .validation import validate_rows
from .voting import classes_of


@dataclass(frozen=True)
class FoldResult:
    """Arrays of shape (n_complexity_penalties, n_l1_penalties)."""

    scores: FloatArray
    n_support: FloatArray
    relative_gaps: FloatArray
    seconds: FloatArray
    n_kernels: int


class GridPoint(ClassifierMixin, BaseEstimator):
    """A model whose votes on the validation rows are known; what scorers ask for."""

    def __init__(self, decision: FloatArray, classes: Any) -> None:
        self.decision = decision
        self.classes = classes
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> FloatArray:
        """Return the votes."""
        return self.decision

    def predict(self, X: Any) -> Any:
        """Return the classes of the votes."""
        return classes_of(self.decision, self.classes_)


def score_fold(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    split: tuple[Any, Any],
    lambdas: FloatArray,
    betas: FloatArray,
    scorer: Any,
    score_params: dict[str, Any],
    end: float | None,
) -> FoldResult:
    """Solve the grid on the training rows of a split and score it on its test rows.

    ``end`` is a time of `time.time`, which processes share.
    """
    started = time.perf_counter()
    deadline = None if end is None else started + (end - time.time())
    estimator = clone(estimator)
    train, test = split
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    weights = None if sample_weight is None else sample_weight[train]
    with single_blas_thread():
        training = Training.prepare(estimator, X_train, y_train, weights, deadline=deadline)
        grids = solve_grids(training, lambdas, betas, estimator, deadline)
        path = as_path(training, grids, lambdas, betas)
        decisions = decide(estimator, path, X_test)
    metadata = {name: _subset(value, test, X) for name, value in score_params.items()}
    scores = np.empty((len(lambdas), len(betas)))
    for i in range(len(lambdas)):
        for j in range(len(betas)):
            model = GridPoint(decisions[:, i, j], path.classes)
            scores[i, j] = scorer(model, X_test, y_test, **metadata)
    with np.errstate(invalid="ignore"):
        relative = np.nan_to_num(path.dual_gaps / path.objectives)
    n_kernels = training.gram.n_kernels
    seconds = np.full(scores.shape, (time.perf_counter() - started) / scores.size)
    return FoldResult(
        scores, path.n_support.astype(float), relative.max(axis=-1), seconds, n_kernels
    )


def decide(estimator: Any, path: Bunch, X: Any) -> FloatArray:
    """Return the votes of all points of a path, shape (n_rows, n_l, n_b) or (..., n_problems)."""
    X = validate_rows(estimator, X, path.kernels, reset=False)
    centers = path.support if path.kernels[0].pairwise else path.support_vectors
    gram = Gram(path.kernels, X, centers, memory_limit=0)
    n_l, n_b, n_problems, n_terms = path.weights.shape
    weights = path.weights.reshape(n_l * n_b * n_problems, n_terms).T
    votes = gram.vote(path.term_kernel_indices, path.term_support_indices, weights)
    votes = np.asarray(votes.reshape(len(votes), n_l, n_b, n_problems) + path.intercepts)
    return votes[..., 0] if n_problems == 1 else votes


def _subset(value: Any, rows: Any, X: Any) -> Any:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if hasattr(value, "__len__") and len(value) == n_rows:
        return _safe_indexing(value, rows)
    return value
