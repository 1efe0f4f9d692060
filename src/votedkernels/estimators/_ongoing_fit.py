"""A fit while it runs: the best solution of each problem so far, and all or nothing at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from ..exceptions import SolverInterrupted
from ..preparation.training import Training
from ..problem import Solution
from ..solvers import Incumbent, Round, solve_problem
from ._fitted_attributes import PENALTIES, check_limits, describe_solutions, warn_user
from ._progress import FitProgress
from ._relaxed_fit import ROWS_TIMES_RHO, describe_relaxed


class FitAttempt:
    """Context manager that sets aside the last fitted model of an estimator during a new fit.

    Inside, the estimator has only the fitted attributes that this fit sets. If an exception is
    raised, its earlier attributes are restored, unless the fit has called `keep` with a partial
    model, as it does on Ctrl-C.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._before: dict[str, Any] = {}
        self._kept = False

    def __enter__(self) -> Self:
        attributes = vars(self._estimator)
        self._before = fitted_attributes(self._estimator)
        for name in self._before:
            del attributes[name]
        return self

    def publish(self, attributes: dict[str, Any]) -> None:
        """Set fitted attributes."""
        vars(self._estimator).update(attributes)

    def keep(self, attributes: dict[str, Any]) -> None:
        """Set the attributes of a partial model, which stay even if an exception is raised."""
        self.publish(attributes)
        self._kept = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None or self._kept:
            return
        attributes = vars(self._estimator)
        for name in fitted_attributes(self._estimator):
            del attributes[name]
        attributes.update(self._before)


def is_fitted(name: str) -> bool:
    """Whether an attribute of this name is a fitted one, by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator."""
    return {name: value for name, value in vars(estimator).items() if is_fitted(name)}


class OngoingFit:
    """Solves the one-vs-rest problems of an estimator in turn.

    At any time, ``solutions`` holds the best solution of each problem so far, so a limit or Ctrl-C
    loses nothing.

    Parameters
    ----------
    estimator : VotedKernelClassifier
    training : Training
        The problems share its budget.
    progress : callable
        Takes the number of problems, and returns the `FitProgress` to report to.
    """

    def __init__(
        self, estimator: Any, training: Training, progress: Callable[[int], FitProgress]
    ) -> None:
        self.estimator = estimator
        self.training = training
        penalties = training.penalties_of(estimator)
        self.penalties = dict(zip(PENALTIES, penalties, strict=True))
        self.problems = training.problems(*penalties, estimator.l2_penalty)
        self.solutions = [Incumbent(p).solution(0, "interrupted") for p in self.problems]
        self.progress = progress(len(self.problems))

    @property
    def has_terms(self) -> bool:
        """Whether any kernel has a weight yet."""
        return any(len(solution.terms.kernels) for solution in self.solutions)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the solutions so far."""
        relaxation = self.estimator.relaxation
        if relaxation is None:
            return self._described(self.solutions)
        rho = ROWS_TIMES_RHO / self.training.m if relaxation == "auto" else float(relaxation)
        return self.penalties | describe_relaxed(
            self.training, self.problems, self.solutions, rho, self.estimator.tol
        )

    def solve(self) -> None:
        """Solve all problems, each in its share of the time."""
        budget = self.training.columns.budget
        for number in range(len(self.problems)):
            on_round = self.progress.begin_problem(f"problem {number}", self._as_if_stopped(number))
            self._solve_one(number, len(self.problems) - number, on_round)
            if self.progress.end_problem():
                return
        if math.isinf(budget.deadline):
            return
        # Problems that used up their share of the time get what the others left over.
        late = [n for n, found in enumerate(self.solutions) if found.stop_reason == "time-limit"]
        for place, number in enumerate(late):
            if budget.is_late:
                return
            self._solve_one(number, len(late) - place)

    def run(self, attempt: FitAttempt) -> None:
        """Solve all problems and publish the model; after Ctrl-C, keep the best one so far."""
        try:
            self.solve()
        except KeyboardInterrupt:
            if self.has_terms:
                attempt.keep(self.attributes())
            raise
        check_limits(self.estimator, self.solutions)
        attempt.publish(self.attributes())

    def warn(self) -> None:
        """Warn about anything the user must know about the model."""
        warn_user(self.problems, self.solutions, self.estimator.tol)

    def _as_if_stopped(self, number: int) -> Callable[[Round], dict[str, Any]]:
        """Return a function that maps a round to the attributes of a fit that stops there."""

        def attributes(state: Round) -> dict[str, Any]:
            known = [*self.solutions[:number], state.solution, *self.solutions[number + 1 :]]
            return self._described(known)

        return attributes

    def _described(self, solutions: list[Solution]) -> dict[str, Any]:
        return self.penalties | describe_solutions(self.training, self.problems, solutions)

    def _solve_one(
        self, number: int, n_left: int, on_round: Callable[[Round], bool] | None = None
    ) -> None:
        """Solve one problem, the first of ``n_left`` that share the remaining time."""
        problem, before = self.problems[number], self.solutions[number]
        max_iter, tol = self.estimator.max_iter, self.estimator.tol
        try:
            found: Solution = solve_problem(
                self.estimator.solver,
                problem.within(problem.budget.share(n_left)),
                tol=tol,
                max_iter=None if max_iter is None else max_iter - before.n_iter,
                start=before.terms if before.n_iter else None,
                on_round=on_round,
            )
        except SolverInterrupted as stop:
            self.solutions[number] = before.improved_by(stop.solution, tol)
            raise KeyboardInterrupt from None
        self.solutions[number] = before.improved_by(found, tol)
