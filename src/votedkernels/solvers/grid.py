"""Solves a whole grid of penalties with warm starts.

From one pair (lambda, beta) to the next, only the bounds of the master LP change. The pool of
columns, their values and the last basis stay. So each pair starts from one with similar penalties
(`grid_order`). Each point of the grid is solved to its own certified gap, like a single fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..problem import Problem, Solution, union_of_terms
from .column_generation import AnyMaster, new_master, solve_by_column_generation
from .grid_order import Frontier, Pair
from .master import Master

#: The masters of solved pairs may take this many bytes together. If there is not much more memory
#: than that, only the last one is kept.
MOST_BYTES, PLENTY = 2**28, 2**32
#: A loss of at most this share of the objective is rounding.
NO_LOSS = 1e-6
TINY = float(np.finfo(np.float64).tiny)


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

    The penalties of ``problem`` itself are not used. By default, `Frontier` chooses the order; with
    an ``order``, each pair starts from the one before it. Pairs that the deadline leaves unsolved
    get the empty vote. ``on_point`` is called after each pair.

    If double precision fails at a pair, it also fails at smaller penalties, and more slowly. With
    ``pass_over_imprecise``, these are skipped and get the vote of that pair, without a bound.
    """
    shape = (len(complexity_penalties), len(l1_penalties))
    pairs = [(i, j) for i in range(shape[0]) for j in range(shape[1])]
    prices = np.array([complexity_penalties[i] * complexities + l1_penalties[j] for i, j in pairs])
    waiting = None if order is None else [pairs.index(pair) for pair in order]
    solutions: dict[Pair, Solution] = {}
    start: int | None
    masters = Masters(problem, prices)
    for step in range(len(pairs) if waiting is None else len(waiting)):
        if problem.budget.is_late:
            break
        if waiting is None:
            number, start = masters.frontier.choose()
        else:
            number, start = waiting[step], waiting[step - 1] if step else None
        i, j = pair = pairs[number]
        at_point = replace(problem, penalties=prices[number])
        votes = [
            solution
            for (a, b), solution in solutions.items()
            if pass_over_imprecise
            and solution.stop_reason == "precision"
            and complexity_penalties[a] >= complexity_penalties[i]
            and l1_penalties[b] >= l1_penalties[j]
        ]
        if votes:
            solutions[pair] = _best_vote(at_point, votes)
        else:
            master = masters.take(start, branching=waiting is None)
            last = None if start is None else solutions[pairs[start]].terms
            solutions[pair] = solve_by_column_generation(
                at_point,
                tol=tol,
                max_iter=max_iter,
                start=last if isinstance(master, Master) and problem.l2_penalty else None,
                master=master,
            )
            masters.keep(number, master, solutions[pair])
        if on_point is not None:
            on_point()
    return _as_grid(problem, shape, solutions)


class Masters:
    """The masters of solved pairs, which others start from, as long as there is memory for them.

    Parameters
    ----------
    problem : Problem
    prices : array of shape (n_pairs, n_kernels)
        The penalty of each kernel at each pair.
    """

    def __init__(self, problem: Problem, prices: FloatArray) -> None:
        self.problem, self.prices = problem, prices
        self.frontier = Frontier(prices)
        self.kept: dict[int, AnyMaster] = {}
        self.last = new_master(problem)
        self.most_bytes = MOST_BYTES if problem.budget.memory >= PLENTY else 0

    def take(self, start: int | None, *, branching: bool) -> AnyMaster:
        """Return a copy of the master of a solved pair, or the last one itself."""
        if branching and start is not None and self.most_bytes:
            return self.kept[start].copy()
        return self.last

    def keep(self, pair: int, master: AnyMaster, solution: Solution) -> None:
        """Keep the master of a solved pair; forget the oldest ones if there are too many."""
        self.last = self.kept[pair] = master
        prices, terms = self.prices[pair], solution.terms
        paid = prices[terms.kernels] * np.abs(terms.weights)
        shares = np.bincount(terms.kernels, paid, len(prices)) / max(paid.sum(), TINY)
        has_loss = solution.objective - paid.sum() > NO_LOSS * solution.objective
        self.frontier.add_start(pair, shares, has_loss=bool(has_loss))
        while len(self.kept) > 1 and self._n_bytes > self.most_bytes:
            oldest = next(iter(self.kept))
            del self.kept[oldest]
            self.frontier.remove_start(oldest)

    @property
    def _n_bytes(self) -> int:
        return sum(master.n_bytes for master in self.kept.values())


def _best_vote(problem: Problem, votes: list[Solution]) -> Solution:
    """Return the best of the votes from other pairs, without a bound."""
    objectives = [problem.objective(s.terms, problem.decision(s.terms)) for s in votes]
    best = int(np.argmin(objectives))
    nothing = np.zeros(len(problem.y))
    terms, objective = votes[best].terms, objectives[best]
    return Solution(problem.columns, terms, nothing, objective, 0.0, 0, "precision")


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
