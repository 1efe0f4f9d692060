"""How a search chose its penalties: errors and support vectors along the path or the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..display.grids import tabulate_search
from ..display.levels import curve_of_levels, went_down_a_path
from ..kernels.base import FloatArray

#: The chosen alternative, in the form that the tables of a search expect.
CHOSEN: dict[str, Any] = {"kernels": None, "complexity": None}


@dataclass(frozen=True)
class SearchCurve:
    """One value per step of a search.

    Attributes
    ----------
    steps : list of str
        The levels of a path, from large penalties to small, or the penalties of a grid.
    values, standard_errors, n_support : arrays of shape (n_steps,)
    chosen : int or None
    axis, label : str
        What the steps and the values are.
    """

    steps: list[str]
    values: FloatArray
    standard_errors: FloatArray
    n_support: FloatArray
    chosen: int | None
    axis: str
    label: str


def curve_of_search(classifier: Any) -> SearchCurve | None:
    """Return the curve of a search; None for other classifiers, and if no search took place."""
    if not getattr(classifier, "cv_results_", None):
        return None
    if went_down_a_path(classifier):
        found = curve_of_levels(classifier, CHOSEN)
        steps = [str(number) for number in range(1, len(found.values) + 1)]
        axis = "level of the path"
        return SearchCurve(
            steps, found.values, found.standard_errors, found.n_support, found.chosen, axis,
            found.label.partition(",")[0],
        )  # fmt: skip
    scores = tabulate_search(classifier, "mean_test_score", CHOSEN)
    spreads = tabulate_search(classifier, "std_test_score", CHOSEN).values
    n_support = tabulate_search(classifier, "mean_n_support", CHOSEN).values
    column = 0 if scores.chosen is None else scores.chosen[1]
    is_error = classifier.scoring in (None, "accuracy")
    values = scores.values[::-1, column]
    n_steps = len(values)
    return SearchCurve(
        [f"{penalty:g}" for penalty in scores.complexity_penalties[::-1]],
        1.0 - values if is_error else values,
        spreads[::-1, column] / np.sqrt(max(1, classifier.n_splits_ - 1)),
        n_support[::-1, column],
        None if scores.chosen is None else n_steps - 1 - scores.chosen[0],
        f"complexity penalty, at l1 penalty {scores.l1_penalties[column]:g}",
        "error" if is_error else "score",
    )
