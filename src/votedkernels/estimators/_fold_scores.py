"""One fold of cross-validation: the grid is solved on its training rows and scored on the rest."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metaestimators import _safe_split

from .._system.budget import Budget, single_blas_thread
from ..kernels.base import FloatArray
from ..preparation.training import Training
from ..preparation.validation import validate_rows
from ..solvers.grid_order import walk_outwards
from ._ongoing_fit import GridWatch
from ._voting import classes_of
from .path import as_path, solve_grids, vote_of_path

#: Stop reasons of votes that were not solved in time.
UNSOLVED = ("time-limit", "interrupted")
#: Time set aside for the last fit, on all rows, in units of the time for a fold. That fit has a
#: quarter more rows, and no neighbour on the grid to start from.
FOLDS_OF_REFIT = 2


@dataclass(frozen=True)
class Schedule:
    """Divides the time of a search among its folds and the last fit.

    Times come from `time.time`, which is the same in all processes.
    """

    started: float
    seconds: float
    n_folds: int
    n_workers: int

    @property
    def end(self) -> float:
        """The time by which the whole search must end."""
        return self.started + self.seconds

    def end_of_fold(self, number: int) -> float:
        """Return the `time.perf_counter` time by which a fold that starts now must end."""
        n_rounds = -(-self.n_folds // self.n_workers)
        search = self.seconds * n_rounds / (n_rounds + FOLDS_OF_REFIT)
        left = self.started + search - time.time()
        rounds_left = -(-(self.n_folds - number) // self.n_workers)
        return time.perf_counter() + max(0.0, left) / rounds_left


@dataclass(frozen=True)
class FoldResult:
    """The results of a fold, as arrays of shape (n_complexity_penalties, n_l1_penalties)."""

    #: NaN for pairs of penalties that were not solved in time.
    scores: FloatArray
    solved: NDArray[np.bool_]
    n_support: FloatArray
    relative_gaps: FloatArray
    seconds: FloatArray
    n_kernels: int
    #: Votes on the test rows, shape (n_l, n_b, n_rows, n_problems), and the classes they are for.
    decisions: NDArray[np.float32]
    classes: Any


class GridPoint(ClassifierMixin, BaseEstimator):
    """A stand-in model for scorers, whose votes on the validation rows are already known."""

    def __init__(self, decision: FloatArray, classes: Any) -> None:
        self.decision = decision
        self.classes = classes
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> FloatArray:
        """Return the votes on the validation rows; X is ignored."""
        del X
        return self.decision

    def predict(self, X: Any) -> Any:
        """Return the classes that the votes choose."""
        del X
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
    schedule: Schedule | None,
    number: int,
    on_point: GridWatch | None = None,
) -> FoldResult:
    """Solve the grid on the training rows of a split and score it on its test rows.

    ``number`` is the index of this fold in the schedule. With a schedule, the grid is solved from
    the usual penalties outwards, as far as time allows. ``on_point`` is called after each pair of
    penalties and one-vs-rest problem.
    """
    started = time.perf_counter()
    deadline = math.inf if schedule is None else schedule.end_of_fold(number)
    order = None if schedule is None else walk_outwards(lambdas, betas)
    estimator = clone(estimator)
    train, test = split
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    weights = None if sample_weight is None else sample_weight[train]
    with single_blas_thread():
        budget = Budget(deadline)
        training = Training.prepare(estimator, X_train, y_train, weights, budget=budget)
        grids = solve_grids(training, lambdas, betas, estimator, order=order, on_point=on_point)
        path = as_path(training, grids, lambdas, betas)
        decisions = decide(estimator, path, X_test)
    metadata = {name: _subset(value, test, X) for name, value in score_params.items()}
    scores = np.full((len(lambdas), len(betas)), np.nan)
    solved = np.asarray(np.isin(path.stop_reasons, UNSOLVED, invert=True).all(axis=-1))
    for i, j in np.argwhere(solved):
        model = GridPoint(decisions[:, i, j], path.classes)
        scores[i, j] = scorer(model, X_test, y_test, **metadata)
    with np.errstate(invalid="ignore"):
        relative = np.nan_to_num(path.dual_gaps / path.objectives)
    n_kernels = training.columns.n_kernels
    seconds = np.full(scores.shape, (time.perf_counter() - started) / scores.size)
    n_support = np.where(solved, path.n_support, np.nan)
    gaps = np.where(solved, relative.max(axis=-1), np.nan)
    each = decisions[..., None] if decisions.ndim == 3 else decisions
    votes = np.moveaxis(each, 0, 2).astype(np.float32)
    return FoldResult(scores, solved, n_support, gaps, seconds, n_kernels, votes, path.classes)


def decide(estimator: Any, path: Bunch, X: Any) -> FloatArray:
    """Return the votes of all models of a path, shape (n_rows, n_l, n_b) or (..., n_problems)."""
    votes = vote_of_path(path).decide(validate_rows(estimator, X, path.kernels, reset=False))
    return votes[..., 0] if votes.shape[-1] == 1 else votes


def _subset(value: Any, rows: Any, X: Any) -> Any:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if hasattr(value, "__len__") and len(value) == n_rows:
        return _safe_indexing(value, rows)
    return value
