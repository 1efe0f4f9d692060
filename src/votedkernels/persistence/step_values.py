"""Values in the steps of a pipeline that `values` does not cover: categories, dtypes, columns."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..exceptions import ModelFileError
from .container import Array, Json
from .reading import Arrays, Record, number_to_json
from .values import value_to_json

#: The dtypes that a step can convert to.
_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]")


def objects_to_json(values: Any, name: str, arrays: dict[str, Array]) -> dict[str, Json]:
    """Return a list of numbers, strings and missing values, with its dtype, as JSON.

    Lists of numbers become an array.
    """
    values = np.asarray(values)
    if values.dtype.kind in "biuf" and np.isfinite(values).all():
        arrays[name] = values
        return {"dtype": None, "values": None, "n_missing": 0}
    plain = [_plain_to_json(value, name) for value in values.tolist()]
    dtype = values.dtype.newbyteorder("<").str if values.dtype.kind == "U" else values.dtype.str
    n_missing = sum(is_missing(value) != "value" for value in values.tolist())
    _check_alike(values.tolist(), name)
    return {"dtype": dtype, "values": plain, "n_missing": n_missing}


def _check_alike(values: list[Any], name: str) -> None:
    """Raise unless the values that are not missing are all strings, all numbers or all booleans."""
    kinds = {type(value) for value in values if is_missing(value) == "value"}
    if len(kinds) > 1 and not kinds <= {int, float}:
        raise ValueError(f"{name} has values of different types, {values!r}.")


def _plain_to_json(value: Any, name: str) -> Json:
    if type(value) in (str, int, bool) or value is None:
        plain: Json = value
        return plain
    if isinstance(value, float):
        return {"number": number_to_json(value)}
    raise ValueError(
        f"{name} contains {value!r}, of type {type(value).__name__}, but a model file can store "
        "only numbers, strings and missing values."
    )


def objects_from_json(record: Record, name: str, arrays: Arrays) -> Array:
    """Return what was passed to `objects_to_json`, as a one-dimensional array."""
    record.expect("dtype", "values", "n_missing")
    if record.is_none("dtype"):
        if not record.is_none("values"):
            raise record.wrong("values", "null if they are an array")
        return arrays.take(name, "biuf", (None,))
    text, values = record.text("dtype"), record.value["values"]
    if not re.fullmatch(r"\|O|<U[0-9]{1,5}|<f[48]", text) or type(values) is not list:
        raise record.wrong("dtype", "a dtype of strings or objects, with a list of values")
    decoded = [_plain_from_json(value) for value in values]
    _check_alike(decoded, name)
    if sum(is_missing(value) != "value" for value in decoded) != record.count("n_missing"):
        raise record.wrong("n_missing", "the number of missing values")
    if text[1] == "U" and not all(type(value) is str for value in decoded):
        raise record.wrong("values", "strings")
    if text[1] == "f" and not all(type(value) is float for value in decoded):
        raise record.wrong("values", "numbers")
    result = np.empty(len(decoded), dtype=np.dtype(text))
    result[:] = decoded
    if text[1] == "U" and result.tolist() != decoded:
        raise record.wrong("values", "strings that fit their dtype")
    return result


def _plain_from_json(value: object) -> Any:
    if type(value) in (str, int, bool) or value is None:
        return value
    return Record(value, "a value").number("number")


def is_missing(value: Any) -> str:
    """Return "none" or "nan" for a missing value, and "value" for any other."""
    if value is None:
        return "none"
    return "nan" if isinstance(value, float) and math.isnan(value) else "value"


def parameter_to_json(value: Any, name: str, arrays: dict[str, Array]) -> Json:
    """Return a parameter of a step as JSON. A dtype is stored by its name."""
    if isinstance(value, type | np.dtype) and name.endswith("dtype"):
        dtype = np.dtype(value).newbyteorder("<").str
        if not _DTYPE.fullmatch(dtype):
            raise ValueError(f"{name} is {value!r}, which a model file cannot store.")
        return {"dtype": dtype}
    return value_to_json(value, name, arrays)


def dtype_from_json(value: object) -> Any:
    """Return the NumPy type with a stored name."""
    text = Record(value, "a parameter").text("dtype")
    if not _DTYPE.fullmatch(text):
        raise ModelFileError(f"{text[:80]!r} is not a dtype that a step can have.")
    return np.dtype(text).type


def column_to_json(columns: Any, indices: list[int]) -> Json:
    """Return the columns of a part of a `ColumnTransformer`: one or several names or numbers."""
    if isinstance(columns, str):
        return str(columns)
    if isinstance(columns, int | np.integer) and not isinstance(columns, bool):
        return int(columns)
    if not isinstance(columns, slice) and all(isinstance(column, str) for column in columns):
        return [str(column) for column in columns]
    return [int(index) for index in indices]


def column_from_json(record: Record, key: str, names: list[str] | None, n: int) -> tuple[Any, Any]:
    """Return the columns, and their indices."""
    value = record.value.get(key)
    several: list[Any] = value if type(value) is list else [value]
    if all(type(column) is str for column in several):
        if names is None or set(several) - set(names):
            raise record.wrong(key, "names of features")
        numbers = [names.index(str(column)) for column in several]
    elif all(type(column) is int and 0 <= column < n for column in several):
        numbers = [int(column) for column in several]
    else:
        raise record.wrong(key, "names or numbers of features")
    return value, numbers
