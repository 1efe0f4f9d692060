"""Five hundred fits in one process."""

import gc
import os
import sys
import threading
import warnings

from _problems import draw_problem
from _trial import Trial

N_FITS = 500
WARM_UP = 60
MEGABYTES = 10


def main():
    warnings.simplefilter("ignore")
    trial = Trial(
        9,
        f"{N_FITS} fits of every kind in one process",
        f"the process grows by less than {MEGABYTES} MB after {WARM_UP} fits; no thread "
        "keeps running, no file stays open",
    )
    n = max(2, trial.count(N_FITS - WARM_UP))
    # The same few problems are repeated: what one of them leaks would be leaked again and again.
    problems = [draw_problem(2_000_000 + seed) for seed in range(20)]
    first = waves()
    before = None
    for number in range(WARM_UP + n):
        drawn = problems[number % len(problems)]
        if number % 50 == 49:
            first[0].fit(*first[1:]).predict(first[1])
        else:
            drawn.model.fit(drawn.X, drawn.y, drawn.sample_weight).predict(drawn.X)
        if number % 97 == 0:
            raising(drawn)
        if number == WARM_UP - 1:
            before = state()
        trial.tell(f"{number + 1} of {WARM_UP + n} fits")
    after = state()
    grown = after["megabytes"] - before["megabytes"]
    if grown >= MEGABYTES:
        trial.fail(f"the process grew by {grown:.1f} MB")
    for what in ("threads", "files"):
        if after[what] > before[what]:
            trial.fail(f"{what}: {before[what]} before, {after[what]} after")
    trial.end(
        f"{n} fits after {WARM_UP} to warm up: {grown:+.1f} MB, threads {before['threads']} -> "
        f"{after['threads']}, files {before['files']} -> {after['files']}"
    )


def waves():
    """Return a model with threads and enough rows for several blocks, and its data."""
    from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
    from votedkernels.datasets import make_waveform

    kernels = [Polynomial((1, 2)), Gaussian((0.1,))]
    model = VotedKernelClassifier(kernels, complexity_penalty=0.1, n_jobs=2)
    return model, *make_waveform(600, random_state=0)


def raising(drawn):
    """Run a fit that fails; it must not leak either."""
    from votedkernels import Similarity, VotedKernelClassifier

    def broken(A, B):
        raise RuntimeError

    try:
        VotedKernelClassifier(Similarity(broken), n_jobs=2).fit(drawn.X, drawn.y)
    except RuntimeError:
        return
    except ValueError:
        return


def state():
    gc.collect()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return {
        "megabytes": resident,
        "threads": max(threading.active_count(), len(os.listdir("/proc/self/task"))),
        "files": len(os.listdir("/proc/self/fd")),
    }


if __name__ == "__main__":
    sys.exit(main())
