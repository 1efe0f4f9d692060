"""Estimators that contain others: pipelines, column transformers, calibrated classifiers.

A node of the tree is a JSON object whose ``kind`` is the name of a class. The arrays of its parts
have names that begin with the number of the part. `NODES` has the kinds that contain others;
`steps.STORED` has all other steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..exceptions import ModelFileError, NotPlainError
from .container import Array, Json
from .reading import Arrays, Record
from .step_values import column_from_json, column_to_json, dtype_from_json, parameter_to_json
from .steps import STORED, Example, rows_of
from .values import parameters_from_json

#: What a pipeline or a ColumnTransformer accepts in place of a step.
WORDS = ("passthrough", "drop")
OUTPUTS = ("default", "pandas", "polars")
#: How deep estimators can be nested in a file.
MAX_DEPTH = 8


@dataclass(frozen=True)
class Writers:
    """How to write our own classifiers, and which classes these are."""

    write: Callable[[Any, dict[str, Array]], dict[str, Json]]
    kinds: tuple[type, ...]


#: How to read one of our own classifiers, by the name of its class.
Readers = Mapping[str, Callable[[Record, Arrays], Any]]


@dataclass(frozen=True)
class Node:
    """How to store an estimator that contains others, and an example row for it."""

    kind: Any
    write: Callable[[Any, str, dict[str, Array], Writers], dict[str, Json]]
    read: Callable[[Record, Arrays, Readers, int], Any]
    example: Callable[[Any], Example]


# -- any estimator ------------------------------------------------------------------------


def tree_to_json(model: Any, where: str, arrays: dict[str, Array], votes: Writers) -> Json:
    """Return a fitted estimator as JSON; ``where`` names it in errors."""
    model = chosen_of(model)
    kind = type(model).__name__
    if isinstance(model, votes.kinds):
        return {"kind": kind, **votes.write(model, arrays)}
    if kind in NODES and NODES[kind].kind is type(model):
        return {"kind": kind, **NODES[kind].write(model, where, arrays, votes)}
    stored = STORED.get(kind)
    if stored is None or stored.kind is not type(model):
        raise ValueError(
            f"{where} is {_article(kind)}, which a model file cannot store. It can store "
            f"{', '.join([*STORED, *NODES])}. To save this model, use skops.io.dump, or export it "
            "with votedkernels.to_onnx if skl2onnx has a converter for this step."
        )
    check_is_fitted(model)
    try:
        fitted = stored.write(model, arrays)
        parameters = parameters_to_json(model, arrays, stored.decisive, stored.not_stored)
    except ValueError as error:
        raise ValueError(f"{where}, {_article(kind)}, cannot be stored: {error}") from error
    names = getattr(model, "feature_names_in_", None)
    return {
        "kind": kind,
        "parameters": parameters,
        "n_features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "output": output_of(model),
        "fitted": fitted,
    }


def tree_from_json(record: Record, arrays: Arrays, votes: Readers, depth: int = 0) -> Any:
    """Return the estimator of a node."""
    if depth > MAX_DEPTH:
        raise ModelFileError("the steps of the model are nested too deeply.")
    kind = record.choice("kind", [*votes, *NODES, *STORED])
    if kind in votes:
        return votes[kind](record, arrays)
    if kind in NODES:
        return NODES[kind].read(record, arrays, votes, depth + 1)
    record.expect("kind", "parameters", "n_features", "feature_names", "output", "fitted")
    stored = STORED[kind]
    parameters = read_parameters(record, stored.kind, arrays)
    missing = [key for key in stored.decisive if key not in parameters]
    if missing:
        raise record.record("parameters").wrong(missing[0], "present")
    step: Any = stored.kind(**parameters)
    n = 0 if record.is_none("n_features") else record.count("n_features", at_least=1)
    stored.read(step, record.record("fitted"), arrays, n)
    step._validate_params()  # noqa: SLF001
    if n:
        step.n_features_in_ = n
    _read_names(step, record, n)
    _read_output(step, record)
    return step


def example_of(model: Any) -> Example:
    """Return one row that an estimator accepts."""
    kind = type(model).__name__
    if kind in NODES:
        return NODES[kind].example(model)
    if kind in STORED:
        return STORED[kind].example(model)
    # A column of categories need not accept numbers, but every column of a data frame accepts gaps.
    return [np.nan if hasattr(model, "table_") else 0.0] * int(model.n_features_in_)


def chosen_of(model: Any) -> Any:
    """Return the best estimator of a search, such as `GridSearchCV`, or other models unchanged."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def try_out(model: Any) -> None:
    """Try a model on an example, so that parts that do not fit together raise an error now."""
    names = getattr(model, "feature_names_in_", None)
    rows = rows_of(example_of(model), names)
    ways = ("decision_function", "predict_proba", "predict")
    decide = next(name for name in ways if hasattr(model, name))
    if not np.isfinite(getattr(model, decide)(rows)).all():
        raise ModelFileError("the decision of the model on an example row is not a finite number.")


# -- parameters ---------------------------------------------------------------------------


def parameters_to_json(
    model: Any,
    arrays: dict[str, Array],
    decisive: Sequence[str],
    without: Sequence[str],
    instead: Mapping[str, Json] = MappingProxyType({"random_state": None}),
) -> dict[str, Json]:
    """Return the parameters that are decisive or differ from their defaults.

    Other versions of scikit-learn may lack the remaining ones. Parameters in ``instead`` are
    replaced if they are not plain values.
    """
    result, defaults = {}, signature(type(model)).parameters
    for key, value in model.get_params(deep=False).items():
        is_default = type(value) is type(defaults[key].default) and value == defaults[key].default
        if key in without or (is_default and key not in decisive):
            continue
        try:
            result[key] = parameter_to_json(value, f"parameters.{key}", arrays)
        except NotPlainError:
            if key not in instead:
                raise
            result[key] = instead[key]
    return result


def read_parameters(record: Record, kind: Any, arrays: Arrays) -> dict[str, Any]:
    """Return the parameters of a node of class ``kind``."""
    given = record.record("parameters")
    dtypes = {
        key: dtype_from_json(value)
        for key, value in given.value.items()
        if key == "dtype" and type(value) is dict
    }
    rest = Record({k: v for k, v in given.value.items() if k not in dtypes}, given.where)
    return parameters_from_json(rest, kind, arrays) | dtypes


def output_of(model: Any) -> str | None:
    """Return what ``set_output`` has set for a step."""
    config = getattr(model, "_sklearn_output_config", {})
    return config.get("transform") if isinstance(config, dict) else None


def _read_output(step: Any, record: Record) -> None:
    if not record.is_none("output"):
        step.set_output(transform=record.choice("output", OUTPUTS))


def _read_names(step: Any, record: Record, n: int) -> list[str] | None:
    if record.is_none("feature_names"):
        return None
    names = record.texts("feature_names")
    if len(names) != n or len(set(names)) < n:
        raise record.wrong("feature_names", f"{n} different strings")
    step.feature_names_in_ = np.array(names, dtype=object)
    return names


def _is_word(part: Any) -> bool:
    return part is None or (isinstance(part, str) and part in WORDS)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "AEIO" else f"a {kind}"


def _part_to_json(
    number: int, part: Any, where: str, arrays: dict[str, Array], votes: Writers
) -> Json:
    if _is_word(part):
        plain: Json = part
        return plain
    inner: dict[str, Array] = {}
    node = tree_to_json(part, where, inner, votes)
    arrays.update({f"{number}.{name}": array for name, array in inner.items()})
    return node


def _part_from_json(
    number: int, record: Record, key: str, arrays: Arrays, votes: Readers, depth: int
) -> Any:
    value = record.value.get(key)
    if _is_word(value):
        return value
    inner = arrays.within(f"{number}.")
    part = tree_from_json(record.record(key), inner, votes, depth)
    inner.finish()
    return part


# -- pipelines ----------------------------------------------------------------------------


def _write_pipeline(
    model: Any, where: str, arrays: dict[str, Array], votes: Writers
) -> dict[str, Json]:
    steps = [
        {"name": name, "step": _part_to_json(n, step, f"{where}, step {name!r},", arrays, votes)}
        for n, (name, step) in enumerate(model.steps)
    ]
    return {"steps": steps}


def _read_pipeline(record: Record, arrays: Arrays, votes: Readers, depth: int) -> Pipeline:
    record.expect("kind", "steps")
    steps = []
    for number, entry in enumerate(record.records("steps")):
        entry.expect("name", "step")
        step = _part_from_json(number, entry, "step", arrays, votes, depth)
        if isinstance(step, str) and step == "drop":
            raise entry.wrong("step", "a step")
        steps.append((entry.text("name"), step))
    names = [name for name, _ in steps]
    reserved = signature(Pipeline).parameters
    if not steps or len(set(names)) < len(names):
        raise record.wrong("steps", "steps with different names")
    if any("__" in name or name in reserved for name in names):
        raise record.wrong("steps", "steps with names that a Pipeline accepts")
    for _, step in steps[:-1]:
        if not _is_word(step) and not hasattr(step, "transform"):
            raise record.wrong("steps", "steps that transform, before the last one")
    return Pipeline(steps)


def _example_of_pipeline(model: Any) -> Example:
    first = next(step for _, step in model.steps if not _is_word(step))
    return example_of(first)


# -- column by column ---------------------------------------------------------------------


def _write_columns(
    model: Any, where: str, arrays: dict[str, Array], votes: Writers
) -> dict[str, Json]:
    check_is_fitted(model)
    places = model._transformer_to_input_indices  # noqa: SLF001
    parts = []
    for number, (name, part, columns) in enumerate(model.transformers_):
        if name == "remainder":
            continue
        indices = list(places[name])
        parts.append({
            "name": name,
            "columns": column_to_json(columns, indices),
            "part": _part_to_json(
                number, part if indices else "drop", f"{where}, part {name!r},", arrays, votes
            ),
        })  # fmt: skip
    remainder = model.remainder
    if not _is_word(remainder):
        found = [part for name, part, _ in model.transformers_ if name == "remainder"]
        remainder = found[0] if found and places.get("remainder") else "drop"
    names = getattr(model, "feature_names_in_", None)
    return {
        "parameters": parameters_to_json(model, arrays, (), ("transformers", "remainder")),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "output": output_of(model),
        "is_sparse": bool(model.sparse_output_),
        "parts": parts,
        "remainder": _part_to_json(len(parts), remainder, f"{where}, remainder,", arrays, votes),
    }


def _frozen(part: Any) -> Any:
    return part if _is_word(part) else FrozenEstimator(part)


def _read_columns(record: Record, arrays: Arrays, votes: Readers, depth: int) -> Any:
    record.expect(
        "kind", "parameters", "n_features", "feature_names", "output", "is_sparse", "parts",
        "remainder",
    )  # fmt: skip
    n = record.count("n_features", at_least=1)
    parameters = read_parameters(record, ColumnTransformer, arrays)
    if {"transformers", "remainder"} & set(parameters):
        raise record.wrong("parameters", "without transformers and remainder")
    holder = ColumnTransformer([], **parameters)
    names = _read_names(holder, record, n)
    parts, places = [], []
    for number, entry in enumerate(record.records("parts")):
        entry.expect("name", "columns", "part")
        part = _part_from_json(number, entry, "part", arrays, votes, depth)
        columns, numbers = column_from_json(entry, "columns", names, n)
        parts.append((entry.text("name"), part, columns))
        places.append((part, numbers))
    remainder = _part_from_json(len(parts), record, "remainder", arrays, votes, depth)
    used = {number for _, numbers in places for number in numbers}
    places.append((remainder, [number for number in range(n) if number not in used]))
    if any(part is None for part, _ in places):
        raise record.wrong("parts", "steps, 'drop' or 'passthrough'")
    model: Any = ColumnTransformer(
        [(name, _frozen(part), columns) for name, part, columns in parts],
        remainder=_frozen(remainder),
        **parameters,
    )
    model.fit(rows_of(_example_row(n, places), names))
    model.sparse_output_ = record.flag("is_sparse")
    model.transformers_ = [
        (name, part.estimator if isinstance(part, FrozenEstimator) else part, columns)
        for name, part, columns in model.transformers_
    ]
    model.transformers = [
        (name, part if _is_word(part) else clone(part), columns) for name, part, columns in parts
    ]
    model.remainder = remainder if _is_word(remainder) else clone(remainder)
    _read_output(model, record)
    return model


def _example_row(n: int, parts: list[tuple[Any, list[int]]]) -> list[Any]:
    row: list[Any] = [0.0] * n
    for part, places in parts:
        if _is_word(part):
            continue
        example = example_of(part)
        values = [example] if isinstance(example, str) else example
        if len(values) != len(places):
            raise ModelFileError("a part of the ColumnTransformer has another number of columns.")
        for place, value in zip(places, values, strict=True):
            row[place] = value
    return row


def _example_of_columns(model: Any) -> Example:
    places = model._transformer_to_input_indices  # noqa: SLF001
    parts = [
        (part, list(places[name]))
        for name, part, _ in model.transformers_
        if type(part).__name__ in (*STORED, *NODES)
    ]
    return _example_row(model.n_features_in_, parts)


NODES: dict[str, Node] = {
    "Pipeline": Node(Pipeline, _write_pipeline, _read_pipeline, _example_of_pipeline),
    "ColumnTransformer": Node(
        ColumnTransformer, _write_columns, _read_columns, _example_of_columns
    ),
}
