"""Compare our quantiles with those of scikit-learn, and check that they do not cross.

The protocol, written down before the first run:

- **Data, splits, features**: those of `regression.py`, including its shorter run.
- **Pinball loss.** At 0.1, 0.5 and 0.9, on the test rows: ``VotedKernelRegressorCV(loss="quantile",
  quantile=...)``; gradient-boosted trees with the pinball loss, by GridSearchCV over 2 depths x 2
  learning rates; and the linear ``QuantileRegressor``, by GridSearchCV over five penalties; all
  with five shuffled folds and the pinball loss as the score. The joint fit, ``VotedKernelRegressor(
  loss="quantile", quantiles=(0.1, 0.5, 0.9))``, is not tuned. Ratios to ours, geometric means over
  the three levels and the data sets.
- **Crossing.** 10^6 points per data set, uniform in a box that is three times as wide as the
  training rows: how often a quantile of the joint fit is below the one before it.
- **Coverage.** How many test targets are between the quantiles 0.1 and 0.9 of the joint fit with
  ``conformal=True``, and without. Means over 20 partitions of each data set.

Each result is written to the records at once, on one line, so an interrupted run can be continued.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, format_table, report_progress
from regression import ASIDE, DESIGN, folds, load, read, records_of, split
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from votedkernels import VotedKernelRegressor, VotedKernelRegressorCV

LEVELS = (0.1, 0.5, 0.9)
N_POINTS, AT_ONCE = 1_000_000, 20_000
SPLITS = 20


def searched(model: Any, grid: dict[str, list[Any]], level: float) -> Any:
    """Return a search by the pinball loss."""
    score = make_scorer(mean_pinball_loss, alpha=level, greater_is_better=False)
    return GridSearchCV(model, grid, cv=folds(), scoring=score)


MODELS: dict[str, Callable[[float], Any]] = {
    "search": lambda q: VotedKernelRegressorCV(loss="quantile", quantile=q),
    "trees": lambda q: searched(
        GradientBoostingRegressor(loss="quantile", alpha=q, random_state=0),
        {"max_depth": [2, 4], "learning_rate": [0.03, 0.1]},
        q,
    ),
    "linear": lambda q: searched(
        QuantileRegressor(quantile=q), {"alpha": [0.0, 1e-3, 1e-2, 1e-1, 1.0]}, q
    ),
}


def joint(*, conformal: bool = False) -> VotedKernelRegressor:
    """Return the joint fit of all levels."""
    return VotedKernelRegressor(loss="quantile", quantiles=LEVELS, conformal=conformal, tol=1e-4)


def fit(model: Any, X: Any, y: Any) -> float:
    """Fit a model with one thread; return the CPU seconds."""
    started = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return round(time.process_time() - started, 3)


def pinball(label: str, rows: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return the pinball loss of a model at each level."""
    X, y, X_test, y_test = rows
    if label == "joint":
        model = joint()
        seconds = fit(model, X, y)
        found = list(model.predict_quantiles(X_test).T)
    else:
        models = [MODELS[label](level) for level in LEVELS]
        seconds = sum(fit(model, X, y) for model in models)
        found = [model.predict(X_test) for model in models]
    losses = [mean_pinball_loss(y_test, f, alpha=q) for f, q in zip(found, LEVELS, strict=True)]
    return {"pinball": losses, "seconds": seconds}


def crossings(rows: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return how many of many points have quantiles in the wrong order."""
    X, y, *_ = rows
    model = joint(conformal=True)
    fit(model, X, y)
    random = np.random.default_rng(0)
    middle, half = (X.min(0) + X.max(0)) / 2, (X.max(0) - X.min(0)) / 2
    n_crossed = 0
    for _ in range(N_POINTS // AT_ONCE):
        points = middle + 3 * half * random.uniform(-1, 1, (AT_ONCE, X.shape[1]))
        n_crossed += int((np.diff(model.predict_quantiles(points), axis=1) < 0).any(1).sum())
    return {"points": N_POINTS, "crossed": n_crossed}


def coverage(rows: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return the share of test targets in the interval of 80 per cent, conformal and plain."""
    X, y, X_test, y_test = rows
    model = joint(conformal=True)
    fit(model, X, y)
    found = {}
    for name in ("conformal", "plain"):
        low, high = model.predict_interval(X_test, alpha=0.2).T
        found[name] = float(np.mean((low <= y_test) & (y_test <= high)))
        if name == "conformal":
            del model.conformal_shifts_
    return found


def measure(what: str, rows: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return the record of one measurement."""
    if what == "crossing":
        return crossings(rows)
    return coverage(rows) if what == "coverage" else pinball(what, rows)


def run(options: argparse.Namespace) -> None:
    """Measure what is missing in the records, and append it to them."""
    done = {(r["data"], r["partition"], r["rows"], r["model"]) for r in read(options.records)}
    for what in options.parts:
        for name in options.data:
            X, y = load(name, options.folder)
            for partition in range(SPLITS if what == "coverage" else 1):
                key = (name, partition, options.rows, what)
                if key in done:
                    continue
                train, test = split(len(y), partition, options.rows)
                scaler = StandardScaler().fit(X[train])
                rows = scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
                names = ("data", "partition", "rows", "model")
                record = dict(zip(names, key, strict=True)) | measure(what, rows)
                with options.records.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                report_progress(f"{name}, partition {partition}, {what}")


def report(options: argparse.Namespace) -> str:
    """Return the tables of pinball losses, crossings and coverage."""
    table = records_of(options)
    ours = table[table.model == "search"].set_index("data")
    rows = []
    for title, names in (("design", DESIGN), ("aside", ASIDE), ("all", DESIGN + ASIDE)):
        for label in ("trees", "linear", "joint"):
            theirs = table[(table.model == label) & table.data.isin(names)].set_index("data")
            both = ours.merge(theirs, left_index=True, right_index=True, suffixes=("", "_other"))
            if both.empty:
                continue
            ratios = np.log(np.array([*both.pinball]) / np.array([*both.pinball_other]))
            means = [f"{np.exp(r):.3f}" for r in (*ratios.mean(axis=0), ratios.mean())]
            seconds = np.exp(np.log(both.seconds / both.seconds_other).mean())
            rows.append([title, label, str(len(both)), *means, f"{seconds:.2f}"])
    header = ["part", "search against", "data sets", *map(str, LEVELS), "all levels", "seconds"]
    lines = [str(format_table(header, rows))]
    crossed = table[table.model == "crossing"]
    if len(crossed):
        lines.append(f"{crossed.crossed.sum():.0f} crossings on {len(crossed)} data sets.")
    covered = table[table.model == "coverage"]
    if len(covered):
        means = covered.groupby("data")[["conformal", "plain"]].agg(["mean", "count"])
        lines.append(means.to_string(float_format="{:.3f}".format))
    return "\n\n".join(lines)


def main() -> None:
    """Run, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder of the CSV files")
    parser.add_argument("--records", type=Path, default=RESULTS / "quantiles.jsonl")
    parser.add_argument("--data", nargs="+", default=[*DESIGN, *ASIDE])
    parts = ["joint", "linear", "search", "trees", "crossing", "coverage"]
    parser.add_argument("--parts", nargs="+", default=parts)
    parser.add_argument("--rows", type=int, default=3000, help="training rows")
    parser.add_argument("--report", action="store_true", help="only print the report")
    options = parser.parse_args()
    if not options.report:
        run(options)
    print(report(options))


if __name__ == "__main__":
    main()
