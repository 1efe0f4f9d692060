"""Parameters as plain values: numbers, texts, lists, arrays, and our complexity measures.

JSON has fewer types than Python, so what it does not have is an object with one key that says
what it is: ``{"tuple": [...]}``, ``{"pairs": [[key, value], ...]}`` (a dict), ``{"number":
"NaN"}``, ``{"array": name}``, ``{"rows": {...}, "name": name}`` (a sparse matrix), ``{"measure":
name, "parameters": {...}}``.
"""

from __future__ import annotations

import math
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse

from ..complexity import Dimension, Empirical, Local, Massart, Trace
from ..complexity.base import ComplexityMeasure
from ..exceptions import ModelFileError, NotPlainError
from .reading import Arrays, Record, number_to_json
from .rows import rows_from_json, rows_to_json

MEASURES: dict[str, type[ComplexityMeasure]] = {
    measure.__name__: measure for measure in (Dimension, Empirical, Local, Massart, Trace)
}
_MAX_DEPTH = 8


def value_to_json(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Return a value as JSON; its arrays go to ``arrays``, under names that begin with ``name``."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
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
    raise NotPlainError(f"{name} is {value!r}, which a model file cannot hold.")


def value_from_json(value: Any, arrays: Arrays, depth: int = 0) -> Any:
    """Return what `value_to_json` was given."""
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
    raise ModelFileError("a parameter is of a kind that a model file does not have.")


def parameters_from_json(record: Record, kind: Any, arrays: Arrays) -> dict[str, Any]:
    """Return the parameters of an estimator of class ``kind``; truth values only where due.

    One that is missing is left to its default, since it may have come later than the file.
    """
    defaults = _defaults(kind)
    unknown = set(record.value) - set(defaults)
    if unknown:
        raise record.wrong("the keys", "parameters")
    values = {key: value_from_json(value, arrays) for key, value in record.value.items()}
    for key, value in values.items():
        if type(defaults[key]) is not bool and _has_truth_value(value):
            raise record.wrong(key, "no truth value")
    return values


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {name: p.default for name, p in signature(kind.__init__).parameters.items()}


def _has_truth_value(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_has_truth_value, value))
    return type(value) is bool


def _entries(record: Record, key: str) -> list[Any]:
    record.expect(key)
    entries = record.value[key]
    if type(entries) is not list:
        raise record.wrong(key, "a list")
    return entries


def _tuple(record: Record, arrays: Arrays, depth: int) -> Any:
    return tuple(value_from_json(entry, arrays, depth) for entry in _entries(record, "tuple"))


def _pairs(record: Record, arrays: Arrays, depth: int) -> Any:
    result = {}
    for pair in _entries(record, "pairs"):
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) in (list, dict):
            raise record.wrong("pairs", "a list of keys and values")
        result[value_from_json(pair[0], arrays, depth)] = value_from_json(pair[1], arrays, depth)
    return result


def _number(record: Record, arrays: Arrays, depth: int) -> Any:
    record.expect("number")
    return record.number("number")


def _array(record: Record, arrays: Arrays, depth: int) -> Any:
    record.expect("array")
    return arrays.take(record.text("array"), "biuf")


def _rows(record: Record, arrays: Arrays, depth: int) -> Any:
    record.expect("rows", "name")
    return rows_from_json(record.record("rows"), record.text("name"), arrays)


def _measure(record: Record, arrays: Arrays, depth: int) -> Any:
    record.expect("measure", "parameters")
    measure = MEASURES[record.choice("measure", MEASURES)]
    given = record.record("parameters")
    return measure(**parameters_from_json(given, measure, arrays))


_DECODERS = {
    "tuple": _tuple,
    "pairs": _pairs,
    "number": _number,
    "array": _array,
    "rows": _rows,
    "measure": _measure,
}
