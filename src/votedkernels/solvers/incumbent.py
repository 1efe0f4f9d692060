"""The best solution so far, which a solver returns whatever stops it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels.base import FloatArray
from ..problem import Problem, Solution, Terms
from ..problem.losses import best_factor
from ..problem.rounding import verify

ALMOST_SEPARATED = 1e-6


@dataclass(frozen=True)
class Round:
    """What a solver reports after each round: its number, and the best solution so far."""

    n_iter: int
    solution: Solution


class Incumbent:
    """The best vote and the best dual vector seen so far, each with its value."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.terms = problem.empty_vote()
        self.objective = problem.objective(
            self.terms, np.full(problem.n_rows, self.terms.intercept)
        )
        self.dual = np.zeros(len(problem.y))
        self.dual_terms: Terms | None = None
        self.dual_bound = 0.0

    def offer_vote(self, terms: Terms, decision: FloatArray) -> None:
        """Keep a vote if it is the best so far."""
        self._keep(terms, self.problem.objective(terms, decision))
        if self.problem.goals is not None:
            return
        smallest = float((self.problem.y * decision).min())
        if 1 - ALMOST_SEPARATED < smallest < 1:
            # Without rounding, all hinges would be 0: stretch the vote, in case penalties are tiny.
            factor = (1 + 4 * np.finfo(float).eps) / smallest
            stretched = replace(
                terms, weights=terms.weights * factor, intercept=terms.intercept * factor
            )
            self._keep(stretched, self.problem.objective(stretched, decision * factor))

    def offer_scaled(self, terms: Terms, decision: FloatArray) -> None:
        """Keep the best multiple of a vote if that is the best so far.

        A vote learnt on some of the rows may be worse on the others than no vote at all. A fraction
        of it may still be better than none.
        """
        price = float(self.problem.penalties[terms.kernels] @ np.abs(terms.weights))
        problem = self.problem
        goals = np.ones(len(problem.y)) if problem.goals is None else problem.goals
        margins = problem.y * problem.at_hinges(decision)
        factor = best_factor(margins, goals, problem.w, price)
        scaled = replace(terms, weights=terms.weights * factor, intercept=terms.intercept * factor)
        self.offer_vote(scaled, decision * factor)

    def _keep(self, terms: Terms, objective: float) -> None:
        if objective < self.objective:
            self.terms, self.objective = terms.nonzero(), objective

    def offer_dual(self, u: FloatArray, bound: float, terms: Terms | None = None) -> None:
        """Keep a dual vector (in its box) and its bound if that is the best so far."""
        if bound > self.dual_bound:
            self.dual, self.dual_bound, self.dual_terms = u, bound, terms

    def is_optimal(self, tol: float) -> bool:
        """Whether the gap is within the tolerance."""
        return self.objective - self.dual_bound <= tol * self.objective

    def round(self, n_iter: int) -> Round:
        """Return a report of the best so far."""
        return Round(n_iter, self.solution(n_iter, "interrupted"))

    def verified(self, n_iter: int, stop_reason: str, tol: float) -> Solution:
        """Return the best so far, checked for rounding errors, and never worse than no vote."""
        solution = verify(self.problem, self.solution(n_iter, stop_reason), tol)
        nothing = Incumbent(self.problem)
        if solution.objective > nothing.objective:
            return replace(
                solution, terms=nothing.terms, objective=nothing.objective, stop_reason="precision"
            )
        return solution

    def solution(self, n_iter: int, stop_reason: str) -> Solution:
        """Return the best so far as a solution."""
        return Solution(
            self.problem.columns,
            self.terms,
            self.dual,
            self.objective,
            self.dual_bound,
            n_iter,
            stop_reason,
            self.dual_terms,
        )
