"""What each column of a data frame is, as JSON."""

from __future__ import annotations

import math
from typing import Any

from ..preparation.frame_columns import Value
from ..preparation.tables import TableCoding
from .container import Json
from .reading import Record

#: The name of the header entry; models not fitted to a data frame with gaps have none.
TABLE = "table"


def table_to_json(model: Any) -> dict[str, Json]:
    """Return the header entry for a model's table; empty if it has no table."""
    coding: TableCoding | None = getattr(model, "table_", None)
    if coding is None:
        return {}
    categories: list[Json] = [None if known is None else list(known) for known in coding.categories]
    return {TABLE: {"names": list(coding.names), "categories": categories}}


def table_from_json(header: Record, n_features: int | None) -> dict[str, TableCoding]:
    """Return the fitted attribute ``table_`` of a model; empty if it has no table."""
    if TABLE not in header.value:
        return {}
    record = header.record(TABLE)
    record.expect("names", "categories")
    names, lists = record.texts("names"), record.value["categories"]
    if type(lists) is not list or not len(names) == len(lists) == n_features:
        raise record.wrong("categories", "one entry per feature")
    categories = tuple(_categories(record, known) for known in lists)
    return {"table_": TableCoding(tuple(names), categories)}


def _categories(record: Record, known: object) -> tuple[Value, ...] | None:
    if known is None:
        return None
    if type(known) is not list or not all(map(_is_value, known)):
        raise record.wrong("categories", "null or a list of texts and numbers for each feature")
    if len({(type(value), value) for value in known}) < len(known):
        raise record.wrong("categories", "different from each other")
    return tuple(known)


def _is_value(value: object) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return type(value) in (str, bool, int)
