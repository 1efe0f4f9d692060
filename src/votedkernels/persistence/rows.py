"""Rows as arrays: tables, sparse tables, and lists of strings."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import ModelFileError
from .container import Array, Json
from .reading import Arrays, Record

_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
KINDS = ("array", "strings", *_SPARSE)


def rows_to_json(rows: Any, name: str, arrays: dict[str, Array]) -> dict[str, Json]:
    """Return the kind of the rows as JSON; the rows themselves are added to ``arrays``."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf":
        arrays[name] = rows
        return {"kind": "array"}
    if sparse.issparse(rows) and type(rows).__name__ in _SPARSE:
        arrays[f"{name}.data"] = rows.data
        arrays[f"{name}.indices"] = rows.indices
        arrays[f"{name}.indptr"] = rows.indptr
        return {"kind": type(rows).__name__, "n_columns": int(rows.shape[1])}
    if isinstance(rows, list) and all(type(row) is str for row in rows):
        # Strings in Python can have lone surrogates, which strict UTF-8 forbids.
        encoded = [row.encode("utf-8", "surrogatepass") for row in rows]
        arrays[f"{name}.text"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        arrays[f"{name}.ends"] = np.cumsum([len(row) for row in encoded], dtype=np.int64)
        return {"kind": "strings"}
    shown = next((type(row).__name__ for row in rows if type(row) is not str), "") if rows else ""
    raise ValueError(
        f"{name} has objects of type {shown or type(rows).__name__}, which a model file cannot "
        "store; rows must be numbers or strings."
    )


def rows_from_json(record: Record, name: str, arrays: Arrays, *, gaps: bool = False) -> Any:
    """Return the rows that were passed to `rows_to_json`; with ``gaps``, a table may have NaN."""
    kind = record.choice("kind", KINDS)
    if kind == "array":
        record.expect("kind")
        array = arrays.take(name, "biuf", gaps=gaps)
        if array.ndim < 2:
            raise ModelFileError(f"the array {name} is not a table of rows.")
        return array
    if kind == "strings":
        record.expect("kind")
        return _strings(name, arrays)
    record.expect("kind", "n_columns")
    return _sparse_rows(_SPARSE[kind], record.count("n_columns"), name, arrays)


def _strings(name: str, arrays: Arrays) -> list[str]:
    text = arrays.take(f"{name}.text", "u", (None,))
    ends = arrays.take(f"{name}.ends", "i", (None,))
    if text.dtype != np.uint8:
        raise ModelFileError(f"the array {name}.text has the wrong dtype, {text.dtype}.")
    limits = [0, *ends.tolist()]
    if limits != sorted(limits) or limits[-1] != len(text):
        raise ModelFileError(f"the array {name}.ends does not divide the text into rows.")
    content = text.tobytes()
    try:
        return [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(limits)]
    except UnicodeDecodeError:
        raise ModelFileError(f"the array {name}.text is not UTF-8.") from None


def _sparse_rows(make: Any, n_columns: int, name: str, arrays: Arrays) -> Any:
    data = arrays.take(f"{name}.data", "f", (None,))
    indptr = arrays.take(f"{name}.indptr", "i", (None,))
    indices = arrays.indices(f"{name}.indices", len(data), n_columns)
    if (
        len(indptr) == 0
        or indptr[0] != 0
        or indptr[-1] != len(data)
        or (np.diff(indptr) < 0).any()
        or indptr.dtype != indices.dtype
    ):
        raise ModelFileError(f"the array {name}.indptr does not divide the values into rows.")
    return make((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
