"""Model files: a fitted vote in one file that holds no code.

A model file is a safetensors file: a JSON header, then arrays. `container` knows the bytes,
`reading` the types of the header, `families`, `rows`, `labels`, `values` and `scaling` the parts of
a model, `describing` takes one apart and `building` puts it together. To let a new
kernel family be saved, enter it in `families.STORED`.
"""

from ..exceptions import ModelFileError
from .models import load_model, save_model
from .summary import read_summary

__all__ = ["ModelFileError", "load_model", "read_summary", "save_model"]
