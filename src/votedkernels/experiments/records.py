"""Results on disk: one line of JSON per finished unit, appended and never changed.

Each line is flushed to disk before the next one is written. A run that is killed therefore
leaves complete lines and at most one torn line at the end, which the next run removes. The first
line holds the version of the format and what was run. A lock keeps other processes from writing.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NotRequired, Self, TypedDict

from .._system.atomic_files import naming
from ..exceptions import RecordError

FORMAT_VERSION = 1
#: The largest line that is read, in bytes, so that no file can fill up memory.
MAX_LINE = 2**26

#: The parameters of one fit, by name.
Setting = dict[str, float]
#: A line of a file, of which only the key has been checked.
RawRecord = dict[str, object]


class Record(TypedDict):
    """One finished unit: what it is about, and the results of each of its settings.

    The lists have one entry per setting. ``n_support`` is -1 for methods without support vectors.
    """

    key: str
    family: str
    scaling: str
    seed: int
    dataset: str
    run: int
    algorithm: str
    n_train: int
    n_validation: int
    n_test: int
    settings: list[Setting]
    validation_errors: list[int]
    test_errors: list[int]
    n_support: list[int]
    status: list[str]
    gap: NotRequired[float | None]
    mass: NotRequired[list[list[float]] | None]
    fit_seconds: NotRequired[float]
    predict_seconds: NotRequired[float]
    finished: NotRequired[str]


class RecordFile:
    """A file of records, to which one process at a time may append.

    Attributes
    ----------
    keys : set of str
        The keys of all records in the file.
    """

    def __init__(self, path: Path | str, header: Mapping[str, object]) -> None:
        self.path = Path(path)
        self.header = {"format": "votedkernels-records", "version": FORMAT_VERSION, **header}

    def __enter__(self) -> Self:
        if self.path.suffix == ".gz":
            raise RecordError(
                f"{self.path}: records cannot be added to a compressed file; unpack it first."
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._file, self.path)
            size = os.fstat(self._file).st_size
            whole = _whole_length(self.path)
            if whole < size:  # cut off when the process was killed
                os.ftruncate(self._file, whole)
            if whole == 0:
                self._write(self.header)
            self.keys = {str(record["key"]) for record in iterate_records(self.path)}
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._file)

    def append(self, record: Record) -> None:
        """Write a record to disk; raise if its key is already in the file."""
        if record["key"] in self.keys:
            raise RecordError(f"{self.path}: {record['key']} is already in the file.")
        self._write(record)
        self.keys.add(record["key"])

    def _write(self, record: Mapping[str, object]) -> None:
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
            with contextlib.suppress(OSError):  # remove the half-written line if possible
                os.ftruncate(self._file, before)
            raise

    def _check_place(self) -> None:
        """Raise if the path no longer leads to the open file."""
        try:
            is_there = os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except FileNotFoundError:
            is_there = False
        if not is_there:
            raise RecordError(
                f"{self.path}: the file was removed or replaced while records were written to it; "
                "run the same command again."
            )


def read_records(path: Path | str) -> list[RawRecord]:
    """Return all records of a file, plain or compressed, except a torn last line."""
    return list(iterate_records(path))


def iterate_records(path: Path | str) -> Iterator[RawRecord]:
    """Yield the records of a file; raise `RecordError` if it is not a file of records."""
    path = Path(path)
    seen: set[object] = set()
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
                    raise RecordError(f"{path}, line {number}: {record['key']} occurs twice.")
                seen.add(record["key"])
                yield record
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RecordError(f"{path}, after line {number}: {error}") from None
    if number == 0:
        raise RecordError(f"{path}: the file is empty.")


def read_header(path: Path | str) -> RawRecord:
    """Return what the first line of a file says about its run."""
    path = Path(path)
    with _open(path) as file:
        header = _parse(path, 1, file.readline(MAX_LINE)) or {}
    _check_header(path, header)
    return {name: value for name, value in header.items() if name not in ("format", "version")}


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")  # type: ignore[return-value]


def _parse(path: Path, number: int, line: bytes) -> RawRecord | None:
    """Return what a line holds, or None for a torn line."""
    if len(line) == MAX_LINE:
        raise RecordError(f"{path}, line {number}: the line has more than {MAX_LINE} bytes.")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        if not line.endswith(b"\n"):
            return None
        raise RecordError(f"{path}, line {number}: this is not a record.") from None
    if not isinstance(record, dict) or (number > 1 and type(record.get("key")) is not str):
        raise RecordError(f"{path}, line {number}: this is not a record.")
    return record


def _check_header(path: Path, header: RawRecord) -> None:
    if header.get("format") != "votedkernels-records":
        raise RecordError(f"{path}, line 1: this is not a file of votedkernels records.")
    if header.get("version") != FORMAT_VERSION:
        raise RecordError(
            f"{path}, line 1: these records have version {header.get('version')}, but this "
            f"votedkernels reads version {FORMAT_VERSION}; use the votedkernels that wrote them."
        )


def _whole_length(path: Path) -> int:
    """Return the number of bytes up to the end of the last complete line."""
    content = path.read_bytes()
    return content.rfind(b"\n") + 1


def _lock(file: int, path: Path) -> None:
    """Keep other processes from writing; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RecordError(
            f"{path}: another process is writing to this file; wait until it has finished."
        ) from None
