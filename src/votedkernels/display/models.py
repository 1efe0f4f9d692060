"""The model that a display draws: an estimator, or the last step of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators._fitted_attributes import has_vote
from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV

#: What a pipeline accepts as a step that does nothing.
NO_STEPS = (None, "passthrough")


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline; any other estimator is returned as it is."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def first_step(estimator: Any) -> Any:
    """Return the first step of a pipeline that is not skipped; it knows the columns of X."""
    while isinstance(estimator, Pipeline):
        estimator = next(step for _, step in estimator.steps if step not in NO_STEPS)
    return estimator


def earlier_steps(estimator: Any) -> list[Pipeline]:
    """Return the parts before the last step, in order; nested pipelines have several parts."""
    parts = []
    while isinstance(estimator, Pipeline):
        if any(step not in NO_STEPS for _, step in estimator.steps[:-1]):
            parts.append(estimator[:-1])
        estimator = estimator.steps[-1][1]
    return parts


def transform(steps: list[Pipeline], X: Any) -> Any:
    """Return the rows that the last step of a pipeline receives."""
    for step in steps:
        X = step.transform(X)
    return X


def require_vote(estimator: Any, caller: str) -> Any:
    """Return the last step of an estimator; raise unless it is a fitted model with a vote."""
    model = last_step(estimator)
    if not isinstance(model, VotedKernelClassifier | VotedKernelClassifierCV):
        raise TypeError(
            f"{caller} needs a fitted VotedKernelClassifier or VotedKernelClassifierCV, or a "
            f"pipeline that ends in one, got {describe(estimator)}; instead of a search, pass its "
            "best_estimator_."
        )
    check_is_fitted(model)
    if not has_vote(model):
        raise ValueError(
            f"{caller} draws a model, but VotedKernelClassifierCV(refit=False) does not fit one; "
            "use refit=True, or fit a VotedKernelClassifier with best_params_."
        )
    return model


def require_search(estimator: Any, caller: str) -> VotedKernelClassifierCV:
    """Return the last step of an estimator; raise unless it is a fitted search."""
    model = last_step(estimator)
    if not isinstance(model, VotedKernelClassifierCV):
        raise TypeError(
            f"{caller} needs a fitted VotedKernelClassifierCV, or a pipeline that ends in one, got "
            f"{describe(estimator)}; pass numbers from elsewhere to the constructor."
        )
    check_is_fitted(model, "cv_results_")
    return model


def describe(estimator: Any) -> str:
    """Return the class of an estimator, for error messages."""
    if isinstance(estimator, Pipeline):
        return f"a pipeline that ends in {type(last_step(estimator)).__name__}"
    return type(estimator).__name__
