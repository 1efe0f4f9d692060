"""The bound by sample compression, and the bound by test rows."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse, stats

from votedkernels import (
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.datasets import make_waveform
from votedkernels.guarantees.compression import (
    RoundedVote,
    binomial_tail,
    compression_bound,
    log_binomial,
    message_bits,
    round_weights,
)

FIXED = Gaussian((0.003, 0.01, 0.03), unit=1.0)


def waves(n, seed=0):
    return make_waveform(n, random_state=seed)


def fitted(n=300, **options):
    X, y = waves(n)
    options = {"complexity_penalty": 0.0, "l1_penalty": 0.03} | options
    return VotedKernelClassifier(FIXED, **options).fit(X, y), X, y


# -- the numbers -------------------------------------------------------------------------


def exact_cdf(k, n, p):
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@pytest.mark.parametrize(("k", "n", "q"), [(0, 10, 0.05), (3, 20, 1e-6), (19, 20, 0.3)])
def test_the_tail_is_the_largest_chance_with_so_few_errors(k, n, q):
    p = binomial_tail(k, n, math.log(q))
    assert exact_cdf(k, n, Fraction(p * (1 - 1e-12))) >= q
    assert exact_cdf(k, n, Fraction(p * (1 + 1e-12))) <= q
    assert p == pytest.approx(stats.beta.isf(q, k + 1, n - k), rel=1e-12)


def test_three_cases_by_hand():
    # No errors: (1 - p)^n = q.
    assert binomial_tail(0, 50, math.log(0.05)) == pytest.approx(1 - 0.05 ** (1 / 50), rel=1e-12)
    # s = 1 of 3 rows, 2 bits: q = 0.3 / (2 * 3) / 3 / 4, no error on two rows.
    q = 0.3 / 6 / 3 / 4
    assert compression_bound(0, 3, 1, 2.0, 0.3) == pytest.approx(1 - math.sqrt(q), rel=1e-12)
    # All but one of two rows wrong: 1 - p^2 = q.
    assert binomial_tail(1, 2, math.log(0.1)) == pytest.approx(math.sqrt(0.9), rel=1e-12)


def test_all_errors_or_no_other_rows_bound_nothing():
    assert binomial_tail(4, 4, math.log(0.05)) == 1.0
    assert compression_bound(0, 5, 5, 10.0, 0.05) == 1.0


def test_tiny_probabilities_do_not_underflow():
    assert 0.99 < binomial_tail(0, 100, -700.0) < 1.0
    assert 0.3 < compression_bound(100, 5000, 300, 3000.0, 1e-9) < 1.0


@pytest.mark.parametrize("name", ["n_errors", "n_support", "n_bits", "delta"])
def test_more_errors_rows_or_bits_cost_more(name):
    start = {"n_errors": 5, "n_rows": 200, "n_support": 4, "n_bits": 30.0, "delta": 0.05}
    more = start | {name: start[name] / 2 if name == "delta" else start[name] + 1}
    assert compression_bound(**more) > compression_bound(**start)


def test_the_shares_of_delta_sum_to_one():
    assert sum(1 / ((s + 1) * (s + 2)) for s in range(10**5)) == pytest.approx(1.0, abs=1e-4)
    assert float(log_binomial(10, 3)) == pytest.approx(math.log(120), rel=1e-12)


def test_messages_form_a_prefix_code():
    # Kraft's inequality, summed over all votes without an intercept on two rows with three kernels.
    # Half is left for votes with an intercept.
    rows, total = np.array([0, 0, 0, 1, 1, 1]), 0.0
    for present in itertools.product([0.0, 1.0], repeat=6):
        if any(present[:3]) and any(present[3:]):
            for n_bits in range(1, 17):
                length = message_bits(RoundedVote(n_bits, np.array(present), 0.0), rows, 3)
                n_votes = (2 * 2.0**n_bits) ** sum(present)  # signs and sizes
                total += n_votes * 2.0**-length
    assert 0.25 < total <= 0.5


def test_the_length_of_a_message():
    weights = np.array([1.0, 0.0, -0.5, 0.25])
    rows = np.array([7, 7, 7, 9])
    vote = RoundedVote(3, weights, 0.5)
    # 4 for b, 1 for the intercept, unary 2 + 1, C(5, 2) and C(5, 1), four numbers of 1 + 3 bits.
    expected = 4 + 1 + 3 + math.log2(10) + math.log2(5) + 4 * 4
    assert message_bits(vote, rows, 5) == pytest.approx(expected, rel=1e-12)


def test_weights_are_rounded_to_so_many_sizes():
    weights = np.random.default_rng(0).standard_normal(1000)
    vote = round_weights(weights, 0.1, 4)
    sizes = np.unique(np.abs(vote.weights[vote.weights != 0]))
    assert len(sizes) <= 16
    assert np.abs(vote.weights - weights).max() <= np.abs(weights).max() / 32 * (1 + 1e-12)
    assert round_weights(np.zeros(3), 0.0, 2).intercept == 0.0


# -- models ------------------------------------------------------------------------------


def test_it_is_not_vacuous_and_holds_for_the_rounded_model():
    model, X, y = fitted()
    bound = model.generalization_bound(X, y, method="compression")
    assert bound.is_guarantee
    assert bound.value < 0.45
    assert bound.value < model.generalization_bound(X, y).value
    X_new, y_new = waves(20_000, seed=1)
    assert 1 - bound.rounded.score(X_new, y_new) < bound.value
    others = np.delete(np.arange(300), np.unique(model.support_[model.term_support_indices_[
        bound.rounded.term_weights_[0] != 0]]))  # fmt: skip
    share = np.mean(bound.rounded.predict(X[others]) != y[others])
    assert bound.terms["error on the other rows"] == pytest.approx(share)
    assert sum(bound.terms.values()) == pytest.approx(bound.value)
    assert bound.n_support == 300 - len(others)
    assert "rows and" in repr(bound)
    assert "sample compression" in repr(bound)


def test_a_smaller_delta_costs_more():
    model, X, y = fitted()
    values = [
        model.generalization_bound(X, y, delta=delta, method="compression").value
        for delta in (0.3, 0.05, 1e-6)
    ]
    assert values == sorted(values)


def test_the_best_of_both_pays_for_the_choice():
    model, X, y = fitted()
    best = model.generalization_bound(X, y, method="best")
    half = model.generalization_bound(X, y, delta=0.025, method="compression")
    assert best.value == half.value
    assert best.delta == 0.05


def test_where_the_theorems_do_not_apply_compression_is_the_best():
    X, y = waves(80)
    K = np.tanh(X @ X.T / 20)
    model = VotedKernelClassifier(Precomputed(), complexity_penalty=0.0, l1_penalty=0.05).fit(K, y)
    assert model.generalization_bound(K, y, method="best").theorem == "sample compression"


def test_a_radius_that_is_too_small_is_told_with_the_best_of_both_too():
    X, y = waves(80)
    model = VotedKernelClassifier(Polynomial((1,), gamma=1.0)).fit(X, y)
    with pytest.raises(ValueError, match="a row has norm"):
        model.generalization_bound(X, y, radius=1e-3, method="best")


def test_kernels_that_depend_on_the_sample_make_it_heuristic():
    X, y = waves(100)
    model = VotedKernelClassifier(Gaussian((0.1,))).fit(X, y)
    bound = model.generalization_bound(X, y, method="compression")
    assert not bound.is_guarantee
    assert "set a number" in bound.reasons[0]


def test_rows_of_every_kind():
    X, y = waves(80)
    options = {"complexity_penalty": 0.0, "l1_penalty": 0.05}
    K = (X @ X.T / 20 + 1) ** 2
    for kernels, rows in (
        (Precomputed(), K),
        (Polynomial((1, 2), gamma=0.05), sparse.csr_matrix(X)),
        (EditDistance((1.0,)), ["".join("ab"[int(v > 0)] for v in row[:8]) for row in X]),
    ):
        model = VotedKernelClassifier(kernels, **options).fit(rows, y)
        assert 0 < model.generalization_bound(rows, y, method="compression").value <= 1


def test_a_search_counts_all_kernels_it_tried():
    X, y = waves(120)
    model = VotedKernelClassifierCV(FIXED, cv=2, committee=1).fit(X, y)
    bound = model.generalization_bound(X, y, method="compression")
    assert bound.n_families == model.n_kernels_tried_
    assert np.isfinite(bound.value)


def test_other_rows_are_refused():
    model, X, y = fitted()
    for rows, labels in ((X[::-1], y[::-1]), (X[:50], y[:50])):
        with pytest.raises(ValueError, match="rows that the model was fitted on"):
            model.generalization_bound(rows, labels, method="compression")
    own = VotedKernelClassifier(FIXED, centers=X[:40]).fit(X, y)
    with pytest.raises(ValueError, match="centres that are training rows"):
        own.generalization_bound(X, y, method="compression")
    with pytest.raises(ValueError, match="method must be one of theorem, compression"):
        model.generalization_bound(X, y, method="guess")


def test_rows_not_seen_before():
    model, X, y = fitted()
    X_new, y_new = waves(500, seed=1)
    bound = model.generalization_bound(X_new, y_new, method="test")
    k = int((model.predict(X_new) != y_new).sum())
    assert bound.value == pytest.approx(stats.beta.isf(0.05, k + 1, 500 - k), rel=1e-9)
    assert "not used for the fit" in repr(bound)
    with pytest.raises(ValueError, match="X holds a support vector"):
        model.generalization_bound(X, y, method="test")


# -- simulation --------------------------------------------------------------------------


def draw(rng, m):
    """Rows on three points, with labels that are noise on one of them: the error is known."""
    place = rng.integers(0, 3, m)
    y = np.where(rng.random(m) < np.array([0.05, 0.5, 0.95])[place], 1, -1)
    return np.eye(3)[place] + 0.0, y, place


def true_error(model):
    predicted = model.predict(np.eye(3))
    chance = np.array([0.05, 0.5, 0.95])
    return float(np.where(predicted == 1, 1 - chance, chance).mean())


def test_it_fails_no_more_often_than_allowed_and_cheaper_ones_do():
    rng, delta, failures, cheap = np.random.default_rng(0), 0.3, 0, 0
    n_draws = 100
    for _ in range(n_draws):
        X, y, _ = draw(rng, 12)
        if len(np.unique(y)) < 2:
            continue
        model = VotedKernelClassifier(
            Polynomial((1,), gamma=1.0), complexity_penalty=0.0, l1_penalty=1e-3
        ).fit(X, y)
        bound = model.generalization_bound(X, y, delta=delta, method="compression")
        error = true_error(bound.rounded)
        failures += error > bound.value
        # Without a price for the rows and the bits, and with errors on all rows, it fails.
        k = int((bound.rounded.predict(X) != y).sum())
        cheap += error > binomial_tail(k, len(y), math.log(delta))
    assert failures <= delta * n_draws
    assert cheap > delta * n_draws
    print(failures, cheap)
