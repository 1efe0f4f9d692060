"""Solves one-vs-rest problems of a fit together, and reports on each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..exceptions import SeveralInterrupted
from ..solvers import Round, solve_together

if TYPE_CHECKING:
    from ..problem import Solution
    from ._ongoing_fit import OngoingFit


def solve_group(fit: OngoingFit, numbers: Sequence[int]) -> bool:
    """Solve the problems with these numbers; return True if a callback asks to stop the fit.

    If a callback asks to stop after a round, all of them stop. The remaining time is shared with
    the problems after these.
    """
    group = _Group(fit, numbers)
    budget = fit.training.columns.budget.share((len(fit.problems) - numbers[0]) / len(numbers))
    try:
        found = solve_together(
            [fit.problems[number].within(budget) for number in numbers],
            tol=fit.estimator.tol,
            max_iter=fit.estimator.max_iter,
            on_rounds=[group.begin(number) for number in numbers],
            on_end=group.end,
        )
    except SeveralInterrupted as stop:
        group.keep(stop.solutions)
        raise KeyboardInterrupt from None
    group.keep(found)
    return group.stops


class _Group:
    """The problems of a group, and whether a callback has asked to stop."""

    def __init__(self, fit: OngoingFit, numbers: Sequence[int]) -> None:
        self.fit, self.numbers = fit, numbers
        self.stops = False

    def begin(self, number: int) -> Callable[[Round], bool]:
        """Open the task of a problem; return what its solver calls in each round."""
        fit = self.fit
        report = fit.progress.begin_problem(f"problem {number}", fit.as_if_stopped(number))

        def on_round(state: Round) -> bool:
            fit.solutions[number] = state.solution  # which the reports of the others include
            self.stops = self.stops or report(state)
            return self.stops

        return on_round

    def end(self, place: int) -> None:
        """Close the task of the problem in this place."""
        asked = self.fit.progress.end_problem(f"problem {self.numbers[place]}")
        self.stops = self.stops or asked

    def keep(self, solutions: Sequence[Solution]) -> None:
        """Keep the solutions."""
        for number, solution in zip(self.numbers, solutions, strict=True):
            self.fit.solutions[number] = solution
