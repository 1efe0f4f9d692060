"""A scaler in front of the classifier, as the first step of a scikit-learn `Pipeline`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..exceptions import ModelFileError
from .container import Array, Json
from .reading import Arrays, Record
from .values import parameters_from_json, value_to_json


@dataclass(frozen=True)
class StoredScaler:
    """How a scaler is stored.

    Attributes
    ----------
    scaler : its class
    decisive : the parameters that affect its results, and their types; every file has them
    fitted : the fitted arrays, with one number per feature
    """

    scaler: Any
    decisive: Mapping[str, type]
    fitted: Sequence[str]


STORED = {
    "StandardScaler": StoredScaler(
        StandardScaler,
        {"with_mean": bool, "with_std": bool},
        ("mean_", "var_", "scale_"),
    ),
    "MinMaxScaler": StoredScaler(
        MinMaxScaler,
        {"feature_range": tuple, "clip": bool},
        ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    ),
}


def scaling_to_json(step: str, scaler: Any, arrays: dict[str, Array]) -> dict[str, Json]:
    """Return a fitted scaler as JSON; its arrays are added to ``arrays``."""
    kind = type(scaler).__name__
    if kind not in STORED or STORED[kind].scaler is not type(scaler):
        raise ValueError(
            "a model file can store a StandardScaler or a MinMaxScaler in front of the classifier, "
            f"not {scaler!r}."
        )
    fitted = {key: getattr(scaler, key) for key in STORED[kind].fitted}
    arrays.update({
        f"scaling.{key}": np.asarray(value, dtype=np.float64)
        for key, value in fitted.items()
        if value is not None
    })  # fmt: skip
    names = getattr(scaler, "feature_names_in_", None)
    return {
        "kind": kind,
        "step": step,
        "parameters": {
            key: value_to_json(value, f"scaling.{key}", arrays)
            for key, value in scaler.get_params(deep=False).items()
        },
        "n_features": int(scaler.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_samples_seen": int(scaler.n_samples_seen_),
        "fitted": [key for key, value in fitted.items() if value is not None],
    }


def scaling_from_json(record: Record, arrays: Arrays) -> tuple[str, Any]:
    """Return the name of the step and the fitted scaler."""
    record.expect(
        "kind", "step", "parameters", "n_features", "feature_names", "n_samples_seen", "fitted"
    )
    stored = STORED[record.choice("kind", STORED)]
    given = record.record("parameters")
    parameters = parameters_from_json(given, stored.scaler, arrays)
    for key, kind in stored.decisive.items():
        if type(parameters.get(key)) is not kind:
            raise given.wrong(key, f"of type {kind.__name__}")
    scaler: Any = stored.scaler(**parameters)
    n = record.count("n_features", at_least=1)
    present = record.texts("fitted")
    if set(present) - set(stored.fitted) or len(set(present)) < len(present):
        raise record.wrong("fitted", f"some of {', '.join(stored.fitted)}")
    for key in stored.fitted:
        value = arrays.doubles(f"scaling.{key}", (n,)) if key in present else None
        setattr(scaler, key, value)
    _check(scaler)
    scaler.n_features_in_ = n
    scaler.n_samples_seen_ = record.count("n_samples_seen")
    if not record.is_none("feature_names"):
        names = record.texts("feature_names")
        if len(names) != n:
            raise record.wrong("feature_names", f"{n} strings")
        scaler.feature_names_in_ = np.array(names, dtype=object)
    return record.text("step"), scaler


def _check(scaler: Any) -> None:
    """Raise if a transformation would fail or divide by 0."""
    if isinstance(scaler, StandardScaler):
        due = {"mean_": scaler.with_mean, "scale_": scaler.with_std}
    else:
        due = dict.fromkeys(STORED["MinMaxScaler"].fitted, True)
        low, high = scaler.feature_range
        if not low < high:
            raise ModelFileError("the range of the scaler is empty.")
    for key, needed in due.items():
        if needed and getattr(scaler, key) is None:
            raise ModelFileError(f"the scaler has no {key}.")
    if scaler.scale_ is not None and not (scaler.scale_ != 0).all():
        raise ModelFileError("the scaler divides by 0.")
