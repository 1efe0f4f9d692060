"""Draw error against the number of support vectors, on four larger data sets.

Each data set is split once: ``--rows`` training rows and 5,000 test rows, standardised on the
training rows. SVC is tuned by three-fold cross-validation on 2,000 of the training rows, over 5
widths times 5 values of C, and then fitted on all of them. Everything else uses the width that SVC
chose, if it needs one:

- the plain vote and the relaxed vote (``relaxation="auto"``), untuned except for
  ``complexity_penalty``, which is set to multiples of the default, down to the default itself;
- Nystroem features at random rows and at the centres of k-means, with a linear support vector
  machine (5 values of C, same folds as SVC);
- a relevance vector machine on 2,000 rows (three widths, the best on 2,000 other training rows), if
  fastrvm is installed.

Each fit is written to the records at once, on one line, so an interrupted run can be continued.
The table goes to ``results/frontier.md``, with a picture.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import RESULTS, describe_run, format_table, report_progress, time_call, write_report
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from votedkernels import VotedKernelClassifier

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "large"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "_static" / "frontier.png"
DATA = {"a9a": "a9a_train", "MNIST parity": "mnist_parity14", "skin": "skin",
        "electricity": "electricity"}  # fmt: skip
TEST_ROWS, TUNING_ROWS = 5000, 2000
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
MULTIPLES = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0)
LANDMARKS = (10, 30, 100, 300, 1000)
HEADER = ("data", "method", "error", "support vectors", "seconds")
COLORS = {"plain vote": "C0", "relaxed vote": "C1", "SVC": "k", "RVM": "C4",
          "Nystroem, random": "C7", "Nystroem, k-means": "C2"}  # fmt: skip

Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=SHARED)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--rows", type=int, default=20_000, help="number of training rows")
    parser.add_argument("--records", type=Path, default=RESULTS / "frontier.jsonl")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--report", action="store_true", help="only write the table and picture")
    options = parser.parse_args()
    if not options.report:
        run(options)
    report(options)


def run(options: argparse.Namespace) -> None:
    """Fit what is missing in the records, and append it to them."""
    machine = describe_run(("scikit-learn", "fastrvm"))
    done = {(r["data"], r["rows"], r["key"]) for r in read(options.records)}
    options.records.parent.mkdir(parents=True, exist_ok=True)
    with (
        options.records.open("a", encoding="utf-8") as file,
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for name in options.data:
            X, y, X_test, y_test = load(options.data_dir / f"{DATA[name]}.csv.gz", options.rows)
            for key, method, fit in fits(X, y):
                if (name, options.rows, key) in done:
                    continue
                (model, support), seconds = time_call(fit)
                error = float(np.mean(model.predict(X_test) != y_test))
                record = {
                    "data": name, "rows": options.rows, "key": key, "method": method,
                    "error": error, "support": support, "seconds": seconds, "run": machine,
                }  # fmt: skip
                print(json.dumps(record), file=file, flush=True)
                report_progress(" ".join(row_of(record)))


def read(path: Path) -> list[Record]:
    """Return the records of earlier runs."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def report(options: argparse.Namespace) -> None:
    """Write the table and the picture of the records."""
    records = [r for r in read(options.records) if r["rows"] == options.rows]
    if not records:
        raise SystemExit(f"{options.records} has no records with {options.rows} training rows.")
    rows = [row_of(record) for record in records]
    print(format_table(HEADER, rows, left=(0, 1)))
    write_report(
        options.output, "frontier", title="Error against support vectors", run=records[-1]["run"],
        header=HEADER, rows=rows, left=(0, 1),
        lines=[f"{options.rows} training rows, {TEST_ROWS} test rows, one split, one thread. "
               "`frontier.py` says how each model was tuned. Seconds are those of the last fit, "
               "on a busy machine."],
    )  # fmt: skip
    draw(records, options.picture)


def row_of(record: Record) -> tuple[str, ...]:
    """Return a row of the table."""
    error, seconds = 100 * record["error"], record["seconds"]
    return (
        record["data"], record["method"], f"{error:.2f}", str(record["support"]), f"{seconds:.1f}",
    )  # fmt: skip


def load(path: Path, n_rows: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows, their labels, test rows and their labels."""
    if not path.exists():
        raise SystemExit(f"there is no {path.name} in {path.parent}; use --data-dir.")
    table = pd.read_csv(path).sample(n_rows + TEST_ROWS, random_state=0)
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
    scaler = StandardScaler().fit(X[:n_rows])
    return scaler.transform(X[:n_rows]), y[:n_rows], scaler.transform(X[n_rows:]), y[n_rows:]


def fits(X: Any, y: Any) -> Iterator[tuple[str, str, Callable[[], tuple[Any, int]]]]:
    """Yield a key, the method, and what fits each model and counts its support vectors."""
    settings = best_settings(X, y)

    def fit_svc() -> tuple[Any, int]:
        svc = SVC(cache_size=1000, **settings).fit(X, y)
        return svc, len(svc.support_)

    yield "SVC", "SVC", fit_svc
    for method, relaxation in (("plain vote", None), ("relaxed vote", "auto")):
        for multiple in MULTIPLES:
            yield f"{method} {multiple:g}", method, partial(fit_vote, X, y, multiple, relaxation)
    for n_landmarks in LANDMARKS:
        for method in ("Nystroem, random", "Nystroem, k-means"):
            fit = partial(fit_landmarks, X, y, n_landmarks, method, settings["gamma"])
            yield f"{method} {n_landmarks}", method, fit
    if find_spec("fastrvm") is not None:
        yield "RVM", "RVM", partial(fit_relevance_vector_machine, X, y)


def best_settings(X: Any, y: Any) -> dict[str, float]:
    """Return C and gamma of SVC, tuned on some of the rows."""
    grid = {"C": COSTS, "gamma": np.array(WIDTHS) / X.shape[1]}
    tuned = GridSearchCV(SVC(cache_size=1000), grid, cv=3)
    return dict(tuned.fit(X[:TUNING_ROWS], y[:TUNING_ROWS]).best_params_)


def fit_vote(X: Any, y: Any, multiple: float, relaxation: str | None) -> tuple[Any, int]:
    """Fit a vote at a multiple of its default penalty."""
    vote = VotedKernelClassifier(relaxation=relaxation, tol=1e-3)
    if multiple != 1:
        default = clone(vote).set_params(tol=1e-2, max_iter=1).fit(X, y).complexity_penalty_
        vote.set_params(complexity_penalty=multiple * default)
    vote.fit(X, y)
    return vote, len(vote.support_)


def fit_landmarks(
    X: Any, y: Any, n_landmarks: int, method: str, gamma: float
) -> tuple["Landmarks", int]:
    """Fit a support vector machine on kernel values at random rows, or at the means of clusters."""
    points = np.random.default_rng(0).choice(X, n_landmarks, replace=False)
    if method == "Nystroem, k-means":
        points = MiniBatchKMeans(n_landmarks, n_init=1, random_state=0).fit(X).cluster_centers_
    return Landmarks(points, gamma).fit(X, y), n_landmarks


class Landmarks:
    """A linear support vector machine on kernel values at given points, whitened."""

    def __init__(self, points: Any, gamma: float) -> None:
        self.points, self.gamma = points, gamma
        values, vectors = np.linalg.eigh(rbf_kernel(points, points, gamma))
        self.root = vectors / np.sqrt(np.maximum(values, 1e-10 * values.max()))

    def features(self, X: Any) -> Any:
        """Return the whitened kernel values."""
        return rbf_kernel(X, self.points, self.gamma) @ self.root

    def fit(self, X: Any, y: Any) -> "Landmarks":
        """Tune C and fit."""
        features = self.features(X)
        search = GridSearchCV(LinearSVC(dual=False), {"C": COSTS}, cv=3)
        search.fit(features[:TUNING_ROWS], y[:TUNING_ROWS])
        self.model = LinearSVC(dual=False, **search.best_params_).fit(features, y)
        return self

    def predict(self, X: Any) -> Any:
        """Return the class of each row."""
        return self.model.predict(self.features(X))


def fit_relevance_vector_machine(X: Any, y: Any) -> tuple[Any, int]:
    """Fit three relevance vector machines on some of the rows, and return the best."""
    from fastrvm import RVC

    some, others = slice(0, TUNING_ROWS), slice(TUNING_ROWS, 2 * TUNING_ROWS)
    machines = [
        RVC(gamma=width / X.shape[1], fit_intercept=True, max_iter=500).fit(X[some], y[some])
        for width in (0.1, 0.3, 1.0)
    ]
    best = min(machines, key=lambda m: float(np.mean(m.predict(X[others]) != y[others])))
    return best, len(best.relevance_)


def draw(records: list[Record], path: Path) -> None:
    """Save a picture with one panel for each data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(r["data"] for r in records))
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.4 * len(names), 3.2), squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes[0], names, strict=True):
        for method, color in COLORS.items():
            mine = sorted(
                (r["support"], 100 * r["error"])
                for r in records
                if r["data"] == name and r["method"] == method
            )
            if mine:
                style = "*" if len(mine) == 1 else "o-"
                ax.plot(*zip(*mine, strict=True), style, color=color, label=method, markersize=5)
        ax.set(title=name, xscale="log", yscale="log", xlabel="support vectors")
        ax.yaxis.set_major_locator(
            matplotlib.ticker.LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
        )
        ax.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("test error in %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
