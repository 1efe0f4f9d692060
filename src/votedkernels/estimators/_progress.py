"""Progress of a fit: in the log, and through scikit-learn's callbacks (1.9 or newer).

The callback interface is experimental, so everything that touches it is in this module. Without
it, a fit runs in the same way, and only the log reports its progress.

Each problem and each round writes one debug message to the logger ``votedkernels``. Programs find
the values in the attribute ``progress`` of the log record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replaces the mixin that older versions of scikit-learn lack."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


from ..solvers import Round

__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]

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


class FitProgress:
    """The tasks of one fit: one task per one-vs-rest problem, one subtask per round."""

    def __init__(self, estimator: Any, X: Any, y: Any, n_problems: int) -> None:
        self.estimator = estimator
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
            Progress(*facts).log("%s, round %d: objective %.9g, dual bound %.9g, %d terms", *facts)
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
        if self.task is None:
            return False
        return bool(self.task.call_on_fit_task_end(estimator=self.estimator, **self.data))

    def end(self) -> None:
        """Close the task of the fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.data
            )
