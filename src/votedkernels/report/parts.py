"""Parts of a page: tables, and figures with their descriptions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, and the numbers in it, named and already rounded."""

    text: str
    numbers: tuple[tuple[str, str], ...] = ()
    best: bool = False


NOTHING = Cell("\N{EN DASH}")


@dataclass(frozen=True)
class Table:
    """A table; neighbouring columns may share a heading above their names."""

    title: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]
    family: str = ""
    scaling: str = ""
    selection: str = ""
    note: str = ""
    #: The number of columns at the left that name the row.
    n_names: int = 1

    @property
    def headings(self) -> list[tuple[str, int]]:
        """The headings above columns, with the number of columns that each spans."""
        spans: list[tuple[str, int]] = []
        for over, _ in self.columns:
            if spans and over and spans[-1][0] == over:
                spans[-1] = over, spans[-1][1] + 1
            else:
                spans.append((over, 1))
        return spans

    @property
    def has_headings(self) -> bool:
        """Whether any column has a heading above it."""
        return any(over for over, _ in self.columns)


@dataclass(frozen=True)
class Panel:
    """A figure with its heading, and a description for those who cannot see it."""

    heading: str
    svg: str
    words: str
