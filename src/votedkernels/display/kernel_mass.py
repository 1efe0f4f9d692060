"""`KernelMassDisplay`: how much weight each kernel has in the vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..estimators._fitted_attributes import vote_of
from ..kernels.base import FloatArray
from .figure import INK, add_title, area_style, axes_for, full_names_of_area, import_pyplot, tidy
from .kernel_names import split_names
from .models import require_vote

#: The most names that fit on an axis; with more, only every second, third, ... name is shown.
MOST_NAMES = 45
INCHES_PER_BAR, INCHES_AROUND, TALLEST = 0.28, 1.1, 13.0


class KernelMassDisplay:
    """The sum of the absolute weights of each kernel, as bars, in the order of the families.

    Create it with `from_estimator`. Families differ by colour and hatch. With more than two
    classes, a bar is the sum over the one-vs-rest problems, as in ``kernel_mass_``; with
    ``per_class=True``, the bar is divided by class. The mass says how much weight a kernel has,
    not how large its values are: those of high-degree kernels are larger.

    Parameters
    ----------
    kernel_names : list of str
    kernel_mass : array of shape (n_kernels,)
    family_sizes : list of int, default=None
        The number of kernels in each family, in order; None means one family.
    class_mass : array of shape (n_problems, n_kernels), default=None
        The masses of the one-vs-rest problems, for ``per_class=True``.
    classes : list, default=None
        The names of the one-vs-rest problems.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : list of matplotlib BarContainer
        One per family; one per class with ``per_class=True``.

    Examples
    --------
    >>> from votedkernels import KernelMassDisplay, VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> model = VotedKernelClassifier().fit(X, y)
    >>> display = KernelMassDisplay.from_estimator(model)
    >>> [len(bars) for bars in display.bars_]  # polynomials and Gaussians
    [3, 7]
    """

    def __init__(
        self,
        *,
        kernel_names: Sequence[str],
        kernel_mass: FloatArray,
        family_sizes: Sequence[int] | None = None,
        class_mass: FloatArray | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.kernel_names = kernel_names
        self.kernel_mass = kernel_mass
        self.family_sizes = family_sizes
        self.class_mass = class_mass
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        per_class: bool = False,
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the masses of a fitted model.

        Parameters
        ----------
        estimator : VotedKernelClassifier, VotedKernelClassifierCV or Pipeline
            A fitted model, or a pipeline that ends in one.
        per_class, ax, bar_kw
            As for `plot`.

        Returns
        -------
        display : KernelMassDisplay
        """
        caller = f"{cls.__name__}.from_estimator"
        import_pyplot(caller)
        model = require_vote(estimator, caller)
        vote, n_kernels = vote_of(model), len(model.kernel_names_)
        display = cls(
            kernel_names=list(model.kernel_names_),
            kernel_mass=model.kernel_mass_,
            family_sizes=[family.n_kernels for family in vote.families],
            class_mass=np.array(
                [np.bincount(vote.kernels, np.abs(row), n_kernels) for row in vote.weights]
            ),
            classes=list(model.classes_) if len(vote.weights) > 1 else None,
        )
        return display.plot(ax, per_class=per_class, bar_kw=bar_kw)

    def plot(
        self, ax: Any = None, *, per_class: bool = False, bar_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the bars, the first kernel on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure, whose height depends on the number of kernels.
        per_class : bool, default=False
            Whether to divide the bars by class.
        bar_kw : dict, default=None
            Passed to ``ax.barh`` for all bars.

        Returns
        -------
        self
        """
        if per_class and (self.class_mass is None or self.classes is None):
            raise ValueError(
                "per_class=True needs more than two classes: two classes are a single problem, "
                "whose weights vote for one or the other; use per_class=False."
            )
        n_kernels = len(self.kernel_names)
        height = min(TALLEST, INCHES_AROUND + INCHES_PER_BAR * max(4, n_kernels))
        ax = axes_for(ax, f"{type(self).__name__}.plot", (6.4, height))
        sizes = [n_kernels] if self.family_sizes is None else list(self.family_sizes)
        families = np.split(np.arange(n_kernels), np.cumsum(sizes)[:-1])
        style = full_names_of_area(bar_kw)
        if per_class:
            self.bars_ = self._draw_classes(ax, style)
            self._set_labels(ax, list(self.kernel_names), "")
        else:
            names = [[self.kernel_names[k] for k in rows] for rows in families]
            heads, members = split_names(names)
            self.bars_ = self._draw_families(ax, families, heads, style)
            # A single family has no legend, so its name is on the axis.
            self._set_labels(ax, members, heads[0] if len(heads) == 1 and members != heads else "")
        add_title(ax, "Weight of each kernel in the vote")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_families(
        self, ax: Any, families: list[Any], heads: list[str], bar_kw: dict[str, Any]
    ) -> list[Any]:
        bars = []
        for number, (rows, head) in enumerate(zip(families, heads, strict=True)):
            style = area_style(number) | {"label": head} | bar_kw
            bars.append(ax.barh(rows, np.asarray(self.kernel_mass)[rows], **style))
            ax.bar_label(bars[-1], fmt="%.3g", padding=3, fontsize="small", color=INK)
        if len(families) > 1:
            ax.legend(fontsize="small")
        return bars

    def _draw_classes(self, ax: Any, bar_kw: dict[str, Any]) -> list[Any]:
        bars = []
        rows = np.arange(len(self.kernel_names))
        start = np.zeros(len(rows))
        assert self.class_mass is not None
        assert self.classes is not None
        for number, (name, mass) in enumerate(zip(self.classes, self.class_mass, strict=True)):
            style = area_style(number) | {"label": str(name)} | bar_kw
            bars.append(ax.barh(rows, mass, left=start, **style))
            start = start + mass
        totals = [f"{total:.3g}" for total in start]
        ax.bar_label(bars[-1], totals, padding=3, fontsize="small", color=INK)
        ax.legend(fontsize="small", title="class against the rest")
        return bars

    def _set_labels(self, ax: Any, names: list[str], title: str) -> None:
        rows = np.arange(0, len(names), 1 + (len(names) - 1) // MOST_NAMES)
        ax.set_yticks(rows, [names[row] for row in rows])
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(0.0, 1.14 * (float(np.max(self.kernel_mass)) or 1.0))  # room for the numbers
        ax.set_ylabel(title)
        ax.set_xlabel(r"kernel mass: sum of $|$weights$|$")
        tidy(ax, "x")
