"""`SupportPathDisplay`: the number of support vectors against the penalties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..kernels.base import FloatArray
from .figure import COLOURS, MARKERS, axes_for, full_names, import_pyplot, tidy
from .grids import COMPLEXITY_LABEL, L1_LABEL, tabulate_search
from .models import require_search

AXES = {"complexity_penalty": COMPLEXITY_LABEL, "l1_penalty": L1_LABEL}
#: The bright end of the colour map is left out, because it is hard to see on white.
BRIGHTEST = 0.85
#: With more curves, the legend goes beside the axes.
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
    """Number of support vectors against one penalty, with one curve per value of the other.

    Create it with `from_path` or `from_estimator`.

    Parameters
    ----------
    complexity_penalties : array of shape (n_l,)
    l1_penalties : array of shape (n_b,)
    n_support : array of shape (n_l, n_b)
    chosen : (row, column), default=None
        The model to mark.
    label : str, default="support vectors"
        The label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : array of matplotlib Line2D
        One curve per value of the penalty that is not on the axis, ascending.
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
    """

    def __init__(
        self,
        *,
        complexity_penalties: FloatArray,
        l1_penalties: FloatArray,
        n_support: FloatArray,
        chosen: tuple[int, int] | None = None,
        label: str = "support vectors",
    ) -> None:
        self.complexity_penalties = complexity_penalties
        self.l1_penalties = l1_penalties
        self.n_support = n_support
        self.chosen = chosen
        self.label = label

    @classmethod
    def from_path(
        cls,
        path: Mapping[str, Any],
        *,
        x: str = "complexity_penalty",
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
        x: str = "complexity_penalty",
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the numbers of support vectors in cross-validation, as means over the folds.

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
        table = tabulate_search(
            search, "mean_n_support", {"kernels": kernels, "complexity": complexity}
        )
        display = cls(
            complexity_penalties=table.complexity_penalties,
            l1_penalties=table.l1_penalties,
            n_support=table.values,
            chosen=table.chosen,
            label="support vectors, mean over folds",
        )
        return display.plot(ax, x=x, line_kw=line_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        x: str = "complexity_penalty",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure.
        x : {"complexity_penalty", "l1_penalty"}, default="complexity_penalty"
            The penalty on the horizontal axis, whose scale is logarithmic but includes 0.
        line_kw : dict, default=None
            Passed to ``ax.plot`` for every curve.

        Returns
        -------
        self
        """
        if x not in AXES:
            raise ValueError(f"x must be one of {', '.join(map(repr, AXES))}, got {x!r}.")
        ax = axes_for(ax, f"{type(self).__name__}.plot")
        by_complexity = x == "complexity_penalty"
        along = np.asarray(self.complexity_penalties if by_complexity else self.l1_penalties)
        across = np.asarray(self.l1_penalties if by_complexity else self.complexity_penalties)
        counts = np.asarray(self.n_support)
        counts = counts if by_complexity else counts.T
        set_penalty_scale(ax, along)
        order = np.argsort(along)
        self.lines_ = np.array(
            [
                ax.plot(along[order], counts[order, column], **(style | full_names(line_kw)))[0]
                for column, style in curve_styles(across)
            ]
        )
        self.chosen_ = None
        if self.chosen is not None:
            place = self.chosen if by_complexity else self.chosen[::-1]
            (self.chosen_,) = ax.plot(along[place[0]], counts[place], **CHOSEN_STYLE)
        ax.set(xlabel=AXES[x], ylabel=self.label)
        ax.set_ylim(bottom=0.0)
        tidy(ax)
        add_legend(ax, next(label for name, label in AXES.items() if name != x))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def curve_styles(values: FloatArray) -> list[tuple[int, dict[str, Any]]]:
    """Return (index, style) of the curve of each value, ascending, from dark to bright."""
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
    """Make the horizontal axis logarithmic; a penalty of 0 goes left of the smallest other one."""
    positive = penalties[penalties > 0]
    if len(positive) == len(penalties):
        ax.set_xscale("log")
    elif len(positive):
        ax.set_xscale("symlog", linthresh=float(positive.min()), linscale=0.6)
        ax.set_xlim(-0.15 * float(positive.min()), 1.5 * float(positive.max()))


def add_legend(ax: Any, title: str) -> None:
    """Add a legend, beside the axes if it is too long to go inside."""
    handles, labels = ax.get_legend_handles_labels()
    beside = {} if len(labels) <= MOST_IN_LEGEND else {
        "loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False,
    }  # fmt: skip
    ax.legend(handles, labels, title=title, fontsize="small", **beside)
