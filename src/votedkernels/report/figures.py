"""Figures of a report on a model, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels.base import FloatArray, IntArray
from .curves import SearchCurve
from .svg import FAINT, INK, PAPER, SERIES, embed, few_ticks, new_axes, new_figure, page_style

#: At most this many steps have a label.
MOST_LABELS = 8


def draw_values(curve: SearchCurve) -> str:
    """Draw the error of each step, with its standard error."""
    percent = 100.0 if curve.label == "error" else 1.0
    unit = ", %" if curve.label == "error" else ""
    with page_style():
        figure, ax = _curve_axes(curve)
        places = np.arange(len(curve.values))
        values, spread = percent * curve.values, percent * curve.standard_errors
        ax.fill_between(places, values - spread, values + spread, color=FAINT, linewidth=0)
        ax.plot(places, values, "-o", color=SERIES[0], markersize=4, linewidth=1.6)
        _mark(ax, curve, values)
        ax.set_ylabel(f"held-out {curve.label}{unit}")
        if curve.label == "error":
            ax.set_ylim(bottom=0.0)
        few_ticks(ax.yaxis)
        return embed(figure)


def draw_counts(curve: SearchCurve) -> str:
    """Draw the number of support vectors of each step."""
    with page_style():
        figure, ax = _curve_axes(curve)
        places = np.arange(len(curve.values))
        ax.plot(places, curve.n_support, "-s", color=SERIES[2], markersize=4, linewidth=1.6)
        _mark(ax, curve, curve.n_support)
        ax.set_ylabel("support vectors")
        ax.set_ylim(bottom=0.0)
        few_ticks(ax.yaxis)
        return embed(figure)


def _curve_axes(curve: SearchCurve) -> tuple[Any, Any]:
    figure = new_figure(3.6, 2.4)
    ax = new_axes(figure, 0.16, 0.2, 0.8, 0.75)
    labelled = range(0, len(curve.steps), 1 + (len(curve.steps) - 1) // MOST_LABELS)
    ax.set_xticks(labelled, [curve.steps[place] for place in labelled])
    ax.set_xlim(-0.4, len(curve.steps) - 0.6)
    ax.set_xlabel(curve.axis)
    return figure, ax


def _mark(ax: Any, curve: SearchCurve, values: FloatArray) -> None:
    """Draw a ring around the chosen step."""
    if curve.chosen is not None:
        ax.plot(curve.chosen, values[curve.chosen], "o", markersize=11, fillstyle="none",
                color=SERIES[1], markeredgewidth=2.0)  # fmt: skip


def draw_shares(names: Sequence[str], shares: Sequence[float]) -> str:
    """Draw the share of each kernel in the weights, largest first."""
    with page_style():
        margin, height = 0.35 + 0.072 * max(map(len, names)), 0.55 + 0.24 * len(names)
        width = margin + 2.9
        figure = new_figure(width, height)
        ax = new_axes(figure, margin / width, 0.4 / height, 2.4 / width, 1 - 0.45 / height)
        places = range(len(names))
        ax.barh(places, [100 * share for share in shares], color=SERIES[0], linewidth=0)
        for place, share in zip(places, shares, strict=True):
            ax.text(100 * share + 1.5, place, f"{share:.0%}", va="center", fontsize=8)
        ax.set_yticks(places, names, parse_math=False)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlim(0, 112)
        ax.set_xticks([0, 50, 100])
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("share of the weights, %")
        return embed(figure)


def draw_reliability(predicted: FloatArray, observed: FloatArray, rows: IntArray, what: str) -> str:
    """Draw observed shares against predicted probabilities; larger dots stand for more rows."""
    with page_style():
        figure = new_figure(3.1, 2.9)
        ax = new_axes(figure, 0.17, 0.16, 0.79, 0.81)
        ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9)
        # Two standard errors of the share in each bin.
        spread = 2 * np.sqrt(np.maximum(predicted * (1 - predicted), 1e-4) / rows)
        ax.errorbar(predicted, observed, yerr=spread, color=SERIES[0], elinewidth=0.9)
        ax.plot(predicted, observed, "-o", color=SERIES[0], markersize=5, linewidth=1.2,
                markeredgecolor=PAPER)  # fmt: skip
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel=what, ylabel="observed share")
        few_ticks(ax.xaxis)
        few_ticks(ax.yaxis)
        return embed(figure)
