"""Builds a fitted model from the header and the arrays of a file, and checks every part."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..estimators._fitted_attributes import (
    CROSS_VALIDATION,
    N_SAMPLES,
    PENALTIES,
    PER_KERNEL,
    PER_PROBLEM,
    PROBABILITY_SCALE,
    TARGET_NUMBERS,
    TOTALS,
    TRAINING_ERROR,
    attributes_of,
)
from ..estimators.classifier import VotedKernelClassifier
from ..estimators.regressor import VotedKernelRegressor
from ..exceptions import ModelFileError
from ..kernels import KernelFamily, clone_families
from ..kernels.base import FloatArray
from ..kernels.families import FOR_TABLES
from ..preparation.numbers import check_loss, check_several_quantiles
from ..preparation.validation import check_parameters
from . import calibration  # noqa: F401  (adds its node)
from .container import Container
from .families import Functions, family_from_json
from .labels import classes_from_json
from .reading import Arrays, Record
from .scaling import scaling_from_json
from .tables import TABLE, table_from_json
from .trees import tree_from_json, try_out
from .values import parameters_from_json
from .votes import INTERCEPTS, vote_from_json

CLASSIFIERS = ("VotedKernelClassifier", "VotedKernelClassifierCV")
REGRESSORS = ("VotedKernelRegressor", "VotedKernelRegressorCV")
#: What a file contains for each vote.
OF_VOTE = (
    "classes", "n_features", "feature_names", "parameters", "kernels", "families", "problems",
    "totals", "n_iter", "stop_reason", "n_kernels_tried", "support_vectors",
)  # fmt: skip
MAX_FAMILIES = 1000  # the check of their names compares all pairs


def open_header(container: Container) -> Record:
    """Return the header; raise unless it has exactly the required entries."""
    header = Record(container.header, "the header")
    if "tree" in header.value:
        header.expect("versions", "tree", "transposed")
        return header
    header.expect("classifier", "step", "versions", *of_vote(header), "scaling", "transposed")
    header.choice("classifier", CLASSIFIERS)
    return header


def of_vote(record: Record) -> tuple[str, ...]:
    """Return the entries of a vote; only models fitted on data frames have a table."""
    return (*OF_VOTE, TABLE) if TABLE in record.value else OF_VOTE


def build(container: Container, functions: Functions) -> Any:
    """Return the model in a file; raise a `ModelFileError` if any part is not valid."""
    header = open_header(container)
    arrays = Arrays(container.arrays, header.texts("transposed"))
    if "tree" in header.value:
        return _build_tree(header, arrays, functions)
    try:
        model = _build_classifier(header, arrays, functions)
        pipeline = _build_pipeline(header, model, arrays)
    except ModelFileError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Families and scalers check the ranges of their own parameters.
        raise ModelFileError(f"a part of the model is not valid ({error}).") from None
    arrays.finish()
    return pipeline


def _build_tree(header: Record, arrays: Arrays, functions: Functions) -> Any:
    """Return a model made of several estimators, and try it on an example row first."""

    def read(record: Record, inner: Arrays) -> Any:
        record.expect("kind", *of_vote(record))
        if record.text("kind") in REGRESSORS:
            return _build_regressor(record, inner, functions)
        return _build_classifier(record, inner, functions)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            readers = dict.fromkeys((*CLASSIFIERS, *REGRESSORS), read)
            model = tree_from_json(header.record("tree"), arrays, readers)
            arrays.finish()
            if not isinstance(model, VotedKernelRegressor) or hasattr(model, "n_features_in_"):
                try_out(model)
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:  # the steps are scikit-learn's, and so are their errors
        text = str(error).partition("\n")[0][:200]
        raise ModelFileError(f"a part of the model is not valid ({text}).") from None
    return model


def _build_classifier(
    header: Record, arrays: Arrays, functions: Functions
) -> VotedKernelClassifier:
    families = _build_families(header, arrays, functions)
    parameters = _read_parameters(header, VotedKernelClassifier, arrays)
    model = VotedKernelClassifier(_build_kernels(header, families), **parameters)
    check_parameters(model)
    classes = classes_from_json(header.record("classes"))
    problems = header.records("problems")
    attributes = {
        "classes_": classes,
        **_read_vote(header, arrays, families, 1 if len(classes) == 2 else len(classes)),
        **{key: np.array([problem.number(key) for problem in problems]) for key in PER_PROBLEM},
        **_read_penalties(header, model),
    }
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def _build_regressor(header: Record, arrays: Arrays, functions: Functions) -> VotedKernelRegressor:
    families = _build_families(header, arrays, functions)
    parameters = _read_parameters(header, VotedKernelRegressor, arrays)
    model = VotedKernelRegressor(_build_kernels(header, families), **parameters)
    check_loss(model)
    check_several_quantiles(model)
    check_parameters(model)
    if not header.is_none("classes"):
        raise header.wrong("classes", "null for regression")
    totals = header.record("totals")
    attributes = {
        **_read_vote(header, arrays, families, len(model.quantiles or [0])),
        **{key: totals.number(key) for key in TARGET_NUMBERS if key in totals.value},
        **_read_penalties(header, model),
    }
    if model.conformal:
        shape = (len(model.quantiles),)
        attributes["conformal_shifts_"] = arrays.doubles("conformal_shifts", shape)
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def _read_parameters(header: Record, kind: type, arrays: Arrays) -> dict[str, Any]:
    given = header.record("parameters")
    # Parameters newer than the file are missing and keep their defaults: none affects decisions.
    parameters = parameters_from_json(given, kind, arrays)
    if "kernels" in parameters:
        raise given.wrong("kernels", "absent")
    return parameters


def _read_vote(
    header: Record, arrays: Arrays, families: list[KernelFamily], n_problems: int
) -> dict[str, Any]:
    """Return the fitted attributes that all models have."""
    features = _read_features(header)
    intercepts = _read_intercepts(header, n_problems)
    vote = vote_from_json(header, arrays, families, intercepts, features.get("n_features_in_"))
    return {
        "kernel_names_": [name for family in families for name in family.names_],
        **attributes_of(vote),
        **_read_numbers(header),
        **features,
        **table_from_json(header, features.get("n_features_in_")),
    }


def _build_families(header: Record, arrays: Arrays, functions: Functions) -> list[KernelFamily]:
    records = header.records("families")
    if not 1 <= len(records) <= MAX_FAMILIES:
        raise header.wrong("families", f"a list of 1 to {MAX_FAMILIES} families")
    families = []
    for number, record in enumerate(records):
        record.expect("name", "family", "function", "parameters", "fitted", "members")
        members = record.records("members")
        for member in members:
            member.expect("name", *PER_KERNEL)
        names = [member.text("name") for member in members]
        families.append(family_from_json(record, names, f"families.{number}", arrays, functions))
    return families


def _build_kernels(header: Record, families: list[KernelFamily]) -> Any:
    """Return the parameter ``kernels``: unfitted families, in the form that the user passed."""
    form = header.choice("kernels", ("default", "one", "list", "named", FOR_TABLES))
    names = [record.text_or_none("name") for record in header.records("families")]
    kernels: Any = [clone(family) for family in families]
    if form == "named":
        kernels = list(zip(names, kernels, strict=True))
    is_named = form == "named"
    if is_named != (names[0] is not None) or (form == "one" and len(names) > 1):
        raise header.wrong("kernels", "consistent with its families")
    clone_families(kernels)  # called only for its checks
    if form == FOR_TABLES:
        return FOR_TABLES
    if form == "default" and _describe(kernels) == _describe([f for _, f in clone_families(None)]):
        return None  # otherwise the defaults have changed since, and the old ones are listed
    return kernels[0] if len(kernels) == 1 and form in ("default", "one") else kernels


def _describe(families: list[KernelFamily]) -> list[tuple[type, dict[str, Any]]]:
    return [(type(family), family.get_params()) for family in families]


def _read_features(header: Record) -> dict[str, Any]:
    """Return the number and the names of the features; None for what the model does not know."""
    features: dict[str, Any] = {}
    if not header.is_none("n_features"):
        features["n_features_in_"] = header.count("n_features", at_least=1)
    if not header.is_none("feature_names"):
        names = header.texts("feature_names")
        if len(names) != features.get("n_features_in_"):
            raise header.wrong("feature_names", "one name per feature")
        features["feature_names_in_"] = np.array(names, dtype=object)
    return features


def _read_intercepts(header: Record, n_problems: int) -> FloatArray:
    intercepts = np.array([problem.number(INTERCEPTS) for problem in header.records("problems")])
    if intercepts.shape != (n_problems,) or not np.isfinite(intercepts).all():
        raise header.wrong("problems", f"a list of {n_problems}, with finite intercepts")
    return intercepts


def _read_numbers(header: Record) -> dict[str, Any]:
    """Return the fitted attributes that are plain numbers and text, by their names."""
    members = [
        member for family in header.records("families") for member in family.records("members")
    ]
    totals = header.record("totals")
    numbers: dict[str, Any] = {
        **{key: np.array([member.number(key) for member in members]) for key in PER_KERNEL},
        **{key: totals.number(key) for key in TOTALS},
        "n_iter_": header.count("n_iter"),
        "stop_reason_": header.text("stop_reason"),
    }
    if PROBABILITY_SCALE in totals.value:
        numbers[PROBABILITY_SCALE] = totals.positive(PROBABILITY_SCALE)
    if N_SAMPLES in totals.value:
        numbers[N_SAMPLES] = totals.count(N_SAMPLES, at_least=1)
    if TRAINING_ERROR in totals.value:
        numbers[TRAINING_ERROR] = totals.number(TRAINING_ERROR)
    if CROSS_VALIDATION in totals.value:
        numbers[CROSS_VALIDATION] = totals.text(CROSS_VALIDATION)
    if not header.is_none("n_kernels_tried"):
        numbers["n_kernels_tried_"] = header.count("n_kernels_tried", at_least=1)
    return numbers


def _read_penalties(
    header: Record, model: VotedKernelClassifier | VotedKernelRegressor
) -> dict[str, float]:
    """Return lambda and beta. In older files, only the parameters hold them, as numbers."""
    totals, penalties = header.record("totals"), {}
    for key in PENALTIES:
        given = getattr(model, key.rstrip("_"))
        is_known = key not in totals.value and not isinstance(given, str)
        penalties[key] = float(given) if is_known else totals.number(key)
    return penalties


def _build_pipeline(
    header: Record, model: VotedKernelClassifier, arrays: Arrays
) -> VotedKernelClassifier | Pipeline:
    """Return the model with its scaler in front, or the model if there is no scaler."""
    if header.is_none("scaling"):
        if not header.is_none("step"):
            raise header.wrong("step", "null if there is no scaling")
        return model
    step, scaler = scaling_from_json(header.record("scaling"), arrays)
    if scaler.n_features_in_ != getattr(model, "n_features_in_", None):
        raise header.wrong("scaling", "for as many features as the classifier has")
    pipeline = Pipeline([(step, scaler), (header.text("step"), model)])
    _check_step_names(header, pipeline)
    return pipeline


def _check_step_names(header: Record, pipeline: Pipeline) -> None:
    """Raise for names that a `Pipeline` rejects when it is fitted."""
    names = [name for name, _ in pipeline.steps]
    reserved = pipeline.get_params(deep=False)
    if len(set(names)) < len(names) or any("__" in name or name in reserved for name in names):
        raise header.wrong("step", "a name that a step of a Pipeline can have")
