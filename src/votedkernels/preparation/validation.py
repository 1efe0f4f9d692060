"""What a user gave, checked: parameters, rows, labels, weights."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from .._system.byte_sizes import parse_memory
from .._system.stack_level import user_stacklevel
from ..kernels import are_precomputed
from ..kernels.base import FloatArray, IntArray, KernelFamily, count_rows


def check_parameters(estimator: Any, solvers: Collection[str]) -> None:
    """Raise for a parameter that is out of its range, before any work."""
    for name in ("complexity_penalty", "l1_penalty", "l2_penalty"):
        value = getattr(estimator, name, 0.0)
        if not _is_number(value) or not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
    if not _is_number(estimator.tol) or not 0 <= estimator.tol < np.inf:
        raise ValueError(f"tol must be a finite number >= 0, got {estimator.tol!r}.")
    if estimator.time_limit is not None and not (
        _is_number(estimator.time_limit) and estimator.time_limit > 0
    ):
        raise ValueError(
            f"time_limit must be a number of seconds > 0, got {estimator.time_limit!r}."
        )
    if estimator.max_iter is not None and not (
        isinstance(estimator.max_iter, Integral) and int(estimator.max_iter) >= 1
    ):
        raise ValueError(f"max_iter must be an integer >= 1 or None, got {estimator.max_iter!r}.")
    if estimator.solver not in solvers:
        raise ValueError(
            f"solver must be one of {', '.join(map(repr, solvers))}, got {estimator.solver!r}."
        )
    if getattr(estimator, "l2_penalty", 0.0) > 0 and estimator.solver != "coordinate-descent":
        raise ValueError(
            f"l2_penalty > 0 makes the problem a quadratic one, which solver={estimator.solver!r} "
            "cannot solve; use solver='coordinate-descent'."
        )
    if estimator.memory_limit is not None:
        parse_memory(estimator.memory_limit)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def validate_rows(estimator: Any, X: Any, families: Sequence[KernelFamily], *, reset: bool) -> Any:
    """Return X as the families take it: float64 array, CSR matrix, or list of objects."""
    if any(family.takes_strings for family in families):
        return as_strings(X, families)
    if all(family.accepts_objects for family in families):
        X = unwrap_column(X)
        if not is_table(X):
            return as_objects(X)
    check_can_be_table(X, families)
    accept_sparse = "csr" if all(family.accepts_sparse for family in families) else False
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=accept_sparse,
        dtype=np.float64,
    )
    X = with_small_indices(X, "X")
    if are_precomputed(families) and reset and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed kernel matrix must be square at fit, got shape {X.shape}: row i, "
            "column j is K(x_i, x_j) of the training rows."
        )
    return X


def validate_centers(
    estimator: Any, centers: Any, families: Sequence[KernelFamily], *, as_table: bool
) -> Any:
    """Return given centres in the form of the rows, a table or objects; errors name ``centers``."""
    scalar = isinstance(centers, Real | str | bytes | dict) or not hasattr(centers, "__len__")
    if scalar or getattr(centers, "shape", None) == ():
        raise ValueError(
            "centers must be None, a number of training rows to draw, or points in the form of the "
            f"rows of X; got {centers!r}."
        )
    if not as_table:
        if any(family.takes_strings for family in families):
            return as_strings(centers, families, name="centers")
        return as_objects(unwrap_column(centers), name="centers")
    accept_sparse = "csr" if all(family.accepts_sparse for family in families) else False
    names, known = getattr(centers, "columns", None), getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(f"centers has the columns {list(names)}, and X has {list(known)}.")
    try:
        points = check_array(
            centers, accept_sparse=accept_sparse, dtype=np.float64, input_name="centers"
        )
    except (TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(":.")
        raise ValueError(f"centers must be a table of numbers, as X is: {reason}.") from None
    if points.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"centers has {points.shape[1]} features, and X has {estimator.n_features_in_}; "
            "centres are points of the same space."
        )
    return with_small_indices(points, "centers")


def with_small_indices(X: Any, name: str) -> Any:
    """Return a sparse matrix with 32-bit indices; anything else as it is."""
    if not sparse.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        raise ValueError(
            f"{name} has {X.nnz} stored values in {X.shape[1]} columns, more than 32-bit indices "
            "can number; use fewer rows or fewer columns."
        )
    indices, starts = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, indices, starts), shape=X.shape)


def is_table(X: Any) -> bool:
    """Whether X is a two-dimensional table of numbers (array, sparse matrix or data frame)."""
    if sparse.issparse(X):
        return True
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return True
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"


def check_can_be_table(X: Any, families: Sequence[KernelFamily]) -> None:
    """Raise a clear error for lists of strings given to kernels of tables."""
    first = X[0] if isinstance(X, list | tuple) and len(X) else None
    if isinstance(first, str | bytes):
        name = next(type(family).__name__ for family in families if not family.accepts_objects)
        raise ValueError(
            f"X is a list of strings, and {name} needs a table of numbers; "
            "for strings use EditDistance(), Spectrum() or Similarity(function)."
        )


def as_strings(X: Any, families: Sequence[KernelFamily], *, name: str = "X") -> list[str]:
    """Return rows as a list of strings; raise for what is none, by its row."""
    taker = next(type(family).__name__ for family in families if family.takes_strings)
    for family in families:
        if not family.accepts_objects:
            raise ValueError(
                f"{taker} takes strings and {type(family).__name__} needs a table of numbers: they "
                "cannot stand beside each other."
            )
    X = unwrap_column(X)
    if is_table(X) or len(getattr(X, "shape", (0,))) != 1:
        raise ValueError(
            f"{name} is a table of shape {tuple(X.shape)}, and {taker} takes strings, one for each "
            "row; give a list of strings, or one column."
        )
    rows = as_objects(X, name=name)
    for number, row in enumerate(rows):
        if not isinstance(row, str):
            raise ValueError(_what_is_no_string(row, number, taker, name))
    return [str(row) for row in rows]  # those of NumPy are a class of their own


def _what_is_no_string(row: Any, number: int, taker: str, name: str) -> str:
    if isinstance(row, bytes | bytearray):
        return (
            f"{name} has bytes at row {number} (counted from 0), and {taker} takes strings; decode "
            f"them, as in [row.decode() for row in {name}]."
        )
    if row is None or type(row).__name__ == "NAType" or (isinstance(row, Real) and row != row):
        return (
            f"{name} has a missing value ({row!r}) at row {number} (counted from 0); drop the row, "
            "or replace it, say by an empty string."
        )
    return (
        f"{name} has {row!r} of type {type(row).__name__} at row {number} (counted from 0), and "
        f"{taker} takes strings only."
    )


def unwrap_column(X: Any) -> Any:
    """Return the column of objects that a data frame or a two-dimensional array consists of."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return X
    if isinstance(X, np.ndarray):
        return X[:, 0] if X.dtype.kind in "OSTU" else X
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        column = X[X.columns[0]]
        return X if _holds_numbers(column) else column
    return X


def _holds_numbers(column: Any) -> bool:
    """Whether a column of pandas or polars is one of numbers."""
    is_numeric = getattr(column.dtype, "is_numeric", None)
    if callable(is_numeric):
        return bool(is_numeric())
    return bool(is_numeric) or getattr(column.dtype, "kind", "O") in "biuf"


def as_objects(X: Any, *, name: str = "X") -> Any:
    """Return rows as a list of objects; arrays of numbers stay arrays."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim > 1:
        return X
    if isinstance(X, str | bytes):
        raise ValueError(f"{name} is a single string; give a list of strings.")
    if hasattr(X, "tolist") and getattr(X, "ndim", 1) == 1:
        X = X.tolist()
    elif hasattr(X, "to_list"):
        X = X.to_list()
    X = list(X)
    if not X:
        raise ValueError(f"Found {name} with 0 sample(s) while a minimum of 1 is required.")
    return X


def validate_labels(X: Any, y: Any) -> tuple[Any, IntArray]:
    """Return (classes, codes)."""
    if y is None:
        raise ValueError(
            "This VotedKernelClassifier estimator requires y to be passed, "
            "but the target y is None."
        )
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"This classifier needs samples of at least 2 classes in the data, but the data "
            f"contains only one class: {classes[0]!r}"
        )
    return classes, codes


def validate_weights(sample_weight: Any, X: Any, codes: IntArray) -> FloatArray:
    """Return weights >= 0 under which at least two classes are left."""
    n = count_rows(X)
    if sample_weight is None:
        return np.ones(n)
    weights = _check_sample_weight(sample_weight, np.empty((n, 1)), ensure_non_negative=True)
    weights = np.asarray(weights, dtype=np.float64)
    if len(np.unique(codes[weights > 0])) < 2:
        raise ValueError(
            "This classifier needs samples of at least 2 classes in the data, but the rows with "
            "positive sample_weight contain only one class or none."
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not np.isfinite(total):
        raise ValueError(
            f"sample_weight sums to more than double precision can hold (the largest weight is "
            f"{weights.max():.3g}); scale it down, as in sample_weight / sample_weight.max()."
        )
    if total < 1:
        warnings.warn(
            f"sample_weight sums to {total:.3g}, below 1: weights count repetitions, so "
            "the sample is taken to be smaller than one row. Multiply them if they were "
            "normalised.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    return weights


def check_penalties(values: Any, name: str, default: Sequence[float]) -> FloatArray:
    """Return a grid of penalties as an array, checked."""
    grid = np.asarray(default if values is None else values, dtype=np.float64)
    if grid.ndim != 1 or len(grid) == 0:
        raise ValueError(f"{name} must be a non-empty list of numbers, got {values!r}.")
    if not (np.isfinite(grid).all() and (grid >= 0).all()):
        raise ValueError(f"{name} must hold finite numbers >= 0, got {values!r}.")
    if len(np.unique(grid)) < len(grid):
        raise ValueError(f"{name} has repeated entries: {values!r}.")
    return grid
