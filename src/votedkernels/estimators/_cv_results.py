"""The results of a search: a table of candidates, and the choice among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._fold_scores import FoldResult

#: Scores that differ by less than this count as equal. Neither rounding nor one row in a million
#: should move the choice to smaller penalties.
SAME_SCORE = 1e-6


def tabulate_candidates(
    points: list[dict[str, Any]], folds: list[FoldResult], n_splits: int
) -> dict[str, Any]:
    """Return the table of scores in the form that `GridSearchCV` uses.

    ``points`` holds the parameters of the candidates, ordered by alternative and, within
    each, by pair of penalties. ``folds`` is also grouped by alternative.
    """

    def collect(name: str) -> Any:
        """Return an attribute of all folds, of shape (n_points, n_splits)."""
        values = np.stack([getattr(fold, name) for fold in folds])
        by_alternative = values.reshape(len(folds) // n_splits, n_splits, -1)
        return by_alternative.transpose(0, 2, 1).reshape(len(points), n_splits)

    scores, n_support, seconds = collect("scores"), collect("n_support"), collect("seconds")
    results: dict[str, Any] = {"params": points}
    for name in points[0]:
        results[f"param_{name}"] = np.array([point[name] for point in points])
    for split in range(n_splits):
        results[f"split{split}_test_score"] = scores[:, split]
    results["mean_test_score"] = scores.mean(axis=1)
    results["std_test_score"] = scores.std(axis=1)
    known = np.nan_to_num(results["mean_test_score"], nan=-np.inf)
    rounded = np.round(known / SAME_SCORE)
    results["rank_test_score"] = 1 + (rounded[None, :] > rounded[:, None]).sum(axis=1)
    results["n_solved_splits"] = collect("solved").sum(axis=1)
    results["mean_n_support"] = n_support.mean(axis=1)
    results["mean_fit_time"] = seconds.mean(axis=1)
    results["max_relative_gap"] = collect("relative_gaps").max(axis=1)
    return results


def best_candidate(results: dict[str, Any], n_splits: int, prefer: str) -> int:
    """Return the index of the best candidate by mean score, or of the sparsest close to it."""
    mean = results["mean_test_score"]
    best = np.nanmax(mean)
    allowed, order = best - SAME_SCORE, [np.zeros(len(mean))]
    if prefer == "sparse":
        top = int(np.nanargmax(mean))
        spread = results["std_test_score"][top] / np.sqrt(max(1, n_splits - 1))
        allowed, order = best - spread - SAME_SCORE, [results["mean_n_support"]]
    candidates = np.flatnonzero(mean >= allowed)
    keys = (-results["param_l1_penalty"], -results["param_complexity_penalty"], *order)
    return int(candidates[np.lexsort([key[candidates] for key in keys])[0]])
