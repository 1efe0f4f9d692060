"""
The solvers against the clock
=============================

Objective and dual bound above, the gap between them below. Waveform data, 400 rows, polynomial
kernels of degree 1 to 10.

It takes some seconds; an argument names another file for the picture::

    python examples/plot_convergence.py docs/images/convergence.png
"""

import argparse
from pathlib import Path

import matplotlib

from votedkernels import ConvergenceDisplay, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SOLVERS = ("column-generation", "coordinate-descent", "coordinate-descent-paper", "lp")
COMPLEXITY_PENALTY = 1e-3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "output", type=Path, nargs="?", default=Path("convergence.png"), help="the picture"
    )
    arguments = parser.parse_args()

    X, y = make_waveform(400, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0) / X.shape[1] ** 0.5
    model = VotedKernelClassifier(
        Polynomial(gamma=1.0),
        complexity_penalty=COMPLEXITY_PENALTY,
        l1_penalty=COMPLEXITY_PENALTY / 10,
    )

    plt.rcParams.update({"font.size": 12})
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 7.5), sharex=True, layout="constrained")
    display = ConvergenceDisplay.from_estimator(
        model, X, y, solvers=SOLVERS, kind="objective", ax=above
    )
    display.plot(below, kind="gap")
    below.get_legend().remove()  # the colours are those above
    above.set_xlabel("")
    figure.savefig(arguments.output, dpi=110)

    for solver, seconds, gaps, reason in zip(
        display.solvers, display.seconds, display.relative_gaps, display.stop_reasons, strict=True
    ):
        print(f"{solver}: {reason}, gap {gaps[-1]:.1e} after {seconds[-1]:.3f} s")


if __name__ == "__main__":
    main()
