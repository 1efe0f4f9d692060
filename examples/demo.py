"""Compare voted kernels with SVC and the norm-1 SVM on two real data sets.

All models are tuned in the same way: each gets the same pipeline, the same outer folds, the same
inner cross-validation and the same number of candidates. The script prints a table and writes
``demo.png``. It needs no network. Run it with ``make demo``.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import load_breastcancer, load_ionosphere

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DATA_SETS = {"ionosphere": load_ionosphere, "breastcancer": load_breastcancer}
OUTER_FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
INNER_FOLDS = StratifiedKFold(3, shuffle=True, random_state=1)
N_TIMED_ROWS = 10_000

# Twelve candidates per model. The strongest regularisation comes first, because a grid search
# resolves ties in favour of the first candidate. Widths are multiples of gamma="scale", which is
# 1 / n_features for standardised features.
WIDTHS = (0.1, 0.3, 1.0)
PENALTIES = (1e-2, 3e-3, 1e-3, 3e-4)


def candidates(n_features):
    """Return name, estimator and grid of each model."""
    voted = {
        "votedkernelclassifier__complexity_penalty": (1e-2, 1e-3, 1e-4),
        "votedkernelclassifier__l1_penalty": PENALTIES,
    }
    both = [Polynomial(degrees=tuple(range(1, 6))), Gaussian(gammas=WIDTHS)]
    return [
        (
            "SVC, one Gaussian",
            SVC(),
            {
                "svc__C": (0.1, 1.0, 10.0, 100.0),
                "svc__gamma": [width / n_features for width in WIDTHS],
            },
        ),
        (
            "norm-1 SVM, one Gaussian",
            VotedKernelClassifier(Gaussian(), complexity_penalty=0.0),
            {
                "votedkernelclassifier__l1_penalty": PENALTIES,
                "votedkernelclassifier__kernels__gammas": [(width,) for width in WIDTHS],
            },
        ),
        (
            "vote of polynomials",
            VotedKernelClassifier(Polynomial(degrees=tuple(range(1, 11))), complexity="trace"),
            voted,
        ),
        ("vote of polynomials + Gaussians", VotedKernelClassifier(both, complexity="trace"), voted),
    ]


@dataclass
class Score:
    """One model on one data set: means over the outer folds, but the largest gap."""

    data_set: str
    model: str
    error: float
    error_deviation: float
    n_support: float
    milliseconds: float
    relative_gap: float | None = None
    mass: dict[str, float] | None = None


def score(data_set, model, estimator, grid, X, y, note):
    """Tune on the training part of each outer fold and measure on its test part."""
    errors, supports, times, gaps, masses = [], [], [], [], []
    for fold, (train, test) in enumerate(OUTER_FOLDS.split(X, y), start=1):
        note(f"{data_set}: {model}, fold {fold} of {OUTER_FOLDS.n_splits}")
        pipeline = make_pipeline(StandardScaler(), estimator)
        search = GridSearchCV(pipeline, grid, cv=INNER_FOLDS, n_jobs=-1).fit(X[train], y[train])
        scaler, fitted = (step for _, step in search.best_estimator_.steps)
        errors.append(100 * (1 - search.score(X[test], y[test])))
        supports.append(len(fitted.support_))
        times.append(1e3 * prediction_time(fitted, scaler.transform(X[test])))
        if isinstance(fitted, VotedKernelClassifier):
            gaps.append(fitted.dual_gap_ / fitted.objective_)
            masses.append(fitted.kernel_mass_ / fitted.kernel_mass_.sum())
    result = Score(
        data_set,
        model,
        error=np.mean(errors),
        error_deviation=np.std(errors, ddof=1),
        n_support=np.mean(supports),
        milliseconds=np.mean(times),
    )
    if gaps:
        result.relative_gap = max(gaps)
        # These are the names of the last fold: with a tuned width, kernels differ between folds.
        result.mass = dict(zip(fitted.kernel_names_, np.mean(masses, axis=0), strict=True))
    return result


def prediction_time(fitted, rows):
    """Return the seconds to predict many rows on one thread, as SVC does; the best of five."""
    rows = np.resize(rows, (N_TIMED_ROWS, rows.shape[1]))
    times = []
    with threadpool_limits(1):
        for _ in range(5):
            start = time.perf_counter()
            fitted.predict(rows)
            times.append(time.perf_counter() - start)
    return min(times)


def print_table(scores):
    header = ("data", "model", "test error", "support vectors", "prediction", "proved gap")
    rows = [
        (
            s.data_set,
            s.model,
            f"{s.error:.1f} ± {s.error_deviation:.1f} %",
            f"{s.n_support:.0f}",
            f"{s.milliseconds:.1f} ms",
            "-" if s.relative_gap is None else f"{s.relative_gap:.0e}",
        )
        for s in scores
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    previous = None
    for row in (header, *rows):
        if row[0] != previous:
            print("-" * (sum(widths) + 2 * (len(widths) - 1)))
            previous = row[0]
        cells = [
            f"{cell:<{width}}" if column < 2 else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells))
    print()
    print(f"Means over {OUTER_FOLDS.n_splits} outer folds, the error with its standard deviation.")
    print(f"Prediction is the time for {N_TIMED_ROWS:,} rows on one thread. The proved gap is")
    print(
        "(objective - lower bound) / objective, recomputed from the data, the largest of any fold."
    )


def print_mass(scores):
    print("\nKernel mass, the share of each kernel in the vote (one per cent and more):")
    for s in scores:
        if s.mass and len(s.mass) > 1:
            shares = sorted(s.mass.items(), key=lambda item: -item[1])
            listed = ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= 0.01)
            print(f"  {s.data_set}, {s.model}: {listed}")


def draw(scores, path):
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    draw_comparison(left, scores)
    draw_mass(middle, scores)
    draw_boundary(right)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_comparison(axes, scores):
    """Plot error against support vectors: further left is sparser, lower is better."""
    markers = dict(zip(DATA_SETS, "os^D", strict=False))
    models = list(dict.fromkeys(s.model for s in scores))
    for s in scores:
        axes.scatter(
            s.n_support,
            s.error,
            s=90,
            marker=markers[s.data_set],
            color=f"C{models.index(s.model)}",
            edgecolor="black",
            zorder=3,
        )
    for index, model in enumerate(models):
        axes.scatter([], [], s=60, color=f"C{index}", label=model)
    for data_set, marker in markers.items():
        axes.scatter([], [], s=60, color="white", edgecolor="black", marker=marker, label=data_set)
    axes.set(
        xlabel="support vectors", ylabel="test error, %", title="Sparse to the left, accurate below"
    )
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.35 * max(s.error for s in scores))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def draw_mass(axes, scores):
    """Plot the share of each degree in the vote of polynomials."""
    voted = [s for s in scores if s.model == "vote of polynomials"]
    for index, s in enumerate(voted):
        degrees = np.arange(1, len(s.mass) + 1)
        offset = (index - (len(voted) - 1) / 2) * 0.4
        shade = str(0.3 + 0.4 * index)
        axes.bar(degrees + offset, list(s.mass.values()), 0.4, color=shade, label=s.data_set)
    axes.set(
        xlabel="degree", ylabel="share of the vote", title="Kernel mass in the vote of polynomials"
    )
    axes.set_xticks(degrees)
    axes.legend(fontsize=8)


def draw_boundary(axes):
    """Plot two moons, the decision boundary and the few points that vote."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = VotedKernelClassifier(
        [Polynomial(degrees=(1, 2, 3)), Gaussian(gammas=(0.3, 1.0, 3.0))],
        complexity_penalty=1e-2,
        l1_penalty=1e-2,
        complexity="trace",
    ).fit(X, y)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    values = model.decision_function(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)
    reach = np.abs(values).max()
    axes.contourf(across, up, values, levels=np.linspace(-reach, reach, 21), cmap="RdBu", alpha=0.5)
    axes.contour(across, up, values, levels=[0], colors="black")
    axes.scatter(X[:, 0], X[:, 1], c=y, cmap="RdBu", s=14, edgecolor="grey", linewidth=0.4)
    votes = model.support_vectors_
    axes.scatter(
        votes[:, 0], votes[:, 1], s=110, facecolor="none", edgecolor="black", linewidth=1.6
    )
    axes.set(
        title=f"{len(votes)} of {len(X)} points vote, "
        f"relative gap {model.dual_gap_ / model.objective_:.0e}",
        xticks=[],
        yticks=[],
    )


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
    n_models = len(candidates(n_features=1))
    note = report_progress(len(DATA_SETS) * n_models * OUTER_FOLDS.n_splits)
    scores = []
    for data_set, load in DATA_SETS.items():
        X, y = load(return_X_y=True)
        for model, estimator, grid in candidates(X.shape[1]):
            scores.append(score(data_set, model, estimator, grid, X, y, note))
    note("drawing\n")

    print_table(scores)
    print_mass(scores)
    draw(scores, arguments.output)
    print(f"\nwrote {arguments.output} after {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
