"""Results on disk: one line of JSON for each finished unit, appended and never changed.

A line is written by one call and flushed to the disk before the next unit is taken up, so that a
killed run leaves whole lines and at most a torn last one, which the next run cuts off. The
first line tells the version of the format and what was run. A lock keeps a second process off.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Self

from .._system.atomic_files import naming
from ..exceptions import RecordError

FORMAT_VERSION = 1
#: Bytes that a record may have, so that no file can fill the memory with one.
MAX_LINE = 2**26


class RecordFile:
    """Records in a file, appended to by one process at a time."""

    def __init__(self, path: Path | str, header: dict[str, Any]) -> None:
        self.path = Path(path)
        self.header = {"format": "votedkernels-records", "version": FORMAT_VERSION, **header}

    def __enter__(self) -> Self:
        if self.path.suffix == ".gz":
            raise RecordError(f"{self.path}: compressed records cannot be added to; unpack them.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._file, self.path)
            size = os.fstat(self._file).st_size
            whole = _whole_length(self.path)
            if whole < size:  # torn by a kill
                os.ftruncate(self._file, whole)
            if whole == 0:
                self._write(self.header)
            self.records = read_records(self.path)
        except BaseException:
            os.close(self._file)
            raise
        self.keys = {record["key"] for record in self.records}
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._file)

    def append(self, record: dict[str, Any]) -> None:
        """Write a record, for good; one of the same key is there already, or is an error."""
        if record["key"] in self.keys:
            raise RecordError(f"{self.path}: {record['key']} is there already.")
        self._write(record)
        self.keys.add(record["key"])
        self.records.append(record)

    def _write(self, record: dict[str, Any]) -> None:
        self._check_place()
        line = (json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n").encode()
        before = os.fstat(self._file).st_size
        try:
            written = 0
            with naming(self.path):
                while written < len(line):
                    written += os.write(self._file, line[written:])
                os.fsync(self._file)
        except OSError:
            with contextlib.suppress(OSError):  # no half-written line, if the disk lets us
                os.ftruncate(self._file, before)
            raise

    def _check_place(self) -> None:
        """Raise where the file that is open is no longer the one of that name."""
        try:
            is_there = os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except FileNotFoundError:
            is_there = False
        if not is_there:
            raise RecordError(
                f"{self.path}: the file was removed or replaced while records were written to it."
            )


def read_records(path: Path | str) -> list[dict[str, Any]]:
    """Return all records of a file, plain or compressed; a torn last line is left out."""
    return list(iterate_records(path))


def iterate_records(path: Path | str) -> Iterator[dict[str, Any]]:
    """Give the records of a file; raise `RecordError` for one that is none of ours."""
    path = Path(path)
    seen: set[str] = set()
    with _open(path) as file:
        number = 0
        try:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
                record = _parse(path, number, line)
                if record is None:
                    return
                if number == 1:
                    _check_header(path, record)
                    continue
                if record["key"] in seen:
                    raise RecordError(f"{path}, line {number}: {record['key']} is there twice.")
                seen.add(record["key"])
                yield record
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RecordError(f"{path}, after line {number}: {error}") from None
    if number == 0:
        raise RecordError(f"{path}: the file is empty.")


def read_header(path: Path | str) -> dict[str, Any]:
    """Return what the first line of a file says of its run."""
    path = Path(path)
    with _open(path) as file:
        header = _parse(path, 1, file.readline(MAX_LINE)) or {}
    _check_header(path, header)
    return {name: value for name, value in header.items() if name not in ("format", "version")}


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")  # type: ignore[return-value]


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any] | None:
    if len(line) == MAX_LINE:
        raise RecordError(f"{path}, line {number}: a line of more than {MAX_LINE} bytes.")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        if not line.endswith(b"\n"):
            return None
        raise RecordError(f"{path}, line {number}: this is not a record.") from None
    if not isinstance(record, dict) or (number > 1 and type(record.get("key")) is not str):
        raise RecordError(f"{path}, line {number}: this is not a record.")
    return record


def _check_header(path: Path, header: dict[str, Any]) -> None:
    if header.get("format") != "votedkernels-records":
        raise RecordError(f"{path}, line 1: this is not a file of votedkernels records.")
    if header.get("version") != FORMAT_VERSION:
        raise RecordError(
            f"{path}, line 1: these records have version {header.get('version')}, and this "
            f"votedkernels reads version {FORMAT_VERSION}; use the one that wrote them."
        )


def _whole_length(path: Path) -> int:
    """Return the length of all lines that are complete."""
    content = path.read_bytes()
    return content.rfind(b"\n") + 1


def _lock(file: int, path: Path) -> None:
    """Keep other processes from writing; the lock goes with the process."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RecordError(f"{path}: another process is writing to it.") from None
