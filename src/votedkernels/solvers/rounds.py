"""What all solvers share: rounds, their limits, and the best solution so far.

A round finds a lower bound, after which the solver calls `Rounds.bounded`, and a better vote, after
which it calls `Rounds.moved`. Both raise `Finished` if the solver should stop. Whatever ends a
solver, `Rounds.run` yields a verified solution, so nothing is lost at a time limit or Ctrl-C.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels.base import FloatArray
from ..problem import Problem, Solution, Terms
from .incumbent import Incumbent, Round


class Finished(Exception):
    """Ends a solver's rounds and gives the reason; `Rounds.run` catches it."""

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
        except Finished as end:
            reason = end.reason
        except OutOfTime:
            reason = "time-limit"
        except SolverInterrupted as stop:  # while solving on some of the rows
            self.offer_start(stop.solution.terms)
            raise SolverInterrupted(self.verified("interrupted")) from None
        except KeyboardInterrupt:
            raise SolverInterrupted(self.verified("interrupted")) from None
        return self.verified(reason)

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
        """Stop after the vote of a round if this was the last round allowed."""
        if self.max_iter is not None and self.n_iter >= self.max_iter:
            raise Finished("optimal" if self.best.is_optimal(self.tol) else "max-iter")

    def offer_start(self, terms: Terms) -> FloatArray:
        """Offer the best multiple of a vote from elsewhere; return the vote's values at the rows.

        They are computed even if time is up: a few columns are cheap, and having a vote matters.
        Only costly kernels respect the deadline.
        """
        problem = self.problem
        if not any(family.is_costly for family in problem.columns.families):
            problem = problem.within(problem.budget.until(math.inf))
        decision = problem.decision(terms)
        self.best.offer_scaled(terms, decision)
        return decision
