"""Tables with labels or numbers: what ``fit`` and ``score`` read."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from votedkernels.cli.column_kinds import Overruled, are_numbers, read_frame, show_kinds
from votedkernels.cli.console import messages, printable
from votedkernels.cli.tables import Piece, Table, check_names, missing, open_table
from votedkernels.datasets import DataFileError

Label = str | int | float
MANY = 20
"""Up to this many distinct values are treated as classes, even in a small table."""
MOST_NUMBERS = 10
"""Numbers are treated as classes only if there are at least this many rows per distinct value."""
MAX_LABEL = 1000
"""The maximum length of a label: NumPy stores every label at the length of the longest."""
WAY_OUT = (
    "leave the column out with --drop {column}, or use --categorical {column} if its values are "
    "categories"
)
"""What to do about a column that is not numeric."""
NAMES_OF_IDS = re.compile(r"(.*[ _.-])?(id|uuid|guid|index|key|row|unnamed: 0)", re.IGNORECASE)


def read_training(
    path: Path,
    target: str,
    drop: Sequence[str],
    kinds: Overruled,
    *,
    folds: int,
    numeric: bool = False,
) -> tuple[list[str], Any, Any]:
    """Return the feature names, the features and the labels, which are numbers if ``numeric``.

    The features are an array if all are numbers without gaps, otherwise a data frame.
    """
    with open_table(path) as table:
        table.way_out = WAY_OUT
        check_names(table, [target, *drop, *kinds.categorical, *kinds.numeric])
        names = [name for name in table.columns if name != target and name not in drop]
        if not names:
            raise DataFileError(f"{table.name}: there is no column left to learn from.")
        pieces = list(table.pieces((), [target, *names]))
    features = [piece._replace(others=piece.others[1:]) for piece in pieces]
    frame = read_frame(table, features, names, kinds)
    if numeric:
        y = read_numbers(table, pieces, target)
        if len(y) < folds:
            raise DataFileError(
                f"{table.name}: {len(y)} rows are too few for {folds} folds; use --no-cv, or add "
                "rows."
            )
    else:
        y = np.array(as_integers(read_labels(table, pieces, target)))
        check_classes(table, target, y, folds)
    note_ids(frame)
    if are_numbers(frame):
        return names, frame.to_numpy(np.float64), y
    show_kinds(frame)
    return names, frame, y


def note_ids(frame: Any) -> None:
    """Tell the user about columns that look like row numbers."""
    for name in frame.columns:
        if frame[name].dtype.kind not in "iuf" or frame[name].isna().any():
            continue
        column = frame[name].to_numpy(np.float64)
        if len(column) > 2 and looks_like_id(name, column):
            messages().print(
                f"note: column {printable(name)} looks like an ID, because all its values differ; "
                f"if it is one, leave it out with --drop {printable(name)}.",
                soft_wrap=True,
            )


def looks_like_id(name: str, column: Any) -> bool:
    """Whether a column contains distinct integers that number the rows, or is named like an ID."""
    if (column != np.round(column)).any() or len(np.unique(column)) < len(column):
        return False
    counts = bool(np.ptp(column) == len(column) - 1)
    return counts or NAMES_OF_IDS.fullmatch(name) is not None


def read_labels(table: Table, pieces: Sequence[Piece], target: str) -> list[Label]:
    """Return the labels; raise if one is missing, too long, or neither text nor a number."""
    labels = []
    for piece in pieces:
        for place, label in zip(piece.places, _listed(piece.others[0]), strict=True):
            if label is None or str(label).strip() in ("", "nan"):
                raise DataFileError(f"{table.name}, {table.unit} {place}: {missing(target, '')}")
            if isinstance(label, str) and len(label) > MAX_LABEL:
                raise DataFileError(
                    f"{table.name}, {table.unit} {place}: the class label has {len(label)} "
                    f"characters; at most {MAX_LABEL} are allowed."
                )
            labels.append(label)
    if not all(isinstance(label, str | int | float) for label in labels):
        raise DataFileError(
            f"{table.name}: column {target} holds neither text nor numbers; use another --target."
        )
    return labels


def read_numbers(table: Table, pieces: Sequence[Piece], target: str) -> Any:
    """Return the regression targets; raise if one is missing or not a finite number."""
    numbers = []
    for piece in pieces:
        for place, value in zip(piece.places, _listed(piece.others[0]), strict=True):
            if value is None or str(value).strip() in ("", "nan"):
                raise DataFileError(f"{table.name}, {table.unit} {place}: {missing(target, '')}")
            try:
                numbers.append(float(value))
            except (TypeError, ValueError):
                numbers.append(math.nan)
            if not math.isfinite(numbers[-1]):
                raise DataFileError(
                    f"{table.name}, {table.unit} {place}: {target} is {str(value)[:80]!r}, which "
                    "is not a finite number; use another --target, or --task classification."
                )
    return np.array(numbers)


def check_classes(table: Table, target: str, y: Any, folds: int) -> None:
    """Raise if the labels cannot be classes, or if a class has too few rows for the folds."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) > max(MANY, len(y) // (MOST_NUMBERS if are_all_numbers(classes) else 2)):
        raise DataFileError(
            f"{table.name}: column {target} has {len(classes)} distinct values in {len(y)} rows, "
            "too many for class labels; use another column as --target, or predict numbers with "
            "--task regression."
        )
    if len(classes) < 2:
        raise DataFileError(
            f"{table.name}: all {len(y)} rows belong to class {classes[0]}; at least two classes "
            "are needed."
        )
    if counts.min() < folds:
        raise DataFileError(
            f"{table.name}: class {classes[counts.argmin()]} has {counts.min()} rows, but the "
            f"search by cross-validation needs {folds} of each class; use --no-cv, or add rows."
        )


def are_all_numbers(labels: Any) -> bool:
    """Whether all labels are numbers, or texts of numbers."""
    try:
        np.asarray(labels).astype(np.float64)
    except ValueError:
        return False
    return True


def _listed(values: Any) -> list[Any]:
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def as_integers(labels: list[Label]) -> list[Label]:
    """Return labels as integers if all are written as integers; other text is only stripped."""
    texts = [label.strip() for label in labels if isinstance(label, str)]
    if len(texts) < len(labels):
        return labels
    try:
        numbers = {text: int(text) for text in set(texts)}
    except ValueError:
        return [*texts]
    if any(str(n) != text or abs(n) >= 2**63 for text, n in numbers.items()):
        return [*texts]
    return [numbers[text] for text in texts]
