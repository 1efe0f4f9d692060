"""All that a report is made of: the records of one or more files, checked, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import RecordError
from .paper import DATASETS, EXPECTED, NAMES
from .protocol import N_FOLDS, SCALINGS
from .records import iterate_records, read_header

Record = dict[str, Any]

FAMILIES = ("polynomial", "gaussian", "peers")
#: Other classifiers, as people call them.
PEER_NAMES = {
    "svc-gaussian": "SVC, Gaussian",
    "logistic-regression": "logistic regression",
    "hist-gradient-boosting": "gradient boosting",
    "rvm": "RVM",
    "easymkl": "EasyMKL",
    "vkr-all": "VKR, tuned",
    "vkr-default": "VKR as it comes",
}
_LISTS = ("settings", "validation_errors", "test_errors", "n_support", "status")
#: What may differ between two records of the same unit without being a contradiction.
_TIMES = {"fit_seconds", "predict_seconds", "finished"}


@dataclass(frozen=True)
class Evidence:
    """Records in a fixed order, whatever the order of files and lines, and their headers."""

    records: tuple[Record, ...]
    headers: tuple[dict[str, Any], ...] = ()


def load_evidence(paths: Iterable[Path | str]) -> Evidence:
    """Read files of records; raise `RecordError` or `OSError` for what cannot be used."""
    by_key: dict[str, tuple[Record, Path]] = {}
    headers: list[dict[str, Any]] = []
    for path in sorted({Path(path) for path in paths}):
        for record in iterate_records(path):
            check_record(record, path)
            known, other = by_key.setdefault(record["key"], (record, path))
            if known is not record and _facts(known) != _facts(record):
                raise RecordError(f"{path}: {record['key']} differs from the one in {other}.")
        header = read_header(path)
        if header not in headers:
            headers.append(header)
    if not by_key:
        raise RecordError("there are no records to report on.")
    return Evidence(in_order(record for record, _ in by_key.values()), tuple(headers))


def check_record(record: Record, path: Path | str) -> None:
    """Raise `RecordError` for a record that is not of the shape the runner writes."""
    key = record["key"]

    def fail(what: str) -> RecordError:
        return RecordError(f"{path}: record {key!r} {what}.")

    for name in ("family", "scaling", "dataset", "algorithm"):
        if not isinstance(record.get(name), str):
            raise fail(f"has no {name}")
    for name in ("seed", "run", "n_train", "n_validation", "n_test"):
        if type(record.get(name)) is not int or record[name] < (name[0] == "n"):
            raise fail(f"has no usable {name}")
    lists = [record.get(name) for name in _LISTS]
    if not all(isinstance(values, list) for values in lists):
        raise fail(f"lacks one of {', '.join(_LISTS)}")
    if len({len(values) for values in lists if values is not None}) != 1 or not lists[0]:
        raise fail("has settings and figures of different numbers, or none")
    for name, total in (("validation_errors", "n_validation"), ("test_errors", "n_test")):
        if not all(type(e) is int and 0 <= e <= record[total] for e in record[name]):
            raise fail(f"has {name} that are no counts up to {total}")
    if not all(isinstance(n, int | float) and n >= -1 for n in record["n_support"]):
        raise fail("has numbers of support vectors that are none")
    if not all(isinstance(setting, dict) for setting in record["settings"]):
        raise fail("has settings that are no names with values")
    mass = record.get("mass")
    if mass is not None and (not isinstance(mass, list) or len(mass) != len(record["settings"])):
        raise fail("has masses and settings of different numbers")


def in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return records sorted by what they are about, known names first."""
    return tuple(
        sorted(
            records,
            key=lambda r: (
                _rank(r["family"], FAMILIES),
                _rank(r["scaling"], tuple(SCALINGS)),
                _rank(r["dataset"], DATASETS),
                _rank(r["algorithm"], tuple(NAMES)),
                r["seed"],
                r["run"],
            ),
        )
    )


def name_of(algorithm: str) -> str:
    """Return an algorithm as the paper calls it, or as people do, or its own name."""
    return {**PEER_NAMES, **NAMES}.get(algorithm, algorithm)


def describe_missing(records: Sequence[Record]) -> list[str]:
    """Say, for each family and scaling, what the protocol asks for and the records lack."""
    lines = []
    for family, scaling in unique((r["family"], r["scaling"]) for r in records):
        here = [r for r in records if (r["family"], r["scaling"]) == (family, scaling)]
        where = f"{family} kernels, scaling {scaling}" if family in EXPECTED else family
        seen = unique(r["dataset"] for r in here)
        absent = [name for name in DATASETS if name not in seen] if family in EXPECTED else []
        if absent:
            lines.append(f"{where}: no records of {', '.join(absent)}.")
        algorithms = unique([*EXPECTED.get(family, ()), *(r["algorithm"] for r in here)])
        total = len({r["seed"] for r in here}) * N_FOLDS
        have: dict[tuple[str, str], int] = {}
        for r in here:
            have[r["dataset"], r["algorithm"]] = have.get((r["dataset"], r["algorithm"]), 0) + 1
        for dataset in seen:
            short = [
                f"{name_of(algorithm)} {have.get((dataset, algorithm), 0)}"
                for algorithm in algorithms
                if have.get((dataset, algorithm), 0) < total
            ]
            if short:
                lines.append(f"{where}, {dataset}: of {total} runs, {', '.join(short)}.")
    return lines


def unique(values: Iterable[Any]) -> list[Any]:
    """Return values without repetitions, in the order of their first appearance."""
    return list(dict.fromkeys(values))


def _rank(name: str, known: Sequence[str]) -> tuple[int, str]:
    return (known.index(name), "") if name in known else (len(known), name)


def _facts(record: Record) -> Record:
    return {name: value for name, value in record.items() if name not in _TIMES}
