"""Measure time, passes, gap, error and support vectors on larger real data.

The data are skin (245,057 x 3, a fifth held out), MNIST parity of 14 x 14 digits (60,000 training
rows, 10,000 test rows) and a9a (32,561 and 16,281). Features are standardised on the training rows.
Kernels are of degrees 1 to 10 (or Gaussian, as named) with gamma="scale", trace complexity and
beta = lambda / 10. Penalties are not tuned. Each fit runs in its own process.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _common import RESULTS, describe_run, format_table, report_progress, write_report

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "numba")
HEADER = (
    "data", "kernels", "rows", "features", "lambda", "seconds", "full passes", "gap", "stopped",
    "error, %", "svs", "extra MB",
)  # fmt: skip
LEFT = (0, 1, 8)
CASES = (
    ("skin", "polynomial", 1e-2),
    ("skin", "polynomial", 1e-3),
    ("skin", "gaussian", 1e-2),
    ("a9a", "polynomial", 1e-2),
    ("a9a", "gaussian", 1e-2),
    ("mnist_parity14", "polynomial", 1e-2),
    ("mnist_parity14", "gaussian", 1e-2),
)


def read(path):
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def load(folder, name):
    """Return training and test rows and labels."""
    if name == "a9a":
        return *read(folder / "a9a_train.csv.gz"), *read(folder / "a9a_test.csv.gz")
    X, y = read(folder / f"{name}.csv.gz")
    if name == "mnist_parity14":
        return X[:60_000], y[:60_000], X[60_000:], y[60_000:]
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return X[train], y[train], X[test], y[test]


def fit_one(folder, name, kernels, complexity_penalty, time_limit):
    from votedkernels import Gaussian, Polynomial, VotedKernelClassifier

    X, y, X_test, y_test = load(folder, name)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1.0
    X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    family = {"polynomial": Polynomial(), "gaussian": Gaussian()}[kernels]
    model = VotedKernelClassifier(
        family,
        complexity_penalty=complexity_penalty,
        l1_penalty=complexity_penalty / 10,
        complexity="trace",
        n_jobs=2,
        time_limit=time_limit,
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    return {
        "data": name,
        "kernels": kernels,
        "rows": X.shape[0],
        "features": X.shape[1],
        "lambda": complexity_penalty,
        "seconds": seconds,
        "full_passes": model.n_iter_,
        "gap": model.dual_gap_ / model.objective_,
        "stop_reason": model.stop_reason_,
        "error": 100 * float(np.mean(model.predict(X_test) != y_test)),
        "support": len(model.support_),
        "extra_mb": extra,
    }


def as_row(r):
    return (
        r["data"], r["kernels"], str(r["rows"]), str(r["features"]), f"{r['lambda']:.0e}",
        f"{r['seconds']:.1f}", str(r["full_passes"]), f"{r['gap']:.1e}", r["stop_reason"],
        f"{r['error']:.2f}", str(r["support"]), f"{r['extra_mb']:.0f}",
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="a folder with the CSV files")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds, for each fit")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--one", type=int, default=None, help="number of one case, as JSON")
    arguments = parser.parse_args()
    if arguments.one is not None:
        case = CASES[arguments.one]
        json.dump(fit_one(arguments.data_dir, *case, arguments.time_limit), sys.stdout)
        return
    run = describe_run(PACKAGES)
    run["settings"] = {"n_jobs": 2, "time_limit": arguments.time_limit}
    records = []
    for number, case in enumerate(CASES):
        report_progress(", ".join(map(str, case)))
        command = [sys.executable, "-W", "ignore", __file__, "--one", str(number)]
        command += ["--data-dir", str(arguments.data_dir)]
        command += ["--time-limit", str(arguments.time_limit)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        records.append(json.loads(out))
        write_report(
            arguments.output, "large", title="Larger real data", run=run, header=HEADER,
            rows=list(map(as_row, records)), left=LEFT, lines=[" ".join(__doc__.split())],
            data={"records": records},
        )  # fmt: skip
    print(format_table(HEADER, list(map(as_row, records)), LEFT))


if __name__ == "__main__":
    main()
