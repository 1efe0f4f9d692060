"""Class labels in ONNX: strings, integers, truth values or floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    Int64TensorType,
    StringTensorType,
)

from ..exceptions import ExportError

#: By the kind of their dtype: the dtype that labels get, and its type in skl2onnx.
TYPES: dict[str, tuple[Any, Any]] = {
    "U": (np.str_, StringTensorType),
    "b": (np.bool_, BooleanTensorType),
    "i": (np.int64, Int64TensorType),
    "u": (np.int64, Int64TensorType),
    "f": (np.float64, DoubleTensorType),
}


def tensor_of(classes: Any) -> tuple[Any, Any]:
    """Return labels as ONNX can have them, and their type in skl2onnx."""
    # Strings may be objects, or of a newer dtype; NumPy tells them by their values.
    values = classes if classes.dtype.kind in TYPES else np.array(classes.tolist())
    if values.dtype.kind in TYPES:
        dtype, tensor_type = TYPES[values.dtype.kind]
        converted = values.astype(dtype, copy=False)
        if (converted == values).all():
            return converted, tensor_type
    raise ExportError(
        f"the class labels are {values[0]!r} and others of dtype {classes.dtype}, and ONNX has "
        "strings, 64-bit integers, truth values and floats; fit again with labels of these."
    )
