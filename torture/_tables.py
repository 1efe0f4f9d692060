"""Random tables: what each column means as plain Python values, and the same as a data frame.

The plain values are numbers, strings, booleans or None. Dates and durations are days. A trial
evaluates rules and kernels on them, so that it does not depend on how the library reads frames.
"""

import datetime
from dataclasses import dataclass

import numpy as np
import pandas as pd

try:
    import polars as pl
except ImportError:
    pl = None

NUMERIC = ("number", "integer", "constant", "boolean", "date", "duration", "nothing")
KINDS = (*NUMERIC, "text", "category")
#: Kinds that kernels for tables of numbers accept, too.
PLAIN = ("number", "integer", "constant", "boolean")
ENDINGS = ("", "", " > 0", " = b", " is missing", " é\n", "'\"")
WORDS = ("a", "b", "é", "", " a", "nan", "None", "1", "a = b", "\U0001f600", "x" * 40, "\n")
START = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Column:
    """A column of a table; ``known`` are its possible categories, of one type."""

    name: str
    kind: str
    known: tuple
    train: list
    new: list

    @property
    def is_numeric(self):
        return self.kind in NUMERIC

    @property
    def holds_numbers(self):
        """Whether kernels for tables of numbers accept it, as they do categories 0, 1 and 2."""
        of_numbers = self.kind == "category" and not isinstance(self.known[0], str)
        return (of_numbers or self.kind in PLAIN) and None not in self.train


def draw_columns(rng, n, n_new, kinds=KINDS, *, gaps=True, only_texts=False):
    """Return random columns of ``n`` training rows and ``n_new`` rows for prediction.

    With ``only_texts``, categories are texts, as in polars.
    """
    chosen = rng.choice(kinds, int(rng.integers(1, 7)))
    return [
        _draw_column(rng, f"c{j}{rng.choice(ENDINGS)}", str(kind), (n, n_new), gaps, only_texts)
        for j, kind in enumerate(chosen)
    ]


def _draw_column(rng, name, kind, sizes, gaps, only_texts):
    known = _categories(rng, "text" if only_texts and kind == "category" else kind)
    n, n_new = sizes
    n_all = n + n_new
    values = {
        "number": lambda: (rng.standard_normal(n_all) * 10.0 ** rng.integers(-3, 4)).tolist(),
        "integer": lambda: rng.integers(-3, 6, n_all).tolist(),
        "constant": lambda: [float(rng.choice([0.0, 0.1, -3.0, 1e6]))] * n_all,
        "boolean": lambda: (rng.random(n_all) < rng.random()).tolist(),
        "date": lambda: (rng.integers(-40_000_000, 40_000_000, n_all) / 1440).tolist(),
        "duration": lambda: (rng.integers(0, 100, n_all) / 24).tolist(),
        "nothing": lambda: [None] * n_all,
    }.get(kind, lambda: [known[i] for i in rng.integers(0, len(known), n_all)])()
    if kind == "number" and rng.random() < 0.3:
        values = [round(value, 1) for value in values]
    train, new = values[:n], values[n:]
    if not gaps:
        return Column(name, kind, known, train, new)
    share = float(rng.choice([0.0, 0.0, 0.1, 0.5]))
    train = [
        None if gap else value for value, gap in zip(train, rng.random(n) < share, strict=True)
    ]
    new = [None if gap else value for value, gap in zip(new, rng.random(n_new) < 0.15, strict=True)]
    if known:  # some values occur only at prediction
        unseen = "unseen" if isinstance(known[0], str) else type(known[0])(77)
        new = [unseen if rng.random() < 0.1 and type(known[0]) is not bool else v for v in new]
    if kind == "text" and all(value is None for value in train):
        train = [known[0], *train[1:]]
    return Column(name, kind, known, train, new)


def _categories(rng, kind):
    if kind == "text":
        return tuple(rng.choice(WORDS, int(rng.integers(1, 7)), replace=False).tolist())
    if kind != "category":
        return ()
    choices = [
        tuple(rng.choice(WORDS, int(rng.integers(1, 7)), replace=False).tolist()),
        tuple(range(int(rng.integers(1, 6)))),
        (0.5, -1.5, 2.0),
        (False, True),
    ]
    return choices[int(rng.integers(0, 4))]


def repeat_rows(rng, columns, n):
    """Return the columns with some rows repeated, and the number of each row before that."""
    rows = np.concatenate([np.arange(n), rng.integers(0, n, n // 3)])
    return [
        Column(c.name, c.kind, c.known, [c.train[i] for i in rows], c.new) for c in columns
    ], rows


# -- frames --------------------------------------------------------------------------------


def frame_of(rng, columns, part, library):
    """Return the rows of a part ("train" or "new") as a frame; the types of columns are random."""
    make = _pandas_column if library == "pandas" else _polars_column
    series = {c.name: make(rng, c, getattr(c, part)) for c in columns}
    return pd.DataFrame(series) if library == "pandas" else pl.DataFrame(series)


def _pandas_column(rng, column, values):
    gaps = [value is None for value in values]
    some = any(gaps)
    filler = [None, np.nan, pd.NA][int(rng.integers(0, 3))]
    objects = pd.Series(
        [filler if gap else v for v, gap in zip(values, gaps, strict=True)], dtype=object
    )
    kind = column.kind
    if kind == "nothing":
        none = [None] * len(values)
        choices = [objects, pd.Series(np.full(len(values), np.nan)), objects.astype("Float64")]
        return [*choices, pd.Series(pd.Categorical(none))][int(rng.integers(0, 4))]
    if kind == "category":
        categories = sorted({v for v in values if v is not None} | set(column.known))
        codes = [-1 if gap else categories.index(v) for v, gap in zip(values, gaps, strict=True)]
        return pd.Series(pd.Categorical.from_codes(codes, categories))
    if kind == "text":
        return objects if rng.random() < 0.5 else objects.astype("string")
    if kind in ("date", "duration"):
        return _pandas_times(rng, kind, values)
    if rng.random() < 0.3:
        return objects
    if kind == "boolean":
        return objects.astype("boolean" if some or rng.random() < 0.5 else bool)
    if kind == "integer":
        return objects.astype("Int64" if some or rng.random() < 0.5 else int)
    floats = pd.Series(
        [np.nan if gap else v for v, gap in zip(values, gaps, strict=True)], dtype=float
    )
    return floats.astype("Float64") if rng.random() < 0.3 else floats


def _pandas_times(rng, kind, values):
    times = [None if v is None else datetime.timedelta(minutes=round(v * 1440)) for v in values]
    if kind == "duration":
        return pd.Series(pd.to_timedelta(times))
    zoned = pd.Series(pd.to_datetime([None if t is None else START + t for t in times], utc=True))
    if rng.random() < 0.3:
        return zoned.dt.tz_convert("Asia/Tokyo")
    return zoned if rng.random() < 0.5 else zoned.dt.tz_localize(None)


def _polars_column(rng, column, values):
    kind = column.kind
    if kind == "nothing":
        types = [pl.Null, pl.Float64, pl.String, pl.Categorical, pl.Int8, pl.Date]
        return pl.Series(values, dtype=types[int(rng.integers(0, len(types)))])
    if kind in ("text", "category"):
        types = [pl.String]
        if kind == "category":
            known = sorted({v for v in values if v is not None} | set(column.known))
            types = [pl.Categorical, pl.Enum(known)]
        return pl.Series(values, dtype=types[int(rng.integers(0, len(types)))])
    if kind in ("date", "duration"):
        times = [None if v is None else datetime.timedelta(minutes=round(v * 1440)) for v in values]
        if kind == "duration":
            return pl.Series(times, dtype=pl.Duration("ms"))
        naive = START.replace(tzinfo=None)
        dates = [None if t is None else naive + t for t in times]
        return pl.Series(dates, dtype=pl.Datetime(str(rng.choice(["ms", "us", "ns"]))))
    dtype = {"boolean": pl.Boolean, "integer": pl.Int64}.get(kind, pl.Float64)
    return pl.Series(values, dtype=dtype)
