"""`SupportPathDisplay`: the number of support vectors, against the penalties or the error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..kernels.base import FloatArray
from .figure import (
    COLOURS,
    MARKERS,
    axes_for,
    full_names,
    import_pyplot,
    logarithmic_axis,
    tidy,
)
from .grids import COMPLEXITY_LABEL, L1_LABEL, tabulate_search
from .levels import curve_of_levels, went_down_a_path
from .models import require_search

AXES = {"complexity_penalty": COMPLEXITY_LABEL, "l1_penalty": L1_LABEL}
COUNT_LABEL = "number of support vectors, mean over folds"
#: The axis of support vectors is logarithmic if the ratio of its ends is at least this.
LOGARITHMIC_FROM = 5.0
#: The bright end of the colour map is left out, because it is hard to see on white.
BRIGHTEST = 0.85
#: With more curves, the legend goes next to the axes.
MOST_IN_LEGEND = 5
CHOSEN_STYLE = {
    "linestyle": "none",
    "marker": "*",
    "markersize": 19,
    "markerfacecolor": COLOURS[1],
    "markeredgecolor": "white",
    "label": "chosen",
    "zorder": 4,
}


class SupportPathDisplay:
    """Number of support vectors along a path.

    Create it with `from_path` or `from_estimator`. With a grid of penalties, the number is drawn
    against one penalty, with one curve per value of the other. For a search without a grid, the
    error in cross-validation is drawn against the number, with a band of one standard error.

    Parameters
    ----------
    n_support : array of shape (n_l, n_b), or (n_levels,) without a grid
    complexity_penalties : array of shape (n_l,), default=None
    l1_penalties : array of shape (n_b,), default=None
    values : array of shape (n_levels,), default=None
        Without a grid, the error of the best setting of each level.
    standard_errors : array of shape (n_levels,), default=None
        Their standard errors.
    chosen : (row, column) or int, default=None
        The model, or the level, to mark.
    label : str, default="support vectors"
        The label of the vertical axis.
    title : str, default=None
        The title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : array of matplotlib Line2D
        One curve per value of the penalty that is not on the axis, ascending; without a grid, the
        curve of the error.
    band_ : matplotlib PolyCollection, or None
        One standard error around the curve of the error.
    chosen_ : matplotlib Line2D, or None
        The marker of the chosen model.

    Examples
    --------
    >>> from votedkernels import SupportPathDisplay, voted_kernel_path
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> grid = {"complexity_penalties": [1e-1, 1e-2, 1e-3], "l1_penalties": [1e-2, 1e-3]}
    >>> display = SupportPathDisplay.from_path(voted_kernel_path(X, y, **grid))
    >>> len(display.lines_)
    2

    For a search without a grid, the error of the chosen level is marked:

    >>> from votedkernels import VotedKernelClassifierCV
    >>> model = VotedKernelClassifierCV().fit(X, y)
    >>> display = SupportPathDisplay.from_estimator(model)
    >>> display.chosen == model.best_params_["level"]
    True
    >>> bool(display.values[display.chosen] == 1 - model.best_score_)
    True
    """

    def __init__(
        self,
        *,
        n_support: FloatArray,
        complexity_penalties: FloatArray | None = None,
        l1_penalties: FloatArray | None = None,
        values: FloatArray | None = None,
        standard_errors: FloatArray | None = None,
        chosen: Any = None,
        label: str = "support vectors",
        title: str | None = None,
    ) -> None:
        self.n_support = n_support
        self.complexity_penalties = complexity_penalties
        self.l1_penalties = l1_penalties
        self.values = values
        self.standard_errors = standard_errors
        self.chosen = chosen
        self.label = label
        self.title = title

    @classmethod
    def from_path(
        cls,
        path: Mapping[str, Any],
        *,
        x: str | None = None,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the numbers of support vectors along a path.

        Parameters
        ----------
        path : Bunch
            The result of `voted_kernel_path`.
        x, ax, line_kw
            As for `plot`.

        Returns
        -------
        display : SupportPathDisplay
        """
        caller = f"{cls.__name__}.from_path"
        import_pyplot(caller)
        needed = ("complexity_penalties", "l1_penalties", "n_support")
        if not isinstance(path, Mapping) or any(name not in path for name in needed):
            raise TypeError(
                f"{caller} needs what voted_kernel_path returned, got {type(path).__name__}; for "
                "a VotedKernelClassifierCV use from_estimator."
            )
        display = cls(**{name: path[name] for name in needed})
        return display.plot(ax, x=x, line_kw=line_kw)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kernels: Any = None,
        complexity: Any = None,
        x: str | None = None,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the numbers of support vectors in cross-validation, as means over the folds.

        For a search without a grid, draw the error against them. At each level, this is the error
        of the setting that the search found best there. With a scorer other than accuracy, its
        score is drawn.

        Parameters
        ----------
        estimator : VotedKernelClassifierCV or Pipeline
            A fitted search, or a pipeline that ends in one. Its choice is marked.
        kernels, complexity : default=None
            Names of alternatives, if the search had several; None uses the chosen ones.
        x, ax, line_kw
            As for `plot`.

        Returns
        -------
        display : SupportPathDisplay
        """
        caller = f"{cls.__name__}.from_estimator"
        import_pyplot(caller)
        search = require_search(estimator, caller)
        alternative = {"kernels": kernels, "complexity": complexity}
        if went_down_a_path(search):
            curve = curve_of_levels(search, alternative)
            return cls(**vars(curve)).plot(ax, x=x, line_kw=line_kw)
        table = tabulate_search(search, "mean_n_support", alternative)
        display = cls(
            complexity_penalties=table.complexity_penalties,
            l1_penalties=table.l1_penalties,
            n_support=table.values,
            chosen=table.chosen,
            label="support vectors, mean over folds",
            title="Size of the models of a grid",
        )
        return display.plot(ax, x=x, line_kw=line_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        x: str | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure.
        x : {"complexity_penalty", "l1_penalty"}, default=None
            With a grid, the penalty on the horizontal axis, whose scale is logarithmic but includes
            0. None means ``"complexity_penalty"`` or, without a grid, the number of support
            vectors.
        line_kw : dict, default=None
            Passed to ``ax.plot`` for every curve.

        Returns
        -------
        self
        """
        if x is not None and x not in AXES:
            raise ValueError(f"x must be one of {', '.join(map(repr, AXES))}, got {x!r}.")
        if x is not None and self.values is not None:
            raise ValueError(
                f"x={x!r} is a penalty of a grid, but this search had none; leave x out."
            )
        if self.values is None and (self.complexity_penalties is None or self.l1_penalties is None):
            raise ValueError(
                "n_support has nothing to be drawn against; pass complexity_penalties and "
                "l1_penalties, or values."
            )
        ax = axes_for(ax, f"{type(self).__name__}.plot")
        self.band_ = self.chosen_ = None
        if self.values is None:
            self._draw_counts(ax, x or "complexity_penalty", full_names(line_kw))
        else:
            self._draw_errors(ax, full_names(line_kw))
        if self.title is not None:
            ax.set_title(self.title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_counts(self, ax: Any, x: str, line_kw: dict[str, Any]) -> None:
        """Draw the numbers of support vectors against a penalty."""
        by_complexity = x == "complexity_penalty"
        along = np.asarray(self.complexity_penalties if by_complexity else self.l1_penalties)
        across = np.asarray(self.l1_penalties if by_complexity else self.complexity_penalties)
        counts = np.asarray(self.n_support)
        counts = counts if by_complexity else counts.T
        set_penalty_scale(ax, along)
        order = np.argsort(along)
        self.lines_ = np.array(
            [
                ax.plot(along[order], counts[order, column], **(style | line_kw))[0]
                for column, style in curve_styles(across)
            ]
        )
        if self.chosen is not None:
            place = self.chosen if by_complexity else self.chosen[::-1]
            (self.chosen_,) = ax.plot(along[place[0]], counts[place], **CHOSEN_STYLE)
        ax.set(xlabel=AXES[x], ylabel=self.label)
        ax.set_ylim(bottom=0.0)
        tidy(ax)
        add_legend(ax, next(label for name, label in AXES.items() if name != x))

    def _draw_errors(self, ax: Any, line_kw: dict[str, Any]) -> None:
        """Draw the error of each level against its number of support vectors."""
        counts, errors = np.asarray(self.n_support), np.asarray(self.values)
        order = np.argsort(counts, kind="stable")  # folds that lose centres can reverse the order
        style = {
            "color": COLOURS[0],
            "marker": MARKERS[0],
            "markersize": 5,
            "linewidth": 1.8,
            "label": "best setting of each level",
        }
        self.lines_ = np.array(ax.plot(counts[order], errors[order], **(style | line_kw)))
        if self.standard_errors is not None:
            spread = np.asarray(self.standard_errors)[order]
            self.band_ = ax.fill_between(
                counts[order],
                errors[order] - spread,
                errors[order] + spread,
                color=COLOURS[0],
                alpha=0.18,
                linewidth=0,
                label="± 1 standard error",
                zorder=1,
            )
        if self.chosen is not None:
            (self.chosen_,) = ax.plot(counts[self.chosen], errors[self.chosen], **CHOSEN_STYLE)
        if counts.max() > LOGARITHMIC_FROM * counts.min() > 0:
            logarithmic_axis(ax, COUNT_LABEL)
        ax.set(xlabel=COUNT_LABEL, ylabel=self.label)
        if errors.min() >= 0.0:
            ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
        tidy(ax)
        ax.legend(fontsize="small")


def curve_styles(values: FloatArray) -> list[tuple[int, dict[str, Any]]]:
    """Return (index, style) for the curve of each value, ascending, from dark to bright."""
    from matplotlib import colormaps

    shades = colormaps["cividis"](np.linspace(0.0, BRIGHTEST, len(values)))
    return [
        (
            int(place),
            {
                "color": shade,
                "marker": MARKERS[number % len(MARKERS)],
                "markersize": 6,
                "linewidth": 1.8,
                "label": f"{values[place]:g}",
            },
        )
        for number, (place, shade) in enumerate(zip(np.argsort(values), shades, strict=True))
    ]


def set_penalty_scale(ax: Any, penalties: FloatArray) -> None:
    """Make the horizontal axis logarithmic; a penalty of 0 is left of the smallest other one."""
    positive = penalties[penalties > 0]
    if len(positive) == len(penalties):
        ax.set_xscale("log")
    elif len(positive):
        ax.set_xscale("symlog", linthresh=float(positive.min()), linscale=0.6)
        ax.set_xlim(-0.15 * float(positive.min()), 1.5 * float(positive.max()))


def add_legend(ax: Any, title: str) -> None:
    """Add a legend, next to the axes if it is too long to fit inside."""
    handles, labels = ax.get_legend_handles_labels()
    beside = {} if len(labels) <= MOST_IN_LEGEND else {
        "loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False,
    }  # fmt: skip
    ax.legend(handles, labels, title=title, fontsize="small", **beside)
