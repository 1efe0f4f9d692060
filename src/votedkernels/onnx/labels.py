"""Class labels in ONNX: strings, integers, booleans or floats."""

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

#: The dtype that labels get in ONNX and its type in skl2onnx, by the kind of their own dtype.
TYPES: dict[str, tuple[Any, Any]] = {
    "U": (np.str_, StringTensorType),
    "b": (np.bool_, BooleanTensorType),
    "i": (np.int64, Int64TensorType),
    "u": (np.int64, Int64TensorType),
    "f": (np.float64, DoubleTensorType),
}


def tensor_of(classes: Any) -> tuple[Any, Any]:
    """Return the labels in a dtype that ONNX supports, and its type in skl2onnx."""
    # Strings may be objects or NumPy's StringDType; np.array finds their type from their values.
    values = classes if classes.dtype.kind in TYPES else np.array(classes.tolist())
    if values.dtype.kind in TYPES:
        dtype, tensor_type = TYPES[values.dtype.kind]
        converted = values.astype(dtype, copy=False)
        if (converted == values).all():
            return converted, tensor_type
    raise ExportError(
        f"the class labels, such as {values[0]!r}, have dtype {classes.dtype}, but ONNX has only "
        "strings, 64-bit integers, booleans and floats; fit again with labels of such a type."
    )
