"""Which models a display can draw, and what it says of others."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV


def require_vote(estimator: Any, caller: str) -> None:
    """Raise for anything but a fitted vote."""
    if not isinstance(estimator, VotedKernelClassifier | VotedKernelClassifierCV):
        raise TypeError(
            f"{caller} needs a fitted VotedKernelClassifier or VotedKernelClassifierCV, got "
            f"{type(estimator).__name__}; of a pipeline, give the last step, pipeline[-1]; of a "
            "search, its best_estimator_."
        )
    check_is_fitted(estimator)
    if not hasattr(estimator, "term_weights_"):
        raise ValueError(
            f"{caller} draws a model, and VotedKernelClassifierCV(refit=False) ends without one; "
            "use refit=True, or fit a VotedKernelClassifier with best_params_."
        )


def require_search(estimator: Any, caller: str) -> None:
    """Raise for anything but a search over penalties that was done."""
    if not isinstance(estimator, VotedKernelClassifierCV):
        raise TypeError(
            f"{caller} needs a fitted VotedKernelClassifierCV, got {type(estimator).__name__}; of "
            "a pipeline, give the last step, pipeline[-1]; numbers from elsewhere go to the "
            "constructor."
        )
    check_is_fitted(estimator, "cv_results_")
