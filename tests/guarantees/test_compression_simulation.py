"""The bound by sample compression, over samples of distributions whose risks are known exactly.

The correct bound may fail in a share delta of the samples. Bounds that leave something out must
fail more often, or these tests would prove nothing. torture/trials/bounds.py does the same with
fitted classifiers, on a thousand samples of each distribution.
"""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

from votedkernels import Gaussian, VotedKernelClassifier
from votedkernels.guarantees.compression import (
    RoundedVote,
    compression_bound,
    log_binomial,
    message_bits,
)

DELTA = 0.05
N_DRAWS = 1000


def may_fail(n_draws, delta=DELTA):
    """So many failures are no evidence against a bound (one run in ten thousand has more)."""
    return binom.ppf(1 - 1e-4, n_draws, delta)


# -- labels from a fair coin: whatever predicts them errs half the time ------------------

N_ATOMS, M = 300, 3000


def counts_of_coins(seed):
    """How often each of the points has the label +1 and the label -1, by draw."""
    random = np.random.default_rng(seed)
    counts = random.multinomial(M, np.full(2 * N_ATOMS, 0.5 / N_ATOMS), size=N_DRAWS)
    return counts[:, :N_ATOMS], counts[:, N_ATOMS:]


def fails(n_errors, n_others, log_q):
    """Whether the bound is below 1/2: the chance of so few errors is below q."""
    return binom.logcdf(n_errors, n_others, 0.5) < log_q


def bits_of_equal_weights(signs, rows, kernels, labels, n_kernels):
    return message_bits(RoundedVote(0, signs, 0.0), rows, kernels, labels, n_kernels)


def test_a_failure_is_a_bound_below_the_risk():
    for k, n, s, bits in ((300, 900, 100, 9.0), (20, 100, 4, 12.0), (3, 50, 2, 30.0)):
        log_q = math.log(DELTA / ((s + 1) * (s + 2))) - bits * math.log(2)
        log_q -= float(log_binomial(n + s, s))
        assert fails(k, n, log_q) == (compression_bound(k, n + s, s, bits, DELTA) < 0.5)


def test_the_choice_of_rows_must_be_paid_for():
    # A row with the label of the majority at each point, and a kernel too narrow to see others.
    plus, minus = counts_of_coins(seed=0)
    s = ((plus + minus) > 0).sum(axis=1)
    n_errors = np.minimum(plus, minus).sum(axis=1)
    ones = [np.ones(n) for n in s]
    zeros = [np.zeros(n, int) for n in s]
    bits = np.array([
        bits_of_equal_weights(one, np.arange(n), zero, one, 1)
        for n, one, zero in zip(s, ones, zeros, strict=True)
    ])  # fmt: skip
    unpaid = math.log(DELTA) - np.log((s + 1) * (s + 2)) - bits * math.log(2)
    ways = np.array([float(log_binomial(M, n)) for n in s])
    assert fails(n_errors, M - s, unpaid).mean() > 0.9
    assert fails(n_errors, M - s, unpaid - ways).sum() <= may_fail(N_DRAWS)


def test_the_bits_must_be_paid_for():
    # One row, and a kernel for each point: the message says everything.
    plus, minus = counts_of_coins(seed=1)
    n_errors = np.minimum(plus, minus).sum(axis=1)
    signs = np.where(plus >= minus, 1.0, -1.0)
    rows = np.zeros(N_ATOMS, int)
    bits = np.array([
        bits_of_equal_weights(each, rows, np.arange(N_ATOMS), np.ones(N_ATOMS), N_ATOMS)
        for each in signs
    ])  # fmt: skip
    unpaid = math.log(DELTA / 6 / M)
    assert fails(n_errors, M - 1, unpaid).mean() > 0.9
    assert fails(n_errors, M - 1, unpaid - bits * math.log(2)).sum() <= may_fail(N_DRAWS)


def test_errors_must_be_counted_on_the_other_rows():
    # All rows vote, so there are no errors on them, and the choice of all rows costs nothing.
    m, one = 60, np.ones(60)
    bits = bits_of_equal_weights(one, np.arange(m), np.zeros(m, int), one, 1)
    log_q = math.log(DELTA / ((m + 1) * (m + 2))) - bits * math.log(2)
    assert fails(0, m, log_q)
    assert compression_bound(0, m, m, bits, DELTA) == 1.0


# -- the smallest bound of all, on tiny samples ------------------------------------------

POINTS = np.array([-1.5, -0.5, 0.4, 1.6])
KERNELS = np.stack([np.exp(-g * (POINTS[:, None] - POINTS) ** 2) for g in (0.3, 3.0)])
CHANCES = {
    "separable": np.array([0.0, 0.0, 1.0, 1.0]),
    "noisy": np.array([0.1, 0.3, 0.6, 0.9]),
    "coin": np.array([0.5, 0.5, 0.5, 0.5]),
}
bound_of = lru_cache(maxsize=None)(compression_bound)


def small_votes():
    """All votes with one or two terms of equal weight, on points that have labels.

    Each is a tuple of terms (point, label, kernel, sign), with its errors at (point, label).
    """
    terms = list(itertools.product(range(4), (0, 1), (0, 1), (-1.0, 1.0)))
    for n in (1, 2):
        for vote in itertools.combinations(terms, n):
            decision = sum(sign * KERNELS[k, :, point] for point, _, k, sign in vote)
            wrong = np.stack([decision >= -1e-12, decision <= 1e-12], axis=1)
            signs, kernels = np.array([t[3] for t in vote]), np.array([t[2] for t in vote])
            labels = np.array([2.0 * t[1] - 1 for t in vote])
            bits = bits_of_equal_weights(signs, np.arange(n), kernels, labels, 2)
            yield [(t[0], t[1]) for t in vote], wrong, decision, bits


VOTES = list(small_votes())


@pytest.mark.parametrize("kind", CHANCES)
def test_the_smallest_of_all_bounds_holds(kind):
    m, delta, failures, n_draws = 12, 0.3, 0, 200
    random, chances = np.random.default_rng(3), CHANCES[kind]
    shares = np.stack([(1 - chances) / 4, chances / 4], axis=1)
    risks = [float((shares * wrong).sum()) for _, wrong, _, _ in VOTES]
    for counts in random.multinomial(m, shares.ravel(), size=n_draws).reshape(-1, 4, 2):
        lowest = None
        for (places, wrong, _, bits), risk in zip(VOTES, risks, strict=True):
            used = np.zeros((4, 2), int)
            for place in places:
                used[place] += 1
            if (used > counts).any():
                continue
            k = int(((counts - used) * wrong).sum())
            value = bound_of(k, m, len(places), bits, delta)
            lowest = min(lowest or (2.0, risk), (value, risk))
        failures += lowest is not None and lowest[1] > lowest[0]
    assert failures <= may_fail(n_draws, delta)


def test_fitted_classifiers_keep_to_it():
    random, delta, failures, n_draws = np.random.default_rng(4), 0.3, 0, 25
    X_all, chances = POINTS[:, None], CHANCES["noisy"]
    for _ in range(n_draws):
        places = random.integers(0, 4, 14)
        y = (random.random(14) < chances[places]).astype(int)
        model = VotedKernelClassifier(Gaussian((0.3, 3.0), unit=1.0), l1_penalty=0.02)
        if len(np.unique(y)) == 2:
            model.fit(X_all[places], y)
            bound = model.generalization_bound(X_all[places], y, delta=delta, method="compression")
            predicted = bound.rounded.predict(X_all)
            failures += np.where(predicted == 1, 1 - chances, chances).mean() > bound.value
    assert failures <= may_fail(n_draws, delta)
