"""`BoundDisplay`: the terms of a bound on the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ..guarantees.theorems import GeneralizationBound
from ..kernels.base import FloatArray
from .figure import (
    INK,
    add_title,
    area_style,
    axes_for,
    full_names_of_area,
    import_pyplot,
    tidy,
)
from .models import earlier_steps, require_vote, transform

#: All terms of all bounds, from bottom to top, with the numbers of their styles.
TERMS = {
    "error": 5,
    "error on the other rows": 5,
    "error on these rows": 5,
    "price of the description": 6,
    "uncertainty": 7,
    "margin error": 0,
    "complexity": 1,
    "star hull": 2,
    "sampling the vote": 3,
    "confidence": 4,
}
#: With more bars than this, only the smallest bound is labelled with its value.
MOST_NUMBERS = 8
#: Why the bound of a pipeline is heuristic.
FITTED_STEPS = "earlier steps of the pipeline may have been fitted to these rows"
ERROR_STYLE = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 8,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 1.4,
    "clip_on": False,
    "zorder": 4,
}


class BoundDisplay:
    """The terms of bounds on the error, as stacked bars, one bar per bound.

    Create it with `from_estimator`, with `from_bounds` for several bounds side by side, or with
    `from_choice` for the bounds along a path. A bound of 1 or more is vacuous; a line marks that
    level. A bar is labelled as heuristic if its bound is not guaranteed.

    Parameters
    ----------
    bounds : list of GeneralizationBound
        Results of ``generalization_bound``.
    names : list of str, default=None
        Labels of the bars; None uses the sizes of the samples.
    errors : array of shape (n_bounds,), default=None
        Errors measured on other rows; they are marked in the plot.
    label : str, default=None
        Label of the horizontal axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : dict of str to matplotlib BarContainer
        The bars by name of the term. Terms that no bound has are left out.
    errors_ : matplotlib Line2D, or None

    Examples
    --------
    >>> from votedkernels import BoundDisplay, VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> model = VotedKernelClassifier(complexity_penalty=1e-2).fit(X, y)
    >>> display = BoundDisplay.from_estimator(model, X, y)
    >>> list(display.bars_)
    ['margin error', 'complexity', 'sampling the vote', 'confidence']
    """

    def __init__(
        self,
        *,
        bounds: Sequence[GeneralizationBound],
        names: Sequence[str] | None = None,
        errors: Sequence[float] | FloatArray | None = None,
        label: str | None = None,
    ) -> None:
        self.bounds = bounds
        self.names = names
        self.errors = errors
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        delta: float = 0.05,
        radius: float | None = None,
        method: str | Sequence[str] = "theorem",
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Bound the error of a fitted model and draw the terms.

        Parameters
        ----------
        estimator : VotedKernelClassifier, VotedKernelClassifierCV or Pipeline
            A fitted model with two classes, or a pipeline that ends in one. The bound of a pipeline
            with earlier steps is marked as heuristic, because these steps may have been fitted to
            the same rows.
        X, y, delta, radius
            As for ``generalization_bound``.
        method : str or list of str, default="theorem"
            As for ``generalization_bound``; a list draws one bar per method.
        ax, bar_kw
            As for `plot`.

        Returns
        -------
        display : BoundDisplay
        """
        caller = f"{cls.__name__}.from_estimator"
        import_pyplot(caller)
        model, steps = require_vote(estimator, caller), earlier_steps(estimator)
        rows, methods = transform(steps, X), [method] if isinstance(method, str) else method
        bounds = [
            model.generalization_bound(rows, y, delta=delta, radius=radius, method=each)
            for each in methods
        ]
        if steps:
            bounds = [
                replace(bound, is_guarantee=False, reasons=(*bound.reasons, FITTED_STEPS))
                for bound in bounds
            ]
        return cls(bounds=bounds, names=None if isinstance(method, str) else methods).plot(
            ax, bar_kw=bar_kw
        )

    @classmethod
    def from_choice(
        cls,
        choice: Mapping[str, Any],
        X_test: Any = None,
        y_test: Any = None,
        *,
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the bounds along the path of `choose_by_bound`, from large to small penalties.

        Parameters
        ----------
        choice : Bunch
            The result of `choose_by_bound`.
        X_test, y_test : other rows and their labels, default=None
            If given, the errors of all rounded votes on these rows are marked.
        ax, bar_kw
            As for `plot`.

        Returns
        -------
        display : BoundDisplay
        """
        caller = f"{cls.__name__}.from_choice"
        import_pyplot(caller)
        if not isinstance(choice, Mapping) or "bounds" not in choice:
            raise TypeError(
                f"{caller} needs what choose_by_bound returned, got {type(choice).__name__}."
            )
        bounds, errors = choice["bounds"], None
        if X_test is not None:
            rows = transform(earlier_steps(choice["model"]), X_test)
            errors = [1 - bound.rounded.score(rows, y_test) for bound in bounds]
        names = [f"{penalty:.2g}" for penalty in choice["complexity_penalties"]]
        display = cls(bounds=bounds, names=names, errors=errors, label="complexity penalty")
        return display.plot(ax, bar_kw=bar_kw)

    @classmethod
    def from_bounds(
        cls,
        bounds: Sequence[GeneralizationBound],
        *,
        names: Sequence[str] | None = None,
        errors: Sequence[float] | FloatArray | None = None,
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the terms of several bounds.

        Parameters
        ----------
        bounds, names, errors
            As for the constructor.
        ax, bar_kw
            As for `plot`.

        Returns
        -------
        display : BoundDisplay
        """
        return cls(bounds=bounds, names=names, errors=errors).plot(ax, bar_kw=bar_kw)

    def plot(self, ax: Any = None, *, bar_kw: dict[str, Any] | None = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure.
        bar_kw : dict, default=None
            Passed to ``ax.bar`` for all terms.

        Returns
        -------
        self
        """
        self._check()
        ax = axes_for(ax, f"{type(self).__name__}.plot")
        places = np.arange(len(self.bounds))
        floor = np.zeros(len(places))
        self.bars_: dict[str, Any] = {}
        for name, number in TERMS.items():
            if not any(name in bound.terms for bound in self.bounds):
                continue
            heights = np.array([bound.terms.get(name, 0.0) for bound in self.bounds])
            style = {"width": 0.62, **area_style(number), "label": name, "zorder": 2}
            self.bars_[name] = ax.bar(
                places, heights, bottom=floor, **(style | full_names_of_area(bar_kw))
            )
            floor = floor + heights
        values = [bound.value for bound in self.bounds]
        numbered = [int(np.argmin(values))] if len(values) > MOST_NUMBERS else range(len(values))
        for place in numbered:
            bound = self.bounds[place]
            ax.annotate(
                f"{bound.value:.3g}", (place, bound.value), xytext=(0, 3), zorder=5,
                textcoords="offset points", ha="center", va="bottom", color=INK,
            )  # fmt: skip
        self.errors_ = None
        if self.errors is not None:
            (self.errors_,) = ax.plot(places, self.errors, label="test error", **ERROR_STYLE)
        self._set_labels(ax, places)
        add_title(ax, "Terms of the bound on the error")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _check(self) -> None:
        if isinstance(self.bounds, GeneralizationBound) or len(self.bounds) == 0:
            raise ValueError(f"bounds must be a list of one or more bounds, got {self.bounds!r}.")
        for name, values in (("names", self.names), ("errors", self.errors)):
            if values is not None and len(values) != len(self.bounds):
                raise ValueError(
                    f"{name} has {len(values)} entries for {len(self.bounds)} bounds; pass one "
                    "entry per bound."
                )

    def _set_labels(self, ax: Any, places: Any) -> None:
        highest = max(1.0, *(bound.value for bound in self.bounds))
        ax.axhline(1.0, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, zorder=3)
        ax.annotate(
            "vacuous above", (1.0, 1.0), xycoords=ax.get_yaxis_transform(), xytext=(0, 3),
            textcoords="offset points", ha="right", va="bottom", style="italic", fontsize="small",
            zorder=5,
        )  # fmt: skip
        names = self.names
        if names is None:
            names = [f"{bound.n_samples:,}" for bound in self.bounds]
        ax.set_xticks(
            places,
            [
                str(name) if bound.is_guarantee else f"{name}\n(heuristic)"
                for name, bound in zip(names, self.bounds, strict=True)
            ],
        )
        turned = 90 if len(places) > MOST_NUMBERS else 0
        ax.tick_params(
            axis="x", length=0, pad=8, rotation=turned
        )  # leaves room for an error of 0, on the axis
        # Without a margin, a single bar would fill the whole width.
        around = max(0.5, 1.6 - 0.5 * len(places))
        ax.set_xlim(-around, len(places) - 1 + around)
        ax.set_ylim(0.0, 1.1 * highest)
        ax.set_xlabel(self.label or ("samples" if self.names is None else ""))
        ax.set_ylabel("bound on the error, by term")
        tidy(ax, "y")
        handles, labels = ax.get_legend_handles_labels()
        ax.legend(
            handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.0, 1.0),
            frameon=False,
        )  # fmt: skip
