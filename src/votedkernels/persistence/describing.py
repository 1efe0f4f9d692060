"""From a fitted model to the header and the arrays of a file."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._version import __version__
from ..estimators.classifier import VotedKernelClassifier
from ..estimators.classifier_cv import VotedKernelClassifierCV
from ..exceptions import NotPlainError
from ..kernels import KernelFamily, clone_families, is_named_list
from .families import family_to_json, function_name
from .labels import classes_to_json
from .reading import number_to_json
from .rows import rows_to_json
from .scaling import scaling_to_json
from .values import value_to_json

#: The fitted arrays of a vote, and those per kernel and per one-vs-rest problem.
TERMS = ("term_weights_", "term_kernel_indices_", "term_support_indices_", "support_")
PER_KERNEL = ("complexities_", "complexity_errors_", "penalties_", "kernel_mass_")
PER_PROBLEM = ("intercept_", "class_objectives_", "class_dual_bounds_", "class_dual_gaps_")
TOTALS = ("objective_", "dual_bound_", "dual_gap_")


def describe(model: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the header, the arrays and the functions of a model."""
    arrays: dict[str, Any] = {}
    scaling, step = None, None
    if isinstance(model, Pipeline):
        if len(model.steps) != 2:
            raise ValueError(
                f"a pipeline that is saved has a scaler and a classifier, and this one has "
                f"{len(model.steps)} steps."
            )
        (scaler_step, scaler), (step, model) = model.steps
        scaling = scaling_to_json(scaler_step, scaler, arrays)
    classifier = type(model).__name__
    single = _as_single(model)
    families = _families_to_json(single, arrays)
    names = getattr(single, "feature_names_in_", None)
    header = {
        "classifier": classifier,
        "step": step,
        "versions": _versions(),
        "classes": classes_to_json(single.classes_),
        "n_features": getattr(single, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "parameters": _parameters_to_json(single, arrays),
        "kernels": _form_of(single.kernels),
        "families": families,
        "problems": [
            {key: number_to_json(getattr(single, key)[row]) for key in PER_PROBLEM}
            for row in range(len(single.intercept_))
        ],
        "totals": {key: number_to_json(getattr(single, key)) for key in TOTALS},
        "n_iter": int(single.n_iter_),
        "stop_reason": single.stop_reason_,
        "n_kernels_tried": getattr(single, "n_kernels_tried_", None),
        "support_vectors": rows_to_json(single.support_vectors_, "support_vectors_", arrays),
        "scaling": scaling,
    }
    arrays.update({name: getattr(single, name) for name in TERMS})
    # The memory order of an array can decide the last bit of a product.
    turned = [n for n, a in arrays.items() if a.flags.f_contiguous and not a.flags.c_contiguous]
    arrays.update({name: arrays[name].T for name in turned})
    return header | {"transposed": sorted(turned)}, arrays, _functions(single.kernels_)


def _as_single(model: Any) -> Any:
    """Return a `VotedKernelClassifier`; that which was chosen, of a search."""
    if not isinstance(model, VotedKernelClassifier | VotedKernelClassifierCV):
        raise TypeError(
            "save_model takes a VotedKernelClassifier, a VotedKernelClassifierCV, or a pipeline of "
            f"a scaler and one of these; got {type(model).__name__}."
        )
    check_is_fitted(model, "term_weights_")
    if isinstance(model, VotedKernelClassifier):
        return model
    single = clone(model._chosen).set_params(
        complexity_penalty=model.complexity_penalty_, l1_penalty=model.l1_penalty_
    )
    given = ("n_kernels_tried_", "n_features_in_", "feature_names_in_", "kernels_")
    kept = (*TERMS, *PER_KERNEL, *PER_PROBLEM, *TOTALS, *given)
    for name in (*kept, "classes_", "kernel_names_", "support_vectors_", "n_iter_", "stop_reason_"):
        if hasattr(model, name):
            setattr(single, name, getattr(model, name))
    return single


def _form_of(kernels: Any) -> str:
    if kernels is None:
        return "default"
    if isinstance(kernels, KernelFamily):
        return "one"
    return "named" if is_named_list(kernels) else "list"


def _families_to_json(model: Any, arrays: dict[str, Any]) -> list[dict[str, Any]]:
    pairs = clone_families(model.kernels)
    given = [name for name, _ in pairs]
    if [type(family) for _, family in pairs] != [type(family) for family in model.kernels_]:
        raise ValueError("kernels was changed after the fit; fit again, or set it back.")
    columns = [getattr(model, name) for name in PER_KERNEL]
    result, first = [], 0
    for number, (name, family) in enumerate(zip(given, model.kernels_, strict=True)):
        members = [
            {"name": member}
            | {
                key: number_to_json(column[first + k])
                for key, column in zip(PER_KERNEL, columns, strict=True)
            }
            for k, member in enumerate(family.names_)
        ]
        first += len(members)
        described = family_to_json(family, f"families.{number}", arrays)
        result.append({"name": name, **described, "members": members})
    return result


def _functions(families: list[KernelFamily]) -> dict[str, Any]:
    functions: dict[str, Any] = {}
    for family in families:
        function = getattr(family, "function", None)
        if function is not None:
            name = function_name(family)
            if functions.setdefault(name, function) is not function:
                raise ValueError(
                    f"two functions have the name {name!r}, by which a loaded model would ask for "
                    "them; give Similarity(function, name=...)."
                )
    return functions


def _parameters_to_json(model: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters but for ``kernels``; what is not plain has a plain substitute."""
    instead = {"complexity": model.complexities_, "random_state": None}
    result = {}
    for key, value in model.get_params(deep=False).items():
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
