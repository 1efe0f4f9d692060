"""`PenaltyGridDisplay`: the results of a search, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..kernels.base import FloatArray
from .figure import COLOURS, axes_for, import_pyplot
from .grids import COMPLEXITY_LABEL, L1_LABEL, tabulate_search
from .kernel_names import axis_of_kernels
from .levels import tabulate_levels, went_down_a_path
from .models import require_search

#: By default, values are written into the cells for up to this many cells and columns.
MOST_NUMBERS, MOST_COLUMNS = 100, 12
#: With more columns, these values are printed smaller.
MANY_COLUMNS = 7
#: The most names on the vertical axis; with more kernels, some are left out.
MOST_NAMES = 40
#: Colours end at the outermost values within this many interquartile ranges of the quartiles.
FENCE = 1.5
#: The colour of kernels that were not tried at a level.
UNTRIED = "0.9"
LABELS = {
    "mean_test_score": "score, mean over folds",
    "std_test_score": "score, standard deviation over folds",
    "mean_test_loss": "criterion of the choice (smaller is better)",
    "mean_n_support": "support vectors, mean over folds",
    "mean_fit_time": "fit time (s), mean over folds",
    "max_relative_gap": "relative duality gap, maximum over folds",
}
TITLES = {"mean_test_score": "Cross-validated score by level and kernel"}
GRID_TITLES = {"mean_test_score": "Cross-validated score by penalty"}


@dataclass(frozen=True)
class Axes:
    """The labels of the two axes, and of their ticks."""

    rows: list[str]
    columns: list[str]
    ylabel: str
    xlabel: str


class PenaltyGridDisplay:
    """Heat map of a search: over the two penalties or, without a grid, over levels and kernels.

    Create it with `from_estimator`. The chosen cell has a solid frame. If another cell has the
    best mean score, that cell has a dashed frame: the default search does not choose by the score
    alone, nor does ``prefer="sparse"``.

    Outliers do not stretch the range of colours, which ends at the outermost values within 1.5
    interquartile ranges of the quartiles. If values lie outside it, the colour bar ends in an
    arrow, and its label says how far they reach.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        The values that the colours show. NaN is left blank.
    complexity_penalties : array of shape (n_rows,), default=None
        Ascending; from bottom to top.
    l1_penalties : array of shape (n_columns,), default=None
        Ascending; from left to right.
    kernel_names : list of str, of length n_rows, default=None
        For a search without a grid, the kernels, from bottom to top.
    n_support : array of shape (n_columns,), default=None
        For a search without a grid, the mean numbers of support vectors of the levels.
    chosen, best : (row, column), default=None
        The cells with frames.
    label : str, default=None
        The label of the colour bar.
    title : str, default=None
        The title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : array of matplotlib Text, of shape (n_rows, n_columns), or None
        The numbers in the cells.
    frames_ : dict of str to matplotlib Rectangle
        The frames, ``"chosen"`` and ``"best score"``.
    colorbar_ : matplotlib Colorbar, or None

    Examples
    --------
    >>> from votedkernels import PenaltyGridDisplay, VotedKernelClassifierCV
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> model = VotedKernelClassifierCV().fit(X, y)
    >>> display = PenaltyGridDisplay.from_estimator(model)
    >>> display.kernel_names[display.chosen[0]] == model.best_params_["kernel"]
    True
    >>> bool(display.values[display.chosen] == model.best_score_)
    True
    >>> grid = {"complexity_penalties": [1e-2, 1e-1], "l1_penalties": [1e-3, 1e-2, 1e-1]}
    >>> model = VotedKernelClassifierCV(**grid).fit(X, y)
    >>> PenaltyGridDisplay.from_estimator(model).values.shape
    (2, 3)
    """

    def __init__(
        self,
        *,
        values: FloatArray,
        complexity_penalties: FloatArray | None = None,
        l1_penalties: FloatArray | None = None,
        kernel_names: Sequence[str] | None = None,
        n_support: FloatArray | None = None,
        chosen: tuple[int, int] | None = None,
        best: tuple[int, int] | None = None,
        label: str | None = None,
        title: str | None = None,
    ) -> None:
        self.values = values
        self.complexity_penalties = complexity_penalties
        self.l1_penalties = l1_penalties
        self.kernel_names = kernel_names
        self.n_support = n_support
        self.chosen = chosen
        self.best = best
        self.label = label
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        quantity: str = "mean_test_score",
        kernels: Any = None,
        complexity: Any = None,
        ax: Any = None,
        cmap: Any = "cividis",
        include_values: bool | None = None,
        values_format: str | None = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the results of cross-validation.

        For a search without a grid, a cell shows the relaxation that the search found best for
        this kernel at this level. The chosen cell is that of ``best_params_``.

        Parameters
        ----------
        estimator : VotedKernelClassifierCV or Pipeline
            A fitted search, or a pipeline that ends in one; ``refit=False`` is enough.
        quantity : str, default="mean_test_score"
            A column of ``cv_results_``, such as ``"mean_n_support"`` or ``"std_test_score"``.
        kernels, complexity : default=None
            Names of alternatives, if the search had several; None uses the chosen ones.
        ax, cmap, include_values, values_format, colorbar, im_kw
            As for `plot`.

        Returns
        -------
        display : PenaltyGridDisplay
        """
        caller = f"{cls.__name__}.from_estimator"
        import_pyplot(caller)
        search = require_search(estimator, caller)
        alternative = {"kernels": kernels, "complexity": complexity}
        label = LABELS.get(quantity, quantity)
        if went_down_a_path(search):
            levels = tabulate_levels(search, quantity, alternative)
            title = TITLES.get(quantity, "Results of the search by level and kernel")
            display = cls(**vars(levels), label=label, title=title)
        else:
            table = tabulate_search(search, quantity, alternative)
            title = GRID_TITLES.get(quantity, "Results of the search by penalty")
            display = cls(**vars(table), label=label, title=title)
        return display.plot(
            ax,
            cmap=cmap,
            include_values=include_values,
            values_format=values_format,
            colorbar=colorbar,
            im_kw=im_kw,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        cmap: Any = "cividis",
        include_values: bool | None = None,
        values_format: str | None = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure.
        cmap : str or matplotlib Colormap, default="cividis"
            The default is readable in grey and for colour-blind readers.
        include_values : bool, default=None
            Whether to write the values into the cells; None does so for up to 100 cells in up to
            12 columns.
        values_format : str, default=None
            The format of these values; None means ``"#.3g"``.
        colorbar : bool, default=True
            Whether to add a colour bar.
        im_kw : dict, default=None
            Passed to ``ax.imshow``. Use ``vmin`` and ``vmax``, or ``norm``, to change the ends
            of the range of colours.

        Returns
        -------
        self
        """
        values, labels = np.asarray(self.values, dtype=np.float64), self._axes()
        if values.shape != (len(labels.rows), len(labels.columns)):
            raise ValueError(
                f"values has shape {values.shape}, but the axes have {len(labels.rows)} and "
                f"{len(labels.columns)} values."
            )
        ax = axes_for(ax, f"{type(self).__name__}.plot")
        style = {"cmap": cmap, "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
        if "norm" not in (im_kw or {}):
            style |= dict(zip(("vmin", "vmax"), ends_of_colours(values), strict=True))
        self.im_ = ax.imshow(values, **(style | (im_kw or {})))
        if include_values is None:
            include_values = values.size <= MOST_NUMBERS and values.shape[1] <= MOST_COLUMNS
        self.text_ = None
        if include_values:
            self.text_ = self._write_numbers(ax, values, values_format or "#.3g")
        self.frames_ = self._draw_frames(ax)
        self.colorbar_ = self._draw_colorbar(ax, values) if colorbar else None
        set_ticks(ax, labels)
        if self.title is not None:
            # The legend is between the title and the axes.
            ax.set_title(self.title, pad=28 if self.frames_ else 8)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _axes(self) -> Axes:
        if self.complexity_penalties is not None and self.l1_penalties is not None:
            return Axes(
                [f"{penalty:g}" for penalty in self.complexity_penalties],
                [f"{penalty:g}" for penalty in self.l1_penalties],
                COMPLEXITY_LABEL,
                L1_LABEL,
            )
        if self.kernel_names is not None and self.n_support is not None:
            names, label = axis_of_kernels(list(self.kernel_names))
            counts = [short_number(count) for count in self.n_support]
            return Axes(names, counts, label, "level: number of support vectors, mean over folds")
        raise ValueError(
            "the axes have no values; pass complexity_penalties and l1_penalties, or kernel_names "
            "and n_support."
        )

    def _draw_colorbar(self, ax: Any, values: FloatArray) -> Any:
        """Add a colour bar that shows if values lie outside the range of colours."""
        norm, known = self.im_.norm, values[~np.isnan(values)]
        below, above = bool((known < norm.vmin).any()), bool((known > norm.vmax).any())
        extend = {(True, True): "both", (True, False): "min", (False, True): "max"}
        colorbar = ax.figure.colorbar(
            self.im_, ax=ax, extend=extend.get((below, above), "neither"), extendfrac=0.04
        )
        parts = [f"down to {known.min():.3g}"] if below else []
        parts += [f"up to {known.max():.3g}"] if above else []
        arrows = "arrows" if len(parts) > 1 else "arrow"
        clipped = [f"({arrows}: {' and '.join(parts)})"] if parts else []
        lines = ([] if self.label is None else [self.label]) + clipped
        if lines:
            colorbar.set_label("\n".join(lines))
        return colorbar

    def _write_numbers(self, ax: Any, values: FloatArray, form: str) -> Any:
        """Write each value in black or white, whichever contrasts with its cell."""
        texts = np.empty(values.shape, dtype=object)
        size = "small" if values.shape[1] <= MANY_COLUMNS else "x-small"
        for place, value in np.ndenumerate(values):
            red, green, blue, _ = self.im_.cmap(self.im_.norm(value))
            bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45
            texts[place] = ax.text(
                place[1],
                place[0],
                "" if np.isnan(value) else format(value, form),
                ha="center",
                va="center",
                fontsize=size,
                color="black" if bright else "white",
            )
        return texts

    def _draw_frames(self, ax: Any) -> dict[str, Any]:
        from matplotlib.patches import Rectangle
        from matplotlib.patheffects import withStroke

        frames: dict[str, Any] = {}
        places = {"chosen": (self.chosen, "-"), "best score": (self.best, "--")}
        for name, (place, linestyle) in places.items():
            if place is None or (name == "best score" and place == self.chosen):
                continue
            frames[name] = Rectangle(
                (place[1] - 0.46, place[0] - 0.44),
                0.92,
                0.88,
                fill=False,
                edgecolor=COLOURS[1],
                linewidth=2.5,
                linestyle=linestyle,
                label=name,
                path_effects=[withStroke(linewidth=4.5, foreground="white")],
            )
            ax.add_patch(frames[name])
        handles = list(frames.values())
        if self.kernel_names is not None and np.isnan(np.asarray(self.values)).any():
            ax.set_facecolor(UNTRIED)
            handles.append(Rectangle((0, 0), 1, 1, color=UNTRIED, label="not tried"))
        if handles:
            ax.legend(
                handles=handles,
                loc="lower right",
                bbox_to_anchor=(1.0, 1.0),
                ncols=3,
                frameon=False,
                handlelength=1.4,
            )
        return frames


def ends_of_colours(values: FloatArray) -> tuple[float | None, float | None]:
    """Return the outermost values that are not outliers, like the whiskers of a box plot.

    >>> ends_of_colours(np.array([0.1, 0.90, 0.91, 0.92, 0.93]))
    (0.9, 0.93)
    """
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return None, None
    low, high = np.quantile(known, (0.25, 0.75))
    room = FENCE * (high - low)
    if room == 0:  # most values are equal, so only the others can be seen
        return float(known.min()), float(known.max())
    inside = known[(known >= low - room) & (known <= high + room)]
    return float(inside.min()), float(inside.max())


def set_ticks(ax: Any, labels: Axes) -> None:
    """Label the rows and the columns, leaving out some if there are too many."""
    for axis, names, most in (
        (ax.xaxis, labels.columns, MOST_COLUMNS),
        (ax.yaxis, labels.rows, MOST_NAMES),
    ):
        places = range(0, len(names), 1 + (len(names) - 1) // most)
        axis.set_ticks(places, [names[place] for place in places])
    ax.set(xlabel=labels.xlabel, ylabel=labels.ylabel)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def short_number(count: float) -> str:
    """Return a count as text; a small mean has one decimal.

    >>> [short_number(count) for count in (3.0, 7.4, 26.6)]
    ['3', '7.4', '27']
    """
    return f"{count:.0f}" if count >= 10 else f"{count:.1f}".removesuffix(".0")
