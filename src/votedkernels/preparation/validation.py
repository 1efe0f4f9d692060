"""Checks what a user passes: parameters, rows, labels and weights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Sized
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from .._system.byte_sizes import parse_memory
from .._system.stack_level import user_stacklevel
from ..kernels import are_precomputed
from ..kernels.base import (
    FloatArray,
    HasShape,
    IntArray,
    KernelFamily,
    Rows,
    Table,
    count_rows,
    is_sparse,
)
from ..solvers import SOLVERS
from .frame_columns import is_frame
from .parameters import Parameters
from .sample import Labels
from .tables import check_columns, check_only_numbers, code_rows


def check_parameters(estimator: Any) -> None:
    """Raise for a parameter that is out of range, before any work is done."""
    for name in ("complexity_penalty", "l1_penalty", "l2_penalty"):
        value = getattr(estimator, name, 0.0)
        can_be_auto = name != "l2_penalty"
        if can_be_auto and isinstance(value, str) and value == "auto":
            continue
        if not _is_number(value) or not (np.isfinite(value) and value >= 0):
            auto = " or 'auto'" if can_be_auto else ""
            raise ValueError(f"{name} must be a finite number >= 0{auto}, got {value!r}.")
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
    if estimator.solver not in SOLVERS:
        raise ValueError(
            f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {estimator.solver!r}."
        )
    check_squared_norm(estimator)
    if estimator.memory_limit is not None:
        parse_memory(estimator.memory_limit)
    check_relaxation(getattr(estimator, "relaxation", None))
    probability = getattr(estimator, "probability", False)
    if not isinstance(probability, bool | np.bool_):
        raise ValueError(f"probability must be True or False, got {probability!r}.")
    check_verbose(getattr(estimator, "verbose", 0))


def check_verbose(verbose: object) -> None:
    """Raise unless ``verbose`` is an integer >= 0; True counts as 1."""
    if not isinstance(verbose, Integral | np.bool_) or int(verbose) < 0:
        raise ValueError(
            f"verbose must be 0 (silent), 1 (progress) or 2 (each round), got {verbose!r}."
        )


def check_squared_norm(estimator: Parameters) -> None:
    """Raise for an unknown norm, or for a solver that does not support squared norms."""
    if getattr(estimator, "l2_norm", "auto") not in ("auto", "rkhs", "weights"):
        raise ValueError(f"l2_norm must be 'auto', 'rkhs' or 'weights', got {estimator.l2_norm!r}.")
    able = [name for name, solver in SOLVERS.items() if solver.takes_hybrid_norm]
    if getattr(estimator, "l2_penalty", 0.0) > 0 and estimator.solver not in able:
        raise ValueError(
            "l2_penalty > 0 makes the problem quadratic, which "
            f"solver={estimator.solver!r} cannot solve; use solver={able[0]!r}."
        )


def check_relaxation(relaxation: object) -> None:
    """Raise unless ``relaxation`` is None, "auto" or a positive number."""
    if relaxation is None or (isinstance(relaxation, str) and relaxation == "auto"):
        return
    if not _is_number(relaxation) or not 0 < relaxation < np.inf:
        raise ValueError(
            f"relaxation must be None, 'auto' or a finite number > 0, got {relaxation!r}."
        )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def validate_rows(
    estimator: object, X: Any, families: Sequence[KernelFamily], *, reset: bool
) -> Rows:
    """Return X in the form that the families need: float64 array, CSR matrix or list of objects."""
    if any(family.takes_strings for family in families):
        return as_strings(X, families)
    if all(family.accepts_objects for family in families):
        X = unwrap_column(X)
        if not is_table(X):
            return _checked_objects(X, families, "X")
    check_can_be_table(X, families)
    accept_sparse = "csr" if all(family.accepts_sparse for family in families) else False
    if accept_gaps(families):
        coded = code_rows(estimator, X, reset=reset)
        if coded is not X:
            return check_array(coded, ensure_all_finite="allow-nan", input_name="X")
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn adds up all entries, even huge ones
            X = validate_data(
                estimator,
                X,
                reset=reset,
                accept_sparse=accept_sparse,
                dtype=np.float64,
                ensure_all_finite="allow-nan" if accept_gaps(families) else True,
            )
    except (TypeError, ValueError):
        if is_frame(X) and not are_precomputed(families):
            check_columns(estimator, X, reset=reset)
            check_only_numbers(X, reset=reset)
        raise
    X = with_small_indices(X, "X")
    if are_precomputed(families) and reset and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed kernel matrix must be square in fit, got shape {X.shape}; the entry in "
            "row i and column j is K(x_i, x_j) for training rows i and j."
        )
    return X


def accept_gaps(families: Sequence[KernelFamily]) -> bool:
    """Whether rows may have gaps (NaN)."""
    return all(family.accepts_gaps for family in families)


def validate_centers(
    estimator: Parameters, centers: object, families: Sequence[KernelFamily], *, as_table: bool
) -> Rows:
    """Return the user's centres in the same form as the rows: a table, or a list of objects."""
    scalar = isinstance(centers, Real | str | bytes | dict) or not hasattr(centers, "__len__")
    if scalar or getattr(centers, "shape", None) == ():
        raise ValueError(
            "centers must be None, a number of training rows to draw, or points like the rows of "
            f"X; got {centers!r}."
        )
    if not as_table:
        if any(family.takes_strings for family in families):
            return as_strings(centers, families, name="centers")
        return _checked_objects(unwrap_column(centers), families, "centers")
    accept_sparse = "csr" if all(family.accepts_sparse for family in families) else False
    names, known = getattr(centers, "columns", None), getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(f"centers has the columns {list(names)}, but X has {list(known)}.")
    try:
        points = check_array(
            centers,
            accept_sparse=accept_sparse,
            dtype=np.float64,
            ensure_all_finite="allow-nan" if accept_gaps(families) else True,
            input_name="centers",
        )
    except (TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(":.")
        raise ValueError(f"centers must be a table of numbers, like X: {reason}.") from None
    if points.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"centers has {points.shape[1]} features, but X has {estimator.n_features_in_}; "
            "centres need the features of X."
        )
    return with_small_indices(points, "centers")


def with_small_indices(X: Table, name: str) -> Table:
    """Return a sparse matrix with 32-bit indices; return anything else unchanged."""
    if not is_sparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        raise ValueError(
            f"{name} has {X.nnz} stored values in {X.shape[1]} columns, too many for 32-bit "
            "indices; use fewer rows or fewer columns."
        )
    indices, starts = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, indices, starts), shape=X.shape)


def is_table(X: object) -> bool:
    """Whether X is a two-dimensional table of numbers (array, sparse matrix or data frame)."""
    if is_sparse(X):
        return True
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return True
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"


def check_can_be_table(X: object, families: Sequence[KernelFamily]) -> None:
    """Raise a clear error for lists of strings if the kernels need tables."""
    first = X[0] if isinstance(X, list | tuple) and len(X) else None
    if isinstance(first, str | bytes):
        name = next(type(family).__name__ for family in families if not family.accepts_objects)
        raise ValueError(
            f"X is a list of strings, but {name} needs a table of numbers; "
            "for strings, use EditDistance(), Spectrum() or Similarity(function)."
        )


def as_strings(X: Any, families: Sequence[KernelFamily], *, name: str = "X") -> list[str]:
    """Return rows as a list of strings; raise for a row that is not a string."""
    taker = next(type(family).__name__ for family in families if family.takes_strings)
    for family in families:
        if not family.accepts_objects:
            raise ValueError(
                f"{taker} needs strings, but {type(family).__name__} needs a table of numbers; "
                "they cannot be used together."
            )
    X = unwrap_column(X)
    if is_table(X) or len(getattr(X, "shape", (0,))) != 1:
        raise ValueError(
            f"{name} is a table of shape {tuple(X.shape)}, but {taker} needs one string per row; "
            "pass a list of strings, or one column."
        )
    rows = as_objects(X, name=name)
    for number, row in enumerate(rows):
        if not isinstance(row, str):
            raise ValueError(_not_a_string(row, number, taker, name))
    return [str(row) for row in rows]  # NumPy has its own string class


def _not_a_string(row: object, number: int, taker: str, name: str) -> str:
    if isinstance(row, bytes | bytearray):
        return (
            f"{name} has bytes at row {number} (counted from 0), but {taker} needs strings; decode "
            f"them, as in [row.decode() for row in {name}]."
        )
    if row is None or type(row).__name__ == "NAType" or (isinstance(row, Real) and row != row):
        return (
            f"{name} has a missing value ({row!r}) at row {number} (counted from 0); drop the row, "
            "or replace the value, for example with an empty string."
        )
    return (
        f"{name} has {row!r} of type {type(row).__name__} at row {number} (counted from 0), but "
        f"{taker} accepts only strings."
    )


def unwrap_column(X: Any) -> Any:
    """Return the only column of a table of objects; return anything else unchanged."""
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
    """Whether a pandas or polars column holds numbers."""
    is_numeric = getattr(column.dtype, "is_numeric", None)
    if callable(is_numeric):
        return bool(is_numeric())
    return bool(is_numeric) or getattr(column.dtype, "kind", "O") in "biuf"


def as_objects(X: Any, *, name: str = "X") -> Rows:
    """Return rows as a list of objects; leave arrays of numbers unchanged."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim > 1:
        return X
    if isinstance(X, str | bytes):
        raise ValueError(f"{name} is a single string; pass a list of strings.")
    if hasattr(X, "tolist") and getattr(X, "ndim", 1) == 1:
        X = X.tolist()
    elif hasattr(X, "to_list"):
        X = X.to_list()
    X = list(X)
    if not X:
        raise ValueError(f"Found {name} with 0 sample(s) while a minimum of 1 is required.")
    return X


def _checked_objects(X: object, families: Sequence[KernelFamily], name: str) -> Rows:
    """Return objects that every family has checked."""
    rows = as_objects(X, name=name)
    for family in families:
        rows = family.check_objects(rows, name)
    return rows


def validate_labels(X: object, y: Any) -> tuple[Labels, IntArray]:
    """Return the classes, and the index of each row's class among them."""
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
            f"contains only one class: {classes.tolist()[0]!r}"
        )
    return classes, codes


def validate_numbers(X: object, y: Any) -> tuple[FloatArray, IntArray]:
    """Return the distinct regression targets, and the index of each row's target among them."""
    if y is None:
        raise ValueError(
            "This VotedKernelRegressor estimator requires y to be passed, but the target y is None."
        )
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    if y.dtype.kind in "mM":
        raise ValueError("y contains dates or durations; convert them to numbers of some unit.")
    try:
        numbers = np.asarray(y, dtype=np.float64) if y.dtype.kind in "OUST" else y
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y contains something that is not a number ({error}); use VotedKernelClassifier for "
            "classes, or convert y to numbers."
        ) from None
    try:
        with np.errstate(invalid="ignore"):  # as for the rows
            numbers = check_array(numbers, ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as error:
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad) == 0:
            raise
        others = f" and {len(bad) - 1} other rows" if len(bad) > 1 else ""
        raise ValueError(f"{error} See row {bad[0]}{others}; leave them out.") from None
    values, codes = np.unique(numbers, return_inverse=True)
    return values, codes


def validate_weights(
    sample_weight: object, X: Sized | HasShape, codes: IntArray, *, least: int = 2
) -> FloatArray:
    """Return the weights; raise if any is negative, or fewer than ``least`` classes have weight."""
    n = count_rows(X)
    if sample_weight is None:
        return np.ones(n)
    weights = _check_sample_weight(sample_weight, np.empty((n, 1)), ensure_non_negative=True)
    weights = np.asarray(weights, dtype=np.float64)
    if least == 1 and not (weights > 0).any():
        raise ValueError("all entries of sample_weight are 0; at least one row needs a weight.")
    if len(np.unique(codes[weights > 0])) < least:
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
            f"sample_weight sums to {total:.3g}, below 1: weights count repetitions of rows, so "
            "the whole sample counts as less than one row. If the weights were normalised, scale "
            "them up.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    return weights


def check_penalties(values: object, name: str, default: Sequence[float]) -> FloatArray:
    """Return a grid of penalties as an array; raise if it is not a valid grid."""
    grid = np.asarray(default if values is None else values, dtype=np.float64)
    if grid.ndim != 1 or len(grid) == 0:
        raise ValueError(f"{name} must be a non-empty list of numbers, got {values!r}.")
    if not (np.isfinite(grid).all() and (grid >= 0).all()):
        raise ValueError(f"{name} must hold finite numbers >= 0, got {values!r}.")
    if len(np.unique(grid)) < len(grid):
        raise ValueError(f"{name} has repeated entries: {values!r}.")
    return grid
