"""Compare our tuned models with other tuned models, on data that no choice was based on.

The protocol, written down before the first full run:

- **Data.** 23 data sets with two classes (the paper's eleven and twelve others) and six with more.
  Designs and defaults are chosen on the DESIGN half only. The report shows the other half, and all
  data sets together.
- **Splits.** Five stratified outer folds in two partitions (seeds 0 and 1), the same for all
  models.
- **Features** are standardised on the training rows, inside a pipeline. Rows with missing values
  are dropped.
- **Tuned models.** Our default search, with ``committee=1``, and with ``prefer="sparse"``; SVC with
  a Gaussian kernel, by GridSearchCV over 7 x 7 settings; a relevance vector machine (three widths);
  gradient-boosted trees (nine settings); logistic regression (seven settings). All use the same
  five stratified, shuffled folds of the training rows.
- **Untuned models.** ``VotedKernelClassifier()`` and ``SVC()``.
- **Measured.** Error and balanced error on the test rows, number of support vectors, and seconds
  for ``fit`` and for ``predict``, in one process with one thread.
- **Compared.** Differences from the tuned SVC on the same folds, averaged over data sets, with the
  standard error over data sets; the median ratio of support vectors; ratios of times; Friedman's
  average ranks with Nemenyi's critical difference.

Each fit is written to the records at once, on one line, so an interrupted run can be continued.
With ``--share-search``, the variants of our search reuse the levels that the default search has
found on the same rows. Their models are the same as without it, and their time is not recorded.
The records of the relevance vector machine, trees and logistic regression have no fit times either:
they were made on a busy machine, for one partition. The relevance vector machine has only two folds
of ocr49, phishing, waveform01 and qsar_biodeg. The records of the six data sets with more than two
classes were also made on a busy machine.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import RESULTS, describe_run, format_table, report_progress
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from votedkernels import VotedKernelClassifier, VotedKernelClassifierCV
from votedkernels.estimators._path_strategy import PathStrategy
from votedkernels.experiments.statistics import friedman_test

#: Designs and defaults are chosen on these data sets.
DESIGN = {
    "binary": (
        "vertebral", "ionosphere", "climate", "musk", "breastcancer", "diabetes", "retinopathy",
        "australian", "blood", "heart", "kc1", "oocytes_merluccius",
    ),
    "multi": ("pendigits", "segment", "wine"),
}  # fmt: skip
#: No choice is based on these data sets.
ASIDE = {
    "binary": (
        "german", "ocr49", "phishing", "waveform01", "banknote", "bupa", "ilpd", "mammographic",
        "qsar_biodeg", "saheart", "wdbc",
    ),
    "multi": ("satimage", "vehicle", "yeast"),
}  # fmt: skip
PARTITIONS = (0, 1)
FOLDS = 5
#: From larger data sets, this many rows are drawn once.
MOST_ROWS = 3000
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COSTS = tuple(10.0**i for i in range(-2, 5))
BASELINE = "svc"
RECORDS = RESULTS / "selection.jsonl"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def tuned(model: Any, grid: dict[str, Any]) -> GridSearchCV:
    """Return a search over a grid, by five-fold cross-validation."""
    return GridSearchCV(model, grid, cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0))


def ours(**options: Any) -> Any:
    """Return our search with some parameters."""
    return VotedKernelClassifierCV(**options)


def relevance_vector_machine(width: float) -> Any:
    """Return a relevance vector machine, tuned over three widths."""
    from fastrvm import RVC

    gammas = [width * factor for factor in (0.1, 0.3, 1.0)]
    return tuned(RVC(fit_intercept=True, max_iter=500), {"gamma": gammas})


#: From 1 / n_features to an unfitted model.
METHODS: dict[str, Callable[[float], Any]] = {
    "ours": lambda _: ours(),
    "ours, committee=1": lambda _: ours(committee=1),
    "ours, sparse": lambda _: ours(prefer="sparse"),
    BASELINE: lambda width: tuned(
        SVC(cache_size=500), {"C": COSTS, "gamma": [width * w for w in WIDTHS]}
    ),
    "rvm": relevance_vector_machine,
    "boosting": lambda _: tuned(
        HistGradientBoostingClassifier(random_state=0, early_stopping=False),
        {"learning_rate": (0.03, 0.1, 0.3), "max_leaf_nodes": (4, 8, 31)},
    ),
    "logistic": lambda _: tuned(LogisticRegression(max_iter=2000), {"C": COSTS}),
    "ours, untuned": lambda _: VotedKernelClassifier(),
    "svc, untuned": lambda _: SVC(),
}
#: Methods that differ from "ours" only in what they choose from its search.
VARIANTS = ("ours, committee=1", "ours, sparse")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=SHARED)
    parser.add_argument("--half", choices=("design", "aside", "all"), default="all")
    parser.add_argument("--kind", choices=("binary", "multi"), default="binary")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--partitions", type=int, nargs="+", default=PARTITIONS)
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the folds to run")
    parser.add_argument("--share-search", action="store_true", help="search once for all variants")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--again", action="store_true", help="only print the tables of the records")
    options = parser.parse_args()
    names = names_of(options.half, options.kind)
    if not options.again:
        run(names, options)
    records = read_records(options.records)
    for half in ("design", "aside", "all"):
        report(half, [r for r in records if r["data"] in names_of(half, options.kind)])


def names_of(half: str, kind: str) -> tuple[str, ...]:
    """Return the names of the data sets of a half, or of both."""
    halves = {"design": DESIGN[kind], "aside": ASIDE[kind]}
    return halves[half] if half in halves else DESIGN[kind] + ASIDE[kind]


def run(names: tuple[str, ...], options: argparse.Namespace) -> None:
    """Run the fits that the records do not have yet."""
    methods = [m for m in options.methods if m != "rvm" or find_spec("fastrvm") is not None]
    done = {key_of(record) for record in read_records(options.records)}
    options.records.parent.mkdir(parents=True, exist_ok=True)
    if options.share_search:
        share_search()
    with options.records.open("a", encoding="utf-8") as file, threadpool_limits(1):
        for name in names:
            X, y = load(name, options.data_dir)
            for partition in options.partitions:
                folds = StratifiedKFold(FOLDS, shuffle=True, random_state=partition).split(X, y)
                for fold, (train, test) in islice(enumerate(folds), options.folds):
                    for method in methods:
                        if (name, partition, fold, method) in done:
                            continue
                        record = {"data": name, "partition": partition, "fold": fold}
                        record |= {"method": method} | fit_one(method, X, y, train, test)
                        if options.share_search and method in VARIANTS:
                            record["fit_seconds"] = None
                        print(json.dumps(record), file=file, flush=True)
                report_progress(f"{name}, partition {partition}: done")


def share_search() -> None:
    """Let searches on the same rows share what they find; only their choices differ."""
    search = PathStrategy.run
    last: dict[int, Any] = {}

    def run_once(self: Any, progress: Any) -> None:
        key = hash(np.asarray(self.data.X).tobytes())
        if key not in last:
            search(self, progress)
            last.clear()
            last[key] = self.found
        self.found = last[key]

    PathStrategy.run = run_once  # type: ignore[method-assign]


def load(name: str, folder: Path) -> tuple[Any, Any]:
    """Return the features and labels of a data set, at most `MOST_ROWS` of its rows."""
    places = [folder / "uci", folder / "yardstick" / "binary", folder / "yardstick" / "multi"]
    for path in (place / (name + ending) for place in places for ending in (".csv", ".csv.gz")):
        if path.exists():
            table = pd.read_csv(path).dropna()
            break
    else:
        raise SystemExit(f"{name}: not in {folder}; use --data-dir.")
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    return table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()


def fit_one(method: str, X: Any, y: Any, train: Any, test: Any) -> dict[str, Any]:
    """Fit one model and return its measurements."""
    model = make_pipeline(StandardScaler(), METHODS[method](1.0 / X.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        model.fit(X[train], y[train])
        fitted = time.perf_counter()
        predicted = model.predict(X[test])
        ended = time.perf_counter()
        balanced = balanced_accuracy_score(y[test], predicted)
    return {
        "error": float(np.mean(predicted != y[test])),
        "balanced_error": float(1 - balanced),
        "support": count_support(model[-1]),
        "fit_seconds": fitted - started,
        "predict_seconds": ended - fitted,
    }


def count_support(model: Any) -> int:
    """Return the number of support vectors; -1 for a model that has none."""
    model = getattr(model, "best_estimator_", model)
    for name in ("support_", "relevance_"):
        if hasattr(model, name):
            return len(getattr(model, name))
    return -1


# -- the report ----------------------------------------------------------------------------


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of earlier runs."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def key_of(record: dict[str, Any]) -> tuple[str, int, int, str]:
    return record["data"], record["partition"], record["fold"], record["method"]


def report(half: str, records: list[dict[str, Any]]) -> None:
    """Print the table of one half, and the ranks."""
    table = pd.DataFrame(records)
    if table.empty or BASELINE not in set(table["method"]):
        return
    columns = ["error", "balanced_error", "support", "fit_seconds", "predict_seconds"]
    runs = table.set_index(["method", "data", "partition", "fold"])[columns]
    rows = []
    for method in [m for m in METHODS if m in runs.index.get_level_values(0)]:
        # Compare with the baseline on the folds that this method also has.
        mine = runs.loc[method]
        other = runs.loc[BASELINE].loc[mine.index].groupby("data").mean()
        mine = mine.groupby("data").mean()
        gain = 100 * (mine["error"] - other["error"])
        ratio, clock = (
            mine["support"] / other["support"],
            mine["fit_seconds"] / other["fit_seconds"],
        )
        rows.append((
            method, str(len(mine)), f"{100 * mine['error'].mean():.2f}",
            f"{100 * mine['balanced_error'].mean():.2f}", f"{gain.mean():+.2f}",
            f"{gain.std(ddof=1) / np.sqrt(max(1, len(gain))):.2f}",
            f"{mine['support'].median():.0f}" if (mine["support"] >= 0).all() else "-",
            f"{ratio.median():.2f}" if (mine["support"] >= 0).all() else "-",
            f"{clock.median():.2f}", f"{clock.quantile(0.8):.2f}", f"{clock.max():.2f}",
        ))  # fmt: skip
    header = (
        "method", "sets", "error", "balanced", "to SVC", "s.e.", "SVs", "ratio", "time", "80 %",
        "most",
    )  # fmt: skip
    print(f"\n{half}: {describe_run(['scikit-learn'])['machine']['cpu']}\n")
    print(format_table(header, rows, left=(0,)))
    # Rank the methods that have all data sets, by their difference from the baseline on the folds
    # that they have: not all methods have the same folds.
    errors = runs["error"].unstack("method")
    complete = errors.sub(errors[BASELINE], axis=0).groupby("data").mean().dropna(axis=1)
    test = friedman_test(complete.to_numpy())
    if test is not None:
        order = np.argsort(test.ranks)
        ranks = ", ".join(f"{complete.columns[i]} {test.ranks[i]:.2f}" for i in order)
        print(f"\nranks: {ranks}; critical difference {test.critical_difference:.2f}")


if __name__ == "__main__":
    main()
