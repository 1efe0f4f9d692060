"""Figures of the report, as SVG. Names of data sets are in the page, not in the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..report.svg import (
    INK,
    PAPER,
    SERIES,
    embed,
    few_ticks,
    log_axis,
    new_axes,
    new_figure,
    page_style,
)
from .statistics import FriedmanTest

#: Matplotlib's markers, and the same shapes as paths in a box from -5 to 5, for legends.
MARKERS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M-3.6-3.6h7.2v7.2h-7.2z",
    "D": "M0-4.8L4.8 0L0 4.8L-4.8 0z",
    "^": "M0-4.6L4.6 3.8H-4.6z",
    "v": "M0 4.6L4.6-3.8H-4.6z",
    "P": "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "X": "M-4.4-2.2l2.2-2.2l2.2 2.2l2.2-2.2l2.2 2.2l-2.2 2.2l2.2 2.2l-2.2 2.2l-2.2-2.2l-2.2 2.2"
    "l-2.2-2.2l2.2-2.2z",
}  # fmt: skip
#: Indices into SERIES and MARKERS, so that an algorithm looks the same in every figure.
PLACES = {
    "l2-svm": 0, "l1-svm": 1, "vkr-dimension": 2, "vkr-trace": 3, "vkr-local": 4, "vkr-extended": 5,
}  # fmt: skip


def place_of(algorithm: str, algorithms: Sequence[str]) -> int:
    """Return the index of an algorithm's colour and marker."""
    if algorithm in PLACES:
        return PLACES[algorithm]
    return list(algorithms).index(algorithm) % len(SERIES)


def draw_legend_marker(place: int, *, hollow: bool = False) -> str:
    """Return a marker as a small SVG."""
    shape = list(MARKERS.values())[place % len(MARKERS)]
    colour = f"var(--series-{place % len(SERIES) + 1})"
    fill, stroke = ("none", colour) if hollow else (colour, "none")
    return (
        f'<svg class="marker" viewBox="-6 -6 12 12" aria-hidden="true"><path d="{shape}" '
        f'style="fill:{fill};stroke:{stroke};stroke-width:1.4"/></svg>'
    )


def draw_error_against_support(
    ours: Mapping[str, tuple[float, float, float]], paper: Mapping[str, tuple[float, float]]
) -> str:
    """Draw mean errors (with standard deviations) against support vectors for one data set.

    ``ours`` maps algorithms to (support vectors, error, standard deviation), ``paper`` to the first
    two.
    """
    with page_style():
        figure = new_figure(3.0, 2.3)
        ax = new_axes(figure, 0.17, 0.21, 0.8, 0.76)
        names = list(ours)
        for name, (support, error) in paper.items():
            i = place_of(name, names)
            ax.plot(max(support, 1), error, list(MARKERS)[i], markersize=6, fillstyle="none",
                    color=SERIES[i], markeredgewidth=1.1)  # fmt: skip
        for name, (support, error, sd) in ours.items():
            i = place_of(name, names)
            ax.errorbar(max(support, 1), error, yerr=sd if sd == sd else None, color=SERIES[i],
                        marker=list(MARKERS)[i], markersize=6.5, elinewidth=0.9)  # fmt: skip
        log_axis(ax, [*(v[0] for v in ours.values()), *(v[0] for v in paper.values())])
        few_ticks(ax.yaxis)
        ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
        ax.set(xlabel="support vectors", ylabel="test error, %")
        return embed(figure)


def draw_weight_shares(
    shares: Mapping[str, Sequence[float]], labels: Sequence[str], axis: str
) -> str:
    """Draw each kernel's share of the sum of |weights|, by algorithm, for one data set."""
    with page_style():
        figure = new_figure(3.0, 2.0)
        ax = new_axes(figure, 0.17, 0.24, 0.8, 0.73)
        names, width = list(shares), 0.8 / max(1, len(shares))
        for j, (name, values) in enumerate(shares.items()):
            left = [k - 0.4 + (j + 0.5) * width for k in range(len(values))]
            colour = SERIES[place_of(name, names)]
            ax.bar(left, [100 * v for v in values], 0.9 * width, color=colour, linewidth=0)
        ax.set_xticks(range(len(labels)), labels)
        ax.set_ylim(0, 100)
        ax.set_yticks([0, 50, 100])
        ax.grid(visible=False, axis="x")
        ax.tick_params(axis="x", length=0)
        ax.set(xlabel=axis, ylabel="share, %")
        return embed(figure)


def draw_validation_maps(
    maps: Mapping[str, Mapping[tuple[float, float], float]],
    chosen: Mapping[str, Mapping[tuple[float, float], int]],
) -> str:
    """Draw mean validation errors over (lambda, beta), and how often each pair was chosen."""
    with page_style():
        import matplotlib

        side, n = 1.35, len(maps)
        width, height = 0.55 + (side + 0.15) * n + 0.75, side + 0.55
        figure = new_figure(width, height)
        # With few colours, the bar is drawn as shapes, not as an image.
        colours = matplotlib.colormaps["cividis_r"].resampled(24)
        all_values = [100 * v for values in maps.values() for v in values.values()]
        low, high = min(all_values), max(all_values)
        # Cap the scale, so that bad settings do not hide differences between good ones.
        high = min(high, max(2.5 * low, low + 5.0)) if high > low else low + 1.0
        for i, (name, values) in enumerate(maps.items()):
            left = 0.55 + (side + 0.15) * i
            ax = new_axes(figure, left / width, 0.4 / height, side / width, side / height)
            lambdas = sorted({pair[0] for pair in values})
            betas = sorted({pair[1] for pair in values})
            grid = [[100 * values.get((x, y), float("nan")) for x in lambdas] for y in betas]
            mesh = ax.pcolormesh(
                range(len(lambdas) + 1), range(len(betas) + 1), grid, cmap=colours, vmin=low,
                vmax=high, linewidth=0.3, edgecolor="face",
            )  # fmt: skip
            most = max(chosen.get(name, {}).values(), default=1)
            for (x, y), count in sorted(chosen.get(name, {}).items()):
                ax.plot(lambdas.index(x) + 0.5, betas.index(y) + 0.5, "o", color=PAPER,
                        markeredgecolor="#000000", markersize=2.5 + 3.5 * count / most,
                        markeredgewidth=0.8)  # fmt: skip
            _power_ticks(ax.xaxis, lambdas)
            _power_ticks(ax.yaxis, betas)
            ax.set_xlabel("λ")
            if i == 0:
                ax.set_ylabel("β")
            else:
                ax.set_yticklabels([])
            ax.spines[:].set_visible(False)
            ax.grid(visible=False)
        place = (
            (0.55 + (side + 0.15) * n) / width,
            0.5 / height,
            0.09 / width,
            (side - 0.2) / height,
        )
        bar = figure.colorbar(
            mesh,
            cax=figure.add_axes(place),
            extend="max" if high < max(all_values) else "neither",
        )
        bar.solids.set_rasterized(False)
        few_ticks(bar.ax.yaxis)
        bar.outline.set_visible(False)
        bar.set_label("validation error, %")
        return embed(figure)


def draw_critical_difference(test: FriedmanTest, names: Sequence[str]) -> str:
    """Draw average ranks, and bars that join algorithms that do not differ (Demsar)."""
    with page_style():
        order = sorted(range(len(names)), key=lambda i: (test.ranks[i], i))
        labels = [f"{name} {rank:.2f}" for name, rank in zip(names, test.ranks, strict=True)]
        cliques, k = test.cliques, len(names)
        half = (k + 1) // 2
        top = 0.35 + 0.2 * len(cliques)
        margin = 0.25 + 0.078 * max(map(len, labels))  # inches
        width, height = 2.6 + 2 * margin, 0.75 + 0.36 * (top + 0.55 * half)
        figure = new_figure(width, height)
        ax = new_axes(figure, 0, 0, 1, 1)
        per_inch = (k - 1) / 2.6
        ax.set(xlim=(1 - margin * per_inch, k + margin * per_inch), ylim=(-top - 0.55 * half, 1.1))
        ax.axis("off")
        line = {"linestyle": "-", "color": INK, "linewidth": 0.9}
        ax.plot([1, k], [0, 0], **line)
        for rank in range(1, k + 1):
            ax.plot([rank, rank], [0, 0.1], **line)
            ax.text(rank, 0.16, str(rank), ha="center", va="bottom")
        end = 1 + test.critical_difference
        ax.plot([1, 1, 1, end, end, end], [0.72, 0.88, 0.8, 0.8, 0.72, 0.88], **line)
        ax.text(end + 0.07 * per_inch, 0.8, f"CD {test.critical_difference:.2f}", va="center")
        for level, clique in enumerate(cliques):
            ends = [min(test.ranks[i] for i in clique), max(test.ranks[i] for i in clique)]
            y = -0.2 - 0.2 * level
            ax.plot(ends, [y, y], linestyle="-", color=SERIES[0], linewidth=3.5)
        for position, i in enumerate(order):
            left = position < half
            y = -top - 0.5 * (position if left else k - 1 - position)
            side = 1 - 0.1 * per_inch if left else k + 0.1 * per_inch
            ax.plot([test.ranks[i], test.ranks[i], side], [0, y, y], **line)
            ax.text(
                side + (-0.05 if left else 0.05) * per_inch,
                y,
                labels[i],
                ha="right" if left else "left",
                va="center",
                parse_math=False,
            )
        return embed(figure)


def _power_ticks(axis: Any, values: Sequence[float]) -> None:
    """Label every third penalty, starting with the largest."""
    places = range(len(values) - 1, -1, -3)
    axis.set_ticks(
        [i + 0.5 for i in places], [f"{values[i]:g}".replace("e-0", "e-") for i in places]
    )
    axis.set_tick_params(length=0)
