"""Stable rank: against eigenvalues, and what it must tell apart."""

import numpy as np
import pytest

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    StableRank,
    VotedKernelClassifier,
)
from votedkernels.complexity.stable_rank import scale_and_rank
from votedkernels.datasets import make_waveform
from votedkernels.kernels import LocalColumns


def columns_of(family, X):
    return LocalColumns([family.fit(X, np.ones(len(X)))], X, X)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("family", [Gaussian(), Polynomial((1, 2, 5))], ids=repr)
def test_it_is_the_formula_over_eigenvalues(family, power):
    X = np.random.default_rng(0).standard_normal((60, 4))
    columns = columns_of(family, X)
    found = StableRank(power).measure(columns, 0, np.ones(60))
    for k, r in enumerate(found):
        K = columns.take(np.full(60, k), np.arange(60))
        mu = np.linalg.eigvalsh(K)
        rank = mu.sum() ** 2 / (mu**2).sum()
        assert r == pytest.approx(np.diag(K).max() * np.sqrt(rank**power / 60), rel=1e-9)


def test_narrow_gaussians_cost_more():
    X = make_waveform(300, random_state=0)[0]
    prices = StableRank().measure(columns_of(Gaussian((0.01, 0.1, 1.0, 10.0)), X), 0, np.ones(300))
    assert (np.diff(prices) > 0).all()
    assert prices[-1] > 5 * prices[0]


def test_a_definite_kernel_costs_the_same_whether_it_is_declared_so_or_not():
    X = np.random.default_rng(0).standard_normal((50, 3))

    def kernel(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))

    found = [
        StableRank().measure(
            columns_of(Similarity(kernel, positive_definite=pd), X), 0, np.ones(50)
        )
        for pd in (True, False)
    ]
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_an_indefinite_kernel_has_a_price():
    A = np.array([[1.0, 3.0], [3.0, -1.0]])
    sigma = np.linalg.svd(A)[1]
    kappa, rank = scale_and_rank(A, definite=False)
    assert rank == pytest.approx(sigma.sum() ** 2 / (sigma**2).sum())
    assert kappa == pytest.approx(np.sqrt(10.0))
    assert scale_and_rank(np.zeros((2, 2)), definite=False) == (0.0, 1.0)


def test_huge_values_do_not_overflow():
    kappa, rank = scale_and_rank(np.full((3, 3), 1e200), definite=True)
    assert (kappa, rank) == (pytest.approx(1e200), pytest.approx(1.0))


def test_the_number_of_rows_bounds_the_rank():
    X = 100 * np.random.default_rng(0).standard_normal((80, 2))
    few, more = (
        StableRank(2.0, n).measure(columns_of(Gaussian((1.0,), unit=1.0), X), 0, np.ones(80))
        for n in (20, 80)
    )
    assert more == pytest.approx(4 * few, rel=1e-6)


def test_weights_count_repetitions():
    X, y = make_waveform(60, random_state=0)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    model = VotedKernelClassifier(complexity="stable-rank")
    a = model.fit(X, y, weights).complexities_
    b = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).complexities_
    np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"power": -1.0}, "power must be"), ({"n_rows": 1}, "n_rows must be"),
     ({"power": "steep"}, "power must be"), ({"n_rows": 2.5}, "n_rows must be")],
)  # fmt: skip
def test_bad_parameters_are_named(parameters, message):
    X, y = make_waveform(30, random_state=0)
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(complexity=StableRank(**parameters)).fit(X, y)


def test_a_negative_diagonal_contradicts_a_declaration():
    def kernel(A, B):
        return -(A @ B.T)

    X, y = make_waveform(30, random_state=0)
    declared = Similarity(kernel, positive_definite=True)
    with pytest.raises(ValueError, match=r"kernel is declared positive definite but K\(x, x\) = -"):
        VotedKernelClassifier(declared).fit(X, y)
    assert VotedKernelClassifier(Similarity(kernel)).fit(X, y).stop_reason_ == "optimal"


def test_one_negative_value_on_the_diagonal_is_enough():
    y = make_waveform(30, random_state=0)[1]
    K = np.eye(30)
    K[7, 7] = -1.0
    declared = Precomputed(positive_definite=True)
    with pytest.raises(ValueError, match=r"declared positive definite but K\(x, x\) = -1 "):
        VotedKernelClassifier(declared, complexity="stable-rank").fit(K, y)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 3.0])
def test_rules_have_the_rank_of_their_growth(power):
    log_growth, weights = np.array([0.5, 3.0]), np.array([1.0, 3.0])
    expected = np.sqrt((2 * log_growth) ** power / 4.0)
    np.testing.assert_allclose(StableRank(power).of_growth(log_growth, weights), expected)


def test_the_draw_spans_matrices_and_strings_whose_order_is_not_random():
    """The first 256 rows here are all alike; rows at equal distances are not."""
    x = np.concatenate([np.linspace(0.0, 0.1, 300), 100.0 * np.arange(1, 301)])
    prices = []
    for order in (np.arange(600), np.random.default_rng(0).permutation(600)):
        K = np.exp(-((x[order, None] - x[order]) ** 2))
        family = Precomputed(positive_definite=True).fit(K, np.ones(600))
        columns = LocalColumns([family], K, np.arange(600), itself=np.arange(600))
        prices.append(StableRank().measure(columns, 0, np.ones(600))[0])
    assert prices[0] == pytest.approx(prices[1], rel=0.2)
    words = [f"a{i:03d}" for i in range(300)] + [f"z{i:03d}" * 9 for i in range(300)]
    family = Similarity(lambda A, B: np.array([[float(a[0] == b[0]) for b in B] for a in A]))
    columns = LocalColumns([family.fit(words, np.ones(600))], words, words)
    assert sum(word[0] == "z" for word in columns.sample(256)[0]) == 128


def test_costly_values_are_computed_only_once():
    X, y = make_waveform(80, random_state=0)
    n_values = {}
    for setting in ({}, {"complexity": [1.0], "complexity_penalty": 1e-2, "l1_penalty": 0.0}):
        seen = []

        def kernel(A, B, seen=seen):
            seen.append(len(A) * len(B))
            return np.exp(-0.05 * ((A[:, None] - B[None]) ** 2).sum(-1))

        VotedKernelClassifier(Similarity(kernel), **setting).fit(X, y)
        n_values[len(setting)] = sum(seen)
    assert n_values[0] == n_values[3]
