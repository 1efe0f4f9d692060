"""The bound by sample compression, and the bound by test rows."""

import itertools
import math
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse, stats

from votedkernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    load_model,
    save_model,
)
from votedkernels.datasets import make_waveform
from votedkernels.estimators._path_strategy import PathStrategy
from votedkernels.exceptions import OutOfTime
from votedkernels.guarantees.compression import (
    BITS,
    RoundedVote,
    adaptive_bits,
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


# -- the code ----------------------------------------------------------------------------


def symbols_of(vote, rows, kernels, labels, n_kernels):
    """A message as a decoder reads it: symbols, each with its probability given those before."""
    if not vote.weights.any():  # the decoder knows that there are no rows
        yield vote.intercept > 0, 1 / 2
        return
    yield vote.n_bits, 1 / 8
    yield bool(vote.intercept), 1 / 2
    unit = 2.0**vote.n_bits / max(np.abs(vote.weights).max(initial=0), abs(vote.intercept))
    if vote.intercept:
        yield vote.intercept > 0, 1 / 2
        yield abs(vote.intercept) * unit, 2.0**-vote.n_bits
    terms = sorted((row, kernel, a, y) for row, kernel, a, y
                   in zip(rows, kernels, vote.weights, labels, strict=True) if a)  # fmt: skip
    n, s = len(terms), len({row for row, *_ in terms})
    yield n - s, 1 / (n - s + 1) - 1 / (n - s + 2)
    counts = Counter(row for row, *_ in terms)
    yield [counts[row] for row in sorted(counts)], 1 / math.comb(n - 1, s - 1)
    for i, (_, kernel, _, _) in enumerate(terms):
        before = sum(other == kernel for _, other, *_ in terms[:i])
        yield kernel, (before + 1 / n_kernels) / (i + 1)
    agree = [a * y > 0 for _, _, a, y in terms]
    for i in range(n):
        yield agree[i], (agree[:i].count(agree[i]) + 1 / 2) / (i + 1)
    for _, _, a, _ in terms:
        yield abs(a) * unit, 2.0**-vote.n_bits


def random_votes(n_votes):
    random = np.random.default_rng(0)
    for _ in range(n_votes):
        n_terms, n_kernels = random.integers(0, 9), int(random.integers(1, 5))
        # As in a model, a row has a kernel at most once.
        cells = random.choice(5 * n_kernels, size=min(n_terms, 5 * n_kernels), replace=False)
        rows, kernels = np.divmod(cells, n_kernels)
        weights = random.standard_normal(len(cells))
        intercept = float(random.standard_normal() * random.integers(0, 2))
        vote = round_weights(weights, intercept, int(random.integers(0, 8)))
        yield vote, rows, kernels, random.choice([-1.0, 1.0], size=5)[rows], n_kernels


def test_a_message_costs_what_a_decoder_needs_to_read_it():
    n_read = 0
    for vote, rows, kernels, labels, n_kernels in random_votes(300):
        if not vote.weights.any() and not vote.intercept:
            continue
        message = list(symbols_of(vote, rows, kernels, labels, n_kernels))
        by_symbols = -sum(math.log2(chance) for _, chance in message)
        bits = message_bits(vote, rows, kernels, labels, n_kernels)
        assert bits == pytest.approx(by_symbols, rel=1e-12, abs=1e-12)
        if vote.weights.any():
            described = sorted(
                {(row, y) for row, y, a in zip(rows, labels, vote.weights, strict=True) if a}
            )
            intercept, terms = read_message([symbol for symbol, _ in message], described)
            unit = max(np.abs(vote.weights).max(), abs(vote.intercept)) / 2.0**vote.n_bits
            expected = {
                (row, kernel): a / unit
                for row, kernel, a in zip(rows, kernels, vote.weights, strict=True) if a
            }  # fmt: skip
            assert terms == pytest.approx(expected, rel=1e-12)
            assert intercept == pytest.approx(vote.intercept / unit, rel=1e-12)
            n_read += 1
    assert n_read > 200


def read_message(symbols, rows):
    """The decoder: the intercept and the terms, in units, from a message and (row, label) pairs."""
    symbols = iter(symbols)
    next(symbols)  # the number of bits, which a decoder needs to read sizes
    intercept = 0.0
    if next(symbols):
        intercept = 1.0 if next(symbols) else -1.0
        intercept *= next(symbols)
    n = len(rows) + next(symbols)
    counts = next(symbols)
    owners = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
    kernels = [next(symbols) for _ in range(n)]
    signs = [1.0 if next(symbols) else -1.0 for _ in range(n)]
    sizes = [next(symbols) for _ in range(n)]
    assert next(symbols, None) is None
    return intercept, {
        (row, kernel): label * sign * size
        for (row, label), kernel, sign, size in zip(owners, kernels, signs, sizes, strict=True)
    }


def test_every_part_of_the_code_is_complete():
    # All sequences of kernels, or of signs, have probabilities that sum to 1.
    for n, p in ((0, 3), (1, 1), (4, 1), (5, 2), (4, 3)):
        sequences = itertools.product(range(p), repeat=n)
        total = sum(2 ** -adaptive_bits(np.bincount(q, minlength=p), p) for q in sequences)
        assert total == pytest.approx(1.0, rel=1e-12)
    # So have the numbers of extra terms, and there are so many ways to divide terms among rows.
    assert sum(1 / ((e + 1) * (e + 2)) for e in range(10**5)) == pytest.approx(1.0, abs=1e-4)
    for n, s in ((4, 2), (6, 3), (5, 5)):
        ways = [t for t in itertools.product(range(1, n + 1), repeat=s) if sum(t) == n]
        assert len(ways) == math.comb(n - 1, s - 1)
    assert len(BITS) == 8


def test_messages_form_a_prefix_code():
    # Kraft's inequality, over all votes on two rows with two kernels, with and without intercept.
    rows, kernels = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    labels, total = np.array([1.0, 1.0, -1.0, -1.0]), 0.0
    for signs in itertools.product([-1.0, 0.0, 1.0], repeat=4):
        if any(signs[:2]) and any(signs[2:]):
            for n_bits in BITS:
                for constant in (0.0, -1.0, 1.0):
                    vote = RoundedVote(n_bits, np.array(signs), constant)
                    length = message_bits(vote, rows, kernels, labels, 2)
                    n_sizes = np.count_nonzero(signs) + (constant != 0)
                    total += 2.0 ** (n_bits * n_sizes - length)
    assert 0.5 < total <= 1.0


def test_the_length_of_a_message():
    weights = np.array([1.0, 0.0, -0.5, 0.25])
    rows, kernels = np.array([7, 7, 7, 9]), np.array([0, 1, 2, 0])
    vote = RoundedVote(3, weights, 0.5)
    # 3 terms on 2 rows: e = 1 costs log 6, the division C(2, 1) = 2. Kernels 0, 2, 0 of 5:
    # 1/5, (1/5) / 2 and (1 + 1/5) / 3. Signs: wrong, right, wrong: 1/2, 1/4, (1 + 1/2) / 3.
    expected = 3 + 1 + (1 + 3) + math.log2(6) + 1 + math.log2(5 * 10 * 2.5) + 1 + 2 + 1 + 3 * 3
    labels = np.array([-1.0, -1.0, -1.0, -1.0])
    assert message_bits(vote, rows, kernels, labels, 5) == pytest.approx(expected, rel=1e-12)
    alone = RoundedVote(2, np.zeros(0), -1.0)  # s = 0: only a constant
    none = np.zeros(0, int)
    assert message_bits(alone, none, none, np.zeros(0), 5) == 1.0


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
    others = np.delete(np.arange(300), bound.rounded.support_)
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
    assert bound.n_families == model.n_kernels_tried_ == 3
    assert np.isfinite(bound.value)


@pytest.mark.parametrize("late", [(), ("b",), ("a", "b")], ids=["none", "one", "all"])
def test_alternatives_without_time_count_too(late, monkeypatch):
    search_one = PathStrategy._search_one

    def maybe_late(strategy, named, *others):
        if named["kernels"] in late:
            raise OutOfTime
        return search_one(strategy, named, *others)

    monkeypatch.setattr(PathStrategy, "_search_one", maybe_late)
    X, y = waves(80)
    kernels = {"a": FIXED, "b": Polynomial((1, 2), gamma=0.05)}
    complexities = {"trace": "trace", "massart": "massart"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the alternatives without time
        model = VotedKernelClassifierCV(kernels, complexity=complexities, cv=2).fit(X, y)
    assert model.n_kernels_tried_ == 5
    assert model.generalization_bound(X, y, method="compression").n_families == 5


def test_other_rows_are_refused():
    model, X, y = fitted()
    more = (np.r_[X, X[:9]], np.r_[y, y[:9]])
    for rows, labels in ((X[::-1], y[::-1]), (X[:50], y[:50]), (X[:-1], y[:-1]), more):
        with pytest.raises(ValueError, match="rows that the model was fitted on"):
            model.generalization_bound(rows, labels, method="compression")
    own = VotedKernelClassifier(FIXED, centers=X[:40]).fit(X, y)
    with pytest.raises(ValueError, match="centres that are training rows"):
        own.generalization_bound(X, y, method="compression")
    by_theorem = own.generalization_bound(X, y)
    assert own.generalization_bound(X, y, method="best").value == by_theorem.value
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


def test_the_rounded_model_is_a_model_of_its_own(tmp_path):
    model, X, y = fitted(fit_intercept=True)
    rounded = model.generalization_bound(X, y, method="compression").rounded
    assert rounded.term_weights_.all()
    assert len(rounded.support_) <= len(model.support_)
    np.testing.assert_array_equal(rounded.support_vectors_, X[rounded.support_])
    assert rounded.kernel_mass_.sum() == pytest.approx(np.abs(rounded.term_weights_).sum())
    # The certificate is about the vote before rounding.
    assert np.isnan(rounded.objective_)
    assert rounded.dual_gap_ == np.inf
    assert "the weights were rounded" in str(rounded.summary())
    save_model(rounded, tmp_path / "rounded.vkm")
    again = load_model(tmp_path / "rounded.vkm")
    np.testing.assert_array_equal(again.predict(X), rounded.predict(X))
    assert model.dual_gap_ < 1  # the model itself has kept its own


def test_ties_count_as_errors():
    # One row of each class and equal weights: rows halfway between them have no sign of their own.
    X = np.array([[-1.0], [1.0]] + [[0.0]] * 20)
    y = np.array([-1, 1] + [1] * 20)
    model = VotedKernelClassifier(Polynomial((1,), gamma=1.0, coef0=0.0)).fit(X, y)
    bound = model.generalization_bound(X, y, method="compression")
    assert bound.terms["error on the other rows"] >= 20 / 21


def test_repeated_rows_count_among_the_others():
    X, y = waves(60)
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    options = {"complexity_penalty": 0.0, "l1_penalty": 0.05}
    model = VotedKernelClassifier(FIXED, **options).fit(X, y)
    bound = model.generalization_bound(X, y, method="compression")
    assert bound.n_samples == 300
    wrong = bound.rounded.predict(X) != y
    others = np.delete(wrong, bound.rounded.support_)
    assert len(others) == 300 - bound.n_support
    assert bound.terms["error on the other rows"] == pytest.approx(others.mean())


def test_a_continuum_of_kernels_is_refused():
    X, y = waves(60)
    model = VotedKernelClassifier(ContinuousGaussian(0.1, 1.0, unit=0.03), l1_penalty=0.1).fit(X, y)
    for method in ("compression", "best", "theorem"):
        with pytest.raises(ValueError, match="finitely many kernels"):
            model.generalization_bound(X, y, method=method)
    assert model.generalization_bound(*waves(60, seed=1), method="test").value < 1
