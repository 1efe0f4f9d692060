"""Class labels: strings, integers, booleans or floats, with their dtype."""

from __future__ import annotations

import math
import re

import numpy as np

from ..exceptions import ModelFileError
from .container import Array, Json
from .reading import Record

_DTYPE = re.compile(r"<U[1-9][0-9]{0,6}|\|O|\|b1|\|[iu]1|<[iu][248]|<f[248]")
_TYPES = {"U": str, "O": str, "b": bool, "i": int, "u": int, "f": float}
_MAX_BYTES = 2**26


def classes_to_json(classes: Array) -> dict[str, Json]:
    """Return the labels as JSON."""
    dtype = classes.dtype.newbyteorder("<").str
    values = classes.tolist()
    if not _DTYPE.fullmatch(dtype) or any(type(v) is not _TYPES[dtype[1]] for v in values):
        raise ValueError(
            f"the class labels are of type {type(values[0]).__name__} (dtype {classes.dtype}), but "
            "a model file can store only strings, integers, booleans and floats."
        )
    return {"dtype": dtype, "values": values}


def classes_from_json(record: Record) -> Array:
    """Return the labels that were passed to `classes_to_json`."""
    record.expect("dtype", "values")
    text, values = record.text("dtype"), record.value["values"]
    if not _DTYPE.fullmatch(text):
        raise record.wrong("dtype", "a dtype that labels can have")
    due = _TYPES[text[1]]
    if type(values) is not list or len(values) < 2 or any(type(v) is not due for v in values):
        raise record.wrong("values", f"two or more values of type {due.__name__}")
    if due is float and not all(map(math.isfinite, values)):
        raise record.wrong("values", "finite")
    dtype = np.dtype(text)
    if dtype.itemsize * len(values) > _MAX_BYTES or len(set(values)) < len(values):
        raise record.wrong("values", "distinct, and not too large")
    try:
        classes = np.array(values, dtype=dtype)
    except OverflowError:
        raise record.wrong("values", f"in the range of dtype {dtype}") from None
    if classes.tolist() != values or values != sorted(values):
        raise ModelFileError("the class labels are not sorted, or do not fit their dtype.")
    return classes.astype(dtype.newbyteorder("="), copy=False)
