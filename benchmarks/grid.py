"""Time the paper's grid of penalties on one training fold: by path, by cold fits, and SVC's grid.

The vote has 49 pairs of penalties over ten degrees. SVC has ten degrees times twelve values of C on
precomputed kernels (`max_iter=1e6`), as in the paper's experiments. The fold is three fifths of a
data set: ocr49 if ``--data-dir`` contains its CSV file, else ionosphere. Times of path and SVC are
medians of three runs; the cold fits are run once. There is one process with one thread.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from _common import RESULTS, describe_run, format_table, report_progress, time_call, write_report
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from votedkernels import Polynomial, VotedKernelClassifier, voted_kernel_path
from votedkernels.datasets import load_ionosphere

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy")
PENALTIES = 10.0 ** -np.arange(7)
COSTS = 10.0 ** np.arange(-4, 8)
HEADER = ("scaling", "what", "fits", "seconds", "ratio", "remark")
LEFT = (0, 1, 5)


def load_fold(data_dir):
    if data_dir is None:
        name, (X, y) = "ionosphere", load_ionosphere(return_X_y=True)
    else:
        table = np.loadtxt(data_dir / "ocr49.csv.gz", delimiter=",", skiprows=1)
        name, X, y = "ocr49", table[:, :-1], table[:, -1]
    rows = np.random.default_rng(0).permutation(len(y))[: 3 * len(y) // 5]
    return name, X[rows], y[rows]


def to_interval(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / np.where(high > low, high - low, 1) - 1


def standardised(X):
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


SCALINGS = {"none": lambda X: X, "to [-1, 1]": to_interval, "standard": standardised}


def fit_svc_grid(X, y):
    base = X @ X.T + 1.0
    capped = 0
    for degree in range(1, 11):
        kernel = base**degree
        for cost in COSTS:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    SVC(C=cost, kernel="precomputed", max_iter=10**6).fit(kernel, y)
                except ValueError:
                    capped += 1
                    continue
            capped += any("max_iter" in str(w.message) for w in caught)
    return capped


def fit_at(X, y, complexity_penalty, l1_penalty):
    model = VotedKernelClassifier(
        Polynomial(gamma=1.0),
        complexity_penalty=complexity_penalty,
        l1_penalty=l1_penalty,
        complexity="trace",
    )
    return model.fit(X, y)


def measure(scaling, X, y):
    """Return the rows of the table for one scaling of the features."""

    def by_path():
        return voted_kernel_path(
            X,
            y,
            Polynomial(gamma=1.0),
            complexity_penalties=PENALTIES,
            l1_penalties=PENALTIES,
            complexity="trace",
        )

    def one_by_one():
        return [[fit_at(X, y, lam, beta) for beta in PENALTIES] for lam in PENALTIES]

    report_progress(f"scaling {scaling}: path")
    runs = [time_call(by_path) for _ in range(3)]
    path, path_seconds = runs[0][0], sorted(seconds for _, seconds in runs)[1]
    report_progress(f"scaling {scaling}: SVC")
    svc_runs = [time_call(lambda: fit_svc_grid(X, y)) for _ in range(3)]
    capped, svc_seconds = svc_runs[0][0], sorted(seconds for _, seconds in svc_runs)[1]
    report_progress(f"scaling {scaling}: cold fits")
    models, cold_seconds = time_call(one_by_one)
    objectives = np.array([[model.objective_ for model in row] for row in models])
    apart = np.abs(path.objectives[:, :, 0] / objectives - 1).max()
    gap = (path.dual_gaps / path.objectives).max()
    return [
        (scaling, "path", 49, path_seconds, 1.0, f"largest relative gap {gap:.1e}"),
        (scaling, "cold fits", 49, cold_seconds, cold_seconds / path_seconds,
         f"objectives agree to {apart:.1e}"),
        (scaling, "SVC, precomputed", 120, svc_seconds, svc_seconds / path_seconds,
         f"{capped} at the iteration cap or failed"),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=None, help="a folder with ocr49.csv.gz")
    parser.add_argument("--scalings", nargs="+", choices=SCALINGS, default=list(SCALINGS))
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    name, X, y = load_fold(arguments.data_dir)
    run = describe_run(PACKAGES)
    entries = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Code that is loaded or compiled on first use is not part of any measurement.
        voted_kernel_path(X, y, complexity_penalties=np.arange(1, 50), l1_penalties=[1.0])
        for scaling in arguments.scalings:
            entries += measure(scaling, SCALINGS[scaling](X), y)
    rows = [
        (scaling, what, str(n), f"{seconds:.2f}", f"{ratio:.1f}", remark)
        for scaling, what, n, seconds, ratio, remark in entries
    ]
    print(f"{name}, {X.shape[0]} x {X.shape[1]}")
    print(format_table(HEADER, rows, LEFT))
    write_report(
        arguments.output, "grid", title=f"The grid of penalties on {name}", run=run, header=HEADER,
        rows=rows, left=LEFT, lines=[" ".join(__doc__.split())],
        data={"data": name, "rows": X.shape[0], "records": [list(entry) for entry in entries]},
    )  # fmt: skip


if __name__ == "__main__":
    main()
