"""Tables of a report on a model: its data, its errors, and the examples that vote most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..display.models import earlier_steps, first_step, transform
from ..kernels.base import FloatArray, IntArray, count_rows
from .held_out import HeldOut
from .parts import Cell, Table

#: At most this many features, classes and examples are listed.
MOST_FEATURES, MOST_CLASSES, MOST_EXAMPLES = 30, 30, 10
#: Contributions are averaged over at most this many rows.
ROWS_OF_CONTRIBUTIONS = 500


@dataclass(frozen=True)
class DataFacts:
    """The data at a glance.

    ``table`` holds the features as numbers, or is None if X is not a table of numbers.
    """

    n_rows: int
    names: list[str]
    table: FloatArray | None
    classes: Any
    counts: IntArray
    n_repeated: int

    @property
    def constant(self) -> list[str]:
        """The features with a single value."""
        if self.table is None:
            return []
        same = (self.table == self.table[:1]).all(axis=0)
        return [name for name, alike in zip(self.names, same, strict=True) if alike]

    @property
    def guess_error(self) -> float:
        """The error of always predicting the most frequent class."""
        return 1.0 - float(self.counts.max() / self.counts.sum())


def describe_data(model: Any, X: Any, y: Any) -> DataFacts:
    """Return the facts about rows and labels."""
    classes, counts = np.unique(np.asarray(y), return_counts=True)
    table = as_numbers(X)
    names: list[str] = []
    n_repeated = 0
    if table is not None:
        names = names_of_features(model, X, table.shape[1])
        n_repeated = len(table) - len(np.unique(table, axis=0))
    return DataFacts(count_rows(X), names, table, classes, counts, n_repeated)


def as_numbers(X: Any) -> FloatArray | None:
    """Return X as a table of numbers, or None if it is anything else, such as a sparse matrix."""
    if not hasattr(X, "__array__") and not isinstance(X, list):
        return None
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return table if table.ndim == 2 and table.size else None


def names_of_features(model: Any, X: Any, n_features: int) -> list[str]:
    """Return the names of the columns, or their numbers."""
    names = getattr(first_step(model), "feature_names_in_", getattr(X, "columns", None))
    if names is not None and len(names) == n_features:
        return [str(name) for name in names]
    return [f"feature {number}" for number in range(n_features)]


def table_of_classes(facts: DataFacts) -> Table:
    """Return the number of rows of each class."""
    order = np.argsort(-facts.counts, kind="stable")[:MOST_CLASSES]
    rows = [
        (str(facts.classes[k]), f"{facts.counts[k]:,}", f"{facts.counts[k] / facts.n_rows:.1%}")
        for k in order
    ]
    note = cut_note(len(facts.classes), MOST_CLASSES, "classes")
    return make_table("Classes", ("class", "rows", "share"), rows, note)


def table_of_features(facts: DataFacts) -> Table | None:
    """Return the range of each feature."""
    if facts.table is None:
        return None
    rows = []
    for name, column in zip(facts.names[:MOST_FEATURES], facts.table.T, strict=False):
        known = column[np.isfinite(column)]
        numbers = [float(q) for q in np.quantile(known, (0, 0.5, 1))] if len(known) else []
        cells = [f"{number:.4g}" for number in numbers] or ["\N{EN DASH}"] * 3
        rows.append((name, *cells, f"{len(np.unique(known)):,}", f"{len(column) - len(known):,}"))
    heads = ("feature", "smallest", "median", "largest", "distinct values", "missing")
    note = cut_note(len(facts.names), MOST_FEATURES, "features")
    return make_table("Features", heads, rows, note)


def table_of_confusion(held_out: HeldOut) -> Table:
    """Return how often each class was predicted as each other class."""
    counts = held_out.confusion()
    names = [str(label) for label in held_out.classes]
    columns = (("", "true class"), *(("predicted", name) for name in names), ("", "error"))
    rows = tuple(
        (
            Cell(names[k]),
            *(Cell(f"{n:,}", best=k == j) for j, n in enumerate(row)),
            Cell(f"{1 - row[k] / row.sum():.1%}"),
        )
        for k, row in enumerate(counts)
    )
    return Table("Held-out rows by class", columns, rows)


def table_of_examples(model: Any, classifier: Any, X: Any, y: Any) -> Table | None:
    """Return the training examples with the largest votes on average; None if no example votes."""
    if len(classifier.support_) == 0:
        return None
    rows = transform(earlier_steps(model), X)
    explanation = classifier.explain(first_rows(rows, ROWS_OF_CONTRIBUTIONS))
    size = np.abs(explanation.by_example()).mean(axis=0).sum(axis=0)
    share = size / size.sum()
    order = np.argsort(-share, kind="stable")[:MOST_EXAMPLES]
    labels = labels_of_examples(classifier, rows, y, explanation.examples)
    terms = [
        {explanation.kernels[t] for t in np.flatnonzero(explanation.support == example)}
        for example in explanation.examples
    ]
    listed = [
        (
            f"row {explanation.examples[k]}",
            ", ".join(sorted(terms[k])),
            *([] if labels is None else [str(labels[k])]),
            f"{share[k]:.1%}",
        )
        for k in order
    ]
    heads = ("training example", "kernels", *([] if labels is None else ["class"]), "share")
    note = (
        f"Of {len(share)} examples that vote. The share is that of the absolute votes, averaged "
        f"over {'the' if count_rows(rows) <= ROWS_OF_CONTRIBUTIONS else 'the first 500'} rows. "
        "Rows are numbered from 0."
    )
    return make_table("Examples that vote most", heads, listed, note, n_names=2)


def labels_of_examples(classifier: Any, rows: Any, y: Any, examples: IntArray) -> Any:
    """Return the classes of voting examples; None if the model was fitted on other rows."""
    points = as_numbers(classifier.support_vectors_)
    table = as_numbers(rows)
    if classifier.centers is not None or points is None or table is None:
        return None
    if len(table) <= classifier.support_.max(initial=-1):
        return None
    if not np.allclose(table[classifier.support_], points):
        return None
    return np.asarray(y)[examples]


def first_rows(rows: Any, n: int) -> Any:
    """Return the first n rows, or all."""
    return rows.iloc[:n] if hasattr(rows, "iloc") else rows[:n]


def make_table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    note: str = "",
    n_names: int = 1,
) -> Table:
    """Return a table of texts."""
    cells = tuple(tuple(Cell(text) for text in row) for row in rows)
    return Table(title, tuple(("", head) for head in heads), cells, note=note, n_names=n_names)


def cut_note(n: int, most: int, what: str) -> str:
    """Return a note that a list is shortened, if it is."""
    return f"The first {most} of {n} {what}." if n > most else ""
