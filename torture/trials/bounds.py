"""Bounds on the error of fitted classifiers, on samples of distributions whose risks are known.

Rows are points on a line, and the chance of a label depends on the point alone. So the risk of any
classifier is a sum over points. For each sample, the penalty with the smallest bound is chosen,
which the bound by sample compression allows. The theorems and the best of both are checked on the
same model. A bound that pays for nothing must fail, or the trial would prove nothing.
"""

import warnings

import numpy as np
from _spread import spread
from _trial import Trial
from scipy import stats

from votedkernels import Gaussian, VotedKernelClassifier, choose_by_bound

N_DRAWS = 1000
CHUNK = 50
DELTA = 0.2
PENALTIES = (0.3, 0.1, 0.03, 0.01)
POINTS = np.linspace(-2, 2, 41)
#: Name: the chance of the label 1 at each point, and the number of rows.
DISTRIBUTIONS = {
    "separable": (np.where(POINTS > 0.3, 1.0, 0.0), 20),
    "noisy": (1 / (1 + np.exp(-2 * POINTS)), 20),
    "tiny": (np.where(np.abs(POINTS) > 1, 0.9, 0.1), 6),
    "coin": (np.full(41, 0.5), 20),
}
METHODS = ("compression", "theorem", "best")


def main():
    trial = Trial(
        20,
        f"bounds on the error, {N_DRAWS} samples of each of {len(DISTRIBUTIONS)} distributions",
        f"fail in at most {DELTA:.0%} of the samples, penalties chosen by the bound; a bound that "
        "pays for nothing fails more often",
    )
    n = trial.count(N_DRAWS)
    first = trial.options.seed * N_DRAWS
    cases = [
        (name, range(start, min(start + CHUNK, first + n)))
        for name in DISTRIBUTIONS
        for start in range(first, first + n, CHUNK)
    ]
    # One failure in ten thousand trials would be chance.
    allowed = stats.binom.ppf(1 - 1e-4, n, DELTA)
    counts = {name: dict.fromkeys((*METHODS, "unpaid"), 0) for name in DISTRIBUTIONS}
    for name, failed in spread(judge, cases):
        for method, number in failed.items():
            counts[name][method] += number
        trial.tell(f"{name}: {counts[name]}")
    for name, failed in counts.items():
        for method in METHODS:
            if failed[method] > allowed:
                trial.fail(f"{method} failed in {failed[method]} of {n} samples ({name})")
    unpaid = counts["coin"]["unpaid"]
    if n >= 20 and unpaid <= allowed:
        trial.fail(f"a bound that pays for nothing failed in only {unpaid} of {n} samples")
    worst = {method: max(failed[method] for failed in counts.values()) for method in METHODS}
    trial.end(
        f"failures in {n} samples, worst distribution: compression {worst['compression']}, "
        f"theorems {worst['theorem']}, best {worst['best']}; paying for nothing {unpaid}"
    )


def judge(case):
    """Return the name of a distribution, and how often each bound failed on some samples."""
    name, seeds = case
    chances, m = DISTRIBUTIONS[name]
    failed = dict.fromkeys((*METHODS, "unpaid"), 0)
    for seed in seeds:
        random = np.random.default_rng([seed, m, list(DISTRIBUTIONS).index(name)])
        places = random.integers(0, len(POINTS), m)
        y = (random.random(m) < chances[places]).astype(int)
        if len(np.unique(y)) == 2:
            for method in failures_of(POINTS[places, None], y, chances):
                failed[method] += 1
    return name, failed


def failures_of(X, y, chances):
    """Yield the names of the bounds that are below the risk."""
    kernels = Gaussian((0.3, 3.0, 100.0), unit=1.0)
    model = VotedKernelClassifier(kernels, complexity="trace", tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choice = choose_by_bound(
            model, X, y, delta=DELTA, scaler=None, complexity_penalties=PENALTIES
        )
        model.set_params(complexity_penalty=choice.complexity_penalty, l1_penalty=0.0).fit(X, y)
    if risk_of(choice.model, chances) > choice.bound.value:
        yield "compression"
    if risk_of(model, chances) > model.generalization_bound(X, y, delta=DELTA).value:
        yield "theorem"
    best = model.generalization_bound(X, y, delta=DELTA, method="best")
    if risk_of(best.rounded or model, chances) > best.value:
        yield "best"
    # The binomial tail alone, with the errors on all rows, of the last vote on the path.
    greedy = choice.bounds[-1].rounded
    k = int((greedy.predict(X) != y).sum())
    if risk_of(greedy, chances) > stats.beta.isf(DELTA, k + 1, len(y) - k):
        yield "unpaid"


def risk_of(model, chances):
    """Return the probability of error."""
    predicted = model.predict(POINTS[:, None])
    return float(np.where(predicted == 1, 1 - chances, chances).mean())


if __name__ == "__main__":
    main()
