"""Tables as CSV or Parquet, read in pieces.

A CSV file is UTF-8 with a header, with or without a byte order mark; a quoted field may contain
commas and line ends. A command asks for numeric columns and for other columns, by name. Errors are
of class `DataFileError` and name the file, the line and the column.
"""

import csv
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from votedkernels.cli.console import messages, shortened
from votedkernels.cli.suggestions import did_you_mean
from votedkernels.datasets import DataFileError
from votedkernels.datasets.reading import quoted

CELLS = 200_000
"""The approximate number of cells of a piece; a cell takes about 100 bytes."""
BLOCK = 1024
"""Models decide on this many rows at once: with whole blocks, results agree to the last bit."""
MAX_LINE = 2**24
PEEKED = 8192
"""How much of a file is examined to find what separates its fields."""
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
QUOTED = re.compile(r'"[^"]*"')
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
STANDARD = Path("-")


class Piece(NamedTuple):
    """Some rows of a table: their places, their numbers row by row, and their other columns.

    ``places`` are line numbers in CSV and row numbers in Parquet. Other columns are lists of str
    from CSV and pyarrow arrays from Parquet.
    """

    places: Sequence[int]
    numbers: NDArray[np.float64]
    others: list[Any]


def rows_per_piece(n_columns: int) -> int:
    """Return how many rows to read at once."""
    rows = CELLS // max(1, n_columns)
    return max(1, rows) if rows < BLOCK else rows // BLOCK * BLOCK


@contextmanager
def open_table(path: Path) -> Iterator["Table"]:
    """Open a table according to its file extension; ``-`` is CSV from standard input."""
    if path == STANDARD:
        yield CsvTable("standard input", sys.stdin.buffer, None)
        return
    if path.is_dir():
        raise click.ClickException(f"{path} is a directory; use the path of a table.")
    kind = file_kind(path)
    with open(path, "rb") as file:
        if kind == "parquet":
            yield ParquetTable(str(path), file)
        else:
            yield CsvTable(str(path), file, os.fstat(file.fileno()).st_size)


def file_kind(path: Path) -> str:
    """Return ``csv`` or ``parquet``."""
    kind = path.suffix.lower().removeprefix(".")
    if path == STANDARD:
        return "csv"
    if kind not in ("csv", "parquet"):
        raise click.ClickException(
            f"{path}: unknown extension {path.suffix!r}; use .csv or .parquet, or - for CSV on "
            "standard input or output."
        )
    return kind


def import_parquet() -> Any:
    """Return pyarrow's Parquet module, which votedkernels[cli] does not install."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise click.ClickException(
            "Parquet files need pyarrow; try pip install 'votedkernels[parquet]'."
        ) from None
    return pyarrow.parquet


class CsvTable:
    """A CSV file that is read piece by piece.

    Attributes
    ----------
    name : str
        What error messages call it.
    columns : list of str
        The names of the columns.
    size : int or None
        The size in bytes; None if it is not known.
    position : int
        The number of bytes read so far.
    """

    unit = "line"
    #: What to do about a column that is not numeric; ``{column}`` stands for its name.
    way_out = ""

    def __init__(self, name: str, file: IO[bytes], size: int | None) -> None:
        self.name = name
        self.size = size
        self.position = 0
        self._file = file
        self._n_lines = 0
        self._has_underscore = False
        self._reader = csv.reader(self._lines(), strict=True, delimiter=find_delimiter(file))
        self.columns = self._read_header()

    def pieces(
        self, numeric: Sequence[str], others: Sequence[str], n_rows: int | None = None
    ) -> Iterator[Piece]:
        """Yield the rows, piece by piece."""
        n_rows = n_rows or rows_per_piece(len(self.columns))
        place_of = {name: place for place, name in enumerate(self.columns)}
        places = [place_of[name] for name in numeric]
        other_places = [place_of[name] for name in others]
        is_empty = True
        rows: list[list[str]] = []
        lines: list[int] = []
        for line, row in self._rows():
            rows.append(row)
            lines.append(line)
            if len(rows) == n_rows:
                is_empty = False
                yield self._piece(rows, lines, places, other_places)
                rows, lines = [], []
        if rows:
            yield self._piece(rows, lines, places, other_places)
        elif is_empty:
            raise DataFileError(f"{self.name}: there are no rows after the header.")

    def _lines(self) -> Iterator[str]:
        """Yield the lines as text, counting them for messages."""
        while raw := self._file.readline(MAX_LINE):
            self._n_lines += 1
            self.position += len(raw)
            if self._n_lines == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if b"\0" in raw:
                raise self._error(self._n_lines, "contains a NUL byte; this is not a text file.")
            if len(raw) == MAX_LINE:
                raise self._error(self._n_lines, f"has more than {MAX_LINE} bytes.")
            if b"_" in raw:
                self._has_underscore = True
            try:
                yield raw.decode()
            except UnicodeDecodeError:
                raise self._error(self._n_lines, "not UTF-8 text.") from None

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows, each with the number of its first line."""
        n_columns = len(self.columns)
        while True:
            line = self._n_lines + 1
            row = self._next_row(line)
            if row is None:
                return
            if len(row) != n_columns:
                if not row:
                    continue
                raise self._error(
                    line, f"{count(len(row), 'field')}, but the header has {n_columns}."
                )
            yield line, row

    def _next_row(self, line: int) -> list[str] | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise self._error(line, f"{error}.") from None

    def _read_header(self) -> list[str]:
        row: list[str] | None = []
        while row == []:
            line = self._n_lines + 1
            row = self._next_row(line)
        if row is None:
            raise DataFileError(f"{self.name}: the file is empty.")
        return check_columns([name.strip() for name in row], f"{self.name}, line {line}")

    def _piece(
        self, rows: list[list[str]], lines: list[int], places: list[int], others: list[int]
    ) -> Piece:
        numbers = self._numbers(rows, lines, places)
        return Piece(lines, numbers, [[row[place] for row in rows] for place in others])

    def _numbers(
        self, rows: list[list[str]], lines: list[int], places: list[int]
    ) -> NDArray[np.float64]:
        shape = (len(rows), len(places))
        if not places:
            return np.empty(shape)
        pick = itemgetter(*places) if len(places) > 1 else lambda row: (row[places[0]],)
        try:
            numbers = np.array([list(map(float, pick(row))) for row in rows]).reshape(shape)
            # float() accepts "1_000", "nan" and "inf" too.
            is_fine = bool(np.isfinite(numbers).all()) and not self._has_underscore
        except ValueError:
            is_fine = False
        if not is_fine:
            self._find_wrong(rows, lines, places)
        self._has_underscore = False
        return numbers

    def _find_wrong(self, rows: list[list[str]], lines: list[int], places: list[int]) -> None:
        """Raise for the first field that is not a number, if there is one."""
        for row, line in zip(rows, lines, strict=True):
            for place in places:
                # Strip exactly what float() strips, so that every field it refused is found.
                field, column = row[place].strip(" \t\n\v\f\r"), self.columns[place]
                if not field:
                    raise self._error(line, missing(column, self.way_out))
                if not is_number(field):
                    raise self._error(line, not_a_number(field, column, self.way_out))

    def _error(self, line: int, message: str) -> DataFileError:
        return DataFileError(f"{self.name}, line {line}: {message}")


class ParquetTable:
    """A Parquet file that is read piece by piece, like `CsvTable`. Its size is in rows."""

    unit = "row"
    way_out = ""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        parquet = import_parquet()
        import pyarrow

        self.name = name
        try:
            self._file = parquet.ParquetFile(file)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataFileError(f"{name}: this is not a Parquet file ({error}).") from None
        self.size: int | None = self._file.metadata.num_rows
        self.position = 0
        self.columns = check_columns(list(self._file.schema_arrow.names), name)

    def pieces(
        self, numeric: Sequence[str], others: Sequence[str], n_rows: int | None = None
    ) -> Iterator[Piece]:
        """Yield the rows, piece by piece."""
        import pyarrow

        if not self.size:
            raise DataFileError(f"{self.name}: there are no rows.")
        wanted = list(dict.fromkeys([*numeric, *others]))
        n_rows = n_rows or rows_per_piece(len(wanted))
        try:
            for batch in self._file.iter_batches(n_rows, columns=wanted):
                numbers = np.empty((batch.num_rows, len(numeric)))
                for place, name in enumerate(numeric):
                    numbers[:, place] = self._column(batch.column(name), name)
                lists = [batch.column(name) for name in others]
                places = range(self.position + 1, self.position + batch.num_rows + 1)
                self.position += batch.num_rows
                yield Piece(places, numbers, lists)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataFileError(f"{self.name}: the file is damaged ({error}).") from None

    def _column(self, column: Any, name: str) -> NDArray[np.float64]:
        import pyarrow.types as types

        kind = column.type
        is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not (is_number or types.is_decimal(kind)):
            what_to_do = self.way_out.format(column=name) or "turn it into numbers first"
            raise DataFileError(
                f"{self.name}: column {name} has type {kind}, but must be numeric; {what_to_do}."
            )
        values = np.asarray(column.cast("float64").to_numpy(zero_copy_only=False), dtype=float)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            row = self.position + int(wrong[0]) + 1
            if not column[int(wrong[0])].is_valid:
                raise DataFileError(f"{self.name}, row {row}: {missing(name, self.way_out)}")
            raise DataFileError(f"{self.name}, row {row}: column {name} is not a finite number.")
        return values


Table = CsvTable | ParquetTable


def check_columns(names: list[str], where: str) -> list[str]:
    """Return the names of the columns; raise if one is empty or occurs twice."""
    if "" in names:
        raise DataFileError(f"{where}: column {names.index('') + 1} has no name.")
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise DataFileError(f"{where}: there are two columns named {quoted(repeated[0])}.")
    return names


def check_names(table: Table, names: Sequence[str]) -> None:
    """Raise if the table lacks one of these columns."""
    known = set(table.columns)
    unknown = [name for name in names if name not in known]
    if unknown:
        lacking = shortened([quoted(name) for name in unknown], 10)
        what = "is no column" if len(unknown) == 1 else "are no columns"
        known_ones = f"the columns are {shortened(table.columns, 10)}"
        raise DataFileError(
            f"{table.name}: there {what} {lacking}; {did_you_mean(unknown[0], table.columns)}"
            f"{known_ones}."
        )


def is_number(field: str) -> bool:
    """Whether a text is a finite number, written without Python's underscores."""
    try:
        return math.isfinite(float(field)) and "_" not in field
    except ValueError:
        return False


def missing(column: str, way_out: str) -> str:
    """Return the message for a missing value."""
    ways = "fill it in, or leave out the row"
    if way_out:
        ways = f"fill it in, leave out the row, or leave the column out with --drop {column}"
    return f"column {column} is empty, and missing values are not allowed; {ways}."


def not_a_number(field: str, column: str, way_out: str) -> str:
    """Return the message for a field that is not a number."""
    text = f"{quoted(field)} in column {column} is not a finite number"
    if DECIMAL_COMMA.fullmatch(field):
        return f"{text}; write decimals with a point, not with a comma."
    return f"{text}; {way_out.format(column=column)}." if way_out else f"{text}."


def find_delimiter(file: IO[bytes]) -> str:
    """Return what separates names in the header: a comma or, failing that, another character."""
    peek = getattr(file, "peek", None)
    if peek is None:
        return ","
    header = QUOTED.sub("", peek(PEEKED).decode("utf-8", "replace").lstrip().partition("\n")[0])
    found = [sign for sign in DELIMITERS if sign in header]
    if "," in header or not found:
        return ","
    sign = max(found, key=header.count)
    messages().print(f"note: the fields are separated by {DELIMITERS[sign]}, not by commas.")
    return sign


def count(n: int, what: str) -> str:
    """Return ``1 field``, ``2 fields``."""
    return f"{n} {what}" + ("" if n == 1 else "s")
