"""From the header and the arrays of a file to a fitted model, every part of which is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..estimators.classifier import VotedKernelClassifier
from ..exceptions import ModelFileError
from ..kernels import KernelFamily, are_precomputed, clone_families
from ..kernels.base import count_rows
from ..preparation.validation import check_parameters
from ..solvers import SOLVERS
from .container import Container
from .describing import PER_KERNEL, PER_PROBLEM, TOTALS
from .families import family_from_json
from .labels import classes_from_json
from .reading import Arrays, Record
from .rows import rows_from_json
from .scaling import scaling_from_json
from .values import parameters_from_json

MAX_FAMILIES = 1000  # each name is compared with each


def open_header(container: Container) -> Record:
    """Return the header, which has all its entries and no others."""
    header = Record(container.header, "the header")
    header.expect(
        "classifier", "step", "versions", "classes", "n_features", "feature_names", "parameters",
        "kernels", "families", "problems", "totals", "n_iter", "stop_reason", "n_kernels_tried",
        "support_vectors", "scaling", "transposed",
    )  # fmt: skip
    header.choice("classifier", ("VotedKernelClassifier", "VotedKernelClassifierCV"))
    return header


def build(container: Container, functions: Mapping[str, Any]) -> Any:
    """Return the model of a file, every part of which is checked."""
    header = open_header(container)
    arrays = Arrays(container.arrays, header.texts("transposed"))
    try:
        model = _build_classifier(header, arrays, functions)
        pipeline = _build_pipeline(header, model, arrays)
    except ModelFileError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # What the checks of families and scalers themselves say of parameters out of range.
        raise ModelFileError(f"a part of the model is not valid ({error}).") from None
    arrays.finish()
    return pipeline


def _build_classifier(header: Record, arrays: Arrays, functions: Mapping[str, Any]) -> Any:
    families = _build_families(header, arrays, functions)
    members = [
        member for family in header.records("families") for member in family.records("members")
    ]
    given = header.record("parameters")
    # None decides on rows, so one that came later than the file may keep its default.
    parameters = parameters_from_json(given, VotedKernelClassifier, arrays)
    if "kernels" in parameters:
        raise given.wrong("kernels", "where the families are")
    model: Any = VotedKernelClassifier(_build_kernels(header, families), **parameters)
    check_parameters(model, SOLVERS)
    model.classes_ = classes_from_json(header.record("classes"))
    model.kernels_ = families
    model.kernel_names_ = [name for family in families for name in family.names_]
    for key in PER_KERNEL:
        setattr(model, key, np.array([member.number(key) for member in members]))
    problems = header.records("problems")
    for key in PER_PROBLEM:
        setattr(model, key, np.array([problem.number(key) for problem in problems]))
    totals = header.record("totals")
    for key in TOTALS:
        setattr(model, key, totals.number(key))
    model.n_iter_ = header.count("n_iter")
    model.stop_reason_ = header.text("stop_reason")
    if not header.is_none("n_kernels_tried"):
        model.n_kernels_tried_ = header.count("n_kernels_tried", at_least=1)
    _build_features(header, model)
    _build_vote(header, model, arrays)
    return model


def _build_families(
    header: Record, arrays: Arrays, functions: Mapping[str, Any]
) -> list[KernelFamily]:
    records = header.records("families")
    if not 1 <= len(records) <= MAX_FAMILIES:
        raise header.wrong("families", f"from 1 to {MAX_FAMILIES}")
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
    """Return the parameter ``kernels``: unfitted families, in the form that the user gave."""
    form = header.choice("kernels", ("default", "one", "list", "named"))
    names = [record.text_or_none("name") for record in header.records("families")]
    kernels: Any = [clone(family) for family in families]
    if form == "named":
        kernels = list(zip(names, kernels, strict=True))
    is_named = form == "named"
    if is_named != (names[0] is not None) or (form == "one" and len(names) > 1):
        raise header.wrong("kernels", "the form of its families")
    clone_families(kernels)  # checks
    if form == "default" and _describe(kernels) == _describe([f for _, f in clone_families(None)]):
        return None  # where the defaults were others, they are named
    return kernels[0] if len(kernels) == 1 and form in ("default", "one") else kernels


def _describe(families: list[KernelFamily]) -> list[Any]:
    return [(type(family), family.get_params()) for family in families]


def _build_features(header: Record, model: Any) -> None:
    if not header.is_none("n_features"):
        model.n_features_in_ = header.count("n_features", at_least=1)
    if not header.is_none("feature_names"):
        names = header.texts("feature_names")
        if header.is_none("n_features") or len(names) != model.n_features_in_:
            raise header.wrong("feature_names", "one for each feature")
        model.feature_names_in_ = np.array(names, dtype=object)


def _build_vote(header: Record, model: Any, arrays: Arrays) -> None:
    """Set the terms and the rows that vote, which must fit all else."""
    n_problems = 1 if len(model.classes_) == 2 else len(model.classes_)
    if model.intercept_.shape != (n_problems,) or not np.isfinite(model.intercept_).all():
        raise header.wrong("problems", f"{n_problems}, with finite intercepts")
    model.term_weights_ = arrays.doubles("term_weights_", (n_problems, None))
    n_terms = model.term_weights_.shape[1]
    precomputed = are_precomputed(model.kernels_)
    limit = getattr(model, "n_features_in_", 0) if precomputed else 2**48
    n_support = len(arrays.arrays.get("support_", ()))
    model.support_ = arrays.indices("support_", n_support, limit)
    model.term_kernel_indices_ = arrays.indices(
        "term_kernel_indices_", n_terms, len(model.kernel_names_)
    )
    model.term_support_indices_ = arrays.indices("term_support_indices_", n_terms, n_support)
    rows = rows_from_json(header.record("support_vectors"), "support_vectors_", arrays)
    model.support_vectors_ = rows
    if count_rows(rows) != (0 if precomputed else n_support):
        raise header.wrong("support_vectors", f"{n_support} rows")
    _check_features(header, model, precomputed)


def _check_features(header: Record, model: Any, precomputed: bool) -> None:
    """Raise unless rows, families and number of features agree."""
    rows, n = model.support_vectors_, getattr(model, "n_features_in_", None)
    families = model.kernels_
    is_table = sparse.issparse(rows) or (isinstance(rows, np.ndarray) and rows.ndim == 2)
    if precomputed:
        return
    if is_table != (n is not None) or (is_table and (rows.shape[1] != n or rows.dtype != float)):
        raise header.wrong("n_features", "the number of columns of the support vectors")
    if sparse.issparse(rows) and not all(family.accepts_sparse for family in families):
        raise header.wrong("support_vectors", "what the families accept")
    if not is_table and not all(family.accepts_objects for family in families):
        raise header.wrong("support_vectors", "what the families accept")
    for family in families:
        origin = getattr(family, "origin_", None)
        if getattr(family, "n_features_", n) != n or (origin is not None and len(origin) != n):
            raise header.wrong("n_features", "that of its families")


def _build_pipeline(header: Record, model: Any, arrays: Arrays) -> Any:
    if header.is_none("scaling"):
        if not header.is_none("step"):
            raise header.wrong("step", "null without scaling")
        return model
    step, scaler = scaling_from_json(header.record("scaling"), arrays)
    if scaler.n_features_in_ != getattr(model, "n_features_in_", None):
        raise header.wrong("scaling", "of as many features as the classifier")
    pipeline = Pipeline([(step, scaler), (header.text("step"), model)])
    pipeline._validate_names([step, header.text("step")])
    return pipeline
