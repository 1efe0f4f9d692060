"""Read the files in which the data sets were published.

All are tables with the class in the last column; an `Original` says how they differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from votedkernels.datasets.archives import read_member
from votedkernels.datasets.catalogue import DataSet
from votedkernels.datasets.reading import Samples, decode, number_of, quoted
from votedkernels.exceptions import DataFileError


@dataclass(frozen=True)
class Original:
    """The format of one original.

    Parameters
    ----------
    labels : mapping of str to int or None
        The sign of each class, by its name in the file; rows of classes with None are left out.

    member : str or None
        The file in the archive, with or without ``.Z``; None if the download is the table itself.

    separator : str or None
        What separates two fields; None means any white space.

    n_ids : int
        The number of leading columns that identify a row; they are left out.

    n_header : int
        The number of lines before the rows; in ARFF files all lines up to ``@data`` are skipped.
    """

    labels: Mapping[str, int | None]
    member: str | None = None
    separator: str | None = ","
    n_ids: int = 0
    n_header: int = 0


ORIGINALS = {
    "breastcancer": Original({"2": -1, "4": 1}, "breast-cancer-wisconsin.data", n_ids=1),
    "climate": Original({"0": -1, "1": 1}, "pop_failures.dat", separator=None, n_ids=2, n_header=1),
    "diabetes": Original({"tested_negative": -1, "tested_positive": 1}),
    "german": Original({"1": -1, "2": 1}, "german.data-numeric", separator=None),
    "ionosphere": Original({"b": -1, "g": 1}, "ionosphere.data"),
    "musk": Original({"0.": -1, "1.": 1, "0": -1, "1": 1}, "clean1.data", n_ids=2),
    "phishing": Original({"-1": -1, "1": 1}, ".old.arff"),
    "retinopathy": Original({"0": -1, "1": 1}, "messidor_features.arff"),
    "vertebral": Original({"Normal": -1, "Abnormal": 1}, "column_2C_weka.arff"),
    "waveform01": Original({"0": -1, "1": 1, "2": None}, "waveform.data"),
}
"""The formats, by name of the data set; ocr49 has no published original."""


def read_original(raw: bytes, facts: DataSet, where: str) -> Samples:
    """Read the download of a data set.

    Parameters
    ----------
    raw : bytes
        The archive, or the table itself.

    facts : DataSet
        The data set.

    where : str
        What error messages call the download.
    """
    original = ORIGINALS[facts.name]
    if original.member is not None:
        raw, where = read_member(raw, original.member, where), f"{where}, {original.member}"
    features, signs = [], []
    for number, line in _rows(decode(raw, where), original):
        here = f"{where}, line {number}"
        *row, label = (field.strip() for field in line.split(original.separator))
        if len(row) != original.n_ids + facts.n_features:
            due = original.n_ids + facts.n_features + 1
            raise DataFileError(f"{here}: {len(row) + 1} fields, not {due}.")
        if label not in original.labels:
            raise DataFileError(f"{here}: unknown class {quoted(label)}.")
        sign = original.labels[label]
        if sign is None:
            continue
        pairs = zip(row[original.n_ids :], facts.feature_names, strict=True)
        features.append(
            [number_of(field, here, f"column {name}", missing=("", "?")) for field, name in pairs]
        )
        signs.append(sign)
    if not signs:
        raise DataFileError(f"{where}: there are no rows.")
    return Samples(facts.feature_names, np.array(features), np.array(signs, dtype=np.int64))


def _rows(text: str, original: Original) -> Iterator[tuple[int, str]]:
    """Return the lines that are rows, with their numbers."""
    lines = [(i, line.strip()) for i, line in enumerate(text.splitlines(), start=1)]
    start = original.n_header
    for i, line in lines:
        if line.lower() == "@data":
            start = i
    return ((i, line) for i, line in lines[start:] if line and not line.startswith("%"))
