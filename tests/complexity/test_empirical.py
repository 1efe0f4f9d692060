import math
from itertools import product

import numpy as np
import pytest

from votedkernels import (
    Dimension,
    Empirical,
    Gaussian,
    Local,
    Massart,
    Polynomial,
    Similarity,
    Threshold,
    Trace,
    VotedKernelClassifier,
)
from votedkernels.complexity import measure_complexities, measure_with_errors
from votedkernels.complexity.empirical import draw_signs
from votedkernels.kernels import LocalColumns

GAMMAS = (0.1, 1.0, 10.0)
FAMILIES = {
    "gaussian": lambda: Gaussian(GAMMAS, unit=1.0),
    "polynomial": lambda: Polynomial((1, 2, 5), gamma=1.0),
    "neither symmetric nor definite": lambda: Similarity(lambda A, B: np.sin(A @ B.T + A[:, :1])),
}
MATRICES = {
    "gaussian": lambda A, B: [
        np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2)) for gamma in GAMMAS
    ],
    "polynomial": lambda A, B: [(A @ B.T + 1) ** degree for degree in (1, 2, 5)],
    "neither symmetric nor definite": lambda A, B: [np.sin(A @ B.T + A[:, :1])],
}


def make_gram(family, X, centers=None, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return LocalColumns([family.fit(X, weights)], X, X if centers is None else centers)


def expectation(K):
    """E max_c |sum_i sigma_i K(x_i, c)| / m over all 2^m sign vectors, and its spread."""
    signs = np.array(list(product([-1, 1], repeat=len(K))))
    suprema = np.abs(signs @ K).max(axis=1) / len(K)
    return suprema.mean(), suprema.std()


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((7, 2))


# -- against all sign vectors ------------------------------------------------------------


@pytest.mark.parametrize("n_draws", [64, 20_000])
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("own_centers", [False, True])
def test_mean_over_all_signs(X, kind, n_draws, own_centers):
    centers = np.random.default_rng(1).standard_normal((4, 2)) if own_centers else X
    gram = make_gram(FAMILIES[kind](), X, centers)
    r, error = measure_with_errors(Empirical(n_draws), gram, np.ones(len(X)))
    expected, spread = np.transpose([expectation(K) for K in MATRICES[kind](X, centers)])
    assert (np.abs(r - expected) <= 5 * error).all()
    # The error it reports is that of a mean of so many draws.
    np.testing.assert_allclose(error, spread / math.sqrt(n_draws), rtol=0.5)
    if n_draws > 64:
        np.testing.assert_allclose(error, spread / math.sqrt(n_draws), rtol=0.05)
        np.testing.assert_allclose(r, expected, rtol=0.02)


@pytest.mark.parametrize("kind", FAMILIES)
def test_repetition_equals_weight(X, kind):
    X, s = X[:4], np.array([3, 1, 2, 4])
    repeated = np.repeat(X, s, axis=0)
    gram = make_gram(FAMILIES[kind](), X, X, s.astype(float))
    r, error = measure_with_errors(Empirical(20_000), gram, s.astype(float))
    expected = [expectation(K)[0] for K in MATRICES[kind](repeated, X)]
    assert (np.abs(r - expected) <= 5 * error).all()
    np.testing.assert_allclose(r, expected, rtol=0.02)


def test_two_rows_by_hand():
    # |x_1 + x_2| = 3 and |x_1 - x_2| = 1, each half the time, times the larger centre 2, over 2.
    gram = make_gram(Polynomial((1,), gamma=1.0, coef0=0.0), np.array([[1.0], [2.0]]))
    (r,), (error,) = measure_with_errors(Empirical(50_000), gram, np.ones(2))
    assert abs(r - 2.0) <= 5 * error
    assert error == pytest.approx(1 / math.sqrt(50_000), rel=0.01)


def test_one_row_by_hand():
    gram = make_gram(Polynomial((2,), gamma=1.0, coef0=0.0), np.array([[3.0]]))
    (r,), (error,) = measure_with_errors("empirical", gram, np.ones(1))
    assert r == 81
    assert error == 0


def test_part_of_a_row_has_its_share_of_the_variance():
    # One sign times sqrt(1/4), over m = 1/4; then two signs and half a one, over m = 2.25.
    gram = make_gram(Polynomial((1,), gamma=1.0, coef0=0.0), np.array([[1.0]]))
    assert measure_complexities("empirical", gram, np.array([0.25]))[0] == 2
    (r,), (error,) = measure_with_errors(Empirical(20_000), gram, np.array([2.25]))
    by_hand = np.mean([abs(a + b + c / 2) for a, b, c in product([-1, 1], repeat=3)]) / 2.25
    assert abs(r - by_hand) <= 5 * error


def test_rows_without_weight_play_no_part(X):
    gram = make_gram(FAMILIES["gaussian"](), X, X[:4])
    s = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    r, error = measure_with_errors(Empirical(20_000), gram, s)
    expected = [expectation(K)[0] for K in MATRICES["gaussian"](X[:4], X[:4])]
    assert (np.abs(r - expected) <= 5 * error).all()


# -- properties --------------------------------------------------------------------------


def test_four_times_the_draws_halve_the_error(X):
    gram = make_gram(FAMILIES["gaussian"](), X)
    few, many = (measure_with_errors(Empirical(n), gram, np.ones(7))[1] for n in (5000, 20_000))
    np.testing.assert_allclose(many, few / 2, rtol=0.1)


def test_the_seed_chooses_the_signs(X):
    gram = make_gram(FAMILIES["gaussian"](), X)
    first, again, other = (
        measure_complexities(Empirical(random_state=seed), gram, np.ones(7)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_massart_and_trace_are_never_below_it():
    X = np.random.default_rng(5).standard_normal((40, 3))
    for kind in ("gaussian", "polynomial"):
        gram = make_gram(FAMILIES[kind](), X)
        r, error = measure_with_errors(Empirical(2000), gram, np.ones(40))
        for measure in ("massart", "trace"):
            assert (measure_complexities(measure, gram, np.ones(40)) >= r - 5 * error).all()


def test_many_rows_and_centres_are_summed_over_blocks():
    random = np.random.default_rng(6)
    X, centers = random.standard_normal((2500, 1)), random.standard_normal((1500, 1))
    gram = make_gram(Gaussian((1.0,), unit=1.0), X, centers)
    (r,) = measure_complexities(Empirical(4, random_state=3), gram, np.ones(2500))
    signs = 2.0 * np.random.default_rng(3).binomial(1, 0.5, size=(4, 2500)) - 1
    K = np.exp(-((X - centers.T) ** 2))
    assert r == pytest.approx(np.abs(signs @ K).max(axis=1).mean() / 2500, rel=1e-10)


@pytest.mark.parametrize(
    "measure",
    [Trace(), Massart(), Empirical(), Local(), Local(0.1), Local(np.inf)],
    ids=["trace", "massart", "empirical", "fixed point", "radius", "no radius"],
)
@pytest.mark.parametrize("factor", [1e-6, 7.0, 1e6])
def test_every_measure_scales_with_the_kernel(X, measure, factor):
    def times(c):
        return Similarity(lambda A, B: c * (A @ B.T + 1) ** 2, positive_definite=True)

    one, scaled = (
        measure_complexities(measure, make_gram(times(c), X), np.ones(7)) for c in (1.0, factor)
    )
    assert one > 0
    np.testing.assert_allclose(scaled, factor * one, rtol=1e-11)


def test_dimension_scales_with_the_kernel(X):
    # (gamma x.x' + coef0)^2 with both doubled is four times the kernel.
    one = measure_complexities(Dimension(), make_gram(Polynomial((2,), gamma=1.0), X), np.ones(7))
    two = Polynomial((2,), gamma=2.0, coef0=2.0)
    r = measure_complexities(Dimension(), make_gram(two, X), np.ones(7))
    np.testing.assert_allclose(r, 4 * one, rtol=1e-12)


# -- the five in one table ---------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_table(weighted):
    # Degree 2 without a constant on x = 1, 2, 3: K(x, c) = x^2 c^2, K(x, x) = 1, 16, 81.
    X, s = np.array([[1.0], [2.0], [3.0]]), np.array([1, 2, 3] if weighted else [1, 1, 1])
    m, trace = (6, 1 + 2 * 16 + 3 * 81) if weighted else (3, 1 + 16 + 81)
    gram = make_gram(Polynomial((2,), gamma=1.0, coef0=0.0), X, X, s.astype(float))
    table = {
        "trace": 9 * math.sqrt(trace) / m,
        "dimension": 81 * math.sqrt(1),
        "massart": math.sqrt(81 * trace) * math.sqrt(2 * math.log(6)) / m,  # the centre 3
        # One eigenvalue, trace / (81 m).
        Local(np.inf): 81 * math.sqrt(2 / m * trace / (81 * m)),
        Local(0.2): 81 * math.sqrt(2 / m * 0.2),
    }
    for measure, by_hand in table.items():
        (r,), (error,) = measure_with_errors(measure, gram, s.astype(float))
        assert r == pytest.approx(by_hand, rel=1e-12), measure
        assert error == 0
    signed = [
        abs(sum(sign * x**2 for sign, x in zip(signs, np.repeat([1, 2, 3], s), strict=True)))
        for signs in product([-1, 1], repeat=m)
    ]
    (r,), (error,) = measure_with_errors(Empirical(20_000), gram, s.astype(float))
    assert abs(r - 9 * np.mean(signed) / m) <= 5 * error


@pytest.mark.parametrize("measure", ["trace", "dimension", "massart", Local(0.05), Local()])
def test_repeating_rows_but_not_centres_equals_weights(X, measure):
    s = np.array([1, 2, 3, 1, 1, 4, 2])
    family = FAMILIES["polynomial"]
    repeated = make_gram(family(), np.repeat(X, s, axis=0), X)
    weighted = make_gram(family(), X, X, s.astype(float))
    np.testing.assert_allclose(
        measure_complexities(measure, weighted, s.astype(float)),
        measure_complexities(measure, repeated, np.ones(s.sum())),
        rtol=1e-10,
    )


# -- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_draws", [1, 0, -3, 2.5, None, "many"])
def test_bad_numbers_of_draws_are_refused(X, n_draws):
    with pytest.raises(ValueError, match="n_draws of Empirical must be an integer >= 2"):
        measure_complexities(Empirical(n_draws), make_gram(Gaussian(), X), np.ones(7))


def test_a_fitted_model_reports_values_and_errors(X):
    y = np.array([0, 1, 0, 1, 1, 0, 1])
    model = VotedKernelClassifier(Gaussian(GAMMAS, unit=1.0), complexity=Empirical(5000)).fit(X, y)
    expected = [expectation(K)[0] for K in MATRICES["gaussian"](X, X)]
    assert (model.complexity_errors_ > 0).all()
    assert (np.abs(model.complexities_ - expected) <= 5 * model.complexity_errors_).all()
    formula = VotedKernelClassifier(Gaussian(GAMMAS, unit=1.0), complexity="trace").fit(X, y)
    assert (formula.complexity_errors_ == 0).all()


def test_parts_of_signs_are_as_often_negative():
    signs = draw_signs(np.array([0.25, 2.25]), 4000, 0)
    assert set(np.unique(signs[:, 0])) == {-0.5, 0.5}
    assert set(np.unique(signs[:, 1])) == {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}
    assert abs(signs.mean(axis=0)).max() < 0.1


def test_the_defaults_are_those_of_the_documentation():
    assert Empirical().get_params() == {"n_draws": 64, "random_state": 0}


def test_rules_are_measured_by_their_columns():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    gram = make_gram(Threshold(), X)
    kernels = np.arange(gram.n_kernels)
    found, errors = measure_with_errors(Empirical(20_000), gram, np.ones(4))
    expected = [expectation(gram.take(np.full(4, k), np.arange(4)))[0] for k in kernels]
    assert (errors > 0).all()
    assert (np.abs(found - expected) <= 5 * errors).all()
