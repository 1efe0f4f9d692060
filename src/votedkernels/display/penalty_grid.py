"""`PenaltyGridDisplay`: the results of a search over the two penalties, as a heat map."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..kernels.base import FloatArray
from .figure import COLOURS, axes_for, import_pyplot
from .grids import COMPLEXITY_LABEL, L1_LABEL, tabulate_search
from .models import require_search

#: Up to this many cells, their values are written into them by default.
MOST_NUMBERS = 100
LABELS = {
    "mean_test_score": "score, mean over folds",
    "std_test_score": "score, standard deviation over folds",
    "mean_n_support": "support vectors, mean over folds",
    "mean_fit_time": "fit time (s), mean over folds",
    "max_relative_gap": "relative duality gap, maximum over folds",
}


class PenaltyGridDisplay:
    """Heat map over the grid of complexity penalties and l1 penalties.

    Create it with `from_estimator`. The chosen cell has a solid frame. If another cell has the
    best mean score, which can happen with ``prefer="sparse"``, that cell has a dashed frame.

    Parameters
    ----------
    complexity_penalties : array of shape (n_l,)
        Ascending; from bottom to top.
    l1_penalties : array of shape (n_b,)
        Ascending; from left to right.
    values : array of shape (n_l, n_b)
        The values that the colours show. NaN is left blank.
    chosen, best : (row, column), default=None
        The cells with frames.
    label : str, default=None
        The label of the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : array of matplotlib Text, of shape (n_l, n_b), or None
        The numbers in the cells.
    frames_ : dict of str to matplotlib Rectangle
        The frames, ``"chosen"`` and ``"best score"``.
    colorbar_ : matplotlib Colorbar, or None

    Examples
    --------
    >>> from votedkernels import PenaltyGridDisplay, VotedKernelClassifierCV
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> grid = {"complexity_penalties": [1e-2, 1e-1], "l1_penalties": [1e-3, 1e-2, 1e-1]}
    >>> model = VotedKernelClassifierCV(**grid).fit(X, y)
    >>> display = PenaltyGridDisplay.from_estimator(model)
    >>> display.values.shape
    (2, 3)
    >>> bool(display.values[display.chosen] == model.best_score_)
    True
    """

    def __init__(
        self,
        *,
        complexity_penalties: FloatArray,
        l1_penalties: FloatArray,
        values: FloatArray,
        chosen: tuple[int, int] | None = None,
        best: tuple[int, int] | None = None,
        label: str | None = None,
    ) -> None:
        self.complexity_penalties = complexity_penalties
        self.l1_penalties = l1_penalties
        self.values = values
        self.chosen = chosen
        self.best = best
        self.label = label

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
        table = tabulate_search(search, quantity, {"kernels": kernels, "complexity": complexity})
        display = cls(
            complexity_penalties=table.complexity_penalties,
            l1_penalties=table.l1_penalties,
            values=table.values,
            chosen=table.chosen,
            best=table.best,
            label=LABELS.get(quantity, quantity),
        )
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
            The default is readable for the colour-blind and in grey.
        include_values : bool, default=None
            Whether to write the values into the cells; None does so for up to 100 cells.
        values_format : str, default=None
            The format of these values; None is ``"#.3g"``.
        colorbar : bool, default=True
            Whether to add a colour bar.
        im_kw : dict, default=None
            Passed to ``ax.imshow``.

        Returns
        -------
        self
        """
        values = np.asarray(self.values, dtype=np.float64)
        expected = (len(self.complexity_penalties), len(self.l1_penalties))
        if values.shape != expected:
            raise ValueError(
                f"values has shape {values.shape}, but there are {expected[0]} complexity "
                f"penalties and {expected[1]} l1 penalties."
            )
        ax = axes_for(ax, f"{type(self).__name__}.plot")
        style = {"cmap": cmap, "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
        self.im_ = ax.imshow(values, **(style | (im_kw or {})))
        numbered = values.size <= MOST_NUMBERS if include_values is None else include_values
        self.text_ = self._write_numbers(ax, values, values_format or "#.3g") if numbered else None
        self.frames_ = self._draw_frames(ax)
        self.colorbar_ = ax.figure.colorbar(self.im_, ax=ax) if colorbar else None
        if self.colorbar_ is not None and self.label is not None:
            self.colorbar_.set_label(self.label)
        ax.set_xticks(range(expected[1]), [f"{beta:g}" for beta in self.l1_penalties])
        ax.set_yticks(range(expected[0]), [f"{lam:g}" for lam in self.complexity_penalties])
        ax.set(xlabel=L1_LABEL, ylabel=COMPLEXITY_LABEL)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_numbers(self, ax: Any, values: FloatArray, form: str) -> Any:
        """Write each value in black or white, whichever contrasts with its cell."""
        texts = np.empty(values.shape, dtype=object)
        for place, value in np.ndenumerate(values):
            red, green, blue, _ = self.im_.cmap(self.im_.norm(value))
            bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45
            texts[place] = ax.text(
                place[1],
                place[0],
                "" if np.isnan(value) else format(value, form),
                ha="center",
                va="center",
                fontsize="small",
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
        if frames:
            ax.legend(
                handles=list(frames.values()),
                loc="lower right",
                bbox_to_anchor=(1.0, 1.0),
                ncols=2,
                frameon=False,
                handlelength=1.4,
            )
        return frames
