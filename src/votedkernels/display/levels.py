"""Tables over the levels of a path, from the results of a search without a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.base import FloatArray, IntArray
from .grids import check_quantity, rows_of_alternative
from .kernel_names import by_numbers

#: Scorers whose score is the share of correct decisions.
ACCURACIES = (None, "accuracy")


@dataclass(frozen=True)
class LevelTable:
    """One number per kernel and level, NaN where a kernel was not tried.

    ``n_support`` has the mean number of support vectors of each level. ``chosen`` and ``best`` are
    cells (kernel, level), or None if they are not in this table.
    """

    kernel_names: list[str]
    n_support: FloatArray
    values: FloatArray
    chosen: tuple[int, int] | None
    best: tuple[int, int] | None


@dataclass(frozen=True)
class LevelCurve:
    """One number per level, with its standard error; ``chosen`` is a level, or None."""

    n_support: FloatArray
    values: FloatArray
    standard_errors: FloatArray
    chosen: int | None
    label: str
    title: str


def went_down_a_path(search: Any) -> bool:
    """Whether a search followed a path of levels rather than a grid; raise if it did neither."""
    if not search.cv_results_:
        raise ValueError(
            "this search completed no level, because time ran out or no kernel got a weight, so "
            "there is nothing to draw; use a larger time_limit."
        )
    return "param_level" in search.cv_results_


def tabulate_levels(search: Any, quantity: str, alternative: Mapping[str, Any]) -> LevelTable:
    """Return one column of ``cv_results_`` by kernel and level.

    If there are several relaxations, the best one according to the search counts. ``alternative``
    is as for `tabulate_search`.
    """
    results = search.cv_results_
    check_quantity(results, quantity)
    rows = rows_of_alternative(search, alternative)
    levels, names = results["param_level"], results["param_kernel"]
    rows = best_of_each(results, rows, [(levels[row], names[row]) for row in rows])
    kernel_names = sorted(set(names[rows].tolist()), key=by_numbers)
    i = np.array([kernel_names.index(name) for name in names[rows]])
    j = levels[rows]
    shape = (len(kernel_names), int(j.max()) + 1)
    values, scores, n_support = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape[1])
    values[i, j], scores[i, j] = results[quantity][rows], results["mean_test_score"][rows]
    n_support[j] = results["mean_n_support"][rows]
    places = {int(row): (int(a), int(b)) for row, a, b in zip(rows, i, j, strict=True)}
    chosen, best = places.get(search.best_index_), best_cell(scores)
    # If the chosen cell ties for the best score, it counts as the best.
    if chosen is not None and best is not None and scores[chosen] >= scores[best]:
        best = chosen
    return LevelTable(kernel_names, n_support, values, chosen, best)


def best_cell(scores: FloatArray) -> tuple[int, int] | None:
    """Return the first cell with the largest score; None if there are no scores."""
    if np.isnan(scores).all():
        return None
    column, row = np.unravel_index(np.nanargmax(scores.T), scores.T.shape)
    return int(row), int(column)


def curve_of_levels(search: Any, alternative: Mapping[str, Any]) -> LevelCurve:
    """Return the error of each level's best setting, or its score if that is not an accuracy."""
    results = search.cv_results_
    rows = rows_of_alternative(search, alternative)
    rows = best_of_each(results, rows, results["param_level"][rows].tolist())
    rows = rows[np.argsort(results["param_level"][rows])]
    scores = results["mean_test_score"][rows]
    is_accuracy = isinstance(search.scoring, str | None) and search.scoring in ACCURACIES
    # std_test_score divides by n_splits, so this is the usual estimate from n_splits scores.
    spread = results["std_test_score"][rows] / np.sqrt(max(1, search.n_splits_ - 1))
    places = np.flatnonzero(rows == search.best_index_)
    name = "error" if is_accuracy else "score"
    return LevelCurve(
        results["mean_n_support"][rows],
        1.0 - scores if is_accuracy else scores,
        spread,
        int(places[0]) if len(places) else None,
        f"{name}, mean over folds",
        f"Cross-validated {name} along the path",
    )


def best_of_each(results: Mapping[str, Any], rows: IntArray, groups: list[Any]) -> IntArray:
    """Return the row of each group that the criterion of the search prefers."""
    best: dict[Any, int] = {}
    for row, group in zip(rows.tolist(), groups, strict=True):
        loss = results["mean_test_loss"]
        if group not in best or loss[row] < loss[best[group]]:
            best[group] = row
    return np.array(list(best.values()))
