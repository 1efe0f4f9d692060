"""What all displays share: the import of matplotlib, axes, colours and markers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.base import FloatArray

#: Okabe and Ito's colours, except yellow. Colour-blind readers can tell them apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
#: A second way to tell curves apart, for printing in grey.
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
#: The same for areas.
HATCHES = ("", "//", "..", "\\\\", "xx", "oo", "++")
GREY = "0.45"
INK = "0.15"
#: If the ratio of its ends exceeds this, a logarithmic axis has labels only at powers of ten.
MANY_DECADES = 1e4


def import_pyplot(caller: str) -> Any:
    """Return `matplotlib.pyplot`, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib; install it with `pip install votedkernels[plot]`."
        ) from error
    return plt


def axes_for(ax: Any, caller: str, figsize: tuple[float, float] | None = None) -> Any:
    """Return the given axes, or new ones in a figure of size ``figsize``."""
    plt = import_pyplot(caller)
    if ax is None:
        _, ax = plt.subplots(layout="constrained", figsize=figsize)
    return ax


def area_style(number: int) -> dict[str, Any]:
    """Return the style of one kind of area: a colour, and a hatch for printing in grey."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "hatch": HATCHES[number % len(HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.8,
    }


def full_names(line_kw: dict[str, Any] | None) -> dict[str, Any]:
    """Return line properties under their full names, since ``lw`` and ``linewidth`` would clash."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return dict(normalize_kwargs(line_kw or {}, Line2D))


def full_names_of_area(area_kw: dict[str, Any] | None) -> dict[str, Any]:
    """Return properties of bars and patches under their full names."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.patches import Patch

    return dict(normalize_kwargs(area_kw or {}, Patch))


def tidy(ax: Any, axis: str = "both") -> None:
    """Remove frame lines that carry no information, and add a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, which="major", axis=axis, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def add_title(ax: Any, text: str) -> None:
    """Add a title to axes, unless they have one."""
    if not ax.get_title():
        ax.set_title(text)


def mark_level(ax: Any, value: float, text: str) -> None:
    """Draw a thin horizontal line with a text on it."""
    ax.axhline(value, color=GREY, linestyle=":", linewidth=1.2, zorder=1)
    ax.annotate(
        text,
        (0.0, value),
        xycoords=ax.get_yaxis_transform(),
        xytext=(4, 3),
        textcoords="offset points",
        color=GREY,
        fontsize="small",
    )


def draw_staircase(ax: Any, x: FloatArray, y: FloatArray, style: dict[str, Any]) -> list[Any]:
    """Draw a step curve: each value holds until the next one.

    The corners are points of the curve, so that matplotlib keeps legends away from them.
    """
    return list(ax.plot(np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1], **style))


def logarithmic_axis(ax: Any, label: str) -> None:
    """Make the horizontal axis logarithmic, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    subdivisions = (1.0, 2.0, 5.0) if high < MANY_DECADES * low else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subdivisions))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(label)
