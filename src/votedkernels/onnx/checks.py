"""Checks whether a model can be exported, before any work is done."""

from __future__ import annotations

from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators._fitted_attributes import has_vote, vote_of
from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV
from ..estimators.regressor import VotedKernelRegressor
from ..estimators.regressor_cv import VotedKernelRegressorCV
from ..exceptions import ExportError
from .families import VOTES, parts_of_vote
from .labels import tensor_of

CLASSIFIERS = (VotedKernelClassifier, VotedKernelClassifierCV)
REGRESSORS = (VotedKernelRegressor, VotedKernelRegressorCV)
OUTPUTS = ("label", "scores", "probabilities")
#: The output of a regressor.
PREDICTION = "prediction"
#: The first opset whose axes are inputs, and for which onnxruntime has all operators that we use
#: in double precision.
OLDEST_OPSET = 13
#: ONNX models are Protocol Buffers, of at most 2 GiB. 16 MiB are left for the rest of the model.
LARGEST_BYTES = 2**31 - 2**24
#: Why a family cannot be exported.
REASONS = {
    "Similarity": "it calls a Python function, which an ONNX graph cannot hold",
    "Precomputed": "its kernel values are computed outside the model",
    "EditDistance": "it compares strings, for which ONNX has no operators",
    "ElasticDistance": "it aligns time series, for which ONNX has no operators",
    "Spectrum": "it compares strings, for which ONNX has no operators",
    "Threshold": "rules about single features are not yet translated into ONNX operators",
    "Categories": "rules about single features are not yet translated into ONNX operators",
    "MixedGaussian": "it takes categories and gaps, which tensors of numbers cannot hold",
    "Missing": "rules about single features are not yet translated into ONNX operators",
}


def chosen_of(model: Any) -> Any:
    """Return the best estimator of a search, such as `GridSearchCV`, or other models unchanged."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline; return any other model unchanged."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def find_votes(model: Any) -> list[Any]:
    """Return our estimators inside a model: one, or several if it is calibrated."""
    if type(model) in (*CLASSIFIERS, *REGRESSORS):
        return [model]
    last = last_step(model)
    if isinstance(last, CalibratedClassifierCV):
        check_is_fitted(last)
        members = [member.estimator for member in last.calibrated_classifiers_]
        return [classifier for member in members for classifier in find_votes(member)]
    if type(last) in (*CLASSIFIERS, *REGRESSORS):
        return [last]
    found = type(model).__name__
    if last is not model:
        found += f" that ends in {type(last).__name__}"
    raise TypeError(
        "to_onnx needs a VotedKernelClassifier, a VotedKernelRegressor, their CV classes, or a "
        f"Pipeline, CalibratedClassifierCV or fitted search of one of these; got {found}."
    )


def check_steps(model: Any) -> None:
    """Raise if a step before the last one of a pipeline is not fitted."""
    while isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            if not (step is None or isinstance(step, str)):
                check_is_fitted(step)
        model = model.steps[-1][1]


def check_classifier(classifier: Any) -> None:
    """Raise if one of our models is not fitted or cannot be exported."""
    if not has_vote(classifier):
        searched = isinstance(classifier, VotedKernelClassifierCV | VotedKernelRegressorCV)
        raise NotFittedError(
            f"this {type(classifier).__name__} is not fitted; call fit before you export it"
            + (", with refit=True." if searched else ".")
        )
    vote = vote_of(classifier)
    for family in vote.families:
        if type(family) not in VOTES:
            raise _refusal(type(family).__name__)
    if not isinstance(classifier, REGRESSORS):
        tensor_of(classifier.classes_)
    elif len(vote.intercepts) > 1:
        raise ExportError("several quantiles cannot be exported; fit and export a single one.")
    n_features = classifier.n_features_in_
    n_rows = sum(len(part.support) for part in parts_of_vote(vote))
    n_bytes = 8 * n_rows * n_features
    if n_bytes > LARGEST_BYTES:
        raise ExportError(
            f"{n_rows} support vectors of {n_features} features take {n_bytes / 2**30:.1f} GiB as "
            "dense tables, one per family, and an ONNX model must be smaller than 2 GiB; use "
            "larger penalties, fewer families or fewer features."
        )


def check_family(name: str) -> None:
    """Raise if a kernel family, given by the name of its class, cannot be exported."""
    if name not in [family.__name__ for family in VOTES]:
        raise _refusal(name)


def _refusal(name: str) -> ExportError:
    reason = REASONS.get(name, "it is your own family, so its ONNX operators are not known")
    exported = ", ".join(family.__name__ for family in VOTES)
    return ExportError(
        f"a model with {name} cannot be exported: {reason}. Use it in Python, from a file written "
        f"by save_model, or fit with families that can be exported: {exported}."
    )


def check_input_name(name: str) -> None:
    """Raise if the name of the input is empty or equals that of an output."""
    taken = (*OUTPUTS, PREDICTION)
    if not name or name in taken:
        raise ExportError(f"input_name is {name!r}; it must not be empty, nor one of {taken}.")


def check_opset(opset: int) -> None:
    """Raise if the opset lacks operators that a vote needs."""
    if opset < OLDEST_OPSET:
        raise ExportError(
            f"opset {opset} is too old; a vote in double precision needs {OLDEST_OPSET} or newer."
        )
