"""A table of numbers, and its formats: rows for a page, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence

from ..report.parts import NOTHING, Cell, Table

CSV_COLUMNS = ("table", "family", "scaling", "selection", "row", "column", "figure", "value")


def text_cell(text: str) -> Cell:
    """Return a cell with text."""
    return Cell(text)


def number_cell(name: str, value: float | None, digits: int = 2, *, best: bool = False) -> Cell:
    """Return a cell with one number, or with a dash."""
    if value is None or math.isnan(value):
        return NOTHING
    shown = f"{value:.{digits}f}"
    return Cell(shown, ((name, shown),), best)


def mean_cell(mean: float, sd: float, digits: int, *, best: bool = False) -> Cell:
    """Return a cell with mean and standard deviation, as in the paper: 10.71 (1.13)."""
    shown = f"{mean:.{digits}f}"
    if math.isnan(sd):
        return Cell(shown, (("mean", shown),), best)
    spread = f"{sd:.{digits}f}"
    return Cell(f"{shown} ({spread})", (("mean", shown), ("sd", spread)), best)


# -- Markdown ----------------------------------------------------------------------------


def to_markdown(table: Table) -> str:
    """Return a table as GitHub Markdown, with its title and note."""
    names = [f"{over}, {name}" if over and name else over or name for over, name in table.columns]
    lines = [
        f"### {escape_markdown(table.title)}",
        "",
        _line(map(escape_markdown, names)),
        _line("---" if i < table.n_names else "---:" for i in range(len(names))),
    ]
    for row in table.rows:
        lines.append(
            _line(
                f"**{escape_markdown(c.text)}**" if c.best else escape_markdown(c.text) for c in row
            )
        )
    if table.note:
        lines += ["", escape_markdown(table.note)]
    return "\n".join(lines) + "\n"


def escape_markdown(text: str) -> str:
    """Return text on one line that Markdown shows unchanged."""
    text = (
        without_controls(" ".join(text.split()))
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", text)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


# -- CSV ---------------------------------------------------------------------------------


def to_csv(tables: Sequence[Table]) -> str:
    """Return all numbers of the tables, one per line, named by table, row and column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        start = (table.title, table.family, table.scaling, table.selection)
        for row in table.rows:
            name = ": ".join(cell.text for cell in row[: table.n_names])
            for (over, column), cell in zip(table.columns, row, strict=True):
                full = f"{over}, {column}" if over and column else over or column
                for figure, number in cell.numbers:
                    texts = [neutralise(text) for text in (*start, name, full, figure)]
                    writer.writerow([*texts, number])
    return out.getvalue()


def without_controls(text: str) -> str:
    """Return text with unprintable characters replaced, so that it cannot change a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def neutralise(text: str) -> str:
    """Return text that is neither a formula in a spreadsheet nor a command to a terminal."""
    text = without_controls(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
