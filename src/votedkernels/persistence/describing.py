"""Turns a fitted model into the header and the arrays of a file."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._version import __version__
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
    vote_of,
)
from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV
from ..estimators.regressor import VotedKernelRegressor
from ..estimators.regressor_cv import VotedKernelRegressorCV
from ..estimators.summary import describe_search
from ..exceptions import NotPlainError
from ..kernels import KernelFamily, clone_families, is_named_list
from ..kernels.base import FloatArray
from ..kernels.families import is_for_tables
from .container import Array, Json
from .families import Functions, family_to_json, function_name
from .labels import classes_to_json
from .reading import number_to_json
from .scaling import STORED as SCALERS
from .scaling import scaling_to_json
from .tables import table_to_json
from .trees import Writers, chosen_of, output_of, tree_to_json
from .values import value_to_json
from .votes import INTERCEPTS, WEIGHTS, vote_to_json

CLASSIFIERS = (VotedKernelClassifier, VotedKernelClassifierCV)
REGRESSORS = (VotedKernelRegressor, VotedKernelRegressorCV)
MODELS = (*CLASSIFIERS, *REGRESSORS)

#: The description of a search is cut after this many characters.
MOST_TEXT = 500
#: Numbers that only some models have.
OPTIONAL = (PROBABILITY_SCALE, TRAINING_ERROR, *TARGET_NUMBERS)


def describe(model: Any) -> tuple[dict[str, Json], dict[str, Array], Functions]:
    """Return the header, the arrays and the functions of a model."""
    arrays: dict[str, Array] = {}
    functions: dict[str, Callable[..., object]] = {}
    model = chosen_of(model)
    check_ends_in_vote(model)
    header: dict[str, Json] = {"versions": _versions()}
    if is_tree(model):

        def write(single: Any, inner: dict[str, Array]) -> dict[str, Json]:
            add_functions(functions, single)
            return describe_vote(single, inner)

        header["tree"] = tree_to_json(model, "the model", arrays, Writers(write, MODELS))
    else:
        scaling, step = None, None
        if isinstance(model, Pipeline):
            (scaler_step, scaler), (step, model) = model.steps
            scaling = scaling_to_json(scaler_step, scaler, arrays)
        described = describe_vote(model, arrays)
        header |= {"classifier": type(model).__name__, "step": step, **described}
        header["scaling"] = scaling
        add_functions(functions, model)
    # Arrays keep their memory order, which can decide the last bit of a product.
    turned = [n for n, a in arrays.items() if a.flags.f_contiguous and not a.flags.c_contiguous]
    arrays.update({name: arrays[name].T for name in turned})
    return header | {"transposed": sorted(turned)}, arrays, functions


def is_tree(model: Any) -> bool:
    """Whether a model has more parts than a classifier and a scaler from format version 1."""
    if isinstance(model, CLASSIFIERS):
        return False
    if type(model) is not Pipeline or len(model.steps) != 2:
        return True
    (_, scaler), (_, last) = model.steps
    simple = type(scaler) in [entry.scaler for entry in SCALERS.values()]
    return not (simple and isinstance(last, CLASSIFIERS) and output_of(scaler) is None)


def describe_vote(model: Any, arrays: dict[str, Array]) -> dict[str, Json]:
    """Return one of our models as JSON; its arrays are added to ``arrays``."""
    single, vote = _as_single(model), vote_of(model)
    families = _families_to_json(single, model, arrays)
    names = getattr(model, "feature_names_in_", None)
    numeric = isinstance(model, REGRESSORS)
    per_problem = (INTERCEPTS,) if numeric else (INTERCEPTS, *PER_PROBLEM)
    if hasattr(model, "conformal_shifts_"):
        arrays["conformal_shifts"] = model.conformal_shifts_
    return {
        "classes": None if numeric else classes_to_json(model.classes_),
        "n_features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "parameters": _parameters_to_json(single, model.complexities_, arrays),
        "kernels": _form_of(single.kernels),
        "families": families,
        "problems": [
            {key: number_to_json(getattr(model, key)[row]) for key in per_problem}
            for row in range(len(vote.intercepts))
        ],
        "totals": _totals_to_json(model),
        "n_iter": int(model.n_iter_),
        "stop_reason": model.stop_reason_,
        "n_kernels_tried": getattr(model, "n_kernels_tried_", None),
        "support_vectors": vote_to_json(vote, arrays),
        **table_to_json(model),
    }


def _totals_to_json(model: Any) -> dict[str, Json]:
    """Return numbers about the whole model; older versions ignore those that they do not know."""
    totals: dict[str, Json] = {
        key: number_to_json(getattr(model, key))
        for key in (*TOTALS, *PENALTIES, *OPTIONAL)
        if hasattr(model, key) or key not in OPTIONAL
    }
    if hasattr(model, N_SAMPLES):
        totals[N_SAMPLES] = int(getattr(model, N_SAMPLES))
    search = describe_search(model)
    if search is not None:
        totals[CROSS_VALIDATION] = search[:MOST_TEXT]
    return totals


def check_ends_in_vote(model: Any) -> None:
    """Raise unless a model is one of ours, or contains one of ours as its last step."""
    last = model
    while not isinstance(last, MODELS):
        if isinstance(last, Pipeline):
            last = chosen_of(last.steps[-1][1])
        elif isinstance(last, CalibratedClassifierCV):
            check_is_fitted(last)
            last = chosen_of(last.calibrated_classifiers_[0].estimator)
        else:
            break
    if not isinstance(last, MODELS):
        found = type(model).__name__
        if last is not model:
            found += f" with {type(last).__name__}"
        raise TypeError(
            "save_model needs a VotedKernelClassifier, a VotedKernelRegressor, their CV classes, "
            f"or a Pipeline, CalibratedClassifierCV or fitted search of these; got {found}."
        )


def _as_single(model: Any) -> VotedKernelClassifier | VotedKernelRegressor:
    """Return the model or, for a search, an unfitted estimator with the chosen parameters."""
    check_is_fitted(model, WEIGHTS)
    if isinstance(model, VotedKernelClassifierCV):
        return model.chosen_classifier()
    if isinstance(model, VotedKernelRegressorCV):
        return model.chosen_regressor()
    single: VotedKernelClassifier | VotedKernelRegressor = model
    return single


def _form_of(kernels: Any) -> str:
    if kernels is None:
        return "default"
    if is_for_tables(kernels):
        return "table"
    if isinstance(kernels, KernelFamily):
        return "one"
    return "named" if is_named_list(kernels) else "list"


def _families_to_json(
    single: VotedKernelClassifier | VotedKernelRegressor, model: Any, arrays: dict[str, Array]
) -> list[dict[str, Json]]:
    """Return the fitted families of the model, with their names in the parameters of ``single``."""
    families = vote_of(model).families
    pairs = clone_families(list(families) if is_for_tables(single.kernels) else single.kernels)
    if [type(family) for _, family in pairs] != [type(family) for family in families]:
        raise ValueError("kernels was changed after the fit; fit again, or set it back.")
    columns = {key: getattr(model, key) for key in PER_KERNEL}
    result, first = [], 0
    for number, ((name, _), family) in enumerate(zip(pairs, families, strict=True)):
        members = [
            {
                "name": member,
                **{key: number_to_json(column[first + k]) for key, column in columns.items()},
            }
            for k, member in enumerate(family.names_)
        ]
        first += len(members)
        described = family_to_json(family, f"families.{number}", arrays)
        result.append({"name": name, **described, "members": members})
    return result


def add_functions(functions: dict[str, Callable[..., object]], model: Any) -> None:
    """Add the Python functions of a model's families, by the names that `load_model` expects."""
    for family in vote_of(model).families:
        function = getattr(family, "function", None)
        if function is not None:
            name = function_name(family)
            if functions.setdefault(name, function) is not function:
                raise ValueError(
                    f"two functions have the name {name!r}, but load_model tells functions apart "
                    "by name; use Similarity(function, name=...)."
                )


def _parameters_to_json(
    single: VotedKernelClassifier | VotedKernelRegressor,
    complexities: FloatArray,
    arrays: dict[str, Array],
) -> dict[str, Json]:
    """Return all parameters except ``kernels``; some that cannot be stored are replaced."""
    instead = {"complexity": complexities, "random_state": None}
    result = {}
    for key, value in single.get_params(deep=False).items():
        if key == "kernels":
            continue
        if key == "centers" and hasattr(value, "columns"):  # a data frame
            value = np.asarray(value)
        try:
            result[key] = value_to_json(value, f"parameters.{key}", arrays)
        except NotPlainError:
            if key not in instead:
                raise
            result[key] = value_to_json(instead[key], f"parameters.{key}", arrays)
    return result


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"votedkernels": __version__, "python": platform.python_version(), **packages}
