"""Tables over the two penalties, from what a search found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.base import FloatArray

#: What the penalties are called on axes.
COMPLEXITY_LABEL = r"complexity_penalty, $\lambda$"
L1_LABEL = r"l1_penalty, $\beta$"
#: Parameters of a search that are no penalties: named alternatives.
ALTERNATIVES = ("kernels", "complexity")


@dataclass(frozen=True)
class PenaltyTable:
    """One number for each pair of penalties, both ascending.

    ``chosen`` and ``best`` are places (row, column), None where they are not in this table.
    """

    complexity_penalties: FloatArray
    l1_penalties: FloatArray
    values: FloatArray
    chosen: tuple[int, int] | None
    best: tuple[int, int] | None


def tabulate_search(search: Any, quantity: str, alternative: Mapping[str, Any]) -> PenaltyTable:
    """Return one column of ``cv_results_`` as a table.

    ``alternative`` names kernels and complexity where the search had several; what it leaves out
    is as in the model that was chosen.
    """
    results = search.cv_results_
    check_quantity(results, quantity)
    rows = rows_of_alternative(search, alternative)
    lambdas, i = np.unique(results["param_complexity_penalty"][rows], return_inverse=True)
    betas, j = np.unique(results["param_l1_penalty"][rows], return_inverse=True)
    values = np.full((len(lambdas), len(betas)), np.nan)
    values[i, j] = results[quantity][rows]
    places = {int(row): (int(a), int(b)) for row, a, b in zip(rows, i, j, strict=True)}
    best = int(np.nanargmax(results["mean_test_score"]))
    # Of equal scores the choice is as good as any other.
    if results["rank_test_score"][search.best_index_] == 1:
        best = search.best_index_
    return PenaltyTable(lambdas, betas, values, places.get(search.best_index_), places.get(best))


def check_quantity(results: Mapping[str, Any], quantity: str) -> None:
    """Raise for a column that there is not, or that holds no numbers."""
    columns = [name for name in results if name != "params" and not name.startswith("param_")]
    if quantity not in columns:
        raise ValueError(
            f"quantity must be one of {', '.join(map(repr, columns))}, got {quantity!r}."
        )


def rows_of_alternative(search: Any, alternative: Mapping[str, Any]) -> Any:
    """Return the candidates of one alternative, as places in ``cv_results_``."""
    points = search.cv_results_["params"]
    rows = np.arange(len(points))
    for name in ALTERNATIVES:
        given = alternative.get(name)
        if name not in points[0]:
            if given is not None:
                raise ValueError(
                    f"{name}={given!r} names an alternative, and the search had one only; leave "
                    f"{name} out."
                )
            continue
        wanted = search.best_params_[name] if given is None else given
        known = list(dict.fromkeys(point[name] for point in points))
        if wanted not in known:
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, known))}, got {wanted!r}."
            )
        rows = rows[[points[row][name] == wanted for row in rows]]
    return rows
