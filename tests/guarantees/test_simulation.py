"""The guarantees, over many samples of distributions whose risks are known exactly.

A bound that holds with probability 1 - delta may fail in a share delta of the samples. The
correct one must keep to that for all votes at once; bounds broken on purpose must not, or these
tests would prove nothing.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from votedkernels import Gaussian, VotedKernelClassifier
from votedkernels.guarantees.theorems import (
    FACTORS,
    MARGINS,
    sample_sizes,
    smallest_bound,
    theorem_1,
    theorem_2,
)

DELTA = 0.05
N_DRAWS = 1000


def may_fail(n_draws, delta=DELTA):
    """So many failures are no evidence against a bound (one run in ten thousand has more)."""
    return binom.ppf(1 - 1e-4, n_draws, delta)


class Prices:
    """`smallest_bound` for many votes: what each margin costs besides the margin error."""

    def __init__(self, complexity, m, p, delta=DELTA):
        first, second = delta / 2 / len(MARGINS), delta / 2 / len(MARGINS) / len(FACTORS)

        def cheapest(theorem, rho, share, *K):
            """The other terms, at the best n."""
            return min(
                sum(theorem(0.0, complexity, rho, n, m, p, share, *K).values())
                for n in sample_sizes(rho, m)
            )

        # A row for Theorem 1 and one for each K of Theorem 2, by margin.
        self.factors = [1.0] + [K / (K - 1) for K in FACTORS]
        self.table = [[cheapest(theorem_1, rho, first) for rho in MARGINS]]
        self.table += [[cheapest(theorem_2, rho, second, K) for rho in MARGINS] for K in FACTORS]

    def bound(self, margin_errors):
        """Return the smallest bound; the last axis of ``margin_errors`` is that of MARGINS."""
        best = np.full(margin_errors.shape[:-1], np.inf)
        for factor, prices in zip(self.factors, self.table, strict=True):
            best = np.minimum(best, (factor * margin_errors + np.array(prices)).min(axis=-1))
        return best


# -- a handful of points, noisy labels ---------------------------------------------------

POINTS = np.array([-1.0, -0.8, -0.1, 0.1, 0.8, 1.0])
MASS = np.array([0.2, 0.25, 0.05, 0.05, 0.25, 0.2])
POSITIVE = np.array([0.05, 0.1, 0.5, 0.6, 0.9, 0.95])  # P(y = 1 | x)


def atoms(mass, positive):
    """Return the probabilities of (x, +1) for all points, then of (x, -1)."""
    return np.concatenate([mass * positive, mass * (1 - positive)])


def risks_of(votes, mass, positive):
    """Return P(y f(x) <= 0) of votes given by their values at the points."""
    return (votes <= 0) @ (mass * positive) + (votes >= 0) @ (mass * (1 - positive))


def margin_errors_of(votes, counts, rhos=MARGINS):
    """Return the share of y f(x) <= rho by (draw, vote, rho)."""
    margins = np.concatenate([votes, -votes], axis=1)  # at (x, +1), then at (x, -1)
    wrong = np.stack([margins <= rho for rho in rhos], axis=1).astype(float)
    errors = counts @ wrong.reshape(-1, margins.shape[1]).T
    return errors.reshape(len(counts), *wrong.shape[:2]) / counts.sum(axis=1)[:, None, None]


def mixtures(n, random):
    """Votes sum_t alpha_t h_t with sum_t alpha_t = 1, h_t from a linear and a Gaussian kernel."""
    linear = np.outer(POINTS, POINTS)  # bounded by 1 on these points
    gaussian = np.exp(-((POINTS[:, None] - POINTS) ** 2))
    terms = np.concatenate([linear, gaussian, -linear, -gaussian], axis=1)
    few = random.dirichlet(np.full(terms.shape[1], 0.1), size=n)
    return np.concatenate([few @ terms.T, terms.T])


def test_prices_are_the_smallest_bound():
    random = np.random.default_rng(0)
    votes, m = mixtures(5, random), 2000
    counts = random.multinomial(m, atoms(MASS, POSITIVE), size=2)
    bounds = Prices(m**-0.5, m, 2).bound(margin_errors_of(votes, counts))
    for draw in range(2):
        for vote in (0, 1, len(votes) - 1):
            margins = np.repeat(np.concatenate([votes[vote], -votes[vote]]), counts[draw])
            expected = smallest_bound(margins, m**-0.5, 2, DELTA).value
            assert bounds[draw, vote] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("m", [50, 3000])
def test_bound_holds_for_all_votes_at_once(m):
    random = np.random.default_rng(m)
    votes = mixtures(200, random)
    risks = risks_of(votes, MASS, POSITIVE)
    counts = random.multinomial(m, atoms(MASS, POSITIVE), size=N_DRAWS)
    bounds = Prices(m**-0.5, m, 2).bound(margin_errors_of(votes, counts))
    failures = int((risks > bounds).any(axis=1).sum())
    assert failures <= may_fail(N_DRAWS)
    # The vote with the smallest bound of each sample is among these; at 3,000 it says something.
    smallest = bounds.min(axis=1)
    assert (smallest < 0.6).all() == (m == 3000)


def test_risks_are_those_of_a_large_sample():
    random = np.random.default_rng(1)
    votes = mixtures(20, random)
    (counts,) = random.multinomial(10**8, atoms(MASS, POSITIVE), size=1)
    shares = margin_errors_of(votes, counts[None], rhos=[0.0])[0, :, 0]
    np.testing.assert_allclose(shares, risks_of(votes, MASS, POSITIVE), atol=5e-4)


def test_bound_of_fitted_classifiers_holds():
    random, failures, values, n_draws = np.random.default_rng(2), 0, [], 40
    for _ in range(n_draws):
        counts = random.multinomial(6000, atoms(MASS, POSITIVE))
        X = np.repeat(np.tile(POINTS, 2), counts)[:, None]
        y = np.repeat(np.repeat([1, -1], len(POINTS)), counts)
        model = VotedKernelClassifier(Gaussian((0.5,), unit=1.0), l1_penalty=0.02).fit(X, y)
        (risk,) = risks_of(model.decision_function(POINTS[:, None])[None], MASS, POSITIVE)
        values.append(model.generalization_bound(X, y, delta=DELTA).value)
        failures += risk > values[-1]
    assert failures <= may_fail(n_draws)
    assert np.ptp(values) > 0
    assert max(values) < 0.8


# -- labels from a fair coin: whatever predicts them errs half the time ------------------

RISK = 0.5
N_POINTS = 10**6


def margins_of_a_vote_by_heart(m, random):
    """y f(x) for f = (1/m) sum_i y_i K(., x_i), K so narrow that points do not see each other."""
    x = random.integers(N_POINTS, size=m)
    y = random.choice([-1.0, 1.0], size=m)
    _, place = np.unique(x, return_inverse=True)
    return y * np.bincount(place, weights=y)[place] / m


def draws_by_heart(m, seed):
    random = np.random.default_rng(seed)
    return np.array([margins_of_a_vote_by_heart(m, random) for _ in range(N_DRAWS)])


def errors_at(margins, rho):
    return (margins <= rho).mean(axis=-1)


def test_complexity_and_confidence_cannot_be_dropped():
    m = 500
    margins = draws_by_heart(m, seed=3)
    margin_errors = np.stack([errors_at(margins, rho) for rho in MARGINS], axis=-1)
    broken = margin_errors.min(axis=-1)  # the sampling of the vote is nought for n large
    assert (broken < RISK).mean() > 0.99
    whole = Prices(m**-0.5, m, 2).bound(margin_errors)
    assert (whole < RISK).sum() <= may_fail(N_DRAWS)


def test_complexity_alone_cannot_be_dropped():
    # One family that holds every function +-1: its complexity is 1, and one member of it, with
    # the whole weight, has all of a sample by heart at the margin 1. Votes of kernels as above
    # have small margins, for which the sampling of the vote is dear enough.
    m = 3000
    margins = np.sign(draws_by_heart(m, seed=8))
    margin_errors = np.stack([errors_at(margins, rho) for rho in MARGINS], axis=-1)
    broken = Prices(0.0, m, 2).bound(margin_errors)
    assert (broken < RISK).mean() > 0.99
    whole = Prices(1.0, m, 2).bound(margin_errors)
    assert (whole < RISK).sum() <= may_fail(N_DRAWS)


def test_the_terms_that_depend_on_the_margin_cannot_be_dropped():
    # rho is chosen afterwards, and only what does not depend on it is paid: n = 1, delta unsplit.
    m = 500
    margins = draws_by_heart(m, seed=4)
    margin_errors = np.stack([errors_at(margins, rho) for rho in MARGINS], axis=-1)
    paid = theorem_1(0.0, m**-0.5, 1.0, 1, m, 2, DELTA)["confidence"]
    broken = margin_errors.min(axis=-1) + paid
    assert (broken < RISK).mean() > 0.99
    whole = Prices(m**-0.5, m, 2).bound(margin_errors)
    assert (whole < RISK).sum() <= may_fail(N_DRAWS)


def test_a_margin_chosen_afterwards_must_be_paid_for_at_its_own_price():
    # All terms are there, but for a margin of 1; the errors are counted at half a sample's own.
    m = 2000
    margins = draws_by_heart(m, seed=5)
    paid = min(
        sum(theorem_1(0.0, m**-0.5, 1.0, n, m, 2, DELTA).values()) for n in sample_sizes(1.0, m)
    )
    broken = errors_at(margins, 0.5 / m) + paid
    assert (broken < RISK).mean() > 0.99
    assert (errors_at(margins, 1.0) + paid >= RISK).all()  # fixed beforehand, it is no lie
    margin_errors = np.stack([errors_at(margins, rho) for rho in MARGINS], axis=-1)
    whole = Prices(m**-0.5, m, 2).bound(margin_errors)
    assert (whole < RISK).sum() <= may_fail(N_DRAWS)


def test_families_that_were_tried_must_be_counted():
    # A thousand fixed functions +-1 on 64 points; the one that fits a sample best is chosen.
    random = np.random.default_rng(6)
    votes = random.choice([-1.0, 1.0], size=(1000, 64))
    m, positive = 100, np.full(64, 0.5)
    counts = random.multinomial(m, atoms(np.full(64, 1 / 64), positive), size=N_DRAWS)
    training = margin_errors_of(votes, counts, rhos=[0.0])[..., 0].min(axis=1)
    one, all_of_them = (
        training + theorem_1(0.0, 0.0, 1.0, 1, m, p, DELTA)["confidence"] for p in (2, 1000)
    )
    assert (one < RISK).mean() > 2 * DELTA
    assert (all_of_them < RISK).sum() <= may_fail(N_DRAWS)


def test_a_classifier_that_learns_a_coin_by_heart_is_promised_nothing():
    random = np.random.default_rng(7)
    for _ in range(10):
        X = random.choice(10_000, size=(60, 1), replace=False).astype(float)
        y = random.permutation(np.repeat([0, 1], 30))
        model = VotedKernelClassifier(
            Gaussian((100.0,), unit=1.0), complexity_penalty=0.0, l1_penalty=1e-4
        ).fit(X, y)
        assert model.score(X, y) == 1.0
        bound = model.generalization_bound(X, y)
        assert bound.is_guarantee
        assert bound.value >= RISK
        broken = np.mean(np.where(y == 1, 1, -1) * model.decision_function(X) <= 0)
        assert broken + math.sqrt(math.log(2 / DELTA) / 120) < RISK
