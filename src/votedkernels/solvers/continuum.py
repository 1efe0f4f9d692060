"""Learning over a continuum of widths, by exchange.

Another solver solves the problem over some widths. Its dual vector is then priced over the whole
continuum (`widths`). Widths that violate their dual constraint join, and widths without a weight
leave. Scaled down by the bound on the violation, the dual vector proves a lower bound for the
continuum. The fit ends when this bound is close enough to the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels import continuous_family
from ..kernels.base import FloatArray
from ..problem import Problem, Solution, Terms
from .rounds import Round
from .widths import price_widths

#: The largest number of widths that join in a round.
WIDTHS_PER_ROUND = 30
#: The share of ``tol`` that the problem over the chosen widths may use up.
INNER_SHARE = 0.25
MAX_ROUNDS = 200


def solve_over_continuum(
    problem: Problem,
    solve: Callable[..., Solution],
    *,
    tol: float,
    max_iter: int | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Minimise F over all widths to a relative gap of ``tol``, using another solver.

    The options are those of every solver; ``max_iter`` counts rounds of the other solver.
    """
    exchange = Exchange(problem, tol)
    start: Terms | None = None
    for _ in range(MAX_ROUNDS):
        try:
            found = solve(
                exchange.problem,
                tol=INNER_SHARE * tol,
                max_iter=None if max_iter is None else max_iter - exchange.n_iter,
                start=start,
                on_round=partial(exchange.report, on_round),
            )
            new = exchange.price(found)
        except SolverInterrupted as stop:
            exchange.offer_vote(stop.solution)
            raise SolverInterrupted(exchange.solution("interrupted")) from None
        except KeyboardInterrupt:
            raise SolverInterrupted(exchange.solution("interrupted")) from None
        except OutOfTime:
            return exchange.solution("time-limit")
        if exchange.is_optimal:
            return exchange.solution("optimal")
        if found.stop_reason not in ("optimal", "precision"):
            return exchange.solution(found.stop_reason)
        if len(new) == 0:
            break
        if problem.budget.is_late:
            return exchange.solution("time-limit")
        start = exchange.swap(new)
    return exchange.solution("precision")


class Exchange:
    """The best vote found so far, over any widths, and the best bound for all widths."""

    def __init__(self, problem: Problem, tol: float) -> None:
        #: The problem over the current widths.
        self.problem = problem
        self.tol = tol
        self.best: Solution | None = None
        self.bound, self.dual = 0.0, np.zeros(len(problem.y))
        self.n_iter = 0

    @property
    def is_optimal(self) -> bool:
        """Whether the gap over all widths is within the tolerance."""
        best = self.best
        return best is not None and best.objective - self.bound <= self.tol * best.objective

    def offer_vote(self, found: Solution) -> None:
        """Keep a vote if it is the best so far."""
        if self.best is None or found.objective < self.best.objective:
            self.best = found

    def solution(self, reason: str) -> Solution:
        """Return the best vote with the bound that holds for all widths."""
        assert self.best is not None
        return replace(
            self.best,
            dual=self.dual,
            dual_bound=self.bound,
            n_iter=self.n_iter,
            stop_reason="optimal" if self.is_optimal else reason,
        )

    def report(self, on_round: Callable[[Round], bool] | None, state: Round) -> bool:
        """Report a round of the other solver, with the bound that holds for all widths."""
        if on_round is None:
            return False
        best, found = self.best, state.solution
        better = found if best is None or found.objective < best.objective else best
        n_iter = self.n_iter + state.n_iter
        known = replace(better, dual_bound=self.bound, dual=self.dual, n_iter=n_iter)
        return on_round(Round(n_iter, known))

    def price(self, found: Solution) -> FloatArray:
        """Record a solution over some widths; return other widths that violate a constraint."""
        self.n_iter += found.n_iter
        self.offer_vote(found)
        assert self.best is not None
        problem, objective = self.problem, self.best.objective
        u = problem.into_box(found.dual)
        target = problem.reward(u) / ((1 - self.tol) * objective) if objective > 0 else np.inf
        prices = price_widths(problem, u, max(1.0, target), WIDTHS_PER_ROUND)
        others = float(problem.excess(problem.correlate(u)).max(initial=0.0))
        proved = problem.reward(u) / max(1.0, prices.excess, others)
        if proved > self.bound:
            self.bound, self.dual = proved, u
        return prices.gammas

    def swap(self, gammas: FloatArray) -> Terms:
        """Continue with the knots, the widths in use and new ones; return the vote to start from.

        All other widths are dropped.
        """
        assert self.best is not None
        self.problem, start = _exchanged(self.problem, self.best, gammas)
        return start


def _exchanged(problem: Problem, best: Solution, gammas: FloatArray) -> tuple[Problem, Terms]:
    """Return the problem over the knots, the widths in use and new ones, and a vote for it."""
    family = continuous_family(best.columns.families)
    assert problem.continuum is not None
    assert family is not None
    first = best.columns.n_kernels - family.n_kernels
    own = best.terms.kernels >= first
    in_use = family.gammas_[best.terms.kernels[own] - first]
    widths = np.unique(np.concatenate([problem.continuum.knots, in_use, gammas]))
    kernels = best.terms.kernels.copy()
    kernels[own] = first + np.searchsorted(widths, in_use)
    return with_widths(problem, widths), replace(best.terms, kernels=kernels)


def with_widths(problem: Problem, gammas: FloatArray) -> Problem:
    """Return the problem over these widths of its continuous family."""
    columns = problem.columns.at_hand()
    family = continuous_family(columns.families)
    assert problem.continuum is not None
    assert family is not None
    first = columns.n_kernels - family.n_kernels
    penalties = problem.continuum.penalties_at(gammas)
    return replace(
        problem,
        columns=columns.with_last(family.with_widths(gammas)),
        penalties=np.concatenate([problem.penalties[:first], penalties]),
    )
