"""Export to ONNX: a fitted vote as a graph that runs without Python.

`graph` writes nodes, `families` says what a kernel family is in them and `labels` what a class
label is, `checks` refuses what has no such form, `converter` puts a whole vote together in the
manner of skl2onnx, and `export` is what a user calls. To let a new kernel family be exported, enter
it in `families.VOTES`.

Importing this module registers both classifiers with skl2onnx, so that its own functions convert
them too. It needs ``pip install votedkernels[onnx]``.
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
