"""matplotlib drawings as SVG, for use inside a page.

Colours are drawn as placeholders and replaced by CSS variables, so that one drawing serves light
and dark pages. The same data yield the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

#: Placeholders; `_CSS` says what replaces them in the page.
INK, FAINT, PAPER = "#010203", "#010204", "#010205"
SERIES = tuple(f"#0a0b{i:02x}" for i in range(1, 8))
_CSS = {
    INK: "currentColor",
    FAINT: "var(--faint)",
    PAPER: "var(--paper)",
    **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES, 1)},
}


def page_style() -> AbstractContextManager[Any]:
    """Return matplotlib's settings for drawings in a page, as a context manager."""
    try:
        import matplotlib.style
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib; install it with `pip install votedkernels[report]`."
        ) from error
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "votedkernels",
        "font.size": 9,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": FAINT,
        "grid.linewidth": 0.4,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "lines.linestyle": "none",
    }
    context: AbstractContextManager[Any] = matplotlib.style.context(["default", settings])
    return context


def new_figure(width: float, height: float) -> Any:
    """Return a figure that pyplot does not keep."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    figure.patch.set_visible(False)
    return figure


def new_axes(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Return axes at a position in the figure, as fractions of its width and height."""
    ax = figure.add_axes((left, bottom, width, height))
    ax.patch.set_visible(False)
    return ax


def log_axis(ax: Any, values: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with a few round numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = max(1.0, min(values)) / 1.25, max(1.0, *values) * 1.25
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 6, 8)):
        ticks = [d * 10**k for k in range(7) for d in digits if low <= d * 10**k <= high]
        if len(ticks) >= 3:
            break
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def few_ticks(axis: Any) -> None:
    """Label an axis with a few round numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def embed(figure: Any) -> str:
    """Return the figure as SVG, without the parts that only a separate file needs."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1">', svg, count=1)
    for placeholder, css in _CSS.items():
        svg = svg.replace(placeholder, css)
    # Prefix ids with a hash of the content, so that they differ from those of other figures.
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    used = set(re.findall(r'(?:url\(#|xlink:href="#)([\w-]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|xlink:href="#)', rf"\g<1>{prefix}-", svg)
    return re.sub(r"\s*\n\s*", "\n", svg).strip()
