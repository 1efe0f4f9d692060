"""Data frames with numbers, categories and gaps, as matrices.

`TableCoding` decides once what each column is, from its type and its values, without labels:

    number      numbers, booleans, dates, durations
    category    categorical columns, and texts with few different values

In the matrix, categories are numbers: the positions of their values in a sorted list. A value
not in the list is `UNKNOWN`, which no kernel treats as equal to anything. A gap is NaN. Kernel
families learn means, deviations and the like from the rows of each fit.

`mixed_kernels` returns the families for such a matrix, which is what ``kernels="table"`` stands
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from ..kernels import Categories, KernelFamily, Missing, MixedGaussian, Threshold
from ..kernels.base import FloatArray, is_dask
from .frame_columns import Frame, FrameColumn, Value, is_frame, is_of_dates, read_columns

#: The fitted attribute that holds the coding.
TABLE = "table_"
#: The code of a category that does not occur in the training rows.
UNKNOWN = -1.0
#: A text column is categorical if it has at most this many values, or this many per row.
MANY_TEXTS, SHARE_OF_ROWS = 20, 0.1
#: The widths of Gaussians in a table.
WIDTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class TableCoding:
    """What each column of a data frame is.

    Attributes
    ----------
    names : the names of the columns
    categories : for each column, the sorted list of its categories; None for a numeric column
    """

    names: tuple[str, ...]
    categories: tuple[tuple[Value, ...] | None, ...]

    @classmethod
    def of(cls, X: Frame) -> Self:
        """Decide what each column of a data frame is."""
        names = tuple(map(str, X.columns))
        columns = read_columns(X)
        for name, column in zip(names, columns, strict=True):
            check_few_texts(name, column)
        return cls(names, tuple(categories_of(column) for column in columns))

    @property
    def categorical(self) -> list[int]:
        """The indices of the categorical columns."""
        return [place for place, known in enumerate(self.categories) if known is not None]

    @property
    def numeric(self) -> list[int]:
        """The indices of the numeric columns."""
        return [place for place, known in enumerate(self.categories) if known is None]

    def encode(self, X: Frame) -> FloatArray:
        """Return a data frame with these columns as a matrix."""
        named = zip(self.names, read_columns(X), self.categories, strict=True)
        codes = [encode_column(name, column, known) for name, column, known in named]
        return np.column_stack(codes) if codes else np.empty((len(X), 0))

    def name_of(self, feature: int, code: float) -> str | None:
        """Return the category that a code stands for; None if the column has no categories."""
        known = self.categories[feature]
        return str(known[int(code)]) if known else None


def categories_of(column: FrameColumn) -> tuple[Value, ...] | None:
    """Return the sorted categories of a column; None if it is numeric."""
    if column.values is None:
        return None
    distinct = {value for value in column.values if value is not None}
    return tuple(sorted(distinct, key=lambda value: (type(value).__name__, value)))


def check_few_texts(name: str, column: FrameColumn) -> None:
    """Raise if a text column has too many different values to be categorical."""
    if column.kind != "text" or column.values is None:
        return
    n_values, n_rows = len(set(column.values) - {None}), len(column.values)
    if n_values > max(MANY_TEXTS, SHARE_OF_ROWS * n_rows):
        raise ValueError(
            f"column {name!r} of X holds text with {n_values} different values in {n_rows} rows, "
            "too many for categories; drop it, turn it into numbers or dates (pandas.to_datetime), "
            "or make it categorical (astype('category')) if these are categories."
        )


def encode_column(name: str, column: FrameColumn, known: Sequence[Value] | None) -> FloatArray:
    """Return a column's numbers, or the indices of its values among known categories.

    A column of gaps only is accepted for every column, whatever its type.
    """
    if known is None:
        if column.values is not None and all(value is None for value in column.values):
            return np.full(len(column.values), np.nan)
        if column.numbers is None:
            raise ValueError(
                f"column {name!r} of X holds {column.kind}, but was numeric in fit; turn it into "
                "numbers or dates, whichever it was."
            )
        if np.isinf(column.numbers).any():
            raise ValueError(
                f"column {name!r} of X has infinite values; replace them by finite numbers, or by "
                "gaps (NaN)."
            )
        return column.numbers
    if column.values is None:
        assert column.numbers is not None
        if not np.isnan(column.numbers).all():
            had = (
                f"had categories such as {known[0]!r}" if known else "had only gaps, as categories,"
            )
            raise ValueError(
                f"column {name!r} of X holds numbers, but {had} in fit; turn it back into what it "
                "was."
            )
        return column.numbers
    # 1, 1.0 and True are equal in Python, but not the same category.
    places = {(type(value), value): float(place) for place, value in enumerate(known)}
    codes = [
        np.nan if value is None else places.get((type(value), value), UNKNOWN)
        for value in column.values
    ]
    return np.array(codes, np.float64)


def mixed_kernels(X: object) -> list[KernelFamily]:
    """Return the kernel families for a table with numbers, categories and gaps.

    They are what ``kernels="table"`` stands for: Gaussians over all columns, overlap kernels over
    the categorical ones, and rules about single columns. Labels are not used.

    Parameters
    ----------
    X : data frame or array-like of shape (n_samples, n_features)
        The training rows. The columns of an array are numeric.

    Returns
    -------
    list of KernelFamily
    """
    if is_frame(X):
        coding = TableCoding.of(X)
        matrix = coding.encode(X)
        numeric, categorical = coding.numeric, coding.categorical
    else:
        matrix = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        numeric, categorical = list(range(matrix.shape[1])), []
    gaps = np.flatnonzero(np.isnan(matrix).any(axis=0)).tolist()
    families: list[KernelFamily] = [MixedGaussian(WIDTHS, numeric=numeric, categorical=categorical)]
    if numeric and len(categorical) > 1:
        families.append(MixedGaussian(WIDTHS, numeric=(), categorical=categorical))
    families += rules_of(numeric, categorical, gaps)
    return families


def families_for(X: object) -> list[KernelFamily]:
    """Return what ``kernels="table"`` stands for; raise for rows on a cluster."""
    if is_dask(X):
        raise ValueError(
            "kernels='table' does not work with Dask arrays, whose columns would have to be read "
            "twice; pass a list of kernel families."
        )
    return mixed_kernels(X)


def rules_of(
    numeric: Sequence[int], categorical: Sequence[int], gaps: Sequence[int]
) -> list[KernelFamily]:
    """Return the families of rules about columns of each kind."""
    kinds = ((Threshold, numeric), (Categories, categorical), (Missing, gaps))
    return [family(tuple(columns)) for family, columns in kinds if columns]


def code_rows(estimator: object, X: object, *, reset: bool) -> object:
    """Return a data frame as a matrix; in fit, decide what its columns are.

    The coding is the attribute ``table_`` of the estimator.
    """
    if not reset and not is_frame(X):
        coding = getattr(estimator, TABLE, None)
        if coding is not None and coding.categorical:
            name = coding.names[coding.categorical[0]]
            raise ValueError(
                f"X is not a data frame, but column {name!r} had categories in fit; pass a data "
                "frame with the columns of fit."
            )
        return X
    if not is_frame(X):
        return X
    check_columns(estimator, X, reset=reset)
    if reset:
        setattr(estimator, TABLE, TableCoding.of(X))
    coding = getattr(estimator, TABLE, None)
    return X if coding is None else coding.encode(X)


def check_columns(estimator: object, X: Frame, *, reset: bool) -> None:
    """Note the names of the columns or, after fit, raise unless they are the same."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        if "same order" not in str(error):
            raise
        raise ValueError(
            f"{error}Column {_first_moved(estimator, X)!r} is the first that is not at its place; "
            "use X[list(model.feature_names_in_)]."
        ) from None


def check_only_numbers(X: Frame, *, reset: bool) -> None:
    """Raise for the first column of a data frame that only kernels for tables accept."""
    for place, (name, column) in enumerate(zip(X.columns, read_columns(X), strict=True)):
        if column.values is not None:
            what = "holds text" if column.kind == "text" else "holds categories"
        elif is_of_dates(X, place):
            what = "holds dates or durations"
        elif column.numbers is not None and np.isnan(column.numbers).any():
            what = "has gaps (NaN)"
        else:
            continue
        way_out = "use kernels='table', or replace it by numbers"
        if not reset:
            way_out = "replace it by numbers, as in fit"
        raise ValueError(
            f"column {str(name)!r} of X {what}, but these kernels need numbers; {way_out}."
        )


def _first_moved(estimator: object, X: Frame) -> str:
    known = getattr(estimator, "feature_names_in_", ())
    pairs = zip(known, X.columns, strict=True)
    return next(str(name) for own, name in pairs if own != name)
