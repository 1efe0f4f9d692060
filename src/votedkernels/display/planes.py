"""Models with two features: their rows and voting points, in the units of the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from ..estimators._fitted_attributes import vote_of
from ..kernels import are_precomputed
from ..kernels.base import FloatArray, IntArray
from .models import transform


def require_plane(first: Any, model: Any, caller: str) -> None:
    """Raise unless the first step of an estimator expects rows that are points in the plane."""
    if are_precomputed(model.kernels_) or not hasattr(first, "n_features_in_"):
        raise ValueError(
            f"{caller} draws models with two features, but the rows of this one are objects, or "
            "values of a precomputed kernel. KernelMassDisplay draws any model."
        )
    n_features = first.n_features_in_
    if n_features != 2:
        raise ValueError(
            f"{caller} draws models with two features, but this one has {n_features}; fit one on "
            "two columns, X[:, [0, 1]], or on PCA(n_components=2).fit_transform(X)."
        )


def check_rows(X: Any, y: Any, classes: list[Any]) -> tuple[FloatArray | None, IntArray | None]:
    """Return the rows and the indices of their classes; each is None if it was not passed."""
    if X is None:
        if y is not None:
            raise ValueError("y was passed without X; pass both, or neither.")
        return None, None
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"X must have two columns, as in fit, got shape {rows.shape}.")
    return rows, None if y is None else codes_of(y, classes, len(rows))


def codes_of(y: Any, classes: list[Any], n_rows: int) -> IntArray:
    """Return the class index of each label."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has shape {labels.shape}, but X has {n_rows} rows.")
    numbers = {label: code for code, label in enumerate(classes)}
    unknown = set(labels.tolist()) - set(numbers)
    if unknown:
        raise ValueError(
            f"y has labels {sorted(map(str, unknown))} that the model does not know; its classes "
            f"are {classes}."
        )
    return np.array([numbers[label] for label in labels.tolist()], dtype=np.intp)


def in_units_of_input(
    steps: list[Pipeline],
    voters: FloatArray,
    support: IntArray,
    rows: FloatArray | None,
    names: Any,
) -> FloatArray:
    """Return the voting points of the last step of a pipeline as rows of its input.

    If rows are passed, they are preferred, because ``inverse_transform`` need not be exact. Without
    earlier steps, the points are rows already.
    """
    if not steps:
        return voters
    if len(voters) == 0:
        return np.empty((0, 2))
    if rows is not None and support.max() < len(rows):
        chosen = rows[support]
        if same_points(transform(steps, named_columns(chosen, names)), voters):
            return chosen
    points: Any = voters
    if all(hasattr(step, "inverse_transform") for step in steps):
        for step in reversed(steps):
            points = dense(step.inverse_transform(points))
        if same_points(transform(steps, named_columns(points, names)), voters):
            return np.asarray(points)
    raise ValueError(
        "the voting points of this pipeline are known only after its earlier steps, which cannot "
        "be inverted; pass the rows of fit as X."
    )


def decide(model: Any, steps: list[Pipeline], points: FloatArray, names: Any) -> FloatArray:
    """Return the vote of a pipeline at points of its input."""
    if not steps:
        return vote_of(model).decide(points)
    return np.asarray(model.decision_function(transform(steps, named_columns(points, names))))


def same_points(rows: Any, points: FloatArray) -> bool:
    """Whether transformed rows are these points, up to rounding."""
    rows = dense(rows)
    return rows.shape == points.shape and np.allclose(rows, points, rtol=1e-6, atol=1e-9)


def dense(points: Any) -> FloatArray:
    """Return points as an array, whether they are a sparse matrix, a frame or an array."""
    return np.asarray(points.toarray() if issparse(points) else points, dtype=np.float64)


def named_columns(points: FloatArray, names: Any) -> Any:
    """Return points as a data frame if the columns had names in fit: steps may refer to these."""
    if names is None:
        return points
    try:
        import pandas as pd
    except ImportError:  # the names came from another library
        return points
    return pd.DataFrame(points, columns=names)


def ticks(column: FloatArray, margin: float, n: int) -> FloatArray:
    """Return n coordinates from a little below the smallest value to a little above the largest."""
    if not n > 1:
        raise ValueError(f"grid_resolution must be 2 or more, got {n!r}.")
    low, high = (column.min(), column.max()) if len(column) else (0.0, 0.0)
    room = margin * (high - low) if high > low else 1.0
    return np.linspace(low - room, high + room, n)


def sums_by_point(weights: FloatArray, places: IntArray, n_points: int) -> FloatArray:
    """Return the sum of the weights of each point, for each problem."""
    at_points = places >= 0  # rules have no point
    places = places[at_points]
    return np.array([np.bincount(places, row[at_points], n_points) for row in weights])
