"""
The guarantee, term by term
===========================

The terms of the bound of the error, stacked, next to the test error, as the sample grows.

Two problems: one whose classes lie far apart, and the waveform problem, whose classes overlap.
Rows have length one, so that the radius is known.

It takes some ten seconds; an argument names another file for the picture::

    python examples/plot_bound_terms.py docs/images/bound_terms.png
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.preprocessing import normalize

from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SAMPLE_SIZES = (1_000, 4_000, 16_000, 64_000)
N_TEST = 50_000
TERMS = {
    "margin error": "#33608c",
    "complexity": "#e2a23b",
    "star hull": "#8d6a9f",
    "sampling the vote": "#b5495b",
    "confidence": "#9dbf9e",
}


def far_apart(n, seed):
    """Two clouds in four dimensions, on opposite sides of the origin."""
    corners = [[-1.0] * 4, [1.0] * 4]
    X, y = make_blobs(n, centers=corners, cluster_std=0.7, random_state=seed)
    return normalize(X), y


def waveform(n, seed):
    """Noisy waves, each row less its own mean."""
    X, y = make_waveform(n, random_state=seed)
    return normalize(X - X.mean(axis=1, keepdims=True)), y


PROBLEMS = {"Classes far apart": far_apart, "Waveform: classes overlap": waveform}


def bounds_and_errors(draw):
    """Return the bound and the test error for each sample size."""
    X, y = draw(max(SAMPLE_SIZES), seed=0)
    X_test, y_test = draw(N_TEST, seed=1)
    kernel = Polynomial(degrees=(1,), gamma=1.0, coef0=0.0)
    model = VotedKernelClassifier(
        kernel, complexity_penalty=0.0, l1_penalty=0.1, centers=500, random_state=0
    )
    bounds, errors = [], []
    for m in SAMPLE_SIZES:
        model.fit(X[:m], y[:m])
        bounds.append(model.generalization_bound(X[:m], y[:m]))
        errors.append(1 - model.score(X_test, y_test))
    return bounds, errors


def draw_panel(axes, bounds, errors):
    """Stack the terms, mark the test error, and say where the bound is vacuous."""
    places = np.arange(len(bounds))
    floor = np.zeros(len(bounds))
    for name, colour in TERMS.items():
        heights = np.array([bound.terms.get(name, 0.0) for bound in bounds])
        if heights.any():
            axes.bar(places, heights, 0.62, bottom=floor, color=colour, label=name, zorder=2)
            floor += heights
    for place, bound in zip(places, bounds, strict=True):
        axes.text(place, bound.value + 0.02, f"{bound.value:.2f}", ha="center", va="bottom")
    axes.plot(
        places, errors, "D", color="white", markeredgecolor="black", markeredgewidth=1.4,
        markersize=8, label="test error", zorder=4, clip_on=False,
    )  # fmt: skip
    axes.axhline(1.0, color="black", linestyle=(0, (4, 3)), linewidth=1.2, zorder=3)
    axes.text(len(bounds) - 0.55, 1.02, "vacuous above", ha="right", va="bottom", style="italic")
    axes.set_xticks(places, [f"{bound.n_samples:,}" for bound in bounds])
    axes.set(xlabel="samples", xlim=(-0.5, len(bounds) - 0.5), ylim=(0, 1.65))
    axes.grid(axis="y", alpha=0.25, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "output", type=Path, nargs="?", default=Path("bound_terms.png"), help="the picture"
    )
    arguments = parser.parse_args()

    plt.rcParams.update({"font.size": 13, "axes.titlesize": 14})
    figure, panels = plt.subplots(1, 2, figsize=(11, 5.2), sharey=True, layout="constrained")
    for axes, (title, draw) in zip(panels, PROBLEMS.items(), strict=True):
        bounds, errors = bounds_and_errors(draw)
        draw_panel(axes, bounds, errors)
        axes.set_title(title)
        for bound, error in zip(bounds, errors, strict=True):
            print(f"{title}: test error {error:.4f}\n{bound}\n")
    panels[0].set_ylabel("bound of the error, by term")
    handles = {}
    for axes in panels:
        drawn, labels = axes.get_legend_handles_labels()
        handles.update(zip(labels, drawn, strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(handles))
    figure.savefig(arguments.output, dpi=110)
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
