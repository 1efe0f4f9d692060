"""One certified fit of regression on 20,000 rows, against one fit of SVR.

The protocol, written down before the first run:

- **Data.** ``--rows`` rows of california_housing (20,000 by default), drawn at random, with
  standardised features; the target is standardised for SVR.
- **SVR** has a Gaussian kernel. Its width, C and epsilon are chosen by three folds on 1,000 of the
  rows, out of 4 x 4 x 3 settings. Then it is fitted once to all rows.
- **More rows for tuning.** Few rows may favour smooth functions, which are fitted faster. So
  ``--tuning-rows`` was added after the first run; there are records with both.
- **Ours** is ``VotedKernelRegressor(tol=1e-4)``: the epsilon-insensitive loss, ten kernels (degrees
  1 to 3 and seven Gaussians) and default penalties, with ``--time-limit`` seconds at most.
- **Measured.** CPU seconds of the two fits in one process with one thread, the relative gap, the
  number of support vectors, and the mean absolute error on the other rows.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, describe_run, report_progress
from regression import load
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from votedkernels import VotedKernelRegressor

WIDTHS, COSTS, EPSILONS = (0.1, 0.3, 1.0, 3.0), (0.1, 1.0, 10.0, 100.0), (0.03, 0.1, 0.3)


def timed_fit(model: Any, X: Any, y: Any) -> float:
    """Fit a model; return the CPU seconds."""
    started = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.process_time() - started


def main() -> None:
    """Run, and write one record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder of the CSV files")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--tuning-rows", type=int, default=1000)
    parser.add_argument("--time-limit", type=float, default=1800.0)
    parser.add_argument("--records", type=Path, default=RESULTS / "regression-speed.jsonl")
    options = parser.parse_args()
    X, y = load("california_housing", options.folder)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: options.rows], order[options.rows :]
    X = StandardScaler().fit(X[train]).transform(X)
    center, scale = y[train].mean(), y[train].std()
    t = (y - center) / scale
    VotedKernelRegressor().fit(X[train[:50]], t[train[:50]])  # compile
    ours = VotedKernelRegressor(tol=1e-4, time_limit=options.time_limit)
    seconds = timed_fit(ours, X[train], t[train])
    record: dict[str, Any] = {
        "rows": len(train), "seconds": seconds, "gap": ours.dual_gap_ / ours.objective_,
        "stop_reason": ours.stop_reason_, "n_support": len(ours.support_),
        "mae": float(np.abs(ours.predict(X[test]) - t[test]).mean() * scale),
    }  # fmt: skip
    report_progress(str(record))
    grid = {"gamma": [w / X.shape[1] for w in WIDTHS], "C": COSTS, "epsilon": EPSILONS}
    search = GridSearchCV(SVR(), grid, cv=3, scoring="neg_mean_absolute_error", refit=False)
    few = train[: options.tuning_rows]
    search.fit(X[few], t[few])
    svr = SVR(**search.best_params_, cache_size=1000)
    record |= {"tuning_rows": len(few)}
    record |= {"svr": search.best_params_, "svr_seconds": timed_fit(svr, X[train], t[train])}
    record |= {
        "svr_n_support": len(svr.support_),
        "svr_mae": float(np.abs(svr.predict(X[test]) - t[test]).mean() * scale),
    }
    record["run"] = describe_run(("numpy", "scipy", "scikit-learn"))
    with options.records.open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
