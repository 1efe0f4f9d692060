"""Export to ONNX: a fitted vote as a graph that runs without Python.

`graph` writes nodes, `families` converts kernel families and `labels` class labels, `checks`
refuses models that ONNX cannot express, `converter` converts a whole vote in the way skl2onnx
expects, `imputing` and `calibration` convert two scikit-learn estimators in double precision,
`inputs` declares the inputs, and `export` has the public function. To export a new kernel family,
add it to `families.VOTES`.

Importing this module registers our models with skl2onnx, so that its own functions can convert them
too. It needs ``pip install votedkernels[onnx]``.
"""

try:
    import onnx  # noqa: F401
    import skl2onnx  # noqa: F401
except ModuleNotFoundError as error:
    if error.name not in ("onnx", "skl2onnx"):
        raise
    raise ModuleNotFoundError(
        f"votedkernels.onnx needs {error.name}; try pip install 'votedkernels[onnx]'.",
        name=error.name,
    ) from error

from ..exceptions import ExportError
from .checks import check_family
from .converter import register
from .export import to_onnx

__all__ = ["ExportError", "check_family", "to_onnx"]

register()
