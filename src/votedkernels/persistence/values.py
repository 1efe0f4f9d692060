"""Parameters as plain values: numbers, strings, lists, arrays and complexity measures.

JSON has fewer types than Python. Values of other types become objects whose first key names the
type: ``{"tuple": [...]}``, ``{"pairs": [[key, value], ...]}`` (a dict), ``{"number": "NaN"}``,
``{"array": name}``, ``{"rows": {...}, "name": name}`` (a sparse matrix), ``{"measure": name,
"parameters": {...}}``.
"""

from __future__ import annotations

import math
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse

from ..complexity import Dimension, Empirical, Local, Massart, StableRank, Trace
from ..complexity.base import ComplexityMeasure
from ..exceptions import ModelFileError, NotPlainError
from .container import Array, Json
from .reading import Arrays, Record, number_to_json
from .rows import rows_from_json, rows_to_json

MEASURES: dict[str, type[ComplexityMeasure]] = {
    measure.__name__: measure
    for measure in (Dimension, Empirical, Local, Massart, StableRank, Trace)
}
_MAX_DEPTH = 8


def value_to_json(value: Any, name: str, arrays: dict[str, Array]) -> Json:
    """Return a value as JSON; its arrays are added to ``arrays``, with ``name`` as a prefix."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        plain: Json = value
        return plain
    if type(value) is float:
        return value if math.isfinite(value) else {"number": number_to_json(value)}
    if isinstance(value, range):
        value = tuple(value)
    if type(value) in (list, tuple):
        entries = [value_to_json(v, f"{name}.{i}", arrays) for i, v in enumerate(value)]
        return entries if type(value) is list else {"tuple": entries}
    if type(value) is dict:
        pairs = [
            [value_to_json(key, name, arrays), value_to_json(v, f"{name}.{i}", arrays)]
            for i, (key, v) in enumerate(value.items())
        ]
        return {"pairs": pairs}
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"array": name}
    if sparse.issparse(value):
        return {"rows": rows_to_json(value, name, arrays), "name": name}
    if MEASURES.get(type(value).__name__) is type(value):
        parameters = {
            key: value_to_json(v, f"{name}.{key}", arrays)
            for key, v in value.get_params(deep=False).items()
        }
        return {"measure": type(value).__name__, "parameters": parameters}
    raise NotPlainError(f"{name} is {value!r}, which a model file cannot store.")


def value_from_json(value: object, arrays: Arrays, depth: int = 0) -> object:
    """Return the value that was passed to `value_to_json`."""
    if depth > _MAX_DEPTH:
        raise ModelFileError("a parameter is nested too deeply.")
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is list:
        return [value_from_json(entry, arrays, depth + 1) for entry in value]
    if type(value) is dict:
        for kind, decode in _DECODERS.items():
            if kind in value:
                return decode(Record(value, "a parameter"), arrays, depth + 1)
    raise ModelFileError("a parameter has a type that model files do not have.")


def parameters_from_json(record: Record, kind: type, arrays: Arrays) -> dict[str, Any]:
    """Return the parameters of an estimator of class ``kind``.

    Only parameters whose default is a boolean may be booleans. A missing parameter may be newer
    than the file, and keeps its default.
    """
    defaults = _defaults(kind)
    unknown = set(record.value) - set(defaults)
    if unknown:
        raise record.wrong("the keys", f"parameters of {kind.__name__}")
    values = {key: value_from_json(value, arrays) for key, value in record.value.items()}
    for key, value in values.items():
        if type(defaults[key]) is not bool and _has_boolean(value):
            raise record.wrong(key, "something other than a boolean")
    return values


@cache
def _defaults(kind: type) -> dict[str, Any]:
    return {name: p.default for name, p in signature(kind).parameters.items()}


def _has_boolean(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_boolean, value))
    return type(value) is bool


def _entries(record: Record, key: str) -> list[object]:
    record.expect(key)
    entries = record.value[key]
    if type(entries) is not list:
        raise record.wrong(key, "a list")
    return entries


def _tuple(record: Record, arrays: Arrays, depth: int) -> tuple[object, ...]:
    return tuple(value_from_json(entry, arrays, depth) for entry in _entries(record, "tuple"))


def _pairs(record: Record, arrays: Arrays, depth: int) -> dict[object, object]:
    result = {}
    for pair in _entries(record, "pairs"):
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) in (list, dict):
            raise record.wrong("pairs", "a list of keys and values")
        result[value_from_json(pair[0], arrays, depth)] = value_from_json(pair[1], arrays, depth)
    return result


def _number(record: Record, _arrays: Arrays, _depth: int) -> float:
    record.expect("number")
    return record.number("number")


def _array(record: Record, arrays: Arrays, _depth: int) -> Array:
    record.expect("array")
    return arrays.take(record.text("array"), "biuf")


def _rows(record: Record, arrays: Arrays, _depth: int) -> Any:
    record.expect("rows", "name")
    return rows_from_json(record.record("rows"), record.text("name"), arrays)


def _measure(record: Record, arrays: Arrays, _depth: int) -> ComplexityMeasure:
    record.expect("measure", "parameters")
    measure = MEASURES[record.choice("measure", MEASURES)]
    given = record.record("parameters")
    return measure(**parameters_from_json(given, measure, arrays))


#: Functions that decode an object, by the key that names its type.
_DECODERS = {
    "tuple": _tuple,
    "pairs": _pairs,
    "number": _number,
    "array": _array,
    "rows": _rows,
    "measure": _measure,
}
