"""Tables about the radius of the extended objective: which was chosen, and what each would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

import numpy as np

from ..report.parts import Table
from .evidence import name_of
from .paper import EXTENSION
from .records import Record
from .selection import Group, make_groups
from .table_formats import number_cell, text_cell
from .tables import ERROR_DIGITS, SUPPORT_DIGITS, make_table

#: The fields of a record with one entry per setting.
PER_SETTING = ("settings", "validation_errors", "test_errors", "n_support", "status")


def tabulate_choices(group: Group) -> Table | None:
    """Return how many runs have each radius as chosen; None if no radius is a setting."""
    chosen = {
        d: Counter(s["radius"] for c in group.of(d, EXTENSION) for s in c.settings)
        for d in group.datasets
    }
    radii = sorted({radius for counts in chosen.values() for radius in counts}, reverse=True)
    rows = [
        (text_cell(d), *(number_cell("runs", counts[radius], 0) for radius in radii))
        for d, counts in chosen.items()
        if counts
    ]
    columns = [("", "Data set"), *(("", f"{radius:g}") for radius in radii)]
    title = f"Radius of {name_of(EXTENSION)}: number of runs with each choice"
    return make_table(group, title, columns, rows) if rows else None


def tabulate_fixed(records: Sequence[Record], group: Group) -> Table | None:
    """Return the results of each radius, had it been fixed; None if no radius is a setting."""
    here = [
        r
        for r in records
        if (r["family"], r["scaling"], r["algorithm"]) == (group.family, group.scaling, EXTENSION)
    ]
    radii = sorted({s["radius"] for r in here for s in r["settings"]}, reverse=True)
    fixed = [
        make_groups([at_radius(record, radius) for record in here], group.rule)[0]
        for radius in radii
    ]
    rows = []
    for name, part in [
        *((f"{r:g}", g) for r, g in zip(radii, fixed, strict=True)),
        ("chosen", group),
    ]:
        found = [
            (error.mean, support.mean)
            for d in part.datasets
            if (error := part.error(d, EXTENSION)) and (support := part.support(d, EXTENSION))
        ]
        if found:
            errors, support = np.transpose(found)
            rows.append((
                text_cell(name),
                number_cell("mean", float(np.mean(errors)), ERROR_DIGITS),
                number_cell("median", float(np.median(support)), SUPPORT_DIGITS),
            ))  # fmt: skip
    names = ("Radius", "Mean error, %", "Support vectors, median")
    title = f"{name_of(EXTENSION)} over all data sets, if only the penalties are chosen"
    return make_table(group, title, [("", name) for name in names], rows) if radii else None


def at_radius(record: Record, radius: float) -> Record:
    """Return a record with the settings of one radius."""
    places = [i for i, s in enumerate(record["settings"]) if s["radius"] == radius]
    fields = {name: [record[name][i] for i in places] for name in PER_SETTING}  # type: ignore[literal-required]
    return cast(Record, {**record, **fields, "mass": None})
