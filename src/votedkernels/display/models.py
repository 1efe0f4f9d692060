"""Checks that a model is one that a display can draw."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..estimators._voting import has_vote
from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV


def require_vote(estimator: Any, caller: str) -> None:
    """Raise unless the estimator is a fitted classifier that has a vote."""
    if not isinstance(estimator, VotedKernelClassifier | VotedKernelClassifierCV):
        raise TypeError(
            f"{caller} needs a fitted VotedKernelClassifier or VotedKernelClassifierCV, got "
            f"{type(estimator).__name__}; pass the last step of a pipeline, pipeline[-1], or the "
            "best_estimator_ of a search."
        )
    check_is_fitted(estimator)
    if not has_vote(estimator):
        raise ValueError(
            f"{caller} draws a model, but VotedKernelClassifierCV(refit=False) does not fit one; "
            "use refit=True, or fit a VotedKernelClassifier with best_params_."
        )


def require_search(estimator: Any, caller: str) -> None:
    """Raise unless the estimator is a fitted search over penalties."""
    if not isinstance(estimator, VotedKernelClassifierCV):
        raise TypeError(
            f"{caller} needs a fitted VotedKernelClassifierCV, got {type(estimator).__name__}; "
            "pass the last step of a pipeline, pipeline[-1], or pass numbers from elsewhere to the "
            "constructor."
        )
    check_is_fitted(estimator, "cv_results_")
