"""Compare our tuned regression with tuned support vector regression.

The protocol, written down before the first full run:

- **Data.** Ten regression data sets. Designs and defaults are chosen on the DESIGN part only. The
  report shows the other part, and all data sets together.
- **Splits.** In each partition (seeds 0, 1, ...), ``--rows`` rows (at most 70 per cent of all, and
  3,000 by default) are for training, and up to 3,000 others for testing, the same for all models.
- **Shorter run.** Most time goes into the grid of SVR. A shorter run has one partition: all data
  sets with ``--rows 200``, then with 500, then with 3,000, as far as time allows.
- **Features** are standardised on the training rows. SVR also gets a standardised target, since its
  C and epsilon have the target's unit.
- **Tuned models.** `VotedKernelRegressorCV`, with and without ``prefer="sparse"``; SVR with a
  Gaussian kernel, by GridSearchCV over 7 widths x 7 costs x 3 epsilons, by mean absolute error;
  gradient-boosted trees with absolute loss (nine settings). All use five shuffled folds.
- **SVR of scikit-learn-intelex** (added later, before any of its results on the test rows were
  seen): the same grid with another implementation of the same problem, in one thread, since libsvm
  needs hours for large costs and 3,000 rows. It runs only if that package is installed and
  ``--models "svr, intelex"`` asks for it; ``--baseline`` compares with it. It stops after 10,000
  of its outer iterations. On sets with 500 rows it must agree with libsvm. The grid may also run in
  seven parts, one per cost (``"svr, intelex, C=0.01"`` and so on), of which the one with the best
  score in cross-validation counts, and the seconds of all. Large costs take by far the longest: if
  not all parts have run, ``--most-cost`` compares with those up to a given cost.
- **Untuned models.** ``VotedKernelRegressor()``, with and without ``relaxation="auto"``, and
  ``SVR()``.
- **Measured.** Mean absolute error on the test rows, number of support vectors, and CPU seconds for
  ``fit``, in one process with one thread.
- **Compared.** Ratios to the tuned SVR on the same split; geometric means over splits, then over
  data sets.

Each fit is written to the records at once, on one line, so an interrupted run can be continued.
"""

import argparse
import importlib
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import RESULTS, describe_run, format_table, report_progress
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from votedkernels import VotedKernelRegressor, VotedKernelRegressorCV

#: Designs and defaults are chosen on these data sets.
DESIGN = ("yacht", "autompg6", "diabetes_progression", "concrete", "abalone", "kin8nm")
#: No choice is based on these data sets.
ASIDE = ("airfoil", "winequality_red", "ccpp", "california_housing")
MOST_ROWS = 3000
TRAINING_SHARE = 0.7
#: Widths are divided by the number of features.
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COSTS = tuple(10.0**i for i in range(-2, 5))
EPSILONS = (0.03, 0.1, 0.3)
BASELINE, OTHER_BASELINE = "svr", "svr, intelex"


def folds() -> KFold:
    """Return the folds by which all models are tuned."""
    return KFold(5, shuffle=True, random_state=0)


def tuned_svr(
    n_features: int, svr: Callable[..., Any] = SVR, costs: tuple[float, ...] = COSTS
) -> Any:
    """Return SVR with a grid of 147 settings, or fewer with fewer costs."""
    grid = {
        "regressor__gamma": [width / n_features for width in WIDTHS],
        "regressor__C": list(costs),
        "regressor__epsilon": list(EPSILONS),
    }
    model = TransformedTargetRegressor(svr(cache_size=1000), transformer=StandardScaler())
    return GridSearchCV(model, grid, cv=folds(), scoring="neg_mean_absolute_error")


def tuned_svr_of_intel(n_features: int, costs: tuple[float, ...] = COSTS) -> Any:
    """Return the same grid with the SVR of scikit-learn-intelex, in one thread."""
    importlib.import_module("daal4py").daalinit(nthreads=1)
    return tuned_svr(n_features, importlib.import_module("sklearnex.svm").SVR, costs)


def tuned_trees(n_features: int) -> Any:
    """Return gradient-boosted trees with a grid of nine settings."""
    del n_features
    grid = {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 15, 31]}
    model = HistGradientBoostingRegressor(loss="absolute_error", random_state=0)
    return GridSearchCV(model, grid, cv=folds(), scoring="neg_mean_absolute_error")


MODELS: dict[str, Callable[[int], Any]] = {
    BASELINE: tuned_svr,
    OTHER_BASELINE: tuned_svr_of_intel,
    "search": lambda _: VotedKernelRegressorCV(),
    "search, sparse": lambda _: VotedKernelRegressorCV(prefer="sparse"),
    "trees": tuned_trees,
    "vote": lambda _: VotedKernelRegressor(),
    "vote, relaxed": lambda _: VotedKernelRegressor(relaxation="auto"),
    "SVR()": lambda _: TransformedTargetRegressor(SVR(), transformer=StandardScaler()),
}
#: Parts of a grid, with their costs.
PARTS = {f"{OTHER_BASELINE}, C={cost:g}": cost for cost in COSTS}
MODELS |= {label: partial(tuned_svr_of_intel, costs=(cost,)) for label, cost in PARTS.items()}


def load(name: str, folder: Path) -> tuple[Any, Any]:
    """Return the features and the target of a data set."""
    path = next(path for path in folder.glob(f"{name}.csv*"))
    table = pd.read_csv(path)
    return table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(float)


def split(n_rows: int, partition: int, most: int) -> tuple[Any, Any]:
    """Return the training rows and the test rows of a partition."""
    order = np.random.default_rng(partition).permutation(n_rows)
    n_train = min(most, int(TRAINING_SHARE * n_rows))
    return order[:n_train], order[n_train : n_train + MOST_ROWS]


def count_support(model: Any) -> int | None:
    """Return the number of support vectors; None for trees."""
    model = getattr(model, "best_estimator_", model)
    model = getattr(model, "regressor_", model)
    support = getattr(model, "support_", None)
    return None if support is None else len(support)


def run(options: argparse.Namespace) -> None:
    """Fit what is missing in the records, and append it to them."""
    done = {(r["data"], r["partition"], r["rows"], r["model"]) for r in read(options.records)}
    for name in options.data:
        X, y = load(name, options.folder)
        for partition in range(options.partitions):
            train, test = split(len(y), partition, options.rows)
            scaler = StandardScaler().fit(X[train])
            for label in options.models:
                if (name, partition, options.rows, label) in done:
                    continue
                model = MODELS[label](X.shape[1])
                started = time.process_time()
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    model.fit(scaler.transform(X[train]), y[train])
                seconds = time.process_time() - started
                error = float(np.abs(model.predict(scaler.transform(X[test])) - y[test]).mean())
                record = {
                    "data": name, "partition": partition, "rows": options.rows, "model": label,
                    "n_train": len(train), "mae": error, "n_support": count_support(model),
                    "seconds": round(seconds, 3),
                }  # fmt: skip
                if isinstance(model, GridSearchCV):
                    record |= {"setting": model.best_params_, "score": model.best_score_}
                with options.records.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                report_progress(f"{name}, partition {partition}, {label}: {error:.4g}")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of earlier runs; the first line of the file describes the machine."""
    if not path.exists():
        path.write_text(
            json.dumps({"run": describe_run(("numpy", "scipy", "scikit-learn"))}) + "\n"
        )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if "model" in line]


def records_of(options: argparse.Namespace) -> pd.DataFrame:
    """Return the records with the number of training rows asked for; exit if there are none."""
    records = read(options.records)
    chosen = [record for record in records if record["rows"] == options.rows]
    if not chosen:
        known = ", ".join(map(str, sorted({record["rows"] for record in records}))) or "none"
        raise SystemExit(f"no records with --rows {options.rows}; there are records with {known}")
    return pd.DataFrame(chosen)


def joined(table: pd.DataFrame, most_cost: float) -> pd.DataFrame:
    """Return the records with the parts of each grid up to a cost, if all are there, as one."""
    is_part = table.model.isin(list(PARTS))
    costs = table.model.map(PARTS)
    wanted = sum(cost <= most_cost for cost in COSTS)
    whole = [table[~is_part]]
    run_at_once = table[table.model == OTHER_BASELINE].set_index(["data", "partition"]).index
    for place, parts in table[is_part & (costs <= most_cost)].groupby(["data", "partition"]):
        if len(parts) == wanted and place not in run_at_once:
            best = parts.loc[[parts.score.idxmax()]]
            whole.append(best.assign(model=OTHER_BASELINE, seconds=parts.seconds.sum()))
    return pd.concat(whole)


def report(options: argparse.Namespace) -> str:
    """Return a table of geometric means of ratios to the baseline."""
    table = joined(records_of(options), options.most_cost)
    keys = ["data", "partition"]
    base = table[table.model == options.baseline].set_index(keys)
    rows = []
    for title, names in (("design", DESIGN), ("aside", ASIDE), ("all", DESIGN + ASIDE)):
        for label in MODELS:
            mine = table[(table.model == label) & table.data.isin(names)].set_index(keys)
            mine = mine.merge(base, left_index=True, right_index=True, suffixes=("", "_base"))
            if mine.empty:
                continue
            ratios = {
                column: np.log(mine[column].astype(float) / mine[f"{column}_base"].astype(float))
                for column in ("mae", "n_support", "seconds")
            }
            means = [
                f"{np.exp(ratio.groupby('data').mean().mean()):.3f}" for ratio in ratios.values()
            ]
            rows.append([title, label, str(mine.index.get_level_values(0).nunique()), *means])
    header = ["half", "model", "data sets", "error", "support vectors", "seconds"]
    return str(format_table(header, rows))


def main() -> None:
    """Run, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder of the CSV files")
    parser.add_argument("--records", type=Path, default=RESULTS / "regression.jsonl")
    parser.add_argument("--data", nargs="+", default=[*DESIGN, *ASIDE])
    models = [label for label in MODELS if not label.startswith(OTHER_BASELINE)]
    parser.add_argument("--models", nargs="+", default=models)
    parser.add_argument("--baseline", default=BASELINE, choices=(BASELINE, OTHER_BASELINE))
    parser.add_argument("--most-cost", type=float, default=max(COSTS))
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="training rows")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="only print the report")
    options = parser.parse_args()
    if not options.report:
        run(options)
    print(report(options))


if __name__ == "__main__":
    main()
