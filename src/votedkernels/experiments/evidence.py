"""What a report is made from: the records of one or more files, checked and sorted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from ..exceptions import RecordError
from .paper import DATASETS, EXPECTED, NAMES
from .protocol import N_FOLDS, SCALINGS
from .records import RawRecord, Record, iterate_records, read_header

T = TypeVar("T")

FAMILIES = ("polynomial", "gaussian", "both", "peers")
#: The usual names of other classifiers.
PEER_NAMES = {
    "svc-gaussian": "SVC, Gaussian",
    "logistic-regression": "logistic regression",
    "hist-gradient-boosting": "gradient boosting",
    "rvm": "RVM",
    "easymkl": "EasyMKL",
    "vkr-all": "VKR, tuned",
    "svm-ensemble": "ensemble of SVMs, two stages",
    "svm-ensemble-joint": "ensemble of SVMs, one stage",
    "vkr-default": "VKR with defaults",
    "vkr-former-default": "VKR, former defaults",
    "vkr-search": "VKR, default search",
}
_TEXTS = ("family", "scaling", "dataset", "algorithm")
_COUNTS = ("n_train", "n_validation", "n_test")
_LISTS = ("settings", "validation_errors", "test_errors", "n_support", "status")
#: Fields that may differ between two records of the same unit.
_TIMES = {"fit_seconds", "predict_seconds", "finished"}


@dataclass(frozen=True)
class Evidence:
    """Records and headers; their order does not depend on that of files and lines."""

    records: tuple[Record, ...]
    headers: tuple[RawRecord, ...] = ()


def load_evidence(paths: Iterable[Path | str]) -> Evidence:
    """Read files of records; raise `RecordError` or `OSError` for files that cannot be used."""
    by_key: dict[str, tuple[Record, Path]] = {}
    headers: list[RawRecord] = []
    for path in sorted({Path(path) for path in paths}):
        for raw in iterate_records(path):
            record = check_record(raw, path)
            known, other = by_key.setdefault(record["key"], (record, path))
            if known is not record and _facts(known) != _facts(record):
                raise RecordError(f"{path}: {record['key']} differs from the one in {other}.")
        header = read_header(path)
        if header not in headers:
            headers.append(header)
    if not by_key:
        raise RecordError("there are no records to report on.")
    return Evidence(in_order(record for record, _ in by_key.values()), tuple(headers))


def check_record(raw: RawRecord, path: Path | str) -> Record:
    """Return a record that has the shape the runner writes; raise `RecordError` for any other."""
    wrong = _find_wrong_field(raw) or _find_wrong_figures(raw)
    if wrong:
        raise RecordError(f"{path}: record {raw['key']!r} {wrong}.")
    return cast(Record, raw)


def _find_wrong_field(raw: RawRecord) -> str:
    """Say what is wrong with the fields of a record; "" if nothing is."""
    for name in _TEXTS:
        if not isinstance(raw.get(name), str):
            return f"has no {name}"
    for name in ("seed", "run", *_COUNTS):
        value = raw.get(name)
        if type(value) is not int or value < (name in _COUNTS):
            return f"has no usable {name}"
    lists = [value for name in _LISTS if isinstance(value := raw.get(name), list)]
    if len(lists) < len(_LISTS):
        return f"lacks one of {', '.join(_LISTS)}"
    if len(set(map(len, lists))) != 1 or not lists[0]:
        return "needs as many figures as settings, and at least one setting"
    mass = raw.get("mass")
    if mass is not None and (not isinstance(mass, list) or len(mass) != len(lists[0])):
        return "needs as many masses as settings"
    return ""


def _find_wrong_figures(raw: RawRecord) -> str:
    """Say which list of a record has an invalid entry; "" if none has."""
    record = cast(Record, raw)
    errors = {
        "validation_errors": (record["validation_errors"], record["n_validation"]),
        "test_errors": (record["test_errors"], record["n_test"]),
    }
    for name, (counts, total) in errors.items():
        if not all(type(n) is int and 0 <= n <= total for n in counts):
            return f"has {name} that are not counts from 0 to {total}"
    if not all(isinstance(n, int | float) and n >= -1 for n in record["n_support"]):
        return "has an n_support that is not a number of support vectors"
    if not all(isinstance(setting, dict) for setting in record["settings"]):
        return "has settings that are not names with values"
    return ""


def in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return records sorted by family, scaling, data set and algorithm, known names first."""
    return tuple(
        sorted(
            records,
            key=lambda r: (
                _rank(r["family"], FAMILIES),
                _rank(r["scaling"], tuple(SCALINGS)),
                _rank(r["dataset"], DATASETS),
                rank_of(r["algorithm"]),
                r["seed"],
                r["run"],
            ),
        )
    )


def name_of(algorithm: str) -> str:
    """Return what the paper calls an algorithm or, for others, the usual name."""
    return {**PEER_NAMES, **NAMES}.get(algorithm, algorithm)


def rank_of(algorithm: str) -> tuple[int, str]:
    """Return an algorithm's sort key: the paper's algorithms in its order, then others by name."""
    return _rank(algorithm, tuple(NAMES))


def describe_missing(records: Sequence[Record]) -> list[str]:
    """Return, for each family and scaling, which records of the protocol are missing."""
    lines = []
    for family, scaling in unique((r["family"], r["scaling"]) for r in records):
        here = [r for r in records if (r["family"], r["scaling"]) == (family, scaling)]
        where = f"{family} kernels, scaling {scaling}" if family in EXPECTED else family
        seen = unique(r["dataset"] for r in here)
        # Records of other data sets alone are not an incomplete run of the paper's.
        asked = DATASETS if family in EXPECTED and set(seen) & set(DATASETS) else ()
        absent = [name for name in asked if name not in seen]
        if absent:
            lines.append(f"{where}: no records of {', '.join(absent)}.")
        expected = EXPECTED.get(family, ())
        algorithms = unique([*expected, *(r["algorithm"] for r in here)])
        # The paper's algorithms need all partitions; others may have been run on fewer.
        totals = {
            a: N_FOLDS * len({r["seed"] for r in here if a in expected or r["algorithm"] == a})
            for a in algorithms
        }
        have: dict[tuple[str, str], int] = {}
        for r in here:
            have[r["dataset"], r["algorithm"]] = have.get((r["dataset"], r["algorithm"]), 0) + 1
        for dataset in seen:
            for total in unique(totals.values()):
                short = [
                    f"{name_of(algorithm)} {have.get((dataset, algorithm), 0)}"
                    for algorithm in algorithms
                    if have.get((dataset, algorithm), 0) < total == totals[algorithm]
                ]
                if short:
                    lines.append(f"{where}, {dataset}: of {total} runs, {', '.join(short)}.")
    return lines


def unique(values: Iterable[T]) -> list[T]:
    """Return values without repetitions, in the order of their first appearance."""
    return list(dict.fromkeys(values))


def _rank(name: str, known: Sequence[str]) -> tuple[int, str]:
    return (known.index(name), "") if name in known else (len(known), name)


def _facts(record: Record) -> RawRecord:
    return {name: value for name, value in record.items() if name not in _TIMES}
