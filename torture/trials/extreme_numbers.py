"""Penalties, features and degrees of every size."""

import sys
from functools import cache

import numpy as np
from _dense import Recorder, Untrue, fit_and_check
from _spread import spread
from _trial import Trial

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier

N_FITS = 1000
CHUNK = 10


def main():
    trial = Trial(
        4,
        "lambda and beta from 1e-12 to 1e3, features from 1e-8 to 1e8, degrees up to 20",
        "certified, or warned with the true gap, or an error that names the kernel and says "
        "what to do",
    )
    n = trial.count(N_FITS)
    first = trial.options.seed * N_FITS
    chunks = [range(i, min(i + CHUNK, first + n)) for i in range(first, first + n, CHUNK)]
    counts = {"certified": 0, "warned": 0, "refused": 0}
    done = 0
    for results in spread(judge, chunks):
        for seed, state in results:
            done += 1
            if state in counts:
                counts[state] += 1
            else:
                trial.fail(f"fit {seed}: {state}")
        trial.tell(f"{done} of {n} fits")
    trial.end(
        f"{done} fits: {counts['certified']} certified, {counts['warned']} warned with the true "
        f"gap, {counts['refused']} refused with a message that names the kernel and "
        f"says what to do, {done - sum(counts.values())} false"
    )


def judge(seeds):
    return [judge_one(seed) for seed in seeds]


recorder = cache(Recorder)  # one in each process


def judge_one(seed):
    model, X, y = draw(np.random.default_rng((4, seed)))
    try:
        certified, _ = fit_and_check(recorder(), model, X, y)
    except Untrue as untruth:
        return seed, f"{untruth} ({model!r}, X of {np.abs(X).max():.1g})"
    except ValueError as error:
        text = str(error)
        if "polynomial(degree=" in text and ("scale X" in text or "leave out" in text):
            return seed, "refused"
        return seed, f"ValueError: {text} ({model!r})"
    except Exception as error:
        return seed, f"{type(error).__name__}: {error} ({model!r})"
    return seed, "certified" if certified else "warned"


def draw(random):
    n = int(random.integers(8, 30))
    X = random.standard_normal((n, int(random.integers(1, 5))))
    y = (X[:, 0] + 0.5 * random.standard_normal(n) > 0).astype(int)
    y[:2] = 0, 1
    if random.random() < 0.3:  # an offset much larger than the differences
        X = X + 10 ** random.uniform(0, 4)
    X = X * 10 ** random.uniform(-8, 8)
    if random.random() < 0.2:  # features of very different sizes
        X = X * 10 ** random.uniform(-8, 8, X.shape[1])
    own = random.random() < 0.6
    degrees = sorted(random.choice(np.arange(1, 21), 4, False).tolist())
    gammas = tuple(10.0 ** np.sort(random.choice(np.arange(-6, 7), 3, False)))
    families = [
        Polynomial(tuple(degrees), gamma="scale" if own else 1.0),
        Gaussian(tuple(map(float, gammas)), unit="scale" if own else 1.0),
    ]
    kernels = [families[0], families[1], families][int(random.integers(0, 3))]
    model = VotedKernelClassifier(
        kernels,
        complexity_penalty=float(10 ** random.uniform(-12, 3)),
        l1_penalty=float(10 ** random.uniform(-12, 3)),
        fit_intercept=bool(random.random() < 0.3),
        solver=str(random.choice(["column-generation", "lp"], p=[0.8, 0.2])),
        time_limit=20,
    )
    return model, X, y


if __name__ == "__main__":
    sys.exit(main())
