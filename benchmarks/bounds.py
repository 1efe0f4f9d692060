"""Bounds on the error next to test errors; penalties chosen by the bound and by five folds.

There are two tables, with one setting for all data sets, fixed before the first full run:

- **Bounds.** `choose_by_bound` with Gaussians of seven widths and an intercept, delta = 0.05, a
  tenth of the rows set aside for scaling. With more than 4,000 rows, 1,000 rows drawn at random are
  candidates for support vectors, which the bound allows. With 20,000 rows, the path ends after 24
  penalties. (This was added after a run over 37 of them: from there on, each vote takes longer,
  and the bounds had risen from 0.10 to 0.2 and more.) For comparison, the table shows the
  smallest bound of the theorems over all votes of the same path, on the same rows, and the bound
  from the test rows. The samples are those of a rough trial (waveform with 300 to 20,000 rows,
  breastcancer, ionosphere), and four fifths of each data set of the paper.
- **Choice.** On the yardstick's data sets with two classes: the penalty chosen by the bound, and
  the one chosen by five-fold cross-validation over plain votes with the same kernels, three
  penalties per decade, ten in all. The first of five outer folds is the test part.

Each record is written at once, on one line of ``results/bounds.jsonl``, so an interrupted run can
be continued. ``--report`` writes ``results/bounds.md`` from the records.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import RESULTS, describe_run, format_markdown_table, report_progress
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from votedkernels import Gaussian, VotedKernelClassifier, VotedKernelClassifierCV, choose_by_bound
from votedkernels.datasets import CATALOGUE, load, make_waveform

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RECORDS = RESULTS / "bounds.jsonl"
#: The samples of the rough trial, with the bounds that it found.
GOALS = {
    ("waveform", 300): 0.31,
    ("waveform", 1000): 0.23,
    ("waveform", 5000): 0.14,
    ("waveform", 20000): 0.12,
    ("breastcancer", 546): 0.14,
    ("ionosphere", 280): 0.49,
}
MANY_ROWS, CENTERS = 4000, 1000
#: With so many rows, only the first half of the default path is followed.
VERY_MANY_ROWS = 10_000
LONG_PATH = 6.786780394566222 * 10.0 ** (-np.arange(24) / 8)
BOUNDS = ("data", "rows", "compression", "test error", "support vectors", "bits", "theorems",
          "by test rows", "rough trial")  # fmt: skip
CHOICE = ("data", "rows", "error, by bound", "error, by folds", "bound",
          "support vectors, by bound", "support vectors, by folds")  # fmt: skip

Record = dict[str, Any]
Sample = tuple[Any, Any, Any, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=SHARED)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--part", choices=("bounds", "choice"), nargs="*", default=[])
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    parts = {"bounds": measure_bounds, "choice": measure_choice}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in options.part or ([] if options.report else parts):
            done = {key_of(record) for record in read(options.records)}
            for record in parts[part](options.data_dir, done):
                with options.records.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"part": part} | record) + "\n")
                report_progress(f"{part}: {record}")
    if options.report:
        report(read(options.records))


def read(path: Path) -> list[Record]:
    """Return the records so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def key_of(record: Record) -> tuple[Any, ...]:
    """Return what identifies a record."""
    return record["part"], record["data"], record.get("given"), record.get("fold")


def estimator(n_rows: int) -> VotedKernelClassifier:
    """Return the classifier, the same for all data sets."""
    centers = CENTERS if n_rows > MANY_ROWS else None
    return VotedKernelClassifier(
        Gaussian(), fit_intercept=True, centers=centers, tol=1e-3, random_state=0
    )


# -- bounds --------------------------------------------------------------------------------


def measure_bounds(folder: Path, done: set[tuple[Any, ...]]) -> Iterator[Record]:
    """Yield a record for each sample."""
    names = [(name, 0) for name in sorted(CATALOGUE, key=lambda name: CATALOGUE[name].n_samples)]
    for name, n_rows in [*GOALS, *names]:
        if ("bounds", name, n_rows, None) in done:
            continue
        X, y, X_test, y_test = sample_of(folder, name, n_rows)
        penalties = LONG_PATH if len(X) > VERY_MANY_ROWS else None
        choice = choose_by_bound(estimator(len(X)), X, y, complexity_penalties=penalties)
        kept = np.delete(np.arange(len(X)), choice.rows_set_aside)
        rows = choice.model[0].transform(X[kept])
        yield {
            "data": name,
            "given": n_rows,
            "rows": len(X),
            "compression": choice.bound.value,
            "guaranteed": choice.bound.is_guarantee,
            "test error": float(1 - choice.model.score(X_test, y_test)),
            "support": choice.bound.n_support,
            "bits": choice.bound.n_bits,
            "theorems": by_theorems(choice, rows, y[kept]),
            "test rows": by_test_rows(choice, X_test, y_test),
            "goal": GOALS.get((name, n_rows)),
            "penalties": len(choice.bounds),
        }


def sample_of(folder: Path, name: str, n_rows: int) -> Sample:
    """Return training rows, their labels, test rows and their labels; 0 means four fifths."""
    if name == "waveform":
        return *make_waveform(n_rows, random_state=0), *make_waveform(20_000, random_state=1)
    X, y = load(name, data_dir=folder / "uci", download=False, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [n_rows or round(0.8 * len(X))])
    return X[train], y[train], X[test], y[test]


def by_theorems(choice: Any, X: Any, y: Any) -> float:
    """Return the smallest bound of the theorems over the rounded votes on the path."""
    return min(float(b.rounded.generalization_bound(X, y).value) for b in choice.bounds)


def by_test_rows(choice: Any, X: Any, y: Any) -> float:
    """Return the bound from the test rows, which were used for nothing else."""
    classifier = choice.model[-1]
    rows = choice.model[0].transform(X)
    seen = (rows[:, None, :] == classifier.support_vectors_[None]).all(axis=2).any(axis=1)
    return float(classifier.generalization_bound(rows[~seen], y[~seen], method="test").value)


# -- choice --------------------------------------------------------------------------------


def measure_choice(folder: Path, done: set[tuple[Any, ...]]) -> Iterator[Record]:
    """Yield a record for each data set and outer fold."""
    for path in sorted((folder / "yardstick" / "binary").glob("*.csv*")):
        name = path.name.partition(".")[0]
        table = pd.read_csv(path).dropna()
        X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
        splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        for fold, (train, test) in zip(range(1), splits, strict=False):
            if ("choice", name, None, fold) in done:
                continue
            choice = choose_by_bound(estimator(len(train)), X[train], y[train])
            top = choice.complexity_penalties[0]
            search = VotedKernelClassifierCV(
                Gaussian(), complexity_penalties=top * 10 ** (-np.arange(10) / 3),
                l1_penalties=[0.0], fit_intercept=True, tol=1e-3, cv=5, random_state=0,
            )  # fmt: skip
            folds = make_pipeline(StandardScaler(), search).fit(X[train], y[train])
            yield {
                "data": name,
                "fold": fold,
                "rows": len(train),
                "bound": choice.bound.value,
                "error by bound": float(1 - choice.model.score(X[test], y[test])),
                "error by folds": float(1 - folds.score(X[test], y[test])),
                "support by bound": choice.bound.n_support,
                "support by folds": len(search.support_),
            }


# -- report --------------------------------------------------------------------------------


def report(records: list[Record]) -> None:
    """Print both tables and write them to a file."""
    run = describe_run(("scikit-learn", "numpy", "scipy"))
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    rows = choice_rows(records)
    text = "\n\n".join([
        "# Bounds on the error", f"{run['date']}. {versions}.",
        "`bounds.py` says what was measured. Every bound in the column *compression* is a "
        "guarantee at delta = 0.05.",
        format_markdown_table(BOUNDS, bound_rows(records), left=(0,)),
        "## Penalties chosen by the bound and by five folds",
        format_markdown_table(CHOICE, rows, left=(0,)) if rows else "Not measured yet.",
    ])  # fmt: skip
    (RESULTS / "bounds.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def bound_rows(records: list[Record]) -> list[tuple[str, ...]]:
    """Return the rows of the first table."""
    return [
        (
            r["data"], f"{r['rows']:,}", f"{r['compression']:.2f}", f"{r['test error']:.2f}",
            str(r["support"]), f"{r['bits']:.0f}",
            f"{r['theorems']:.2f}", f"{r['test rows']:.2f}",
            "" if r["goal"] is None else f"{r['goal']:.2f}",
        )
        for r in records if r["part"] == "bounds"
    ]  # fmt: skip


def choice_rows(records: list[Record]) -> list[tuple[str, ...]]:
    """Return the rows of the second table: means over folds, and over data sets at the end."""
    table = pd.DataFrame([r for r in records if r["part"] == "choice"])
    if table.empty:
        return []
    means = table.drop(columns=["part", "fold"]).groupby("data", sort=False).mean()
    means.loc["mean"] = means.mean()
    return [
        (
            str(name), f"{r['rows']:.0f}",
            f"{r['error by bound']:.3f}", f"{r['error by folds']:.3f}", f"{r['bound']:.2f}",
            f"{r['support by bound']:.0f}", f"{r['support by folds']:.0f}",
        )
        for name, r in means.iterrows()
    ]  # fmt: skip


if __name__ == "__main__":
    main()
