"""Read, check and write data files.

A data file is CSV in UTF-8, plain (``.csv``) or compressed (``.csv.gz``): a header, numeric
features, and a last column ``target`` of -1 and 1. A missing value is an empty field.

The same number can be written in several ways, so data are identified by their *content*: the
SHA-256 of the shape, the features as little-endian doubles and the labels as signed bytes
(`content_hash`).
"""

import csv
import gzip
import hashlib
import math
import zlib
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from votedkernels._system.atomic_files import writing_whole
from votedkernels.datasets.catalogue import DataSet
from votedkernels.exceptions import DataFileError

MAX_BYTES = 50_000_000
"""The largest uncompressed size that is read; the largest file in the catalogue is under 1 MB."""

_SHOWN = 40


class Samples(NamedTuple):
    """The content of a data file."""

    feature_names: tuple[str, ...]
    X: NDArray[np.float64]
    y: NDArray[np.int64]


def read_samples(path: Path) -> Samples:
    """Read a data file; raise `DataFileError` if it does not have the format of this module."""
    text = decode(_bytes_of(path), path)
    # Given several lines, csv.reader lets a quoted field run over them and loses count.
    lines = [line for line in enumerate(text.splitlines(), start=1) if line[1].strip()]
    if not lines:
        raise DataFileError(f"{path}: the file is empty.")
    names = _header(lines[0], path)
    if len(lines) == 1:
        raise DataFileError(f"{path}, line {lines[0][0]}: there are no rows after the header.")
    features, labels = [], []
    for number, line in lines[1:]:
        where = f"{path}, line {number}"
        *row, label = _fields(line, where)
        if len(row) != len(names):
            raise DataFileError(
                f"{where}: {len(row) + 1} fields, but the header has {len(names) + 1}."
            )
        pairs = zip(row, names, strict=True)
        features.append([number_of(field, where, f"column {name}") for field, name in pairs])
        labels.append(_label(label, where))
    if len(set(labels)) == 1:
        raise DataFileError(f"{path}: all {len(labels)} rows belong to class {labels[0]}.")
    return Samples(names, np.array(features), np.array(labels, dtype=np.int64))


def write_samples(samples: Samples, path: Path) -> None:
    """Write a data file; it appears under its name only once it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*samples.feature_names, "target"])
    for row, label in zip(samples.X.tolist(), samples.y.tolist(), strict=True):
        writer.writerow([*map(_shortest, row), label])
    with writing_whole(path) as file:
        file.write(text.getvalue().encode())


def content_hash(X: NDArray[np.float64], y: NDArray[np.int64]) -> str:
    """Return the SHA-256 of the values, which does not depend on the format of the file."""
    values = np.where(np.isnan(X), np.nan, X) + 0.0  # one NaN, and no negative zero
    digest = hashlib.sha256(f"{X.shape[0]}x{X.shape[1]}".encode())
    digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    digest.update(y.astype(np.int8).tobytes())
    return digest.hexdigest()


def check_content(X: NDArray[np.float64], y: NDArray[np.int64], facts: DataSet, where: str) -> None:
    """Raise if the values are not those of the data set; the message says what differs."""
    counts = {
        "rows": (X.shape[0], facts.n_samples),
        "features": (X.shape[1], facts.n_features),
        "rows of class -1": (int(np.count_nonzero(y == -1)), facts.n_negative),
        "rows of class 1": (int(np.count_nonzero(y == 1)), facts.n_positive),
    }
    wrong = [f"{n} {what}, not {due}" for what, (n, due) in counts.items() if n != due]
    found = content_hash(X, y)
    if not wrong and found != facts.content_sha256:
        wrong = [
            f"the right numbers of rows, features and labels, but different values (content hash "
            f"{found[:12]}..., not {facts.content_sha256[:12]}...)"
        ]
    if wrong:
        raise DataFileError(f"{where} is not the {facts.name} data: it has {'; '.join(wrong)}.")


def decode(raw: bytes, where: object) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark."""
    if not raw:
        raise DataFileError(f"{where}: the file is empty.")
    if b"\0" in raw:
        line = raw[: raw.index(b"\0")].count(b"\n") + 1
        raise DataFileError(f"{where}, line {line}: contains a NUL byte; this is not a text file.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataFileError(f"{where}, line {line}: not UTF-8 text.") from error


def number_of(field: str, where: str, what: str, *, missing: Sequence[str] = ("",)) -> float:
    """Return the number in a field, or NaN if it is missing."""
    field = field.strip()
    if field in missing:
        return math.nan
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    # float() also accepts "nan", "inf" and "1_000".
    if "_" in field or not math.isfinite(value):
        raise DataFileError(f"{where}: {quoted(field)} in {what} is not a finite number.")
    return value


def quoted(field: str) -> str:
    """Return a field for a message: quoted, on one line, shortened if it is long."""
    return repr(field if len(field) <= _SHOWN else field[:_SHOWN] + "...")


def _bytes_of(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFileError(f"{path}: not a complete gzip file ({error}).") from error
    if len(raw) > MAX_BYTES:
        raise DataFileError(f"{path}: more than {MAX_BYTES} bytes, uncompressed.")
    return raw


def _header(line: tuple[int, str], path: Path) -> tuple[str, ...]:
    where = f"{path}, line {line[0]}"
    *names, last = (name.strip() for name in _fields(line[1], where))
    if last != "target":
        raise DataFileError(
            f"{where}: the header must end with 'target', the name of the last column, "
            f"but ends with {quoted(last)}."
        )
    if not names or "" in names or len(set(names)) < len(names):
        raise DataFileError(f"{where}: the header must give each feature a different name.")
    return tuple(names)


def _fields(line: str, where: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise DataFileError(f"{where}: {error}.") from error


def _label(field: str, where: str) -> int:
    value = number_of(field, where, "column target", missing=()) if field.strip() else 0.0
    if value not in (-1.0, 1.0):
        raise DataFileError(f"{where}: the target is {quoted(field)}, but must be -1 or 1.")
    return int(value)


def _shortest(value: float) -> str:
    """Return the shortest text that reads back as this value; empty for NaN."""
    if math.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
