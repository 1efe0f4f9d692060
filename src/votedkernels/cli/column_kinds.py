"""Tables that are not all numbers: which columns are numeric or categories, and what gaps are.

A column is numeric if all its fields are numbers, or all are dates in ISO format (2026-11-18, with
or without a time), apart from gaps. If fewer than half of them are meant as numbers, they are the
names of categories, unless there are too many different ones. In between, some fields are probably
wrong, and an error names the first that is not a number. Users can override this.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from votedkernels.cli.console import messages, printable, shortened
from votedkernels.cli.tables import DECIMAL_COMMA, Piece, Table, count, is_number, not_a_number
from votedkernels.datasets import DataFileError
from votedkernels.preparation.tables import MANY_TEXTS, SHARE_OF_ROWS

GAPS = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?"))
"""What stands for a missing value in a CSV file."""

ISO_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
"""A date, or a date and a time."""


@dataclass(frozen=True)
class Overruled:
    """Columns whose kinds the user sets."""

    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()


def read_frame(
    table: Table, pieces: Sequence[Piece], names: Sequence[str], kinds: Overruled
) -> Any:
    """Return columns as a data frame: numbers, dates, and all others as pandas categories."""
    import pandas as pd

    columns, texts = {}, {}
    for place, name in enumerate(names):
        if hasattr(pieces[0].others[place], "to_pandas"):
            parts = [piece.others[place].to_pandas() for piece in pieces]
            columns[name] = _typed_column(table, pd.concat(parts, ignore_index=True), name, kinds)
            if is_text(columns[name]):
                texts[name] = columns[name]
            continue
        lines = [line for piece in pieces for line in piece.places]
        fields = [field.strip() for piece in pieces for field in piece.others[place]]
        columns[name] = _text_column(table, fields, lines, name, kinds)
        if isinstance(columns[name].dtype, pd.CategoricalDtype):
            texts[name] = columns[name]
    check_few(table, {name: texts[name] for name in texts if name not in kinds.categorical})
    return pd.DataFrame(columns)


def _text_column(
    table: Table, fields: list[str], lines: list[int], name: str, kinds: Overruled
) -> Any:
    """Return a column of a CSV file."""
    import pandas as pd

    known = [place for place, field in enumerate(fields) if field not in GAPS]
    wrong = [place for place in known if not is_number(fields[place])]
    if name not in kinds.categorical and not wrong:
        numbers = np.full(len(fields), np.nan)
        numbers[known] = [float(fields[place]) for place in known]
        return pd.Series(numbers)
    if name not in kinds.categorical and all(ISO_DATE.fullmatch(fields[place]) for place in known):
        gaps = [None if field in GAPS else field for field in fields]
        dates = pd.Series(pd.to_datetime(gaps, utc=True, format="ISO8601", errors="coerce"))
        if dates.notna().sum() == len(known):
            return dates
    meant = sum(is_meant_as_number(fields[place]) for place in known)
    mixed = name not in kinds.categorical and 2 * meant >= len(known)
    if name in kinds.numeric or mixed:
        message = not_a_number(fields[wrong[0]], name, table.way_out)
        raise DataFileError(f"{table.name}, {table.unit} {lines[wrong[0]]}: {message}")
    return pd.Series(pd.Categorical([None if field in GAPS else field for field in fields]))


def _typed_column(table: Table, column: Any, name: str, kinds: Overruled) -> Any:
    """Return a column of a Parquet file, which has a type."""
    import pandas as pd

    if name in kinds.categorical:
        return column.astype("category")
    if name not in kinds.numeric:
        return column
    try:
        return pd.to_numeric(column)
    except (TypeError, ValueError):
        raise DataFileError(
            f"{table.name}: column {name} has type {column.dtype}, but must be numeric."
        ) from None


def is_meant_as_number(field: str) -> bool:
    """Whether a field is a number, even one that we reject: infinite, or with a decimal comma."""
    try:
        float(field)
    except ValueError:
        return DECIMAL_COMMA.fullmatch(field) is not None
    return True


def check_few(table: Table, texts: dict[str, Any]) -> None:
    """Raise if columns of text have too many different values to be categorical, naming all."""
    n_rows = len(next(iter(texts.values()), ()))
    most = max(MANY_TEXTS, SHARE_OF_ROWS * n_rows)
    wide = {name: n for name, text in texts.items() if (n := text.nunique()) > most}
    if not wide:
        return
    name, n = next(iter(wide.items()))
    if len(wide) == 1:
        looks = "looks like an ID or free text" if n > n_rows / 2 else "holds text"
        raise DataFileError(
            f"{table.name}: column {name} {looks}, with {n} different values in {n_rows} rows; "
            f"leave it out with --drop {name}, or use --categorical {name} if they are categories."
        )
    named = [f"{name} ({n} different values)" for name, n in wide.items()]
    out = " ".join(f"--drop {shlex.quote(name)}" for name in wide)
    raise DataFileError(
        f"{table.name}: {len(wide)} columns look like IDs or free text in {n_rows} rows: "
        f"{', '.join(named)}; leave them out with {out}, or use --categorical COLUMN for those "
        "that are categories."
    )


def is_text(column: Any) -> bool:
    """Whether a column of a Parquet file holds text, or values of several kinds."""
    import pandas as pd

    return bool(pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column))


def are_numbers(frame: Any) -> bool:
    """Whether all columns are numbers without gaps."""
    return all(dtype.kind in "biuf" for dtype in frame.dtypes) and not frame.isna().any(axis=None)


def show_kinds(frame: Any) -> None:
    """Tell the user which columns are numeric and which are categories, and where gaps are."""
    import pandas as pd

    numeric = [
        str(name) for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name].dtype)
    ]
    dates = [
        str(name)
        for name in frame.columns
        if pd.api.types.is_datetime64_any_dtype(frame[name].dtype)
    ]
    others = [str(name) for name in frame.columns if name not in (*numeric, *dates)]
    kinds = {"numeric": numeric, "date": dates, "categorical": others}
    said = "; ".join(
        f"{count(len(names), f'{kind} column')} ({shortened(names, 8)})"
        for kind, names in kinds.items()
        if names
    )
    messages().print(
        f"note: {printable(said)}. Overrule this with --categorical, --numeric or --drop.",
        soft_wrap=True,
    )
    gaps = frame.isna().sum()
    if gaps.sum():
        named = [f"{n} in {name}" for name, n in gaps.items() if n]
        messages().print(
            f"note: {count(int(gaps.sum()), 'gap')}: {printable(shortened(named, 8))}.",
            soft_wrap=True,
        )


def rows_for(model: Any, table: Table, piece: Piece, names: Sequence[str]) -> Any:
    """Return the columns that a model uses, which are the last of a piece, as a data frame."""
    coding = model.table_
    kinds = Overruled(
        categorical=[names[place] for place in coding.categorical],
        numeric=[names[place] for place in coding.numeric],
    )
    others = piece.others[len(piece.others) - len(names) :]
    return read_frame(table, [piece._replace(others=others)], names, kinds)
