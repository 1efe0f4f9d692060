"""Where the commands print."""

import sys

from rich.console import Console

_WIDTH_OF_FILES = 240


def printable(text: object) -> str:
    """Return a text from a file without what could move the cursor or change the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def output() -> Console:
    """Standard output; where it is not a terminal, wide enough to keep one row on one line."""
    width = None if sys.stdout.isatty() else _WIDTH_OF_FILES
    return Console(width=width, highlight=False, markup=False, emoji=False)  # paths may have [ or :


def messages() -> Console:
    """Standard error, for what is not the result."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)
