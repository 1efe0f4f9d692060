"""Solves a whole grid of penalties with warm starts.

From one pair (lambda, beta) to the next, only the bounds of the master LP change. The pool of
columns, their values and the last basis stay. Each point of the grid is solved to its own certified
gap, like a single fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..problem import Problem, Solution, union_of_terms
from . import Master, solve_by_column_generation

#: The penalties of the paper's experiments.
DEFAULT_PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
#: Penalties that suit many data sets: with a time limit, a grid is solved from here outwards.
USUAL_PAIR = (1e-2, 3e-3)
#: The length of a decade down, if that of a decade up is 1.
DOWN = 1.5
#: Stands for a penalty of 0 when decades are counted.
SMALLEST = 1e-20


@dataclass(frozen=True)
class Grid:
    """Solutions of one problem at every pair of penalties, over the union of their terms.

    Attributes
    ----------
    kernels, centers : arrays of shape (n_terms,)
        The columns that have a weight at any point of the grid.
    weights : array of shape (n_complexity_penalties, n_l1_penalties, n_terms)
    intercepts, objectives, dual_bounds : arrays of shape (n_complexity_penalties, n_l1_penalties)
    n_iter : array of the same shape
    stop_reasons : array of str, of the same shape
    """

    kernels: IntArray
    centers: IntArray
    weights: FloatArray
    intercepts: FloatArray
    objectives: FloatArray
    dual_bounds: FloatArray
    n_iter: IntArray
    stop_reasons: np.ndarray


def solve_grid(
    problem: Problem,
    complexities: FloatArray,
    complexity_penalties: FloatArray,
    l1_penalties: FloatArray,
    *,
    tol: float,
    max_iter: int | None = None,
    pass_over_imprecise: bool = False,
    order: Iterable[tuple[int, int]] | None = None,
    on_point: Callable[[], None] | None = None,
) -> Grid:
    """Solve a problem for every pair of penalties.

    The penalties of ``problem`` itself are not used. By default, ``order`` is that of `walk`. Pairs
    that the deadline leaves unsolved get the empty vote. ``on_point`` is called after each pair.

    If double precision fails at a pair, it also fails at smaller penalties, and more slowly. With
    ``pass_over_imprecise``, these are skipped and get the vote of that pair, without a bound.
    """
    shape = (len(complexity_penalties), len(l1_penalties))
    solutions: dict[tuple[int, int], Solution] = {}
    master = Master(problem)
    for i, j in walk(complexity_penalties, l1_penalties) if order is None else order:
        if problem.budget.is_late:
            break
        penalties = complexity_penalties[i] * complexities + l1_penalties[j]
        at_point = replace(problem, penalties=penalties)
        votes = [
            solution
            for (a, b), solution in solutions.items()
            if pass_over_imprecise
            and solution.stop_reason == "precision"
            and complexity_penalties[a] >= complexity_penalties[i]
            and l1_penalties[b] >= l1_penalties[j]
        ]
        if votes:
            solutions[i, j] = _best_vote(at_point, votes)
        else:
            last = solutions[next(reversed(solutions))].terms if solutions else None
            solutions[i, j] = solve_by_column_generation(
                at_point,
                tol=tol,
                max_iter=max_iter,
                start=last if problem.l2_penalty else None,
                master=master,
            )
        if on_point is not None:
            on_point()
    return _as_grid(problem, shape, solutions)


def _best_vote(problem: Problem, votes: list[Solution]) -> Solution:
    """Return the best of the votes from other pairs, without a bound."""
    objectives = [problem.objective(s.terms, problem.decision(s.terms)) for s in votes]
    best = int(np.argmin(objectives))
    nothing = np.zeros(len(problem.y))
    terms, objective = votes[best].terms, objectives[best]
    return Solution(problem.columns, terms, nothing, objective, 0.0, 0, "precision")


def walk(complexity_penalties: FloatArray, l1_penalties: FloatArray) -> Iterator[tuple[int, int]]:
    """Yield the pairs from large penalties to small, changing direction after each row."""
    rows = np.argsort(-np.asarray(complexity_penalties), kind="stable")
    columns = np.argsort(-np.asarray(l1_penalties), kind="stable")
    for n_row, i in enumerate(rows):
        for j in columns if n_row % 2 == 0 else columns[::-1]:
            yield int(i), int(j)


def walk_outwards(
    complexity_penalties: FloatArray, l1_penalties: FloatArray
) -> list[tuple[int, int]]:
    """Return the pairs by their distance in decades from the usual pair, larger penalties first.

    If time runs out, the pairs solved so far still cover a sensible range. Smaller penalties take
    longer to solve, so a decade down counts as farther than a decade up.
    """
    decades = np.log10(np.maximum(complexity_penalties, SMALLEST))[:, None]
    l1_decades = np.log10(np.maximum(l1_penalties, SMALLEST))[None, :]
    up, l1_up = decades - np.log10(USUAL_PAIR[0]), l1_decades - np.log10(USUAL_PAIR[1])
    distance = np.maximum(np.maximum(up, -DOWN * up), np.maximum(l1_up, -DOWN * l1_up))
    order = np.lexsort((-(decades + l1_decades).ravel(), np.round(distance, 9).ravel()))
    return [(int(i), int(j)) for i, j in zip(*np.divmod(order, len(l1_penalties)), strict=True)]


def _as_grid(
    problem: Problem,
    shape: tuple[int, int],
    solutions: dict[tuple[int, int], Solution],
) -> Grid:
    """Gather the solutions; pairs that were not solved in time get the empty vote."""
    votes = [solution.terms for solution in solutions.values()]
    kernels, centers, of_solutions = union_of_terms(votes, problem.columns.n_centers)
    empty = problem.empty_vote()
    nothing = problem.objective(empty, np.full(problem.n_rows, empty.intercept))
    weights = np.zeros((*shape, len(kernels)))
    intercepts = np.full(shape, empty.intercept)
    objectives, dual_bounds = np.full(shape, nothing), np.zeros(shape)
    n_iter = np.zeros(shape, np.intp)
    stop_reasons = np.full(shape, "time-limit", dtype="<U12")
    for (at, solution), row in zip(solutions.items(), of_solutions, strict=True):
        weights[at] = row
        intercepts[at] = solution.terms.intercept
        objectives[at], dual_bounds[at] = solution.objective, solution.dual_bound
        n_iter[at], stop_reasons[at] = solution.n_iter, solution.stop_reason
    return Grid(
        kernels, centers, weights, intercepts, objectives, dual_bounds, n_iter, stop_reasons
    )
