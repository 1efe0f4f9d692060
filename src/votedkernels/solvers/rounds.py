"""What all solvers share: rounds, their limits, a first guess, and the best solution so far.

A round finds a lower bound, after which the solver calls `Rounds.bounded`, and a better vote, after
which it calls `Rounds.moved`. Both raise `Finished` if the solver should stop. However a solver
ends, `Rounds.run` returns a verified solution, so nothing is lost at a time limit or Ctrl-C.
`Incumbent` is that solution as it improves, and `solve_subsample` returns a vote that a solver may
start from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels import LocalColumns
from ..kernels.base import FloatArray, IntArray
from ..problem import Problem, Solution, Terms
from ..problem.losses import best_factor
from ..problem.solution import verify

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

        A vote learned on some of the rows may be worse on the others than no vote at all. A
        fraction of it may still be better than no vote.
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
        """Return a report on the best solution so far."""
        return Round(n_iter, self.solution(n_iter, "interrupted"))

    def verified(self, n_iter: int, stop_reason: str, tol: float) -> Solution:
        """Return the best solution so far, checked for rounding errors; no worse than no vote."""
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


class Finished(Exception):
    """Ends a solver's rounds and carries the reason; `Rounds.run` catches it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Rounds:
    """The rounds of one solver on one problem.

    Parameters
    ----------
    problem : Problem
        The deadline is that of its budget.
    tol : float
        A vote with a relative gap of at most ``tol`` counts as optimal.
    max_iter : int or None
        Maximum number of rounds.
    on_round : callable or None
        Called with a `Round` when its bound is known; returns True to stop the solver.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        tol: float,
        max_iter: int | None = None,
        on_round: Callable[[Round], bool] | None = None,
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.max_iter = max_iter
        self.on_round = on_round
        self.best = Incumbent(problem)
        self.n_iter = 0

    def run(self, body: Callable[[], str]) -> Solution:
        """Run ``body``, which returns a reason when it stops, and return the best solution."""
        try:
            reason = body()
        except (Finished, OutOfTime, KeyboardInterrupt) as end:
            return self.ended_by(end)
        return self.verified(reason)

    def ended_by(self, end: BaseException) -> Solution:
        """Return the best solution after an exception that ends the rounds, or raise it anew."""
        if isinstance(end, Finished):
            return self.verified(end.reason)
        if isinstance(end, OutOfTime):
            return self.verified("time-limit")
        if isinstance(end, SolverInterrupted):  # while solving on some of the rows
            self.offer_start(end.solution.terms)
        raise SolverInterrupted(self.verified("interrupted")) from None

    def verified(self, reason: str) -> Solution:
        """Return the best solution so far, checked for rounding errors."""
        return self.best.verified(self.n_iter, reason, self.tol)

    def begin(self) -> None:
        """Count a round."""
        self.n_iter += 1

    def bounded(self) -> None:
        """Report a round whose bound is known; stop if asked to, if optimal, or if time is up."""
        if self.on_round is not None and self.on_round(self.best.round(self.n_iter)):
            raise Finished("interrupted")
        if self.best.is_optimal(self.tol):
            raise Finished("optimal")
        self.problem.budget.check_time()

    def moved(self) -> None:
        """Stop after a round has found its vote if no further round is allowed."""
        if self.max_iter is not None and self.n_iter >= self.max_iter:
            raise Finished("optimal" if self.best.is_optimal(self.tol) else "max-iter")

    def offer_start(self, terms: Terms) -> FloatArray:
        """Offer the best multiple of a vote from elsewhere; return the vote's values at the rows.

        These are computed even if time is up: a few columns are cheap, and having a vote matters.
        Only costly kernels respect the deadline.
        """
        problem = self.problem
        if not any(family.is_costly for family in problem.columns.families):
            problem = problem.within(problem.budget.until(math.inf))
        decision = problem.decision(terms)
        self.best.offer_scaled(terms, decision)
        return decision


#: A problem is first solved roughly on a third of its rows (numbers: half), recursively.
SUBSAMPLE_RATIO, SUBSAMPLE_RATIO_OF_NUMBERS = 3, 2


def solve_subsample(
    problem: Problem, solve: Callable[..., Solution], *, smallest: int
) -> Terms | None:
    """Return a vote learned on a part of the rows; None if these are fewer than ``smallest``."""
    sample = Subsample.of(problem, smallest)
    part = None if sample is None else sample.part_of(problem)
    if sample is None or part is None:
        return None
    try:
        return sample.placed(solve(part).terms)
    except SolverInterrupted as stop:
        terms = sample.placed(stop.solution.terms)
        raise SolverInterrupted(replace(stop.solution, terms=terms)) from None


@dataclass(frozen=True)
class Subsample:
    """Some of the rows and centres of a problem, on which it is solved first.

    Penalties are raised as much as the noise of sums grows with fewer rows. Then fewer columns fit
    this noise, and fewer have to leave again. This takes at most half of the remaining time.
    """

    rows: IntArray
    centers: IntArray
    columns: LocalColumns
    factor: float

    @classmethod
    def of(cls, problem: Problem, smallest: int) -> Subsample | None:
        """Draw a subsample; None if it would have fewer rows than ``smallest``."""
        ratio = SUBSAMPLE_RATIO if problem.goals is None else SUBSAMPLE_RATIO_OF_NUMBERS
        n_rows = min(problem.n_rows // ratio, problem.columns.most_rows)
        if n_rows < smallest:
            return None
        random = np.random.default_rng(0)
        rows = np.sort(random.permutation(problem.n_rows)[:n_rows])
        n_centers = min(problem.columns.n_centers, n_rows)
        centers = np.sort(random.permutation(problem.columns.n_centers)[:n_centers])
        columns = problem.columns.restricted(rows, centers).within(problem.budget.share(2))
        return cls(rows, centers, columns, ratio**0.5)

    def part_of(self, problem: Problem) -> Problem | None:
        """Return a problem over the same columns on the subsample; None if it has one label."""
        part = problem.restricted(self.rows, self.centers, self.columns)
        if len(np.unique(part.y)) < 2:
            return None
        return replace(part, penalties=part.penalties * self.factor)

    def placed(self, terms: Terms) -> Terms:
        """Return a vote on the subsample as a vote of the whole problem."""
        return replace(terms, centers=self.centers[terms.centers])
