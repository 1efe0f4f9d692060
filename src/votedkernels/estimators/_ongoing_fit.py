"""A running fit: reports progress, keeps the best solutions, and changes nothing if it fails.

A fit reports its progress on standard error, in the log, and through scikit-learn's callbacks
(1.9). The callback interface is experimental, so everything that touches it is in this module.
Without it, a fit runs in the same way, and only ``verbose`` and the log report its progress.

Each problem and each round writes one debug message to the logger ``votedkernels``. Programs can
read the values from the attribute ``progress`` of the log record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import is_classifier

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A substitute for the mixin, which older versions of scikit-learn lack."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


from ..exceptions import SolverInterrupted
from ..preparation.training import Training
from ..problem import Solution
from ..solvers import Incumbent, Round, can_solve_together, groups_in_memory, solve_problem
from ._fitted_attributes import PENALTIES, check_limits, describe_solutions, warn_user
from ._group_of_problems import solve_group
from ._relaxed_fit import ROWS_TIMES_RHO, describe_relaxed

if TYPE_CHECKING:
    from .._system.progress_display import ProgressDisplay

__all__ = [
    "CallbackSupportMixin",
    "FitAttempt",
    "FitProgress",
    "GridWatch",
    "OngoingFit",
    "showing_progress",
    "with_callbacks",
]

logger = logging.getLogger("votedkernels")


@dataclass(frozen=True)
class Progress:
    """The values of a log record.

    Attributes
    ----------
    task : str
        The name of the problem.
    n_iter : int or None
        The number of the round; None when the problem is done.
    objective, dual_bound : float or None
        The best objective and the best lower bound after this round.
    n_terms : int or None
        The number of terms of the best vote.
    """

    task: str
    n_iter: int | None = None
    objective: float | None = None
    dual_bound: float | None = None
    n_terms: int | None = None

    @property
    def relative_gap(self) -> float | None:
        """The gap divided by the objective; None when the problem is done."""
        if self.objective is None or self.dual_bound is None:
            return None
        return (self.objective - self.dual_bound) / self.objective if self.objective else 0.0

    def log(self, message: str, *args: object) -> None:
        """Write a debug message that carries these values."""
        logger.debug(message, *args, extra={"progress": self}, stacklevel=2)


@contextmanager
def showing_progress(estimator: Any, title: str | None = None) -> Iterator[ProgressDisplay | None]:
    """Open the progress display of a fit if ``verbose`` asks for one; yield None otherwise."""
    if not estimator.verbose:
        yield None
        return
    from .._system.progress_display import ProgressDisplay

    with ProgressDisplay(title or type(estimator).__name__, estimator.verbose) as display:
        yield display


class GridWatch:
    """Shows how much of a grid is solved. A copy in another process shows nothing."""

    def __init__(
        self,
        display: ProgressDisplay | None = None,
        n_points: int = 0,
        where: str = "",
        outlook: Callable[[], str] = str,
    ) -> None:
        self.display, self.n_points, self.where = display, n_points, where
        #: Returns the best score so far and the time left, as far as these are known.
        self.outlook = outlook
        self.n_done = 0

    def __call__(self) -> None:
        """Count one more point."""
        self.n_done += 1
        if self.display is not None:
            done = f"{self.n_done} of {self.n_points} points solved"
            self.display.detail(f"{self.where}{done}{self.outlook()}")

    def __reduce__(self) -> tuple[type[GridWatch], tuple[()]]:
        return GridWatch, ()


class FitProgress:
    """The tasks of one fit: one task per one-vs-rest problem, one subtask per round."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        n_problems: int,
        *,
        display: ProgressDisplay | None = None,
    ) -> None:
        self.estimator = estimator
        self.display, self.n_problems = display, n_problems
        self.data = {"X": X, "y": y}
        self.tasks: dict[str, Any] = {}  # those that are open, by name
        self.context = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=n_problems)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def begin_problem(
        self, name: str, attributes: Callable[[Round], dict[str, Any]]
    ) -> Callable[[Round], bool]:
        """Open the task of one problem; return the function that its solver calls in each round.

        ``attributes`` takes a round and returns the fitted attributes of a fit stopped there. The
        returned function returns True if a callback asks to stop.
        """
        task = None
        if self.context is not None:
            task = self.context.subcontext(task_name=name, max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            self.tasks[name] = task

        def on_round(state: Round) -> bool:
            best = state.solution
            facts = (name, state.n_iter, best.objective, best.dual_bound, len(best.terms.kernels))
            now = Progress(*facts)
            now.log("%s, round %d: objective %.9g, dual bound %.9g, %d terms", *facts)
            if self.display is not None:
                self.display.detail(describe_round(now, self.n_problems))
            if task is None:
                return False
            leaf = task.subcontext(task_name="round")
            leaf.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            return bool(
                leaf.call_on_fit_task_end(
                    estimator=self.estimator,
                    reconstruction_attributes=lambda: attributes(state),
                    **self.data,
                )
            )

        return on_round

    def end_problem(self, name: str) -> bool:
        """Close the task of a problem; return True if a callback asks to stop."""
        Progress(name).log("%s: done", name)
        if self.display is not None and self.n_problems > 1 and name.startswith("problem"):
            self.display.step(f"{numbered(name, self.n_problems)} done")
        if name not in self.tasks:
            return False
        task = self.tasks.pop(name)
        return bool(task.call_on_fit_task_end(estimator=self.estimator, **self.data))

    def end(self) -> None:
        """Close the task of the fit, and report the outcome."""
        if self.display is not None:
            self.display.finish(describe_outcome(self.estimator))
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.data
            )


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
    """Whether an attribute with this name is a fitted one, by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator."""
    return {name: value for name, value in vars(estimator).items() if is_fitted(name)}


class OngoingFit:
    """Solves the one-vs-rest problems of an estimator, together if these share passes.

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
        """Solve all problems, together if possible, otherwise each in its share of the time."""
        together = can_solve_together(self.estimator.solver, self.problems)
        if together:
            for numbers in groups_in_memory(self.problems):
                if solve_group(self, numbers):
                    return
        else:
            for number in range(len(self.problems)):
                name = f"problem {number}"
                on_round = self.progress.begin_problem(name, self.as_if_stopped(number))
                self._solve_one(number, len(self.problems) - number, on_round)
                if self.progress.end_problem(name):
                    return
        # Problems that used up their share of the time or memory get what the others left over.
        scarce = ("time-limit", "memory-limit") if together else ("time-limit",)
        again = [n for n, found in enumerate(self.solutions) if found.stop_reason in scarce]
        for place, number in enumerate(again):
            if self.training.columns.budget.is_late:
                return
            self._solve_one(number, len(again) - place)

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

    def as_if_stopped(self, number: int) -> Callable[[Round], dict[str, Any]]:
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


def numbered(name: str, total: int) -> str:
    """Return a name whose number counts from 1 instead of 0.

    >>> numbered("problem 0", 3)
    'problem 1 of 3'
    """
    word, _, number = name.rpartition(" ")
    return f"{word} {int(number) + 1} of {total}"


def describe_round(now: Progress, n_problems: int) -> str:
    """Describe a round in words."""
    where = "" if n_problems == 1 else f"{numbered(now.task, n_problems)}, "
    return (
        f"{where}round {now.n_iter}: objective {now.objective:.6g}, at most "
        f"{now.relative_gap:.1g} of it above the optimum, {now.n_terms} terms"
    )


def describe_outcome(estimator: Any) -> str:
    """Describe in one line what a fit has found."""
    parts = []
    if hasattr(estimator, "best_score_"):
        parts.append(f"best {score_name(estimator)} {estimator.best_score_:.4f}")
    if hasattr(estimator, "support_"):
        parts.append(f"{len(estimator.support_)} support vectors")
        gap = estimator.dual_gap_ / estimator.objective_ if estimator.objective_ else 0.0
        parts.append(f"gap {gap:.1g} of the objective ({estimator.stop_reason_})")
    return ", ".join(parts)


def score_name(search: Any) -> str:
    """Return the name of a search's score."""
    if search.scoring is None:
        return "accuracy" if is_classifier(search) else "negative mean absolute error"
    return search.scoring if isinstance(search.scoring, str) else "score"
