"""Show what a vote gains over a tuned SVC: size, probabilities, reasons and a bound on the error.

The script tunes both on two real data sets, prints what it finds, and writes ``demo.png``: the
decision boundaries of both on the same points. It needs no network and takes less than a minute.
Run it with ``make demo``.
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


def print_heading(text):
    print(f"\n{text}\n{'=' * len(text)}\n")


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
    """Print a table: one line per model and data set."""
    print_heading("Accuracy, size and probabilities")
    print(f"{'':14}{'':28}{'test error':>12}{'rows kept':>11}{'log loss':>10}{'search':>9}")
    before = None
    for (data_set, name), (error, n_support, loss, seconds) in results.items():
        shown = data_set if data_set != before else ""
        before = data_set
        cells = f"{error:>12.1%}{n_support:>11.0f}{loss:>10.3f}{seconds:>7.1f} s"
        print(f"{shown:14}{name:28}{cells}")
    print(
        f"\nMeans over {FOLDS.n_splits} folds. Rows kept: the training rows that a model needs to\n"
        "predict (its support vectors). Log loss: how far its probabilities are from the truth.\n"
        "SVC gets them from CalibratedClassifierCV; those fits are not in its time."
    )


# -- one model, closely --------------------------------------------------------------------


def show_one_model():
    """Print what one model has learned, and why it decides one row as it does."""
    X, y = load_ionosphere(return_X_y=True)
    scaler = StandardScaler().fit(X[:-1])
    model = VotedKernelClassifierCV(prefer="sparse").fit(scaler.transform(X[:-1]), y[:-1])
    row = scaler.transform(X[-1:])
    print_heading("One model, with its certificate")
    print(
        "The sparse model of all rows of ionosphere but one. The l1 vote that chose the support\n"
        "vectors is proved optimal (objective), and so are their final weights (relaxed).\n"
    )
    print(model.summary())
    print_heading("One row, explained")
    ((_, probability),) = model.predict_proba(row)
    print(
        f"The row left out has class {y[-1]}. The model predicts class {model.predict(row)[0]}; "
        f"class 1 has\nprobability {probability:.3f}. These training rows decide:\n"
    )
    print(model.explain(row))


def show_a_bound():
    """Print a proved bound on the error, next to the error on many new rows."""
    X, y = make_waveform(1000, random_state=0)
    choice = choose_by_bound(VotedKernelClassifier(Gaussian(), fit_intercept=True), X, y)
    X_new, y_new = make_waveform(20_000, random_state=1)
    error = float(np.mean(choice.model.predict(X_new) != y_new))
    n_support = len(choice.model[-1].support_)
    print_heading("A guarantee for new rows")
    print(
        f"{n_support} of 1,000 rows of waveform make a vote so short that, with 95 % confidence,\n"
        f"it errs on at most {choice.bound.value:.0%} of new rows. No row was held out to prove\n"
        f"this. On 20,000 new rows, it errs on {error:.0%}."
    )


# -- the picture ---------------------------------------------------------------------------


def draw(path):
    """Draw the boundaries of a tuned SVC and of a vote on the same points."""
    X, y = moons(200, seed=0)
    svc = tuned_svc(2).fit(X, y).best_estimator_
    vote = VotedKernelClassifierCV(prefer="sparse").fit(X, y)
    figure, panels = plt.subplots(1, 2, figsize=(8, 4.4), layout="constrained")
    for axes, model, name in zip(panels, (svc, vote), ("Tuned SVC", "Vote"), strict=True):
        draw_boundary(axes, X, y, model, name)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def moons(n, seed):
    return make_moons(n, noise=0.25, random_state=seed)


def draw_boundary(axes, X, y, model, name):
    """Plot two moons, a decision boundary and rings around the points that the model keeps."""
    X_new, y_new = moons(20_000, seed=1)
    error = 1 - model.score(X_new, y_new)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    values = model.decision_function(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)
    axes.contourf(across, up, values > 0, levels=[-1, 0.5, 2], colors=["C3", "C0"], alpha=0.15)
    axes.contour(across, up, values, levels=[0], colors="black", linewidths=1.5)
    axes.scatter(X[:, 0], X[:, 1], c=np.where(y == 1, "C0", "C3"), s=14)
    kept = model.support_vectors_
    axes.scatter(*kept.T, s=110, facecolor="none", edgecolor="black", linewidth=1.5)
    axes.set_title(f"{name}: keeps {len(kept)} of {len(X)} points", fontsize=15)
    axes.set_xlabel(f"{error:.1%} errors on new points", fontsize=14)
    axes.set(xticks=[], yticks=[])


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
    draw(arguments.output)
    print(f"\nwrote {arguments.output} after {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
