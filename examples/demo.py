"""Show what a vote gains over a tuned SVC: size, probabilities, reasons and a bound on the error.

The script tunes both on two real data sets, prints what it finds, and writes ``demo.png``. It needs
no network and takes less than a minute. Run it with ``make demo``.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from votedkernels import (
    Gaussian,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    choose_by_bound,
)
from votedkernels.datasets import load_breastcancer, load_ionosphere, make_waveform

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DATA_SETS = {"ionosphere": load_ionosphere, "breastcancer": load_breastcancer}
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
#: SVC's grid: widths are multiples of 1 / n_features, for standardised features.
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COSTS = tuple(10.0**i for i in range(-2, 5))
SVC_NAME, OURS, SPARSE = "tuned SVC", "VotedKernelClassifierCV()", 'the same, prefer="sparse"'


def tuned_svc(n_features):
    """Return SVC with a grid search over 49 settings."""
    grid = {"C": COSTS, "gamma": [width / n_features for width in WIDTHS]}
    return GridSearchCV(SVC(), grid)


def models(n_features):
    """Return the models to compare, by name."""
    return {
        SVC_NAME: tuned_svc(n_features),
        OURS: VotedKernelClassifierCV(),
        SPARSE: VotedKernelClassifierCV(prefer="sparse"),
    }


# -- the comparison ------------------------------------------------------------------------


def compare_once(data_set, name, train, test):
    """Tune a model on some rows, and measure it on others."""
    X, y = DATA_SETS[data_set](return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), models(X.shape[1])[name])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model = pipeline.fit(X[train], y[train])
        seconds = time.perf_counter() - start
        error = 1 - model.score(X[test], y[test])
        n_support = len(getattr(model[-1], "best_estimator_", model[-1]).support_)
        if name == SVC_NAME:
            best = SVC(**model[-1].best_params_)
            calibrated = CalibratedClassifierCV(best, ensemble=False)
            model = make_pipeline(StandardScaler(), calibrated).fit(X[train], y[train])
        loss = log_loss(y[test], model.predict_proba(X[test]))
    return error, n_support, loss, seconds


def compare(note):
    """Return the mean results of each model on each data set, over the folds."""
    tasks = []
    for data_set, load in DATA_SETS.items():
        X, y = load(return_X_y=True)
        tasks += [
            (data_set, name, train, test) for name in models(1) for train, test in FOLDS.split(X, y)
        ]
    results = {}
    jobs = (delayed(compare_once)(*task) for task in tasks)
    found = Parallel(n_jobs=2, return_as="generator")(jobs)
    for (data_set, name, *_), values in zip(tasks, found, strict=True):
        results.setdefault((data_set, name), []).append(values)
        note(f"{data_set}, {name}, fold {len(results[data_set, name])} of {FOLDS.n_splits}")
    return {key: np.mean(values, axis=0) for key, values in results.items()}


def print_comparison(results):
    print(f"{'':14}{'':28}{'test error':>12}{'support':>10}{'log loss':>10}{'search':>9}")
    before = None
    for (data_set, name), (error, n_support, loss, seconds) in results.items():
        shown = data_set if data_set != before else ""
        before = data_set
        cells = f"{error:>12.1%}{n_support:>10.0f}{loss:>10.3f}{seconds:>7.1f} s"
        print(f"{shown:14}{name:28}{cells}")
    print(
        f"\nMeans over {FOLDS.n_splits} folds. Support: the rows that the model needs to predict.\n"
        "SVC gets its probabilities from CalibratedClassifierCV; those fits are not in its time."
    )


# -- one model, closely --------------------------------------------------------------------


def show_one_model():
    """Print what one model has learned, and why it decides one row as it does."""
    X, y = load_ionosphere(return_X_y=True)
    scaler = StandardScaler().fit(X[:-1])
    model = VotedKernelClassifierCV(prefer="sparse").fit(scaler.transform(X[:-1]), y[:-1])
    row = scaler.transform(X[-1:])
    print("\nWhat the sparse model learned from all rows of ionosphere but one:\n")
    print(model.summary())
    print(f"\nThe row left out has class {y[-1]}. Its probabilities, and the votes behind them:\n")
    for label, probability in zip(model.classes_, model.predict_proba(row)[0], strict=True):
        print(f"  class {label}: {probability:.3f}")
    print()
    print(model.explain(row))


def show_a_bound():
    """Print a proved bound on the error, next to the error on many new rows."""
    X, y = make_waveform(1000, random_state=0)
    choice = choose_by_bound(VotedKernelClassifier(Gaussian(), fit_intercept=True), X, y)
    X_new, y_new = make_waveform(20_000, random_state=1)
    error = float(np.mean(choice.model.predict(X_new) != y_new))
    n_support = len(choice.model[-1].support_)
    print(
        f"\nWithout any held-out row: with 95 % confidence, a vote of {n_support} of 1,000 rows\n"
        f"of waveform errs on at most {choice.bound.value:.0%} of new rows. "
        f"On 20,000 new rows, it errs on {error:.0%}."
    )


# -- the picture ---------------------------------------------------------------------------


def draw(results, path):
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    draw_sizes(left, results)
    X, y = make_moons(200, noise=0.25, random_state=0)
    draw_boundary(middle, X, y, tuned_svc(2).fit(X, y).best_estimator_, "tuned SVC")
    draw_boundary(right, X, y, VotedKernelClassifierCV(prefer="sparse").fit(X, y), "vote")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_sizes(axes, results):
    """Draw one bar per model: how many rows it needs, with its error beside it."""
    colors = {SVC_NAME: "0.6", OURS: "tab:blue", SPARSE: "tab:cyan"}
    places = []
    for place, ((data_set, name), (error, n_support, *_)) in enumerate(results.items()):
        y = -place - 0.8 * list(DATA_SETS).index(data_set)
        places.append((y, name))
        axes.barh(y, n_support, color=colors[name])
        axes.text(n_support, y, f"  {n_support:.0f} rows, {error:.1%} errors", va="center")
        if name == SVC_NAME:
            axes.text(0, y + 0.6, data_set, weight="bold")
    axes.set_yticks(*zip(*places, strict=True))
    axes.set_ylim(top=1.2)
    axes.set_xlim(0, 1.6 * max(n for _, n, *_ in results.values()))
    axes.set(title="Rows that the model needs", xticks=[])
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def draw_boundary(axes, X, y, model, name):
    """Plot two moons, a decision boundary and rings around the points that vote."""
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    values = model.decision_function(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)
    axes.contourf(across, up, values > 0, levels=[-1, 0.5, 2], colors=["C3", "C0"], alpha=0.15)
    axes.contour(across, up, values, levels=[0], colors="black")
    axes.scatter(X[:, 0], X[:, 1], c=np.where(y == 1, "C0", "C3"), s=12)
    votes = model.support_vectors_
    axes.scatter(*votes.T, s=90, facecolor="none", edgecolor="black", linewidth=1.2)
    axes.set(title=f"{name}: {len(votes)} of {len(X)} points vote", xticks=[], yticks=[])


def report_progress(total):
    """Return a function that reports progress; on a terminal it overwrites a single line."""
    done = 0
    is_terminal = sys.stderr.isatty()

    def note(text):
        nonlocal done
        done += 1
        line = f"[{min(done, total)}/{total}] {text}"
        if is_terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    return note


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo.png"), help="the picture")
    arguments = parser.parse_args()
    start = time.perf_counter()
    results = compare(report_progress(len(DATA_SETS) * len(models(1)) * FOLDS.n_splits))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print_comparison(results)
    show_one_model()
    show_a_bound()
    draw(results, arguments.output)
    print(f"\nwrote {arguments.output} after {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
