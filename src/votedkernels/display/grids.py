"""Tables over the two penalties, from the results of a search over a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.base import FloatArray

#: Axis labels of the penalties.
COMPLEXITY_LABEL = r"complexity_penalty, $\lambda$"
L1_LABEL = r"l1_penalty, $\beta$"
#: Parameters that a search can choose from named alternatives.
ALTERNATIVES = ("kernels", "complexity")


@dataclass(frozen=True)
class PenaltyTable:
    """One number per pair of penalties, both ascending.

    ``chosen`` and ``best`` are cells (row, column), or None if they are not in this table.
    """

    complexity_penalties: FloatArray
    l1_penalties: FloatArray
    values: FloatArray
    chosen: tuple[int, int] | None
    best: tuple[int, int] | None


def tabulate_search(search: Any, quantity: str, alternative: Mapping[str, Any]) -> PenaltyTable:
    """Return one column of ``cv_results_`` as a table.

    ``alternative`` names the kernels and the complexity, if the search had several. If either
    is left out, that of the chosen model is used.
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
    # If the chosen candidate ties for the best score, it counts as the best.
    if results["rank_test_score"][search.best_index_] == 1:
        best = search.best_index_
    return PenaltyTable(lambdas, betas, values, places.get(search.best_index_), places.get(best))


def check_quantity(results: Mapping[str, Any], quantity: str) -> None:
    """Raise if there is no such column, or if it does not contain numbers."""
    columns = [name for name in results if name != "params" and not name.startswith("param_")]
    if quantity not in columns:
        raise ValueError(
            f"quantity must be one of {', '.join(map(repr, columns))}, got {quantity!r}."
        )


def rows_of_alternative(search: Any, alternative: Mapping[str, Any]) -> Any:
    """Return the candidates of one alternative, as indices into ``cv_results_``."""
    points = search.cv_results_["params"]
    rows = np.arange(len(points))
    for name in ALTERNATIVES:
        given = alternative.get(name)
        if name not in points[0]:
            if given is not None:
                raise ValueError(
                    f"{name}={given!r} names an alternative, but the search had only one; leave "
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
