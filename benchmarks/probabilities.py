"""Compare the probabilities of our models with those of calibrated support vector machines.

The protocol, written down before the first full run:

- **Data.** The twelve yardstick data sets with two classes and the six with more. Designs are
  chosen on the DESIGN half of `selection`; ``--data`` adds other data sets from it.
- **Splits.** Five stratified outer folds (seed 0), at most `MOST_ROWS` rows per data set, the same
  for all models. Features are standardised on the training rows. Classes with fewer than
  `LEAST_ROWS` of these rows are left out, because `CalibratedClassifierCV` refuses them: one class
  of yeast, with two rows.
- **Models.** Our default search, with default parameters. An SVC with a Gaussian kernel, tuned by
  GridSearchCV over 7 x 7 settings on the training rows, then ``CalibratedClassifierCV(SVC(best))``:
  sigmoid, five folds of the training rows, as an ensemble (scikit-learn's default) and as one
  model. Also ``VotedKernelClassifier(probability=True)`` and ``CalibratedClassifierCV`` around the
  same vote.
- **Measured on the test rows.** Log-loss (probabilities clipped at 1e-15), Brier score (squared
  distances summed over classes), error, calibration error (ten bins of the largest probability),
  and the seconds that ``predict_proba`` takes on `TIMED_ROWS` rows drawn from them, best of three.
- **Compared.** Means over data sets, on the folds that a model and the baseline both have, in one
  process with one thread.

Each fit is written to the records at once, so an interrupted run can be continued.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import selection
from _common import (
    RESULTS,
    describe_run,
    format_markdown_table,
    format_table,
    report_progress,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from votedkernels import VotedKernelClassifier, VotedKernelClassifierCV

BINARY = (
    "heart", "bupa", "saheart", "wdbc", "ilpd", "australian", "blood", "mammographic",
    "oocytes_merluccius", "qsar_biodeg", "banknote", "kc1",
)  # fmt: skip
MULTI = ("wine", "satimage", "segment", "pendigits", "vehicle", "yeast")
MOST_ROWS = 1000
LEAST_ROWS = 10
TIMED_ROWS = 10_000
RECORDS = RESULTS / "probabilities.jsonl"
BASELINE = "svc, calibrated"
OF_SETS = ("data", "folds", "log-loss", "SVC", "Brier score", "SVC", "error", "SVC", "time")
METRICS = ["log_loss", "brier", "error", "calibration_error", "predict_seconds", "fit_seconds"]


def folds() -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=0)


def calibrated_svc(X: Any, y: Any, *, ensemble: bool) -> Any:
    """Return a tuned SVC with probabilities."""
    key = hash(X.tobytes())
    if key not in BEST:
        BEST.clear()
        gammas = [width / X.shape[1] for width in selection.WIDTHS]
        grid = {"C": selection.COSTS, "gamma": gammas}
        BEST[key] = selection.tuned(SVC(cache_size=500), grid).fit(X, y).best_params_
    return CalibratedClassifierCV(SVC(**BEST[key]), cv=folds(), ensemble=ensemble).fit(X, y)


#: The settings found by the last search, by its rows.
BEST: dict[int, dict[str, float]] = {}
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "ours": lambda X, y: VotedKernelClassifierCV().fit(X, y),
    BASELINE: lambda X, y: calibrated_svc(X, y, ensemble=True),
    "svc, calibrated, one model": lambda X, y: calibrated_svc(X, y, ensemble=False),
    "vote": lambda X, y: VotedKernelClassifier(probability=True).fit(X, y),
    "vote, calibrated": lambda X, y: CalibratedClassifierCV(VotedKernelClassifier()).fit(X, y),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=selection.SHARED)
    parser.add_argument("--data", nargs="+", default=[*BINARY, *MULTI])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--folds", type=int, default=5, help="how many of the five folds to run")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--again", action="store_true", help="only print the tables of the records")
    parser.add_argument("--report", action="store_true", help="only write results/probabilities.md")
    options = parser.parse_args()
    if options.report:
        write_report(selection.read_records(options.records))
        return
    if not options.again:
        run(options)
    records = selection.read_records(options.records)
    design = {name for names in selection.DESIGN.values() for name in names}
    for kind, names in (("binary", BINARY), ("multi", MULTI)):
        report(f"{kind}, all", [r for r in records if r["data"] in names])
        report(f"{kind}, aside", [r for r in records if r["data"] in set(names) - design])
    report("design", [r for r in records if r["data"] in design])
    report("all data sets", records)


def run(options: argparse.Namespace) -> None:
    """Run the fits that the records do not have yet."""
    done = {(r["data"], r["fold"], r["method"]) for r in selection.read_records(options.records)}
    selection.MOST_ROWS = MOST_ROWS
    with options.records.open("a", encoding="utf-8") as file, threadpool_limits(1):
        for name in options.data:
            X, y = load(name, options.data_dir)
            splits = list(folds().split(X, y))[: options.folds]
            for fold, (train, test) in enumerate(splits):
                scaler = StandardScaler().fit(X[train])
                rows = scaler.transform(X[train]), scaler.transform(X[test])
                for method in options.methods:
                    if (name, fold, method) not in done:
                        measured = measure(METHODS[method], *rows, y[train], y[test])
                        record = {"data": name, "fold": fold, "method": method} | measured
                        print(json.dumps(record), file=file, flush=True)
            report_progress(f"{name}: done")


def load(name: str, folder: Path) -> tuple[Any, Any]:
    """Return the features and the numbers of the classes that have enough rows."""
    X, y = selection.load(name, folder)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = counts[codes] >= LEAST_ROWS
    return X[kept], np.unique(codes[kept], return_inverse=True)[1]


def measure(
    fit: Callable[[Any, Any], Any], X: Any, X_test: Any, y: Any, y_test: Any
) -> dict[str, float]:
    """Fit one model and return its measurements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        model = fit(X, y)
        seconds = time.perf_counter() - started
    found = model.predict_proba(X_test)
    many = X_test[np.random.default_rng(0).integers(len(X_test), size=TIMED_ROWS)]
    clock = []
    for _ in range(3):
        started = time.perf_counter()
        model.predict_proba(many)
        clock.append(time.perf_counter() - started)
    return scores(found, y_test) | {"predict_seconds": min(clock), "fit_seconds": seconds}


def scores(found: Any, y: Any) -> dict[str, float]:
    """Return how good some probabilities are."""
    rows = np.arange(len(y))
    distances = found.copy()
    distances[rows, y] -= 1.0
    right, sure = found.argmax(axis=1) == y, found.max(axis=1)
    bins = np.minimum((10 * sure).astype(int), 9)
    gaps = [abs((right[bins == b] - sure[bins == b]).sum()) for b in range(10)]
    return {
        "log_loss": float(-np.log(np.clip(found[rows, y], 1e-15, 1.0)).mean()),
        "brier": float((distances**2).sum(axis=1).mean()),
        "error": float(1 - right.mean()),
        "calibration_error": float(sum(gaps) / len(y)),
    }


def write_report(records: list[dict[str, Any]]) -> None:
    """Write a table of all yardstick data sets, and print it."""
    run_facts = describe_run(("scikit-learn", "numpy", "scipy"))
    versions = ", ".join(f"{name} {number}" for name, number in run_facts["versions"].items())
    rows: list[tuple[str, ...]] = []
    gains = []
    for kind, names in (("two classes", BINARY), ("more classes", MULTI)):
        rows += rows_of_sets(records, names, kind)
        gains.append(f"{kind} {gain_of_sets(records, names)}")
    text = "\n\n".join([
        "# Probabilities, compared with those of calibrated SVCs",
        f"{run_facts['date']}. {versions}.",
        "`probabilities.py` says what was measured. Each value is a mean over the folds that both "
        "models have; the last column is our time of `predict_proba`, divided by that of the SVC "
        "(its median in the rows of means). Differences in log-loss, with standard errors over "
        f"data sets: {', '.join(gains)}.",
        format_markdown_table(OF_SETS, rows, left=(0,)),
    ])  # fmt: skip
    (RESULTS / "probabilities.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def pairs_of_sets(records: list[dict[str, Any]], names: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """Return our means and those of the SVC by data set, and the numbers of folds."""
    runs = pd.DataFrame(records).set_index(["method", "data", "fold"])[METRICS].astype(float)
    ours, svc = runs.loc["ours"], runs.loc[BASELINE]
    both = ours.index.intersection(svc.index)
    both = both[both.get_level_values("data").isin(names)]
    mine, other = (part.loc[both].groupby("data").mean() for part in (ours, svc))
    return mine, other, both.get_level_values("data").value_counts()


def gain_of_sets(records: list[dict[str, Any]], names: tuple[str, ...]) -> str:
    """Return the mean difference in log-loss, with its standard error."""
    mine, other, _ = pairs_of_sets(records, names)
    gain = mine["log_loss"] - other["log_loss"]
    return f"{gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}"


def rows_of_sets(
    records: list[dict[str, Any]], names: tuple[str, ...], kind: str
) -> list[tuple[str, ...]]:
    """Return a row for each data set, and one of their means."""
    mine, other, n_folds = pairs_of_sets(records, names)
    times = mine["predict_seconds"] / other["predict_seconds"]
    measures = ["log_loss", "brier", "error"]
    table = pd.concat([frame[measure] for measure in measures for frame in (mine, other)], axis=1)
    rows = [
        (name, str(n_folds[name]), *texts_of(table.loc[name], times[name]))
        for name in names if name in table.index
    ]  # fmt: skip
    means = texts_of(table.mean(), times.median())
    return [*rows, (f"mean, {kind}", str(n_folds.sum()), *means)]


def texts_of(values: Any, time_ratio: float) -> list[str]:
    """Return log-losses, Brier scores, errors and the ratio of times as text."""
    forms = 4 * ("{:.4f}",) + 2 * ("{:.3f}",)
    texts = [form.format(value) for form, value in zip(forms, values, strict=True)]
    return [*texts, "" if np.isnan(time_ratio) else f"{time_ratio:.3f}"]


def report(title: str, records: list[dict[str, Any]]) -> None:
    """Print means over data sets, and differences from the baseline."""
    table = pd.DataFrame(records)
    if table.empty or BASELINE not in set(table["method"]):
        return
    runs = table.set_index(["method", "data", "fold"])[METRICS].astype(float)
    base = runs.loc[BASELINE]
    lines = []
    for method in [m for m in METHODS if m in runs.index.get_level_values(0)]:
        both = runs.loc[method].index.intersection(base.index)
        mine = runs.loc[method].loc[both].groupby("data").mean()
        other = base.loc[both].groupby("data").mean()
        ahead = mine["log_loss"] - other["log_loss"]
        lines.append((
            method, str(len(mine)), str(len(both)), f"{mine['log_loss'].mean():.4f}",
            f"{ahead.mean():+.4f}", f"{ahead.std(ddof=1) / np.sqrt(len(ahead)):.4f}",
            f"{mine['brier'].mean():.4f}", f"{(mine['brier'] - other['brier']).mean():+.4f}",
            f"{100 * mine['error'].mean():.2f}", f"{mine['calibration_error'].mean():.4f}",
            f"{(mine['predict_seconds'] / other['predict_seconds']).median():.3f}",
            f"{(mine['predict_seconds'] / other['predict_seconds']).max():.3f}",
        ))  # fmt: skip
    header = (
        "method", "sets", "folds", "log-loss", "to SVC", "s.e.", "Brier", "to SVC", "error",
        "calibration", "predict", "most",
    )  # fmt: skip
    print(f"\n{title}\n\n{format_table(header, lines, left=(0,))}")


if __name__ == "__main__":
    main()
