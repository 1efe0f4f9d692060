"""Columns of data frames as numbers or as text, whatever library the frame comes from.

    numbers, booleans      float64; a gap is NaN
    dates and times        days since 1970-01-01 UTC; durations in days
    texts                  a list of str; a gap is None
    categories             a list of str, int, float or bool; a gap is None

Everything else raises an error that names the column and says what to do.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard

import numpy as np

from ..kernels.base import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: A data frame.
Frame: TypeAlias = "pd.DataFrame | pl.DataFrame"
Kind: TypeAlias = Literal["number", "text", "category"]
#: A category, in a form that model files can hold.
Value: TypeAlias = str | bool | int | float

MILLISECONDS_PER_DAY = 86_400_000.0


@dataclass(frozen=True)
class FrameColumn:
    """One column: numbers if its kind is ``"number"``, values for ``"text"`` and ``"category"``."""

    kind: Kind
    numbers: FloatArray | None = None
    values: Sequence[Value | None] | None = None


def is_frame(X: object) -> TypeGuard[Frame]:
    """Whether X is a pandas or polars data frame."""
    return is_pandas(X) or is_polars(X)


def is_pandas(X: object) -> TypeGuard[pd.DataFrame]:
    """Whether X is a pandas data frame; does not import pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def is_polars(X: object) -> TypeGuard[pl.DataFrame]:
    """Whether X is a polars data frame; does not import polars."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.DataFrame)


def read_columns(X: Frame) -> list[FrameColumn]:
    """Return all columns of a data frame."""
    if is_pandas(X):
        named = zip(X.columns, range(X.shape[1]), strict=True)
        return [_read_pandas(X.iloc[:, place], str(name)) for name, place in named]
    return [_read_polars(column) for column in X.iter_columns()]


def _read_pandas(column: pd.Series, name: str) -> FrameColumn:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return FrameColumn("category", values=_plain(column.astype(object), column.isna()))
    if pd.api.types.is_complex_dtype(dtype):
        raise _refused(name, "holds complex numbers", "replace it by real numbers")
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return FrameColumn("number", numbers=column.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return FrameColumn("number", numbers=_days(pd.to_datetime(column, utc=True)))
    if pd.api.types.is_timedelta64_dtype(dtype):
        return FrameColumn("number", numbers=_in_days(column))
    return _read_objects(column.astype(object).tolist(), column.isna().to_numpy(), name)


def _days(column: pd.Series) -> FloatArray:
    import pandas as pd

    return _in_days(column - pd.Timestamp(0, tz="UTC"))


def _in_days(column: pd.Series) -> FloatArray:
    import pandas as pd

    return np.asarray((column / pd.Timedelta(days=1)).to_numpy(dtype=np.float64))


def _read_objects(values: Sequence[object], gaps: Sequence[bool], name: str) -> FrameColumn:
    """Return a column of Python objects, if they are all strings, all numbers or all dates."""
    known = [value for value, gap in zip(values, gaps, strict=True) if not gap]
    if all(isinstance(value, str) for value in known):
        kind: Kind = "text" if known else "number"
        if known:
            return FrameColumn(kind, values=_plain(values, gaps))
        return FrameColumn(kind, numbers=np.full(len(values), np.nan))
    if all(isinstance(value, Real | np.bool_) for value in known):
        numbers = [np.nan if gap else float(v) for v, gap in zip(values, gaps, strict=True)]  # type: ignore[arg-type]
        return FrameColumn("number", numbers=np.array(numbers, np.float64))
    if all(isinstance(value, datetime.date) for value in known):
        import pandas as pd

        column = pd.Series(pd.to_datetime(pd.Series(values, dtype=object), utc=True))
        return FrameColumn("number", numbers=_days(column))
    types = sorted({type(value).__name__ for value in known})
    if len(types) > 1:
        raise _refused(
            name,
            f"mixes values of the types {', '.join(types)}",
            "make it text (astype(str)) if its values are categories, or numbers "
            "(pandas.to_numeric), or drop it",
        )
    raise _refused(
        name, f"holds values of type {types[0]}", "turn them into numbers or text, or drop it"
    )


def _read_polars(column: pl.Series) -> FrameColumn:
    import polars as pl

    dtype, name = column.dtype, column.name
    if dtype == pl.Null:
        return FrameColumn("number", numbers=np.full(len(column), np.nan))
    if dtype.is_numeric() or dtype == pl.Boolean:
        floats = column.cast(pl.Float64).to_numpy()
        return FrameColumn("number", numbers=np.array(floats, np.float64))
    if dtype in (pl.Date, pl.Datetime):
        since = column.cast(pl.Datetime("ms")).dt.epoch("ms").cast(pl.Float64)
        return FrameColumn("number", numbers=np.array(since.to_numpy()) / MILLISECONDS_PER_DAY)
    if dtype == pl.Duration:
        length = column.dt.total_milliseconds().cast(pl.Float64)
        return FrameColumn("number", numbers=np.array(length.to_numpy()) / MILLISECONDS_PER_DAY)
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        kind: Kind = "text" if dtype == pl.String else "category"
        return FrameColumn(kind, values=_plain(column.to_list(), column.is_null().to_list()))
    if dtype == pl.Object:
        values = column.to_list()
        return _read_objects(values, [_is_gap(value) for value in values], name)
    raise _refused(name, f"has the type {dtype}", "turn it into numbers or text, or drop it")


def is_of_dates(X: Frame, place: int) -> bool:
    """Whether the type of a column is that of dates, times or durations."""
    if is_pandas(X):
        return getattr(X.dtypes.iloc[place], "kind", "") in ("M", "m")
    return bool(X.dtypes[place].is_temporal())


def _is_gap(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _plain(values: Sequence[object], gaps: Sequence[bool]) -> list[Value | None]:
    """Return values as types that model files can hold; other types become text."""
    return [None if gap else _plain_value(v) for v, gap in zip(values, gaps, strict=True)]


def _plain_value(value: object) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)  # NumPy has its own string class
    return value if isinstance(value, bool | int | float) else str(value)


def _refused(name: str, fault: str, way_out: str) -> ValueError:
    return ValueError(f"column {name!r} of X {fault}; {way_out}.")
