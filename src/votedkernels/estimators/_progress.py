"""Progress through scikit-learn's callbacks, where it has them (1.9 or newer).

That interface is experimental, so everything that touches it is here. Where it is missing,
fits run the same and report nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where there is none."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


from ..solvers import Round

__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]

logger = logging.getLogger("votedkernels")


class FitProgress:
    """The tree of tasks of one fit: a task per one-vs-rest problem, a subtask per round."""

    def __init__(self, estimator: Any, n_problems: int, X: Any, y: Any) -> None:
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self.context = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=n_problems)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def begin_problem(
        self, name: str, attributes: Callable[[Round], dict[str, Any]]
    ) -> Callable[[Round], bool]:
        """Open the task of one problem; return what its solver calls after each round.

        ``attributes`` gives the fitted attributes as if fit had stopped at a round. The
        returned function is true when a callback asks to stop.
        """
        task = None
        if self.context is not None:
            task = self.context.subcontext(task_name=name, max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self.task, self.name = task, name

        def on_round(state: Round) -> bool:
            logger.debug(
                "%s, round %d: objective %.9g, dual bound %.9g, %d terms",
                name,
                state.n_iter,
                state.solution.objective,
                state.solution.dual_bound,
                len(state.solution.terms.kernels),
            )
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
        """Close the task of the problem; true when a callback asks to stop."""
        logger.debug("%s: done", self.name)
        if self.task is None:
            return False
        return bool(self.task.call_on_fit_task_end(estimator=self.estimator, **self.data))

    def end(self) -> None:
        """Close the task of the fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.data
            )
