"""A first guess from a part of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..problem import Problem, Terms
from ..solution import Solution

#: A problem is first solved, roughly, on every fourth row, and that one likewise.
SUBSAMPLE_RATIO = 4


def solve_subsample(
    problem: Problem, solve: Callable[[Problem], Solution], *, smallest: int
) -> Terms | None:
    """Return the vote of a quarter of the rows; None where these are fewer than ``smallest``."""
    n_rows = min(problem.n_rows // SUBSAMPLE_RATIO, problem.gram.most_rows)
    if n_rows < smallest:
        return None
    random = np.random.default_rng(0)
    rows = np.sort(random.permutation(problem.n_rows)[:n_rows])
    n_centers = min(problem.gram.n_centers, n_rows)
    centers = np.sort(random.permutation(problem.gram.n_centers)[:n_centers])
    if len(np.unique(problem.y[rows])) < 2:
        return None
    part = problem.restricted(rows, centers)
    terms = solve(part).terms
    problem.gram.n_values += part.gram.n_values
    return replace(terms, centers=centers[terms.centers])
