"""Progress of a fit: on standard error, in the log, and through scikit-learn's callbacks (1.9).

The callback interface is experimental, so everything that touches it is in this module. Without
it, a fit runs in the same way, and only ``verbose`` and the log report its progress.

Each problem and each round writes one debug message to the logger ``votedkernels``. Programs find
the values in the attribute ``progress`` of the log record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replaces the mixin that older versions of scikit-learn lack."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


from ..solvers import Round

if TYPE_CHECKING:
    from .._system.progress_display import ProgressDisplay

__all__ = [
    "CallbackSupportMixin",
    "FitProgress",
    "GridWatch",
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
    """Open the display of a fit, if ``verbose`` asks for one; yield None otherwise."""
    if not estimator.verbose:
        yield None
        return
    from .._system.progress_display import ProgressDisplay

    with ProgressDisplay(title or type(estimator).__name__, estimator.verbose) as display:
        yield display


class GridWatch:
    """Shows how far a grid is solved. A copy in another process shows nothing."""

    def __init__(
        self, display: ProgressDisplay | None = None, n_points: int = 0, where: str = ""
    ) -> None:
        self.display, self.n_points, self.where = display, n_points, where
        self.n_done = 0

    def __call__(self) -> None:
        """Count one more point."""
        self.n_done += 1
        if self.display is not None:
            self.display.detail(f"{self.where}{self.n_done} of {self.n_points} points solved")

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
        self.context = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=n_problems)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def begin_problem(
        self, name: str, attributes: Callable[[Round], dict[str, Any]]
    ) -> Callable[[Round], bool]:
        """Open the task of one problem; return the function that its solver calls each round.

        ``attributes`` takes a round and returns the fitted attributes of a fit stopped there. The
        returned function returns True if a callback asks to stop.
        """
        task = None
        if self.context is not None:
            task = self.context.subcontext(task_name=name, max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self.task, self.name = task, name

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

    def end_problem(self) -> bool:
        """Close the task of the problem; return True if a callback asks to stop."""
        Progress(self.name).log("%s: done", self.name)
        if self.display is not None and self.n_problems > 1 and self.name.startswith("problem"):
            self.display.step(f"{numbered(self.name, self.n_problems)} done")
        if self.task is None:
            return False
        return bool(self.task.call_on_fit_task_end(estimator=self.estimator, **self.data))

    def end(self) -> None:
        """Close the task of the fit, and say what came of it."""
        if self.display is not None:
            self.display.finish(describe_outcome(self.estimator))
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.data
            )


def numbered(name: str, total: int) -> str:
    """Return a name that counts from 0 as people count.

    >>> numbered("problem 0", 3)
    'problem 1 of 3'
    """
    word, _, number = name.rpartition(" ")
    return f"{word} {int(number) + 1} of {total}"


def describe_round(now: Progress, n_problems: int) -> str:
    """Return a round in words."""
    where = "" if n_problems == 1 else f"{numbered(now.task, n_problems)}, "
    return (
        f"{where}round {now.n_iter}: objective {now.objective:.6g}, at most "
        f"{now.relative_gap:.1g} of it above the optimum, {now.n_terms} terms"
    )


def describe_outcome(estimator: Any) -> str:
    """Return what a fit has found, in a line."""
    parts = []
    if hasattr(estimator, "best_score_"):
        parts.append(f"best {score_name(estimator)} {estimator.best_score_:.4f}")
    if hasattr(estimator, "support_"):
        parts.append(f"{len(estimator.support_)} support vectors")
        gap = estimator.dual_gap_ / estimator.objective_ if estimator.objective_ else 0.0
        parts.append(f"gap {gap:.1g} of the objective ({estimator.stop_reason_})")
    return ", ".join(parts)


def score_name(search: Any) -> str:
    """Return what the score of a search is called."""
    if search.scoring is None:
        return "accuracy" if is_classifier(search) else "negative mean absolute error"
    return search.scoring if isinstance(search.scoring, str) else "score"
