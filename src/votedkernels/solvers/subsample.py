"""A first guess from a part of the rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..exceptions import SolverInterrupted
from ..kernels.base import FloatArray
from ..problem import Problem, Solution, Terms

#: A problem is first solved, roughly, on a quarter of its rows, and that one likewise.
SUBSAMPLE_RATIO = 4


def solve_subsample(
    problem: Problem, solve: Callable[..., Solution], *, smallest: int, deadline: float | None
) -> Terms | None:
    """Return the vote of a quarter of the rows; None where these are fewer than ``smallest``.

    At most half of the time until the deadline is spent on it.
    """
    n_rows = min(problem.n_rows // SUBSAMPLE_RATIO, problem.gram.most_rows)
    if n_rows < smallest:
        return None
    random = np.random.default_rng(0)
    rows = np.sort(random.permutation(problem.n_rows)[:n_rows])
    n_centers = min(problem.gram.n_centers, n_rows)
    centers = np.sort(random.permutation(problem.gram.n_centers)[:n_centers])
    if len(np.unique(problem.y[rows])) < 2:
        return None
    end = half_way(deadline)
    part = problem.restricted(rows, centers)
    part = replace(part, gram=part.gram.until(end))
    try:
        terms = solve(part, deadline=end).terms
    except SolverInterrupted as stop:
        terms = stop.solution.terms
        terms = replace(terms, centers=centers[terms.centers])
        raise SolverInterrupted(replace(stop.solution, terms=terms)) from None
    problem.gram.n_values += part.gram.n_values
    return replace(terms, centers=centers[terms.centers])


def decision_in_any_case(problem: Problem, terms: Terms) -> FloatArray:
    """Return f at every row, also where time is up: a few columns are cheap, and a vote is much.

    Kernels that are costly are evaluated in time only.
    """
    if not any(family.is_costly for family in problem.gram.families):
        problem = replace(problem, gram=problem.gram.until(None))
    return problem.decision(terms)


def half_way(deadline: float | None) -> float | None:
    """Return the moment half-way between now and a deadline."""
    return None if deadline is None else (time.perf_counter() + deadline) / 2
