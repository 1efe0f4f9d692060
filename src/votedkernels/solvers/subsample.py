"""A first guess from some of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..exceptions import SolverInterrupted
from ..problem import Problem, Solution, Terms

#: A problem is first solved roughly on a quarter of its rows, and so on recursively.
SUBSAMPLE_RATIO = 4


def solve_subsample(
    problem: Problem, solve: Callable[..., Solution], *, smallest: int
) -> Terms | None:
    """Return a vote learnt on a quarter of the rows; None if these are fewer than ``smallest``.

    This takes at most half of the remaining time.
    """
    n_rows = min(problem.n_rows // SUBSAMPLE_RATIO, problem.columns.most_rows)
    if n_rows < smallest:
        return None
    random = np.random.default_rng(0)
    rows = np.sort(random.permutation(problem.n_rows)[:n_rows])
    n_centers = min(problem.columns.n_centers, n_rows)
    centers = np.sort(random.permutation(problem.columns.n_centers)[:n_centers])
    part = problem.restricted(rows, centers).within(problem.budget.share(2))
    if len(np.unique(part.y)) < 2:
        return None
    try:
        terms = solve(part).terms
    except SolverInterrupted as stop:
        terms = stop.solution.terms
        terms = replace(terms, centers=centers[terms.centers])
        raise SolverInterrupted(replace(stop.solution, terms=terms)) from None
    return replace(terms, centers=centers[terms.centers])
