"""The paper's grid of penalties on one training fold: by path, by cold fits, and SVC's grid.

49 pairs of penalties over ten degrees for the vote, and ten degrees times twelve values of C for
SVC on precomputed kernels (`max_iter=1e6`), as in the paper's experiments. The fold is three
fifths of a data set, scaled to [-1, 1]: ocr49 where a folder with its CSV file is given, else
ionosphere.
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
HEADER = ("what", "fits", "seconds", "ratio", "remark")
LEFT = (0, 4)


def load_fold(data_dir):
    if data_dir is None:
        name, (X, y) = "ionosphere", load_ionosphere(return_X_y=True)
    else:
        table = np.loadtxt(data_dir / "ocr49.csv.gz", delimiter=",", skiprows=1)
        name, X, y = "ocr49", table[:, :-1], table[:, -1]
    rows = np.random.default_rng(0).permutation(len(y))[: 3 * len(y) // 5]
    X, y = X[rows], y[rows]
    low, high = X.min(axis=0), X.max(axis=0)
    return name, 2 * (X - low) / np.where(high > low, high - low, 1) - 1, y


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=None, help="a folder with ocr49.csv.gz")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    name, X, y = load_fold(arguments.data_dir)
    kernels = Polynomial(gamma=1.0)
    run = describe_run(PACKAGES)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        VotedKernelClassifier(kernels).fit(X[:100], y[:100])
        report_progress("path")
        path, by_path = time_call(
            lambda: voted_kernel_path(
                X, y, kernels, complexity_penalties=PENALTIES, l1_penalties=PENALTIES
            )
        )

        def fit_at(complexity_penalty, l1_penalty):
            model = VotedKernelClassifier(
                kernels, complexity_penalty=complexity_penalty, l1_penalty=l1_penalty
            )
            return model.fit(X, y)

        def fit_cold():
            return [[fit_at(lam, beta) for beta in PENALTIES] for lam in PENALTIES]

        report_progress("cold fits")
        models, cold = time_call(fit_cold)
        report_progress("SVC")
        capped, svc = time_call(lambda: fit_svc_grid(X, y))
    objectives = np.array([[model.objective_ for model in row] for row in models])
    apart = np.abs(path.objectives[:, :, 0] / objectives - 1).max()
    gap = (path.dual_gaps / path.objectives).max()
    entries = [
        ("path", 49, by_path, f"largest relative gap {gap:.1e}"),
        ("cold fits", 49, cold, f"objectives agree to {apart:.1e}"),
        ("SVC, precomputed", 120, svc, f"{capped} at the iteration cap or failed"),
    ]
    rows = [
        (what, str(n), f"{seconds:.2f}", f"{seconds / by_path:.1f}", remark)
        for what, n, seconds, remark in entries
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
