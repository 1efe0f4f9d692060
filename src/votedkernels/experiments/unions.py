"""Results of the SVMs over both kinds of kernels, from their records of each kind.

An SVM has one kernel. Over both kinds it chooses among all kernels, and each of its fits is already
recorded with one kind or the other, on the same rows. So its record is a union of two records.
"""

from __future__ import annotations

from collections.abc import Sequence

from .paper import SVMS
from .protocol import Unit
from .records import Record


def with_unions(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the records, and the unions for all runs that have a vote over both kinds."""
    by_key = {record["key"]: record for record in records}
    places = dict.fromkeys(
        (r["scaling"], r["seed"], r["dataset"], r["run"]) for r in records if r["family"] == "both"
    )
    united = list(records)
    for place in places:
        for algorithm in SVMS:
            both, *parts = (
                Unit(family, *place, algorithm).key for family in ("both", "polynomial", "gaussian")
            )
            if both not in by_key and all(part in by_key for part in parts):
                united.append(unite(both, *(by_key[part] for part in parts)))
    return tuple(united)


def unite(key: str, polynomial: Record, gaussian: Record) -> Record:
    """Return a record with the settings of two. It has no times, which are already counted."""
    return Record(
        key=key,
        family="both",
        scaling=polynomial["scaling"],
        seed=polynomial["seed"],
        dataset=polynomial["dataset"],
        run=polynomial["run"],
        algorithm=polynomial["algorithm"],
        n_train=polynomial["n_train"],
        n_validation=polynomial["n_validation"],
        n_test=polynomial["n_test"],
        settings=[*polynomial["settings"], *gaussian["settings"]],
        validation_errors=[*polynomial["validation_errors"], *gaussian["validation_errors"]],
        test_errors=[*polynomial["test_errors"], *gaussian["test_errors"]],
        n_support=[*polynomial["n_support"], *gaussian["n_support"]],
        status=[*polynomial["status"], *gaussian["status"]],
        gap=max(
            (g for r in (polynomial, gaussian) if (g := r.get("gap")) is not None), default=None
        ),
    )
