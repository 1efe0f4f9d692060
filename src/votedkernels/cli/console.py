"""Where and how the commands print."""

import sys
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from votedkernels.estimators.summary import HEADINGS

_WIDTH_OF_FILES = 240


def printable(text: object) -> str:
    """Return a text with control characters escaped, so that it cannot change the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def shortened(names: Sequence[str], n: int) -> str:
    """Return the first n names, separated by commas, and ``...`` if there are more."""
    return ", ".join(names[:n]) + (", ..." if len(names) > n else "")


def output() -> Console:
    """Return standard output; outside a terminal it is wide enough to keep rows on one line."""
    width = None if sys.stdout.isatty() else _WIDTH_OF_FILES
    return Console(width=width, highlight=False, markup=False, emoji=False)  # paths may have [ or :


def messages() -> Console:
    """Return standard error, for everything that is not the result."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def table_of_facts(facts: Mapping[str, object]) -> Table:
    """Return a table with one line per fact: its name and its value."""
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, printable(value))
    return table


def table_of_kernels(kernels: Sequence[Sequence[str]]) -> Table:
    """Return a table of the kernels that vote, as in the summary of a model."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(HEADINGS[0], overflow="fold")
    for heading in HEADINGS[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in kernels:
        table.add_row(*map(printable, row))
    return table
