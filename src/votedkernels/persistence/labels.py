"""Class labels: strings, integers, truth values or floats, with the dtype they had."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..exceptions import ModelFileError
from .reading import Record

_DTYPE = re.compile(r"<U[1-9][0-9]{0,6}|\|O|\|b1|\|[iu]1|<[iu][248]|<f[248]")
_TYPES = {"U": str, "O": str, "b": bool, "i": int, "u": int, "f": float}
_MAX_BYTES = 2**26


def classes_to_json(classes: Any) -> dict[str, Any]:
    """Return the labels as JSON."""
    dtype = classes.dtype.newbyteorder("<").str
    values = classes.tolist()
    if not _DTYPE.fullmatch(dtype) or any(type(v) is not _TYPES[dtype[1]] for v in values):
        raise ValueError(
            f"the class labels are of type {type(values[0]).__name__} (dtype {classes.dtype}), and "
            "a model file can hold strings, integers, truth values and floats."
        )
    return {"dtype": dtype, "values": values}


def classes_from_json(record: Record) -> Any:
    """Return the labels that `classes_to_json` was given."""
    record.expect("dtype", "values")
    text, values = record.text("dtype"), record.value["values"]
    if not _DTYPE.fullmatch(text):
        raise record.wrong("dtype", "one of labels")
    due = _TYPES[text[1]]
    if type(values) is not list or len(values) < 2 or any(type(v) is not due for v in values):
        raise record.wrong("values", f"two or more of type {due.__name__}")
    if due is float and not all(map(math.isfinite, values)):
        raise record.wrong("values", "finite")
    dtype = np.dtype(text)
    if dtype.itemsize * len(values) > _MAX_BYTES or len(set(values)) < len(values):
        raise record.wrong("values", "different, and not too large")
    try:
        classes = np.array(values, dtype=dtype)
    except OverflowError:
        raise record.wrong("values", f"of dtype {dtype}") from None
    if classes.tolist() != values or values != sorted(values):
        raise ModelFileError("the class labels are not in order, or do not fit their dtype.")
    return classes.astype(dtype.newbyteorder("="), copy=False)
