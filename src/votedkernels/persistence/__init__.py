"""Model files: a fitted vote in one file that contains no code.

A model file is a safetensors file: a JSON header, then arrays. `container` reads and writes the
bytes, and `reading` checks the types in the header. `families`, `votes`, `rows`, `labels`, `values`
and `scaling` convert the parts of a model; `steps`, `trees` and `calibration`, those of pipelines.
`describing` takes a model apart, and `building` puts it together. To save a new kernel family, add
it to `families.STORED`; to save a new pipeline step, add it to `steps.STORED`.
"""

from ..exceptions import ModelFileError
from .models import load_model, save_model
from .summary import read_summary

__all__ = ["ModelFileError", "load_model", "read_summary", "save_model"]
