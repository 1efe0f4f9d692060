"""`ConvergenceDisplay`: how fast solvers close the gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from ..estimators._solver_traces import check_solvers, trace_solvers
from ..estimators.classifier import VotedKernelClassifier
from ..kernels.base import FloatArray
from .figure import (
    COLOURS,
    MARKERS,
    add_title,
    axes_for,
    draw_staircase,
    full_names,
    import_pyplot,
    logarithmic_axis,
    mark_level,
    tidy,
)
from .models import describe, earlier_steps, last_step

TITLES = {"gap": "Relative gap over time", "objective": "Objective and dual bound over time"}
KINDS = tuple(TITLES)
BOUND_STYLE = {"linestyle": "--", "label": "_dual bound"}
#: Smaller gaps, including 0, are drawn at this value, the precision of a double.
SMALLEST_GAP = float(np.finfo(np.float64).eps)


class ConvergenceDisplay:
    """Objective, dual bound and gap of solvers over time.

    Create it with `from_estimator`; the constructor accepts data that are already recorded. A curve
    is a staircase, because nothing better is known between two rounds. Its last point is the
    certificate of the model, marked by a filled symbol if the gap is within ``tol``, and by an open
    one if the solver stopped earlier.

    Parameters
    ----------
    solvers : list of str
        Names of the solvers.
    seconds, objectives, dual_bounds : list of arrays of shape (n_records,), one per solver
        The time of each record, and the best objective and lower bound at that time.
    stop_reasons : list of str, default=None
        Why each solver stopped; reasons other than ``"optimal"`` appear in the legend.
    tol : float, default=None
        The requested relative gap.

    Attributes
    ----------
    relative_gaps : list of arrays
        (objective - dual bound) / objective of every record.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : array of matplotlib Line2D, of shape (n_solvers, n_curves)
        One curve per solver for ``kind="gap"``; two for ``kind="objective"``, the objective and
        the dual bound.

    Examples
    --------
    >>> from votedkernels import ConvergenceDisplay, VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> display = ConvergenceDisplay.from_estimator(VotedKernelClassifier(), X, y)
    >>> display.solvers
    ['column-generation', 'coordinate-descent']
    >>> [bool(gaps[-1] <= display.tol) for gaps in display.relative_gaps]
    [True, True]
    """

    def __init__(
        self,
        *,
        solvers: Sequence[str],
        seconds: Sequence[FloatArray],
        objectives: Sequence[FloatArray],
        dual_bounds: Sequence[FloatArray],
        stop_reasons: Sequence[str] | None = None,
        tol: float | None = None,
    ) -> None:
        self.solvers = solvers
        self.seconds = seconds
        self.objectives = objectives
        self.dual_bounds = dual_bounds
        self.stop_reasons = stop_reasons
        self.tol = tol

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        solvers: Sequence[str] = ("column-generation", "coordinate-descent"),
        time_limit: float | None = None,
        sample_weight: Any = None,
        kind: str = "gap",
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Fit with each solver, one after another, and plot their progress.

        The data are prepared once, so that all solvers get the same problem. The preparation
        counts towards the time of each solver, but loading compiled code does not. With more
        than two classes, objectives and bounds are sums over the one-vs-rest problems.

        Parameters
        ----------
        estimator : VotedKernelClassifier or Pipeline
            All its parameters except ``solver`` are used. It is not changed, and its callbacks
            are not called. The earlier steps of a pipeline are fitted once, outside the time of
            the solvers.
        X, y : training data, as for `VotedKernelClassifier.fit`
        solvers : list of str, default=("column-generation", "coordinate-descent")
            Names as for the parameter ``solver`` of `VotedKernelClassifier`.
        time_limit : float, default=None
            Seconds per solver; None uses the limit of the estimator.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as for `VotedKernelClassifier.fit`.
        kind, ax, line_kw : as for `plot`

        Returns
        -------
        display : ConvergenceDisplay
        """
        import_pyplot(f"{cls.__name__}.from_estimator")
        check_kind(kind)
        require_classifier(estimator, f"{cls.__name__}.from_estimator")
        check_solvers(solvers)
        for steps in earlier_steps(estimator):
            X = clone(steps).fit_transform(X, y)
        estimator = clone(last_step(estimator))
        if time_limit is not None:
            estimator.set_params(time_limit=time_limit)
        recordings = trace_solvers(estimator, X, y, sample_weight, solvers)
        display = cls(
            solvers=[recording.solver for recording in recordings],
            seconds=[recording.seconds for recording in recordings],
            objectives=[recording.objectives for recording in recordings],
            dual_bounds=[recording.dual_bounds for recording in recordings],
            stop_reasons=[recording.stop_reason for recording in recordings],
            tol=estimator.tol,
        )
        return display.plot(ax, kind=kind, line_kw=line_kw)

    @property
    def relative_gaps(self) -> list[FloatArray]:
        """Return (objective - dual bound) / objective of each record; 0 if the objective is 0."""
        gaps = []
        for objective, bound in zip(self.objectives, self.dual_bounds, strict=True):
            objective = np.asarray(objective, dtype=np.float64)
            gap = np.maximum(0.0, objective - bound)
            gaps.append(np.divide(gap, objective, out=np.zeros_like(gap), where=objective > 0))
        return gaps

    def plot(
        self, ax: Any = None, *, kind: str = "gap", line_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure.
        kind : {"gap", "objective"}, default="gap"
            ``"gap"`` draws the relative gap; ``"objective"`` draws the objectives (solid) and the
            dual bounds (dashed), between which the optimum lies. All scales are logarithmic, so
            dual bounds of 0, which are trivial, are not drawn.
        line_kw : dict, default=None
            Passed to ``ax.plot`` for every curve.

        Returns
        -------
        self
        """
        check_kind(kind)
        ax = axes_for(ax, f"{type(self).__name__}.plot")
        draw = self._draw_gaps if kind == "gap" else self._draw_objectives
        self.lines_ = np.array(draw(ax, full_names(line_kw)), dtype=object)
        logarithmic_axis(ax, "time (s)")
        tidy(ax)
        ax.legend(fontsize="small", handlelength=1.6)
        add_title(ax, TITLES[kind])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_gaps(self, ax: Any, line_kw: dict[str, Any]) -> list[list[Any]]:
        if self.tol is not None and self.tol > 0:
            mark_level(ax, self.tol, f"tol = {self.tol:g}")
        ax.set_yscale("log")
        ax.set_ylabel("relative gap")
        return [
            draw_staircase(ax, times, np.maximum(gaps, SMALLEST_GAP), self._style(number) | line_kw)
            for number, (times, gaps) in enumerate(
                zip(self.seconds, self.relative_gaps, strict=True)
            )
        ]

    def _draw_objectives(self, ax: Any, line_kw: dict[str, Any]) -> list[list[Any]]:
        ax.set_yscale("log", nonpositive="mask")
        ax.set_ylabel("objective (solid), dual bound (dashed)")
        return [
            draw_staircase(ax, times, objectives, self._style(number) | line_kw)
            + draw_staircase(ax, times, bounds, self._style(number) | line_kw | BOUND_STYLE)
            for number, (times, objectives, bounds) in enumerate(
                zip(self.seconds, self.objectives, self.dual_bounds, strict=True)
            )
        ]

    def _style(self, number: int) -> dict[str, Any]:
        """Return the style of a solver's curves."""
        reason = "optimal" if self.stop_reasons is None else self.stop_reasons[number]
        label = self.solvers[number]
        proved = reason == "optimal"
        return {
            "label": label if proved else f"{label} ({reason})",
            "color": COLOURS[number % len(COLOURS)],
            "linewidth": 1.8,
            # Curves that end first are drawn on top; otherwise others could hide them entirely.
            "zorder": 3 - sum(t[-1] < self.seconds[number][-1] for t in self.seconds) / 10,
            "marker": MARKERS[number % len(MARKERS)],
            "markevery": [-1],
            "markersize": 7,
            "markeredgewidth": 1.8,
            "markerfacecolor": "auto" if proved else "white",
        }


def check_kind(kind: str) -> None:
    """Raise for an unknown kind of plot."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.")


def require_classifier(estimator: Any, caller: str) -> None:
    """Raise unless an estimator is a classifier with one solver, or a pipeline that ends in one."""
    if not isinstance(last_step(estimator), VotedKernelClassifier):
        raise TypeError(
            f"{caller} needs a VotedKernelClassifier, or a pipeline that ends in one, got "
            f"{describe(estimator)}; instead of a search, pass a classifier with the parameters it "
            "chose."
        )
