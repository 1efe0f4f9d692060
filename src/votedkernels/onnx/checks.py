"""What can be exported, told before any work."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV
from ..exceptions import ExportError
from .families import VOTES, parts_of_vote
from .labels import tensor_of

CLASSIFIERS = (VotedKernelClassifier, VotedKernelClassifierCV)
OUTPUTS = ("label", "scores")
#: From here on axes are inputs, and onnxruntime has all that we use in double precision.
OLDEST_OPSET = 13
#: Protocol Buffers, in which ONNX is written, end at 2 GiB; a little is kept for the rest.
LARGEST_BYTES = 2**31 - 2**24
#: Why a family has no operators in ONNX.
REASONS = {
    "Similarity": "it calls a Python function, which an ONNX graph cannot hold",
    "Precomputed": "its kernel values are computed outside of the model",
    "EditDistance": "it compares strings, for which ONNX has no operators",
    "Spectrum": "it compares strings, for which ONNX has no operators",
}


def find_classifier(model: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the model; raise where it is not ours."""
    classifier = model
    while isinstance(classifier, Pipeline):
        classifier = classifier.steps[-1][1]
    if type(classifier) in CLASSIFIERS:
        return classifier
    found = type(model).__name__
    if classifier is not model:
        found += f" that ends in {type(classifier).__name__}"
    if hasattr(model, "best_estimator_"):
        found += "; export its best_estimator_"
    raise TypeError(
        "to_onnx takes a VotedKernelClassifier, a VotedKernelClassifierCV, or a Pipeline that ends "
        f"in one of these; got {found}."
    )


def check_steps(model: Any) -> None:
    """Raise where a step of a pipeline before the last is not fitted, or none at all."""
    while isinstance(model, Pipeline):
        for name, step in model.steps[:-1]:
            if step is None or isinstance(step, str):
                raise ExportError(
                    f"step {name!r} of the pipeline is {step!r}, which skl2onnx does not know; "
                    "leave it out."
                )
            check_is_fitted(step)
        model = model.steps[-1][1]


def check_classifier(classifier: Any) -> None:
    """Raise where a classifier of ours cannot be exported."""
    searched = isinstance(classifier, VotedKernelClassifierCV)
    check_is_fitted(
        classifier,
        "term_weights_",
        msg="this %(name)s is not fitted; call fit before it is exported"
        + (", with refit=True." if searched else "."),
    )
    for family in classifier.kernels_:
        if type(family) not in VOTES:
            raise _refusal(type(family).__name__)
    tensor_of(classifier.classes_)
    n_features = classifier.n_features_in_
    n_rows = sum(len(part.support) for part in parts_of_vote(classifier))
    n_bytes = 8 * n_rows * n_features
    if n_bytes > LARGEST_BYTES:
        raise ExportError(
            f"{n_rows} support vectors of {n_features} features take {n_bytes / 2**30:.1f} GiB as "
            "dense tables, one for each family, and an ONNX model must be "
            "smaller than 2 GiB; use larger penalties, fewer families or fewer features."
        )


def check_family(name: str) -> None:
    """Raise where a kernel family, by the name of its class, cannot be exported."""
    if name not in [family.__name__ for family in VOTES]:
        raise _refusal(name)


def _refusal(name: str) -> ExportError:
    reason = REASONS.get(name, "it is a family of your own, whose operators are not known")
    exported = ", ".join(family.__name__ for family in VOTES)
    return ExportError(
        f"a model with {name} cannot be exported: {reason}. Use it in Python, from a file of "
        f"save_model, or fit with families that can be exported: {exported}."
    )


def check_input_name(name: str) -> None:
    """Raise where the input would have no name, or that of an output."""
    if not name or name in OUTPUTS:
        raise ExportError(f"input_name is {name!r}; it must not be empty, nor one of {OUTPUTS}.")


def check_opset(opset: int) -> None:
    """Raise where operators would be too old."""
    if opset < OLDEST_OPSET:
        raise ExportError(
            f"opset {opset} is too old; a vote in double precision needs {OLDEST_OPSET} or newer."
        )
