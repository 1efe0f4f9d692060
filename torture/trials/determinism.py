"""The same fit in many processes, with different threads, start methods and BLAS threads."""

import itertools
import multiprocessing
import os
import sys
import warnings

import numpy as np
from _trial import Trial

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

N_RUNS = 10
CLOSE = 1e-12
SOLVERS = ("column-generation", "coordinate-descent")


def main():
    trial = Trial(
        10,
        f"{N_RUNS} runs with n_jobs 1 and 2, forked and spawned, BLAS threads 1 and 2",
        "decisions to 1e-12 of the sum of |a K|; the same support where the optimum is unique",
    )
    n = trial.count(N_RUNS)
    settings = list(itertools.product((1, 2), ("fork", "spawn"), (1, 2)))
    rows, worst, done = make_rows()[0][:200], 0.0, 0
    first = None
    for number in range(n):
        for n_jobs, method, blas in settings if n > 1 else settings[3:5]:
            results = run(method, n_jobs, blas)
            done += 1
            first = first or results
            for solver, expected, found in zip(SOLVERS, first, results, strict=True):
                case = f"run {number}, {solver}, n_jobs={n_jobs}, {method}, {blas} BLAS threads"
                if expected["support"] != found["support"]:
                    trial.fail(f"{case}: another support")
                difference = np.abs(expected["decisions"] - found["decisions"]) / expected["sizes"]
                worst = max(worst, float(difference.max()))
                if not difference.max() <= CLOSE:
                    trial.fail(f"{case}: decisions differ by {difference.max():.2g}")
            trial.tell(f"{done} of {n * len(settings)} processes")
    trial.end(
        f"{done} processes, {len(SOLVERS)} fits each: decisions at {len(rows)} rows within "
        f"{worst:.2g} of the sum of |a K|, every support the same"
    )


def run(method, n_jobs, blas):
    # A spawned process reads this when it loads BLAS; threadpoolctl limits a forked one.
    os.environ["OPENBLAS_NUM_THREADS"] = str(blas)
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        return pool.apply(fit, (n_jobs, blas))


def make_rows():
    return make_waveform(700, random_state=0)


def fit(n_jobs, blas):
    """Return the support, the decisions and the sums of |a K| of one fit per solver."""
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    X, y = make_rows()
    results = []
    with threadpool_limits(blas, user_api="blas"):
        for solver in SOLVERS:
            n = len(X) if solver == "column-generation" else 250
            model = VotedKernelClassifier(
                [Polynomial((1, 2, 3)), Gaussian((0.1, 1.0))],
                complexity_penalty=1e-2,
                l1_penalty=1e-3,
                tol=1e-9,
                solver=solver,
                n_jobs=n_jobs,
            ).fit(X[:n], y[:n])
            decisions = model.decision_function(X[:200])
            results.append({
                "support": model.support_.tolist(),
                "decisions": decisions,
                "sizes": sizes(model, X[:200]),
            })  # fmt: skip
    return results


def sizes(model, X):
    """Return the sum of |a K| at each row."""
    total = np.full(len(X), 1e-300)
    for weight, k, j in zip(
        model.term_weights_[0],
        model.term_kernel_indices_,
        model.term_support_indices_,
        strict=True,
    ):
        family, member = (
            (model.kernels_[0], k) if k < model.kernels_[0].n_kernels else
            (model.kernels_[1], k - model.kernels_[0].n_kernels)
        )  # fmt: skip
        values = family.member(family.base(X, model.support_vectors_[j : j + 1]), int(member))
        total += np.abs(weight * values[:, 0])
    return total


if __name__ == "__main__":
    sys.exit(main())
