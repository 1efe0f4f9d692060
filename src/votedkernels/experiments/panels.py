"""The figures for one kind of kernel and one scaling, data set by data set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..report.parts import Panel
from . import figures
from .evidence import name_of
from .paper import TABLE
from .records import Record, Setting
from .selection import Group
from .tables import rank_algorithms

Pair = tuple[float, float]

#: What the kernels of each kind are numbered by.
AXES = {
    "polynomial": "degree",
    "gaussian": "\N{GREEK SMALL LETTER GAMMA}",
    "both": "degree, then \N{GREEK SMALL LETTER GAMMA}",
}


@dataclass(frozen=True)
class LegendEntry:
    """A marker and what it stands for."""

    svg: str
    name: str


def make_legend(group: Group, algorithms: Sequence[str], *, paper: bool) -> list[LegendEntry]:
    """Return the legend of the panels of a group."""
    places = [figures.place_of(a, group.algorithms) for a in algorithms]
    entries = [
        LegendEntry(figures.draw_legend_marker(place), name_of(a))
        for a, place in zip(algorithms, places, strict=True)
    ]
    if paper and group.family == "polynomial":
        entries.append(LegendEntry(figures.draw_legend_marker(0, hollow=True), "hollow: the paper"))
    return entries


def panel_errors(group: Group) -> list[Panel]:
    """Plot errors against support vectors."""
    panels = []
    for dataset in group.datasets:
        ours = {}
        for algorithm in group.algorithms:
            error, support = group.error(dataset, algorithm), group.support(dataset, algorithm)
            if error and support:
                ours[algorithm] = support.mean, error.mean, error.sd
        if not ours:
            continue
        paper = {}
        if group.family == "polynomial":
            paper = {
                a: (cell.support, cell.error)
                for a, cell in TABLE.get(dataset, {}).items()
                if a in ours
            }
        words = "; ".join(
            f"{name_of(a)} {error:.2f}% with {support:.0f} support vectors"
            for a, (support, error, _) in ours.items()
        )
        panels.append(Panel(dataset, figures.draw_error_against_support(ours, paper), words))
    return panels


def voters_of(group: Group) -> list[str]:
    """Return the algorithms that weigh several kernels."""
    return [a for a in group.algorithms if any(c.masses for c in group.choices if c.algorithm == a)]


def panel_shares(group: Group) -> list[Panel]:
    """Plot each kernel's share of the sum of |weights|, at the chosen settings."""
    panels = []
    axis = AXES[group.family]
    for dataset in group.datasets:
        shares = {}
        for algorithm in voters_of(group):
            masses = [m for c in group.of(dataset, algorithm) for m in c.masses if sum(m) > 0]
            if masses and len({len(m) for m in masses}) == 1:
                parts = np.array([np.asarray(m) / sum(m) for m in masses]).mean(axis=0)
                shares[algorithm] = [float(part) for part in parts]
        if not shares:
            continue
        n = max(map(len, shares.values()))
        labels = _kernel_labels(group.family, n)
        words = "; ".join(
            f"{name_of(a)}: most on {axis} {labels[int(np.argmax(parts))]} ({max(parts):.0%})"
            for a, parts in shares.items()
        )
        panels.append(Panel(dataset, figures.draw_weight_shares(shares, labels, axis), words))
    return panels


def _kernel_labels(family: str, n: int) -> list[str]:
    if family == "gaussian" and n == 7:  # the paper's widths
        return ["1e-6", "1e-5", "1e-4", "1e-3", "0.01", "0.1", "1"]
    if family == "both" and n == 17:  # labels of all would overlap
        return ["1", "", "", "4", "", "", "7", "", "", "10", "1e-6", "", "", "1e-3", "", "", "1"]
    return [str(k) for k in range(1, n + 1)]


def panel_validation(records: Sequence[Record], group: Group) -> list[Panel]:
    """Plot validation errors over the grid of penalties, with the chosen pairs."""
    here = [r for r in records if (r["family"], r["scaling"]) == (group.family, group.scaling)]
    panels = []
    for dataset in group.datasets:
        maps, chosen = {}, {}
        for algorithm in voters_of(group):
            mine = [r for r in here if (r["dataset"], r["algorithm"]) == (dataset, algorithm)]
            surface = average_validation(mine)
            if surface:
                maps[algorithm] = surface
                chosen[algorithm] = Counter(
                    pair
                    for c in group.of(dataset, algorithm)
                    for setting in c.settings
                    if (pair := _pair(setting)) in surface
                )
        if not maps:
            continue
        words = "; ".join(
            f"{name_of(a)}: from {100 * min(m.values()):.1f}% to {100 * max(m.values()):.1f}%"
            for a, m in maps.items()
        )
        panels.append(Panel(dataset, figures.draw_validation_maps(maps, chosen), words))
    return panels


def average_validation(records: Sequence[Record]) -> dict[Pair, float]:
    """Return the mean validation error of each pair of penalties over runs and partitions.

    Where the radius is a setting too, it is the one with the smallest mean for that pair.
    """
    rates: dict[tuple[Pair, float], list[float]] = {}
    for record in records:
        for setting, errors in zip(record["settings"], record["validation_errors"], strict=True):
            pair = _pair(setting)
            if pair:
                place = pair, setting.get("radius", math.inf)
                rates.setdefault(place, []).append(errors / record["n_validation"])
    surface: dict[Pair, float] = {}
    for (pair, _), values in rates.items():
        surface[pair] = min(float(np.mean(values)), surface.get(pair, math.inf))
    return surface


def _pair(setting: Setting) -> Pair | None:
    try:
        return setting["complexity_penalty"], setting["l1_penalty"]
    except KeyError:
        return None


def panel_ranks(group: Group) -> Panel | None:
    """Return the critical-difference diagram; None if there are too few data sets."""
    ranked = rank_algorithms(group)
    if not ranked:
        return None
    names, test = [name_of(a) for a in ranked[0]], ranked[1]
    words = ", ".join(
        f"{name} {rank:.2f}" for rank, name in sorted(zip(test.ranks, names, strict=True))
    )
    return Panel("Average ranks", figures.draw_critical_difference(test, names), words)
