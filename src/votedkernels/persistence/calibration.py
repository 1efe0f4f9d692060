"""`CalibratedClassifierCV` around our classifiers: its models and their calibration curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from .container import Array, Json
from .labels import classes_from_json, classes_to_json
from .reading import Arrays, Record, number_to_json
from .trees import (
    NODES,
    Node,
    Readers,
    Writers,
    example_of,
    parameters_to_json,
    read_parameters,
    tree_from_json,
    tree_to_json,
)

METHODS = ("sigmoid", "isotonic")


def _write(model: Any, where: str, arrays: dict[str, Array], votes: Writers) -> dict[str, Json]:
    check_is_fitted(model)
    if model.method not in METHODS:
        raise ValueError(
            f"{where} is a CalibratedClassifierCV(method={model.method!r}), but a model file can "
            f"store only {' and '.join(METHODS)}."
        )
    members = []
    for number, member in enumerate(model.calibrated_classifiers_):
        inner: dict[str, Array] = {}
        node = tree_to_json(member.estimator, f"{where}, its classifier,", inner, votes)
        curves = [
            _curve_to_json(curve, f"curve.{place}", inner)
            for place, curve in enumerate(member.calibrators)
        ]
        arrays.update({f"{number}.{name}": array for name, array in inner.items()})
        members.append({"model": node, "curves": curves})
    return {
        "parameters": parameters_to_json(model, arrays, ("method",), ("estimator",), {"cv": None}),
        "classes": classes_to_json(model.classes_),
        "members": members,
    }


def _curve_to_json(curve: Any, name: str, arrays: dict[str, Array]) -> Json:
    if isinstance(curve, _SigmoidCalibration):
        return {"slope": number_to_json(curve.a_), "offset": number_to_json(curve.b_)}
    arrays[f"{name}.votes"] = np.asarray(curve.X_thresholds_)
    arrays[f"{name}.chances"] = np.asarray(curve.y_thresholds_)
    return {}


def _curve_from_json(record: Record, method: str, name: str, arrays: Arrays) -> Any:
    if method == "sigmoid":
        record.expect("slope", "offset")
        curve: Any = _SigmoidCalibration()
        curve.a_, curve.b_ = np.float64(record.number("slope")), np.float64(record.number("offset"))
        return curve
    record.expect()
    votes = arrays.take(f"{name}.votes", "f", (None,))
    chances = arrays.take(f"{name}.chances", "f", votes.shape)
    if len(votes) == 0 or (np.diff(votes) < 0).any() or (np.diff(chances) < 0).any():
        raise record.wrong("curves", "increasing")
    curve = IsotonicRegression(out_of_bounds="clip")
    curve.X_thresholds_, curve.y_thresholds_ = votes, chances
    curve.X_min_, curve.X_max_, curve.increasing_ = votes[0], votes[-1], True
    curve._build_f(votes, chances)  # noqa: SLF001
    return curve


def _read(record: Record, arrays: Arrays, votes: Readers, depth: int) -> Any:
    record.expect("kind", "parameters", "classes", "members")
    parameters = read_parameters(record, CalibratedClassifierCV, arrays)
    method = record.record("parameters").choice("method", METHODS)
    classes = classes_from_json(record.record("classes"))
    members = []
    for number, entry in enumerate(record.records("members")):
        entry.expect("model", "curves")
        inner = arrays.within(f"{number}.")
        estimator = tree_from_json(entry.record("model"), inner, votes, depth)
        curves = [
            _curve_from_json(curve, method, f"curve.{place}", inner)
            for place, curve in enumerate(entry.records("curves"))
        ]
        if set(estimator.classes_) - set(classes) or len(curves) != _n_curves(estimator):
            raise entry.wrong("curves", "one per class of the model, all of them known")
        inner.finish()
        members.append(_CalibratedClassifier(estimator, curves, classes=classes, method=method))
    if not members:
        raise record.wrong("members", "one or more models")
    model: Any = CalibratedClassifierCV(clone(members[0].estimator), **parameters)
    model._validate_params()  # noqa: SLF001
    model.classes_, model.calibrated_classifiers_ = classes, members
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(members[0].estimator, name):
            setattr(model, name, getattr(members[0].estimator, name))
    return model


def _n_curves(estimator: Any) -> int:
    return 1 if len(estimator.classes_) == 2 else len(estimator.classes_)


NODES["CalibratedClassifierCV"] = Node(
    CalibratedClassifierCV,
    _write,
    _read,
    lambda model: example_of(model.calibrated_classifiers_[0].estimator),
)
