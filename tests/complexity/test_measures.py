import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from votedkernels import (
    Dimension,
    Gaussian,
    Massart,
    Polynomial,
    Precomputed,
    Similarity,
    Trace,
    VotedKernelClassifier,
)
from votedkernels.complexity import MEASURES, are_numbers, measure_complexities
from votedkernels.kernels import LocalColumns


def make_gram(families, X, weights=None, **kwargs):
    weights = np.ones(len(X)) if weights is None else weights
    return LocalColumns([family.fit(X, weights) for family in families], X, X, **kwargs)


def times(factor):
    return Similarity(lambda A, B: factor * (A @ B.T), positive_definite=True)


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((25, 3))


# -- facts -------------------------------------------------------------------------------


def test_trace_by_hand():
    # K(x, x) = 1, 4, 9: kappa = 3, and s.K = 1 + 8 + 9 = 18 with m = 4.
    X, s = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 1.0])
    gram = make_gram([Polynomial((1,), gamma=1.0, coef0=0.0)], X, s)
    (r,) = measure_complexities("trace", gram, s)
    assert r == pytest.approx(3 * math.sqrt(18) / 4, rel=1e-13)


def test_massart_by_hand():
    # Columns (1, 2) and (2, 4): the larger norm is sqrt(2 * 4 + 1 * 16), two centres.
    X, s = np.array([[1.0], [2.0]]), np.array([2.0, 1.0])
    gram = make_gram([Polynomial((1,), gamma=1.0, coef0=0.0)], X, s)
    (r,) = measure_complexities("massart", gram, s)
    assert r == pytest.approx(math.sqrt(24) * math.sqrt(2 * math.log(4)) / 3, rel=1e-13)


@pytest.mark.parametrize(("coef0", "dimensions"), [(1.0, [4, 10, 20]), (0.0, [3, 6, 10])])
def test_dimension_by_hand(coef0, dimensions):
    # C(N + k, k), and C(N + k - 1, k) without a constant term, for N = 3.
    X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    gram = make_gram([Polynomial((1, 2, 3), gamma=1.0, coef0=coef0)], X)
    kappa_squared = (4 + coef0) ** np.arange(1, 4)
    r = measure_complexities("dimension", gram, np.ones(2))
    np.testing.assert_allclose(r, kappa_squared * np.sqrt(dimensions), rtol=1e-13)


@pytest.mark.parametrize("m", [4, 25])
def test_trace_of_a_gaussian_is_one_over_the_root_of_m(X, m):
    gram = make_gram([Gaussian()], X[:m])
    r = measure_complexities("trace", gram, np.ones(m))
    np.testing.assert_allclose(r, 1 / math.sqrt(m), rtol=1e-13)


def test_massart_agrees_with_the_kernel_matrix(X):
    s = np.random.default_rng(1).uniform(0, 3, len(X))
    gram = make_gram([Gaussian((0.5, 2.0), unit=1.0)], X, s)
    for k, r in enumerate(measure_complexities("massart", gram, s)):
        K = gram.take(np.full(25, k), np.arange(25))
        norm = max(math.sqrt(sum(s * column**2)) for column in K.T)
        assert r == pytest.approx(norm * math.sqrt(2 * math.log(50)) / s.sum(), rel=1e-13)


def test_massart_counts_the_given_centres(X):
    kernels = Polynomial((2,), gamma=1.0)
    y = np.where(X[:, 0] > 0, 1, 0)
    few = VotedKernelClassifier(kernels, complexity="massart", centers=X[:5]).fit(X, y)
    K = (X @ X[:5].T + 1) ** 2
    expected = np.sqrt((K**2).sum(axis=0).max() * 2 * np.log(10)) / 25
    assert few.complexities_[0] == pytest.approx(expected, rel=1e-13)


# -- properties --------------------------------------------------------------------------


@given(st.floats(1e-6, 1e6))
def test_complexity_scales_with_the_kernel(factor):
    X = np.random.default_rng(0).standard_normal((8, 2))
    for measure in ("trace", "massart", "auto"):
        one, scaled = (
            measure_complexities(measure, make_gram([times(c)], X), np.ones(8))
            for c in (1.0, factor)
        )
        np.testing.assert_allclose(scaled, factor * one, rtol=1e-12)


def test_repetition_equals_weight(X):
    s = np.random.default_rng(1).integers(1, 4, len(X))
    repeated = np.repeat(X, s, axis=0)
    for measure in ("trace", "dimension"):
        weighted = make_gram([Polynomial((1, 2), gamma=1.0)], X, s.astype(float))
        rows = make_gram([Polynomial((1, 2), gamma=1.0)], repeated)
        np.testing.assert_allclose(
            measure_complexities(measure, weighted, s.astype(float)),
            measure_complexities(measure, rows, np.ones(len(repeated))),
            rtol=1e-13,
        )


# -- ways to ask -------------------------------------------------------------------------


def test_names_and_objects_ask_for_the_same(X):
    gram, s = make_gram([Polynomial((1, 2))], X), np.ones(25)
    for name, measure in [("trace", Trace()), ("dimension", Dimension()), ("massart", Massart())]:
        np.testing.assert_array_equal(
            measure_complexities(name, gram, s), measure_complexities(measure, gram, s)
        )


def test_auto_is_stable_rank_for_all_families(X):
    families = [Polynomial((1,)), Polynomial((1,), coef0=-1.0), Gaussian((1.0,)), times(1.0)]
    families.append(Similarity(lambda A, B: A @ B.T))
    gram, s = make_gram(families, X), np.ones(25)
    expected = measure_complexities("stable-rank", gram, s)
    np.testing.assert_array_equal(measure_complexities("auto", gram, s), expected)


def test_declared_precomputed_kernel_is_measured_by_its_trace(X):
    K, y = X @ X.T, np.where(X[:, 0] > 0, 1, 0)
    model = VotedKernelClassifier(Precomputed(positive_definite=True), complexity="trace").fit(K, y)
    kappa = math.sqrt(K.diagonal().max())
    expected = kappa * math.sqrt(np.trace(K)) / 25
    assert model.complexities_[0] == pytest.approx(expected, rel=1e-13)


def test_one_measure_per_family(X):
    gram, s = make_gram([Polynomial((1, 2)), Gaussian((1.0,))], X), np.ones(25)
    r = measure_complexities(["dimension", Massart()], gram, s)
    np.testing.assert_array_equal(r[:2], measure_complexities("dimension", gram_of(X, 0), s))
    np.testing.assert_array_equal(r[2:], measure_complexities("massart", gram_of(X, 1), s))


def gram_of(X, f):
    return make_gram([[Polynomial((1, 2)), Gaussian((1.0,))][f]], X)


@pytest.mark.parametrize("form", [np.array, list, tuple])
def test_numbers_are_taken_as_given(X, form):
    gram = make_gram([Polynomial((1, 2)), Gaussian((1.0,))], X)
    r = measure_complexities(form([0.5, 0.0, 2.0]), gram, np.ones(25))
    np.testing.assert_array_equal(r, [0.5, 0.0, 2.0])


def test_penalties_are_lambda_r_plus_beta(X):
    y = np.where(X[:, 0] > 0, 1, 0)
    model = VotedKernelClassifier(
        Polynomial((1, 2)), complexity=[3.0, 5.0], complexity_penalty=0.1, l1_penalty=0.01
    ).fit(X, y)
    np.testing.assert_array_equal(model.complexities_, [3.0, 5.0])
    np.testing.assert_allclose(model.penalties_, [0.31, 0.51], rtol=1e-13)


# -- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("complexity", "message"),
    [
        ("rademacher", "complexity must be one of 'auto', 'stable-rank'"),
        (["trace"], "1 entries for 2 kernel families"),
        (["trace", "best"], "complexity must be one of"),
        ([1.0, 2.0], r"shape \(2,\), but there are 3 kernels"),
        (np.ones((3, 1)), r"shape \(3, 1\)"),
        ([1.0, -1.0, 2.0], "finite numbers >= 0"),
        ([1.0, np.nan, 2.0], "finite numbers >= 0"),
        ("dimension", r"gaussian\(gamma=1\) has no feature space of finite dimension"),
    ],
)
def test_errors_name_the_culprit(X, complexity, message):
    gram = make_gram([Polynomial((1, 2)), Gaussian((1.0,))], X)
    with pytest.raises(ValueError, match=message):
        measure_complexities(complexity, gram, np.ones(25))


def test_a_lone_number_is_not_a_measure(X):
    with pytest.raises(ValueError, match="complexity must be one of"):
        measure_complexities(1.0, make_gram([Gaussian((1.0,))], X), np.ones(25))


def test_trace_of_an_undeclared_kernel_is_refused(X):
    gram = make_gram([Similarity(lambda A, B: A @ B.T, name="dot")], X)
    with pytest.raises(ValueError, match=r"dot is not declared positive definite; use.*massart"):
        measure_complexities("trace", gram, np.ones(25))


@pytest.mark.parametrize("complexity", ["trace", "local"])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_wrongly_declared_kernel_is_refused(X, complexity, shift):
    # With the shift K(x, x) is negative at some rows only.
    def dot(A, B):
        return shift - A @ B.T

    gram = make_gram([Similarity(dot, name="dot", positive_definite=True)], X)
    assert (gram.diagonal(0).max() > 0) == (shift > 0)
    with pytest.raises(ValueError, match=r"dot is declared positive definite but K\(x, x\) = -"):
        measure_complexities(complexity, gram, np.ones(25))


def test_every_measure_has_a_test_here():
    elsewhere = {"local", "empirical", "stable-rank"}  # in files of the same names
    assert set(MEASURES) - elsewhere == {"auto", "trace", "dimension", "massart"}


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [([1.0, 2], True), ([1.0, "trace"], False), ([], False), ("trace", False), (np.ones(2), True)],
)
def test_complexities_are_numbers_where_all_of_them_are(spec, numbers):
    assert are_numbers(spec) is numbers
