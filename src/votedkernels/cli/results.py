"""Results as CSV or Parquet, written chunk by chunk."""

import csv
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from votedkernels._system.atomic_files import writing_whole
from votedkernels.cli.tables import STANDARD, file_kind, import_parquet, is_number

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet runs text that starts with one of these as a formula."""


@contextmanager
def open_results(path: Path, columns: Sequence[str]) -> Iterator["CsvResults | ParquetResults"]:
    """Open a file for results; it appears under its name only when it is complete."""
    if path == STANDARD:
        try:
            yield CsvResults(sys.stdout.buffer, columns)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # the reader, such as "| head", has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None
        return
    if file_kind(path) == "csv":
        with writing_whole(path) as file:
            yield CsvResults(file, columns)
        return
    import_parquet()
    with writing_whole(path) as file:
        results = ParquetResults(file, columns)
        try:
            yield results
        finally:
            results.close()


class CsvResults:
    """A CSV file, to which rows are appended."""

    def __init__(self, file: IO[bytes], columns: Sequence[str]) -> None:
        self._file = file
        self._write([[as_text(name) for name in columns]])

    def append(self, values: Sequence[Sequence[Any]]) -> None:
        """Write rows, passed as columns; text that a spreadsheet would run is escaped."""
        self._write(zip(*(_cells(column) for column in values), strict=True))

    def _write(self, rows: Any) -> None:
        lines = _Lines()
        # Before Python 3.13, csv quotes a carriage return only if the line ends with one.
        csv.writer(lines, lineterminator="\r\n").writerows(rows)
        self._file.write("".join(lines.written).encode("utf-8", "surrogatepass"))


class _Lines:
    """Collects the lines that csv writes, and ends each with a line feed alone."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(line.removesuffix("\r\n") + "\n")


class ParquetResults:
    """A Parquet file, to which rows are appended."""

    def __init__(self, file: IO[bytes], columns: Sequence[str]) -> None:
        self._file = file
        self._columns = list(columns)
        self._writer: Any = None

    def append(self, values: Sequence[Sequence[Any]]) -> None:
        """Write rows, passed as columns."""
        import pyarrow

        schema = None if self._writer is None else self._writer.schema
        table = pyarrow.table(dict(zip(self._columns, values, strict=True)), schema=schema)
        if self._writer is None:
            self._writer = import_parquet().ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the footer of the file."""
        if self._writer is not None:
            self._writer.close()


def _cells(values: Sequence[Any]) -> Sequence[Any]:
    if isinstance(values, np.ndarray):
        numbers: Sequence[Any] = values.tolist()
        return numbers if values.dtype.kind in "biuf" else [as_text(text) for text in numbers]
    if hasattr(values, "to_pylist"):  # a pyarrow array
        values = values.to_pylist()
    return [as_text(value) if isinstance(value, str) else value for value in values]


def as_text(text: str) -> str:
    """Return text that no spreadsheet runs as a formula, adding an apostrophe if needed."""
    return f"'{text}" if text.startswith(FORMULA) and not is_number(text) else text
