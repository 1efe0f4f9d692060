"""`ExplanationDisplay`: what counts for and against the decision on one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from ..estimators.explanation import LISTED, Explanation
from ..kernels.base import FloatArray
from .figure import INK, area_style, axes_for, full_names_of_area, import_pyplot, tidy
from .models import earlier_steps, require_vote, transform

INCHES_PER_BAR, INCHES_AROUND = 0.28, 1.1


class ExplanationDisplay:
    """What adds to the vote on one row, as bars: training examples, or features.

    Create it with `from_estimator` or `from_explanation`. Bars to the right are for the class, bars
    to the left are against it. All bars together sum to the vote.

    Parameters
    ----------
    names : list of str
        What each bar stands for.
    amounts : array of shape (n_bars,)
        What each bar adds to the vote for the class.
    label : a class, default=None
        The class, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : list of matplotlib BarContainer
        The bars for the class and those against it.

    Examples
    --------
    >>> from votedkernels import ExplanationDisplay, VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> model = VotedKernelClassifier().fit(X, y)
    >>> display = ExplanationDisplay.from_estimator(model, X, row=3, n=5, background=X[:50])
    >>> len(display.names)  # 5 features, the others, and the mean vote
    7
    """

    def __init__(self, *, names: Sequence[str], amounts: FloatArray, label: Any = None) -> None:
        self.names = names
        self.amounts = amounts
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        background: Any = None,
        n: int | None = LISTED,
        label: Any = None,
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Explain one row with a fitted model, and draw the explanation.

        Parameters
        ----------
        estimator : VotedKernelClassifier, VotedKernelClassifierCV or Pipeline
            A fitted model, or a pipeline that ends in one.
        X : rows in the same form as in ``fit``
        row : int, default=0
            The number of the row to explain.
        background : rows like X, default=None
            If given, the bars are the Shapley values of the features that the model receives.
        n, label, ax, bar_kw
            As for `from_explanation`.

        Returns
        -------
        display : ExplanationDisplay
        """
        caller = f"{cls.__name__}.from_estimator"
        import_pyplot(caller)
        model, steps = require_vote(estimator, caller), earlier_steps(estimator)
        if background is not None:
            background = transform(steps, background)
        explanation = model.explain(transform(steps, _safe_indexing(X, [row])), background)
        return cls.from_explanation(explanation, n=n, label=label, ax=ax, bar_kw=bar_kw)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        row: int = 0,
        n: int | None = LISTED,
        label: Any = None,
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw one row of an explanation: Shapley values if it has them, else votes of examples.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=0
            The number of the row among those explained.
        n : int, default=10
            How many bars to draw; the others are summed into one more bar. None draws all.
        label : a class, default=None
            The class whose vote is drawn; None means the predicted class.
        ax, bar_kw
            As for `plot`.

        Returns
        -------
        display : ExplanationDisplay
        """
        names, amounts, constant, label = explanation.parts(row, label)
        order = np.argsort(-np.abs(amounts), kind="stable")
        order = order[amounts[order] != 0]
        shown, others = order[:n], order[len(order[:n]) :]
        bars = [(names[i], float(amounts[i])) for i in shown]
        if len(others):
            bars.append((f"{len(others)} others", float(amounts[others].sum())))
        if constant[1]:
            bars.append(constant)
        display = cls(
            names=[name for name, _ in bars],
            amounts=np.array([amount for _, amount in bars]),
            label=label,
        )
        return display.plot(ax, bar_kw=bar_kw)

    def plot(self, ax: Any = None, *, bar_kw: dict[str, Any] | None = None) -> Self:
        """Draw the bars, the first on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure, whose height depends on the number of bars.
        bar_kw : dict, default=None
            Passed to ``ax.barh`` for all bars.

        Returns
        -------
        self
        """
        n_bars = len(self.names)
        height = INCHES_AROUND + INCHES_PER_BAR * max(4, n_bars)
        ax = axes_for(ax, f"{type(self).__name__}.plot", (6.4, height))
        amounts, self.bars_ = np.asarray(self.amounts), []
        for number, (rows, meaning) in enumerate(
            ((np.flatnonzero(amounts >= 0), "for"), (np.flatnonzero(amounts < 0), "against"))
        ):
            style = area_style(number) | {"label": meaning} | full_names_of_area(bar_kw)
            self.bars_.append(ax.barh(rows, amounts[rows], **style))
            ax.bar_label(self.bars_[-1], fmt="%+.3g", padding=3, fontsize="small", color=INK)
        ax.axvline(0.0, color=INK, linewidth=0.8)
        ax.margins(x=0.15)  # room for the numbers
        ax.set_yticks(np.arange(n_bars), list(self.names))
        ax.set_ylim(n_bars - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        of_class = "" if self.label is None else f" for {self.label}"
        ax.set_title(f"vote{of_class}: {amounts.sum():+.3g}", fontsize="medium")
        ax.set_xlabel("what it adds to the vote")
        if n_bars:
            ax.legend(fontsize="small")
        tidy(ax, "x")
        self.ax_, self.figure_ = ax, ax.figure
        return self
