"""Time what people do every day, beside the support vector machines and boosting they know.

The protocol:

- **Measured.** CPU seconds (all threads together) and wall seconds, the median of ``--repeats``
  runs, in one process with one thread. The competitors of a case take turns, so that they share
  whatever else the machine does. What is compiled at first use is not part of a measurement,
  except in the case ``first-fit``.
- **Features** are standardised, except those of ``make_classification``.
- **noisy-...** ``make_classification(n, 20, n_informative=10, flip_y=.2, random_state=0)``, the
  default kernels, lambda = beta as the name says, to the relative gap that the name says (1e-6 if
  none). Beside us: libsvm and boosting with their default settings (C = 1).
- **path-...** Three fifths of a data set (from a folder of CSV files). Ours is one path, lambda
  from 1 to 1e-6 and beta from 1 to 1e-5, with the default kernels and trace complexity; for ocr49,
  degrees 1 to 10 and beta to 1e-6, as in ``grid.py``. SVC makes 49 fits: seven widths, from 0.03 to
  30 over the number of features, and C from 1e-2 to 1e4.
- **rows-...** Default kernels on all training rows of larger data, lambda = beta = 1e-3, beside
  SVC with C = 1 and boosting.
- **classes** Blobs in 26 classes with 10,000 rows, beside one binary fit on as many rows. The
  remark counts the kernel values of all passes; values that several classes share count once.
- **elastic-net-...** A path of ten levels with l2_penalty = 1e-2, beside the same path without.
- **first-fit** 20,000 rows of waveform in a new process, and the same fit again.

``intelex`` is the SVC of scikit-learn-intelex; without that package it is left out.
"""

import argparse
import functools
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import (
    RESULTS,
    counted_values,
    describe_run,
    format_table,
    report_progress,
    write_report,
)
from grid import PENALTIES
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from votedkernels import Polynomial, VotedKernelClassifier, voted_kernel_path
from votedkernels.kernels import LocalColumns

PACKAGES = ("numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "numba", "highspy")
HEADER = ("case", "who", "CPU s", "wall s", "ratio", "remark")
LEFT = (0, 1, 5)
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COSTS = 10.0 ** np.arange(-2, 5)
LEVELS = 10.0 ** -np.linspace(1, 4, 10)

#: What each competitor of a case does; it returns a remark.
Work = Callable[[], str]


def fit_ours(X: Any, y: Any, penalty: float, **options: Any) -> str:
    """Fit at lambda = beta = penalty."""
    model = VotedKernelClassifier(complexity_penalty=penalty, l1_penalty=penalty, **options)
    model.fit(X, y)
    gap = model.dual_gap_ / model.objective_
    return f"{model.term_weights_.shape[1]} terms, gap {gap:.0e}, {model.stop_reason_}"


def fit_and_count(X: Any, y: Any, penalty: float) -> str:
    """Fit, and count the kernel values of all passes."""
    with counted_values(LocalColumns, "sum_kernels", "sum_several") as n_values:
        remark = fit_ours(X, y, penalty)
    return f"{remark}, {n_values[0]:.1e} kernel values"


def walk_path(X: Any, y: Any, kernels: Any, lambdas: Any, betas: Any, **options: Any) -> str:
    """Solve one path."""
    path = voted_kernel_path(
        X, y, kernels, complexity_penalties=lambdas, l1_penalties=betas, complexity="trace",
        **options,
    )  # fmt: skip
    return f"{path.objectives.size} fits, gap {(path.dual_gaps / path.objectives).max():.0e}"


def fit_svc(X: Any, y: Any, kind: Any = SVC) -> str:
    """Fit an SVC with its default settings."""
    return f"{len(kind(cache_size=500).fit(X, y).support_)} support vectors"


def fit_boosting(X: Any, y: Any) -> str:
    """Fit boosted trees with their default settings."""
    return f"{HistGradientBoostingClassifier(random_state=0).fit(X, y).n_iter_} trees"


def fit_svc_grid(X: Any, y: Any, kind: Any = SVC) -> str:
    """Fit an SVC at 49 settings."""
    for cost in COSTS:
        for width in WIDTHS:
            kind(C=cost, gamma=width / X.shape[1], cache_size=500).fit(X, y)
    return "49 fits"


def machines(run: Any, X: Any, y: Any) -> dict[str, Work]:
    """Return the support vector machines that are installed."""
    peers: dict[str, Work] = {"libsvm": functools.partial(run, X, y)}
    if importlib.util.find_spec("sklearnex") is not None:
        intelex = importlib.import_module("sklearnex.svm").SVC
        peers["intelex"] = functools.partial(run, X, y, intelex)
    return peers


# -- the cases -----------------------------------------------------------------------------


def noisy(n: int, penalty: float, tol: float) -> dict[str, Work]:
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.2, random_state=0)
    return {
        "ours": lambda: fit_ours(X, y, penalty, tol=tol),
        **machines(fit_svc, X, y),
        "boosting": lambda: fit_boosting(X, y),
    }


def read(folder: Path, name: str) -> tuple[Any, Any]:
    """Return standardised features and labels of a CSV file."""
    path = next(folder.glob(f"{name}.csv*"))
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return StandardScaler().fit_transform(table[:, :-1]), table[:, -1]


def one_path(folder: Path, name: str) -> dict[str, Work]:
    X, y = read(folder / "uci", name)
    rows = np.random.default_rng(0).permutation(len(y))[: 3 * len(y) // 5]
    X, y = StandardScaler().fit_transform(X[rows]), y[rows]
    kernels, betas = None, PENALTIES[:-1]
    if name == "ocr49":
        kernels, betas = Polynomial(gamma=1.0), PENALTIES
    ours = functools.partial(walk_path, X, y, kernels, PENALTIES, betas)
    return {"ours": ours, **machines(fit_svc_grid, X, y)}


def many_rows(folder: Path, name: str) -> dict[str, Work]:
    X, y = read(folder / "large", name)
    if name == "mnist_parity14":
        X, y = X[:20_000], y[:20_000]
    return {
        "ours": lambda: fit_ours(X, y, 1e-3),
        **machines(fit_svc, X, y),
        "boosting": lambda: fit_boosting(X, y),
    }


def many_classes() -> dict[str, Work]:
    X, y = make_blobs(10_000, 16, centers=26, cluster_std=6.0, random_state=0)
    return {
        "26 classes": lambda: fit_and_count(X, y, 1e-3),
        "2 classes": lambda: fit_and_count(X, y == 0, 1e-3),
    }


def elastic_net(folder: Path, name: str) -> dict[str, Work]:
    if name == "musk":
        X, y = read(folder / "uci", name)
    else:
        X, y = make_classification(1000, 20, n_informative=10, flip_y=0.2, random_state=0)
    walk = functools.partial(walk_path, X, y, None, LEVELS, [1e-4], tol=1e-3)
    squared = functools.partial(walk, l2_penalty=1e-2, l2_norm="weights")
    return {"elastic net": squared, "l1": walk}


FIRST_FIT = """
import json, time
from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform
X, y = make_waveform(20000, random_state=0)
model = VotedKernelClassifier(
    Polynomial(), complexity_penalty=1e-2, l1_penalty=1e-3, complexity="trace"
)
for _ in range(2):
    cpu, wall = time.process_time(), time.perf_counter()
    model.fit(X, y)
    print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""


def first_fit() -> list[tuple[str, list[float], str]]:
    """Return the seconds of the first and the second fit in a new process without a cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
        output = subprocess.run(
            [sys.executable, "-c", FIRST_FIT], env=environment, check=True, capture_output=True
        ).stdout
    first, second = map(json.loads, output.splitlines())
    return [("first fit", first, ""), ("second fit", second, "")]


def cases(folder: Path) -> dict[str, Callable[[], dict[str, Work]]]:
    """Return what prepares each case, by name."""
    prepare: dict[str, Callable[[], dict[str, Work]]] = {
        "noisy-1000-3e-4-to-1e-3": lambda: noisy(1000, 3e-4, 1e-3),
        "noisy-3000-3e-4-to-1e-3": lambda: noisy(3000, 3e-4, 1e-3),
        "noisy-3000-1e-4-to-1e-2": lambda: noisy(3000, 1e-4, 1e-2),
        "noisy-15000-1e-3": lambda: noisy(15_000, 1e-3, 1e-6),
        "classes": many_classes,
        "elastic-net-noisy": lambda: elastic_net(folder, "noisy"),
        "elastic-net-musk": lambda: elastic_net(folder, "musk"),
    }
    for name in ("retinopathy", "german", "waveform01", "ocr49"):
        prepare[f"path-{name}"] = functools.partial(one_path, folder, name)
    for name in ("a9a_train", "electricity", "mnist_parity14"):
        prepare[f"rows-{name}"] = functools.partial(many_rows, folder, name)
    return prepare


def measure(works: dict[str, Work], repeats: int) -> list[tuple[str, list[float], str]]:
    """Return each competitor's name, its median CPU and wall seconds, and its last remark."""
    times: dict[str, list[list[float]]] = {who: [] for who in works}
    remarks = {}
    for _ in range(repeats):
        for who, work in works.items():
            cpu, wall = time.process_time(), time.perf_counter()
            remarks[who] = work()
            times[who].append([time.process_time() - cpu, time.perf_counter() - wall])
    return [(who, np.median(times[who], axis=0).tolist(), remarks[who]) for who in works]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=SHARED, help="has uci and large")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--cases", nargs="+", default=None, help="only these, without a record")
    arguments = parser.parse_args()
    prepare = cases(arguments.data_dir)
    names = arguments.cases or [*prepare, "first-fit"]
    if unknown := set(names) - {*prepare, "first-fit"}:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are: {', '.join(prepare)}")
    run, records = describe_run(PACKAGES), []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = make_classification(1000, random_state=0)  # load all modules
        voted_kernel_path(X, y, complexity_penalties=np.arange(1, 61), l1_penalties=[1.0])
        for name in names:
            report_progress(name)
            if name == "first-fit":
                results = first_fit()
            else:
                results = measure(prepare[name](), arguments.repeats)
            own = results[0][1][0]
            records += [
                (name, who, cpu, wall, cpu / own, remark) for who, (cpu, wall), remark in results
            ]
    rows = [
        (name, who, f"{cpu:.2f}", f"{wall:.2f}", f"{ratio:.2f}", remark)
        for name, who, cpu, wall, ratio, remark in records
    ]
    print(format_table(HEADER, rows, LEFT))
    if arguments.cases is None:
        write_report(
            arguments.output, "everyday", title="What people do every day", run=run, header=HEADER,
            rows=rows, left=LEFT, lines=[__doc__], data={"records": records},
        )  # fmt: skip


if __name__ == "__main__":
    main()
