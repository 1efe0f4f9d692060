"""Eight fits and predictions at once in one process."""

import sys
import threading

import numpy as np
from _trial import Trial

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

N_THREADS = 8
SECONDS = 60


def main():
    trial = Trial(
        11,
        f"threads: {N_THREADS} concurrent fits and predicts in one process",
        "correct; no deadlock within a minute",
    )
    X, y = make_waveform(300, random_state=0)
    jobs = [
        (kernels, seed)
        for seed in range(trial.count(4))
        for kernels in (Polynomial((1, 2, 3)), Gaussian((0.1, 1.0)))
    ]
    expected = [decisions(X, y, *job) for job in jobs]
    found = [[None] * len(jobs) for _ in range(N_THREADS)]

    def work(number):
        for i in range(len(jobs)):
            j = (i + number) % len(jobs)
            found[number][j] = decisions(X, y, *jobs[j])

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for number, thread in enumerate(threads):
        thread.join(SECONDS)
        trial.tell(f"thread {number} has ended")
        if thread.is_alive():
            trial.fail(f"thread {number} is not done after {SECONDS} s")
            trial.end("a deadlock, or something as slow")
    worst = 0.0
    for number, mine in enumerate(found):
        for job, one, other in zip(jobs, expected, mine, strict=True):
            if other is None or not np.allclose(one, other, rtol=0, atol=1e-12):
                trial.fail(f"thread {number}, {job}")
            else:
                worst = max(worst, float(np.abs(one - other).max()))
    trial.end(
        f"{N_THREADS * len(jobs)} fits in {N_THREADS} threads; decisions within {worst:.1g} of "
        "those of sequential fits"
    )


def decisions(X, y, kernels, seed):
    rows = np.random.default_rng(seed).permutation(len(X))[:200]
    model = VotedKernelClassifier(kernels, complexity_penalty=1e-2, n_jobs=2)
    return model.fit(X[rows], y[rows]).decision_function(X)


if __name__ == "__main__":
    sys.exit(main())
