import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.guarantees import of_model
from votedkernels.guarantees.theorems import (
    FACTORS,
    MARGINS,
    GeneralizationBound,
    constant_bound,
    printed_theorems,
    radius_on_grid,
    sample_sizes,
    smallest_bound,
    theorem_1,
    theorem_2,
    union_price,
)

CASES = [
    # margin error, complexity, rho, n, m, p, delta
    (0.0, 0.01, 1.0, 1, 10_000, 2, 0.05),
    (0.1, 0.05, 0.5, 200, 1_000, 10, 0.05),
    (0.37, 0.2, 0.125, 5_000, 50, 7, 0.01),
    (1.0, 1.0, 2.0**-10, 3, 2, 1_000, 0.5),
]
GAMMAS = (0.3, 1.0, 3.0)
DEGREES = (1, 2, 3)


@pytest.fixture
def data():
    X = np.random.default_rng(0).standard_normal((60, 2))
    noise = 0.4 * np.random.default_rng(1).standard_normal(60)
    return X, np.where(X[:, 0] + noise > 0.3, "yes", "no")


@pytest.fixture
def signs(data):
    return np.where(data[1] == "yes", 1.0, -1.0)


# -- the theorems, retyped ---------------------------------------------------------------


def price(n, p, delta):
    """log of (number of types) n (n + 1) / delta; n may be an array."""
    types = sum(np.log1p(n / j) for j in range(1, p))  # C(n + p - 1, p - 1) factor by factor
    return types + np.log(n) + np.log(n + 1) - np.log(delta)


def test_the_number_of_types_by_counting():
    for n, p in ((1, 1), (4, 1), (3, 2), (5, 3), (2, 6)):
        types = {tuple(np.bincount(draw, minlength=p)) for draw in product(range(p), repeat=n)}
        by_counting = math.log(len(types) * n * (n + 1) / 0.05)
        assert float(union_price(n, p, 0.05)) == pytest.approx(by_counting, rel=1e-12)
        assert float(price(n, p, 0.05)) == pytest.approx(by_counting, rel=1e-12)


def test_the_shares_of_all_draws_sum_to_delta():
    # All types of n functions get the share 1 / (n (n + 1)) of delta together.
    n = np.arange(1, 10**5)
    log_types = np.array([math.log(math.comb(int(k) + 2, 2)) for k in n])
    shares = np.exp(log_types - union_price(n, 3, 1.0))
    assert 0.9999 < shares.sum() <= 1


def t1(error, complexity, rho, n, m, p, delta):
    """The four terms; n may be an array."""
    return [
        error,
        (4 / rho) * complexity,
        2 * np.exp(-n * rho**2 / 32),
        np.sqrt(price(n, p, delta) / (2 * m)),
    ]


def t2(error, complexity, rho, n, m, p, delta, K):
    """The five terms; n may be an array."""
    return [
        K / (K - 1) * error,
        (12 / rho) * complexity,
        3 / np.sqrt(m),
        (1 + K / (K - 1)) * np.exp(-n * rho**2 / 32),
        (2 * K + 14 / 3) * price(n, p, delta) / m,
    ]


@pytest.mark.parametrize("case", CASES)
def test_theorem_1_term_by_term(case):
    terms = theorem_1(*case)
    assert list(terms) == ["margin error", "complexity", "sampling the vote", "confidence"]
    np.testing.assert_allclose(list(terms.values()), t1(*case), rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("K", [1.1, 2.0, 9.0])
def test_theorem_2_term_by_term(case, K):
    terms = theorem_2(*case, K)
    names = ["margin error", "complexity", "star hull", "sampling the vote", "confidence"]
    assert list(terms) == names
    np.testing.assert_allclose(list(terms.values()), t2(*case, K), rtol=1e-12)


def test_theorem_1_by_hand():
    # m = 50, p = 3, n = 1, delta = 6/e^5: 3 types, n (n + 1) = 2, so log(6 / delta) = 5.
    terms = theorem_1(0.25, 0.02, 0.4, 1, 50, 3, 6 / math.e**5)
    by_hand = [0.25, 0.2, 2 * math.exp(-0.005), math.sqrt(0.05)]
    np.testing.assert_allclose(list(terms.values()), by_hand, rtol=1e-12)


def test_theorem_2_by_hand():
    # K = 2: factor 2 on the error, 3 on the sampling, 4 + 14/3 = 26/3 on 5/50.
    terms = theorem_2(0.25, 0.02, 0.4, 1, 50, 3, 6 / math.e**5, 2.0)
    by_hand = [0.5, 0.6, 3 / math.sqrt(50), 3 * math.exp(-0.005), 26 / 30]
    np.testing.assert_allclose(list(terms.values()), by_hand, rtol=1e-12)


@pytest.mark.parametrize(
    "case", [(0.1, 0.05, 0.5, 1_000, 10, 0.05), (0.0, 0.01, 1.0, 10**6, 2, 0.01)]
)
def test_the_paper_s_own_theorems(case):
    error, r, rho, m, p, delta = case
    n1 = math.ceil(4 / rho**2 * math.log(rho**2 * m / math.log(p)))
    first = error + 4 / rho * r + 2 / rho * math.sqrt(math.log(p) / m)
    first += math.sqrt(n1 * math.log(p) / m + math.log(2 / delta) / (2 * m))
    K = 2
    n2 = math.ceil(8 / rho**2 * math.log(rho**2 * (1 + K / (K - 1)) * m / (40 * K * math.log(p))))
    second = K / (K - 1) * error + 6 * K / rho * r + 40 * K / rho**2 * math.log(p) / m
    second += 5 * K * n2 * math.log(p) / m + 5 * K * math.log(2 / delta) / m
    printed = printed_theorems(*case)
    assert n1 > 0
    assert n2 > 0
    np.testing.assert_allclose(list(printed.values()), [first, second], rtol=1e-12)
    assert all("as printed" in name for name in printed)


def test_the_paper_s_theorems_where_their_logarithm_is_negative():
    printed = printed_theorems(0.5, 0.1, 0.1, 4, 3, 0.1)
    first = 0.5 + 4 + 20 * math.sqrt(math.log(3) / 4) + math.sqrt(math.log(20) / 8)
    second = 1.0 + 12 + 8000 * math.log(3) / 4 + 10 * math.log(20) / 4
    np.testing.assert_allclose(list(printed.values()), [first, second], rtol=1e-12)


# -- the smallest over the grids ---------------------------------------------------------


def brute_force(margins, complexity, p, delta, sizes=sample_sizes):
    """The smallest total over grids retyped here, with delta split over them."""
    m, totals = len(margins), []
    for rho in [2 ** (-j / 2) for j in range(21)]:
        error, n = np.mean(margins <= rho), np.array(sizes(rho, m), dtype=float)
        totals.append(np.min(sum(t1(error, complexity, rho, n, m, p, delta / 2 / 21))))
        for K in (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0):
            share = delta / 2 / (21 * 7)
            totals.append(np.min(sum(t2(error, complexity, rho, n, m, p, share, K))))
    return min(totals)


MARGIN_SETS = {
    "wide": lambda: np.full(5_000, 0.9),
    "none": lambda: np.full(100, -0.1),
    "mixed": lambda: np.random.default_rng(0).uniform(-0.2, 1.0, 20_000),
    "many": lambda: np.append(np.full(300_000, 0.6), np.full(300, -1.0)),
    "narrow": lambda: np.full(10**6, 0.02),
    "huge": lambda: np.full(4 * 10**6, 0.9),
}


@pytest.mark.parametrize("kind", MARGIN_SETS)
@pytest.mark.parametrize("p", [1, 2, 300])
def test_smallest_bound_by_brute_force(kind, p):
    margins = MARGIN_SETS[kind]()
    complexity = 1 / math.sqrt(len(margins))
    bound = smallest_bound(margins, complexity, p, 0.05)
    assert bound.value == pytest.approx(brute_force(margins, complexity, p, 0.05), rel=1e-10)
    assert bound.value == pytest.approx(sum(bound.terms.values()), rel=1e-12)
    assert (bound.n_samples, bound.n_families, bound.delta) == (len(margins), p, 0.05)


def test_both_theorems_are_sometimes_the_smaller():
    wide, huge = MARGIN_SETS["wide"](), MARGIN_SETS["huge"]()
    assert smallest_bound(wide, len(wide) ** -0.5, 17, 0.05).theorem == "Theorem 1"
    assert smallest_bound(huge, len(huge) ** -0.5, 1000, 0.05).theorem == "Theorem 2"


@pytest.mark.parametrize(("kind", "p"), [("wide", 17), ("huge", 1000)])
def test_delta_is_split_over_the_grids(kind, p):
    margins = MARGIN_SETS[kind]()
    complexity, m = 1 / math.sqrt(len(margins)), len(margins)
    bound = smallest_bound(margins, complexity, p, 0.05)
    error = float(np.mean(margins <= bound.margin))
    assert bound.theorem == ("Theorem 1" if kind == "wide" else "Theorem 2")
    if bound.theorem == "Theorem 1":
        share = 0.05 / 2 / len(MARGINS)
        terms = theorem_1(error, complexity, bound.margin, bound.n, m, p, share)
    else:
        share = 0.05 / 2 / len(MARGINS) / len(FACTORS)
        terms = theorem_2(error, complexity, bound.margin, bound.n, m, p, share, bound.factor)
    assert bound.terms == pytest.approx(terms, rel=1e-12)


def test_the_numbers_n_that_are_tried_are_enough():
    for kind in ("wide", "mixed"):
        margins = MARGIN_SETS[kind]()
        every = brute_force(margins, 0.01, 3, 0.05, lambda rho, m: range(1, 20_000))
        bound = smallest_bound(margins, 0.01, 3, 0.05)
        assert bound.value <= every * 1.005


def test_a_margin_that_is_just_reached_counts_as_an_error():
    # margins <= rho are errors, so margins of exactly 1 are of no use at rho = 1.
    bound = smallest_bound(np.ones(10**6), 1e-3, 2, 0.05)
    assert bound.margin == 2**-0.5
    assert bound.terms["margin error"] == 0


def test_the_grids_are_fixed():
    np.testing.assert_allclose(MARGINS, [2 ** (-j / 2) for j in range(21)], rtol=1e-15)
    assert max(MARGINS) == 1
    assert min(FACTORS) > 1


def test_the_bound_falls_as_the_sample_grows():
    values = [smallest_bound(np.full(m, 0.9), m**-0.5, 2, 0.05).value for m in (50, 10**4, 10**6)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 1 > values[2]


def test_vacuous_from_one_on():
    def bound(value):
        return GeneralizationBound(value, {"x": value}, "Theorem 1", 1, None, 1, 9, 2, 0.1, True)

    assert bound(1.0).is_vacuous
    assert bound(3.0).is_vacuous
    assert not bound(0.999).is_vacuous


def test_the_terms_are_printed_in_two_columns():
    terms = {"error": 0.25, "a long name": 0.5}
    bound = GeneralizationBound(0.75, terms, "Theorem 1", 1, None, 1, 9, 2, 0.1, True)
    assert repr(bound).splitlines()[2:] == ["  error        0.25", "  a long name  0.5"]


def test_constant_by_hand():
    # The theorems for n <= 22 are worth nothing and leave 22/23 of delta.
    confidence = math.sqrt(math.log(20 * 23 / 22) / 8)
    bound = constant_bound(np.array([True, False, False, False]), 0.1)
    assert bound.terms == pytest.approx({"error": 0.25, "confidence": confidence}, rel=1e-12)
    assert bound.value == pytest.approx(0.25 + confidence, rel=1e-12)
    assert bound.theorem == "constant"


@pytest.mark.parametrize(
    ("largest", "power", "number"),
    [(1.0, 0, 1), (1.05, 1, 2), (1.1, 1, 2), (0.95, 0, 1), (0.9, -1, 3), (1.2, 2, 4), (0.8, -2, 5)],
)
def test_radius_by_hand(largest, power, number):
    radius, share = radius_on_grid(largest)
    assert radius == pytest.approx(1.1**power, rel=1e-12)
    assert share == pytest.approx(6 / (math.pi**2 * number**2), rel=1e-12)


def test_radii_hold_the_rows_and_shares_sum_to_at_most_one():
    for largest in np.geomspace(1e-8, 1e8, 500):
        radius, _ = radius_on_grid(largest)
        assert largest <= radius * (1 + 1e-11)
        assert radius <= 1.1 * largest * (1 + 1e-11)
    shares = [radius_on_grid(1.1**j)[1] for j in range(-300, 301)]
    assert len(set(shares)) == len(shares)  # each power has a share of its own
    assert 0.99 < sum(shares) <= 1


def test_rows_of_norm_nought_have_a_radius():
    assert radius_on_grid(0.0) == (1.0, pytest.approx(6 / math.pi**2))


# -- a fitted model, by hand -------------------------------------------------------------


def gaussian_model(**kwargs):
    return VotedKernelClassifier(Gaussian(GAMMAS, unit=1.0), **kwargs)


def polynomial_model(**kwargs):
    return VotedKernelClassifier(Polynomial(DEGREES, gamma=1.0), **kwargs)


def columns_by_hand(model, X):
    """K_t(x, c_t) of every term, for the models above."""
    kinds, centers = model.term_kernel_indices_, model.support_vectors_[model.term_support_indices_]
    if isinstance(model.kernels_[0], Gaussian):
        squares = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        return np.exp(-np.array(GAMMAS)[kinds] * squares)
    return (X @ centers.T + 1) ** np.array(DEGREES)[kinds]


@pytest.fixture
def asked(monkeypatch):
    """A list that receives (margins, complexity, p, delta) of every bound of a model."""
    seen = []

    def recording(*args, **kwargs):
        seen.append(args)
        return smallest_bound(*args, **kwargs)

    monkeypatch.setattr(of_model, "smallest_bound", recording)
    return seen


def check_by_hand(model, bound, asked, X, signs, suprema, p, delta):
    """Compare with the vote divided by A, at this p and delta.

    On few rows the best margin is 1 and the total does not depend on the vote; so compare also
    what the total is made from.
    """
    a, b = model.term_weights_[0], model.intercept_[0]
    A = np.abs(a) @ np.asarray(suprema)[model.term_kernel_indices_] + abs(b)
    margins = signs * (columns_by_hand(model, X) @ a + b) / A
    assert np.abs(margins).max() <= 1 + 1e-12
    used = asked[-1]
    np.testing.assert_allclose(used[0], margins, rtol=0, atol=1e-12)
    assert used[1] == pytest.approx(1 / math.sqrt(len(X)), rel=1e-12)
    assert used[2] == p
    assert used[3] == pytest.approx(delta, rel=1e-12)
    expected = brute_force(margins, 1 / math.sqrt(len(X)), p, delta)
    assert bound.value == pytest.approx(expected, rel=1e-10)
    assert bound.n_families == p
    assert bound.is_guarantee
    assert bound.reasons == ()


def test_gaussian_model(data, signs, asked):
    X, y = data
    model = gaussian_model().fit(X, y)
    bound = model.generalization_bound(X, y)
    check_by_hand(model, bound, asked, X, signs, np.ones(3), p=3, delta=0.05)
    assert bound.delta == 0.05
    assert bound.n_samples == 60
    assert bound.assumed == {}
    printed = printed_theorems(
        bound.terms["margin error"], 1 / math.sqrt(60), bound.margin, 60, 3, 0.05
    )
    assert bound.theorem == "Theorem 1"
    assert bound.as_printed == pytest.approx(printed, rel=1e-12)


def test_gaussian_model_on_many_rows(asked):
    # A large sample, so that the bound says something and margins matter.
    X = np.random.default_rng(5).choice([-1.0, 1.0], size=(200_000, 1))
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = VotedKernelClassifier(Gaussian(GAMMAS, unit=1.0), centers=4, random_state=0)
    model.fit(X, y)
    bound = model.generalization_bound(X, y, delta=0.01)
    check_by_hand(model, bound, asked, X, np.sign(X[:, 0]), np.ones(3), p=3, delta=0.01)
    assert bound.terms["margin error"] == 0
    assert not bound.is_vacuous


def test_polynomial_model_with_a_radius(data, signs, asked):
    X, y = data
    model = polynomial_model().fit(X, y)
    bound = model.generalization_bound(X, y, delta=0.1, radius=5.0)
    check_by_hand(model, bound, asked, X, signs, [26.0, 26.0**2, 26.0**3], p=3, delta=0.1)
    assert bound.assumed == {"radius": 5.0}


def test_polynomial_model_that_pays_for_its_radius(data, signs, asked):
    X, y = data
    model = polynomial_model().fit(X, y)
    bound = model.generalization_bound(X, y, delta=0.1)
    largest = np.linalg.norm(X, axis=1).max()
    power = next(j for j in range(1000) if 1.1**j >= largest)
    R = 1.1**power
    share = 6 / (math.pi * 2 * power) ** 2  # powers 0, 1, -1, 2, ... are numbered 1, 2, 3, 4, ...
    check_by_hand(
        model, bound, asked, X, signs, [(R * R + 1) ** d for d in DEGREES], p=3, delta=0.1 * share
    )
    assert bound.delta == 0.1
    assert bound.assumed == {}


def test_radius_covers_the_support_vectors_too(data):
    X, y = data
    model = polynomial_model(centers=3 * X, complexity_penalty=1e-4, l1_penalty=1e-4).fit(X, y)
    inside = X[np.linalg.norm(X, axis=1) < 1]
    labels = y[np.linalg.norm(X, axis=1) < 1]
    farthest = np.linalg.norm(model.support_vectors_, axis=1).max()
    assert farthest > np.linalg.norm(inside, axis=1).max()
    with pytest.raises(ValueError, match="radius"):
        model.generalization_bound(inside, labels, radius=0.99 * farthest)
    model.generalization_bound(inside, labels, radius=1.01 * farthest)


def test_rows_on_the_sphere_keep_to_its_radius(data):
    X, y = data
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert np.linalg.norm(X, axis=1).max() > 1  # by rounding
    bound = polynomial_model().fit(X, y).generalization_bound(X, y, radius=1.0)
    assert bound.assumed == {"radius": 1.0}


def test_sparse_rows_give_the_same(data):
    X, y = data
    model = polynomial_model().fit(X, y)
    dense = model.generalization_bound(X, y)
    rows = polynomial_model().fit(sparse.csr_matrix(X), y)
    assert rows.generalization_bound(sparse.csr_matrix(X), y).value == pytest.approx(
        dense.value, rel=1e-9
    )


def test_an_intercept_is_one_more_family(data, signs, asked):
    X, y = data
    model = gaussian_model(fit_intercept=True).fit(X, y)
    assert model.intercept_[0] != 0
    bound = model.generalization_bound(X, y)
    check_by_hand(model, bound, asked, X, signs, np.ones(3), p=4, delta=0.05)


def test_one_family_counts_as_one_and_an_intercept_as_another(data):
    X, y = data
    alone = VotedKernelClassifier(Gaussian((1.0,), unit=1.0)).fit(X, y)
    assert alone.generalization_bound(X, y).n_families == 1
    beside = VotedKernelClassifier(Gaussian((1.0,), unit=1.0), fit_intercept=True).fit(X, y)
    assert beside.generalization_bound(X, y).n_families == 2


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.filterwarnings("ignore:The penalties are so large")
def test_a_model_without_terms_is_a_constant(data, fit_intercept):
    X, y = data
    model = gaussian_model(l1_penalty=100.0, fit_intercept=fit_intercept).fit(X, y)
    assert model.term_weights_.shape == (1, 0)
    bound = model.generalization_bound(X, y, delta=0.1)
    error = np.mean(y != model.predict(X))
    assert 0 < error < 0.5
    by_hand = {"error": error, "confidence": math.sqrt(math.log(20 * 23 / 22) / 120)}
    assert bound.terms == pytest.approx(by_hand, rel=1e-12)
    assert bound.value == pytest.approx(sum(by_hand.values()), rel=1e-12)
    assert bound.theorem == "constant"
    assert "constant" in repr(bound)


def times(c):
    def narrow(A, B):
        return c * np.exp(-((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    def square(A, B):
        return c * (A @ B.T) ** 2

    return [
        Similarity(narrow, positive_definite=True, bound=c * 1.0),
        Similarity(square, positive_definite=True, bound=c * 1000.0),
    ]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("c", [1e-3, 7.0, 1e4])
def test_the_unit_of_the_kernels_does_not_matter(data, c, fit_intercept, asked):
    X, y = data
    one, scaled = (
        VotedKernelClassifier(
            times(factor), complexity_penalty=0.01, l1_penalty=0.0, fit_intercept=fit_intercept
        ).fit(X, y)
        for factor in (1.0, c)
    )
    decisions = one.decision_function(X)
    np.testing.assert_allclose(scaled.decision_function(X), decisions, atol=1e-8)
    bounds = [model.generalization_bound(X, y) for model in (one, scaled)]
    np.testing.assert_allclose(asked[1][0], asked[0][0], atol=1e-8)
    assert bounds[1].value == pytest.approx(bounds[0].value, rel=1e-9)
    assert bounds[1].terms == pytest.approx(bounds[0].terms, rel=1e-8)


def test_a_larger_bound_of_a_kernel_takes_from_the_margins():
    X = np.repeat([[-1.0], [1.0]], 20_000, axis=0)
    y = X[:, 0] > 0

    def dot(A, B):
        return A @ B.T

    values = [
        VotedKernelClassifier(Similarity(dot, positive_definite=True, bound=bound))
        .fit(X, y)
        .generalization_bound(X, y)
        .value
        for bound in (1.0, 3.0)
    ]
    assert values[0] < 0.07 < values[1]


def test_model_selection_counts_all_kernels_tried(data, signs, asked):
    X, y = data
    kernels = {
        "narrow": Gaussian(GAMMAS, unit=1.0),
        "all degrees": Polynomial(tuple(range(1, 8)), gamma=0.01),
    }
    search = VotedKernelClassifierCV(
        kernels,
        complexity={"trace": "trace", "massart": "massart"},
        complexity_penalties=[1e-2],
        l1_penalties=[1e-3],
        cv=3,
    ).fit(X, y)
    assert search.n_kernels_tried_ == 10
    bound = search.generalization_bound(X, y, radius=10.0)
    assert bound.n_families == 10
    alone = VotedKernelClassifierCV(
        kernels["narrow"], complexity_penalties=[1e-2], l1_penalties=[1e-3], cv=3
    ).fit(X, y)
    assert alone.n_kernels_tried_ == 3
    bound = alone.generalization_bound(X, y)
    check_by_hand(alone, bound, asked, X, signs, np.ones(3), p=3, delta=0.05)


def test_equal_weights_are_no_weights(data):
    X, y = data
    model = gaussian_model().fit(X, y)
    plain = model.generalization_bound(X, y)
    assert model.generalization_bound(X, y, sample_weight=np.full(60, 2.0)).value == plain.value


def test_complexities_of_the_sample_play_no_part(data):
    X, y = data
    model = gaussian_model().fit(X, y)
    before = model.generalization_bound(X, y).value
    model.complexities_ = model.complexities_ * 1000
    assert model.generalization_bound(X, y).value == before


# -- heuristics --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernels", "reason"),
    [
        (Gaussian(GAMMAS), 'Gaussian(unit="scale")'),
        (Polynomial(DEGREES), 'Polynomial(gamma="scale")'),
        ([Gaussian(GAMMAS, unit=1.0), Polynomial(DEGREES)], 'Polynomial(gamma="scale")'),
    ],
)
def test_kernels_set_by_the_sample_make_it_heuristic(data, kernels, reason):
    X, y = data
    bound = VotedKernelClassifier(kernels).fit(X, y).generalization_bound(X, y, radius=10.0)
    assert not bound.is_guarantee
    assert len(bound.reasons) == 1
    assert reason in bound.reasons[0]
    assert "heuristic" in repr(bound)
    assert "guaranteed," not in repr(bound).replace("not guaranteed,", "")


def test_indefinite_kernels_may_vote_from_given_centres(data, asked):
    X, y = data
    centers = np.random.default_rng(9).standard_normal((12, 2))
    family = Similarity(lambda A, B: np.tanh(A @ B.T), name="tanh", bound=1.0)
    model = VotedKernelClassifier(family, centers=centers).fit(X, y)
    bound = model.generalization_bound(X, y)
    a = model.term_weights_[0]
    votes = np.tanh(X @ centers[model.support_[model.term_support_indices_]].T) @ a
    margins = np.where(y == "yes", 1, -1) * votes / np.abs(a).sum()
    complexity = math.sqrt(2 * math.log(2 * 12) / 60)
    np.testing.assert_allclose(asked[0][0], margins, rtol=0, atol=1e-12)
    assert bound.value == pytest.approx(brute_force(margins, complexity, 1, 0.05), rel=1e-10)
    assert bound.is_guarantee
    assert bound.assumed == {"bound of tanh": 1.0}


# -- refusals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"delta": 0}, "delta must lie between 0 and 1"),
        ({"delta": 1}, "delta must lie between 0 and 1"),
        ({"delta": -1}, "delta must lie between 0 and 1"),
        ({"delta": math.nan}, "delta must lie between 0 and 1"),
        ({"radius": -1.0}, "radius must be a positive number"),
        ({"radius": 0.0}, "radius must be a positive number"),
        ({"radius": math.nan}, "radius must be a positive number"),
        ({"radius": math.inf}, "radius must be a positive number"),
        ({"radius": 0.5}, r"radius=0.5, but a row has norm \d"),
        ({"sample_weight": np.arange(60)}, "samples of equal weight"),
    ],
)
def test_bad_arguments_are_refused(data, kwargs, message):
    X, y = data
    model = polynomial_model().fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.generalization_bound(X, y, **kwargs)


def test_data_of_another_width_are_refused(data):
    X, y = data
    model = gaussian_model().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.generalization_bound(X[:, :1], y)


def test_labels_of_another_length_are_refused(data):
    X, y = data
    model = gaussian_model().fit(X, y)
    with pytest.raises(ValueError, match="60 rows"):
        model.generalization_bound(X, y[:-1])


def test_one_class_is_refused(data):
    X, y = data
    model = gaussian_model().fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        model.generalization_bound(X[y == "yes"], y[y == "yes"])


def test_unknown_labels_are_refused(data):
    X, y = data
    model = gaussian_model().fit(X, y)
    with pytest.raises(ValueError, match=r"maybe.*does not know"):
        model.generalization_bound(X, np.where(np.arange(60) == 3, "maybe", y))


def test_three_classes_are_refused(data):
    X, _ = data
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = gaussian_model().fit(X, y)
    with pytest.raises(ValueError, match="two classes, and the model has 3"):
        model.generalization_bound(X, y)


def test_a_kernel_of_unknown_size_is_refused(data):
    X, y = data
    family = Similarity(lambda A, B: A @ B.T, name="dot", positive_definite=True)
    model = VotedKernelClassifier(family).fit(X, y)
    with pytest.raises(ValueError, match=r"largest value of kernel dot.*bound="):
        model.generalization_bound(X, y)


@pytest.mark.parametrize("centers", [None, 10])
def test_an_indefinite_kernel_that_votes_from_training_rows_is_refused(data, centers):
    X, y = data
    family = Similarity(lambda A, B: np.tanh(A @ B.T), name="tanh", bound=1.0)
    model = VotedKernelClassifier(family, centers=centers, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"tanh is not positive definite.*training rows"):
        model.generalization_bound(X, y)


def test_a_precomputed_kernel_is_refused(data):
    X, y = data
    K = X @ X.T
    model = VotedKernelClassifier(Precomputed(positive_definite=True)).fit(K, y)
    with pytest.raises(ValueError, match="largest value of kernel precomputed"):
        model.generalization_bound(K, y)


def test_a_model_that_is_not_fitted_is_refused(data):
    with pytest.raises(NotFittedError):
        gaussian_model().generalization_bound(*data)


# -- what is shown -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["wide", "huge", "none"])
def test_repr_has_every_term(kind):
    margins = MARGIN_SETS[kind]()
    bound = smallest_bound(margins, len(margins) ** -0.5, 17, 0.05, assumed={"radius": 2.5})
    text = repr(bound)
    for name, value in bound.terms.items():
        assert f"{name} " in text
        assert f"{value:.4g}" in text
    assert f"error <= {bound.value:.4g} (guaranteed, {bound.theorem}" in text
    assert ("vacuous" in text) == bound.is_vacuous
    for part in (f"m = {len(margins)}", "p = 17", "delta = 0.05", "assumed radius = 2.5"):
        assert part in text
    assert ("K = " in text) == (bound.theorem == "Theorem 2")


def test_html_escapes_names(data):
    X, y = data
    family = Similarity(
        lambda A, B: np.cos(A[:, :1] - B[:, 0]), name="<b>x</b>", bound=1.0, positive_definite=True
    )
    bound = VotedKernelClassifier(family).fit(X, y).generalization_bound(X, y)
    assert "<b>x</b>" in repr(bound)
    html = bound._repr_html_()
    assert "<b>x</b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "error &lt;= " in html
    for name in bound.terms:
        assert name in html


def test_a_radius_at_which_a_kernel_overflows_is_refused():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 3))
    y = (X[:, 0] > 0).astype(int)
    model = VotedKernelClassifier(Polynomial(gamma=1.0)).fit(X, y)
    with pytest.raises(ValueError, match=r"polynomial\(degree=8\) overflows within radius=1e\+20"):
        model.generalization_bound(X, y, radius=1e20)


def test_sparse_centres_of_an_indefinite_kernel_are_counted():
    random = np.random.default_rng(0)
    X = sparse.csr_matrix(random.standard_normal((40, 3)))
    y = (X.toarray()[:, 0] > 0).astype(int)
    kernel = Polynomial((1, 2, 3), gamma=1.0, coef0=-1.0)
    model = VotedKernelClassifier(kernel, centers=X[:5]).fit(X, y)
    bound = model.generalization_bound(X, y)
    assert bound.terms["complexity"] == pytest.approx(4 * np.sqrt(2 * np.log(10) / 40), rel=1e-12)


def test_a_constant_is_guaranteed_at_margin_one():
    bound = constant_bound(np.array([True, False]), 0.1)
    assert bound.is_guarantee
    assert (bound.margin, bound.factor, bound.n, bound.n_families) == (1.0, None, 0, 2)


def test_the_grids_are_those_that_were_fixed_beforehand():
    # Delta is split over them, so that they must not be chosen by looking at results.
    assert FACTORS == (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0)
    np.testing.assert_allclose(MARGINS, 2.0 ** (-np.arange(21) / 2))


@pytest.mark.parametrize("rho", [1.0, 0.1])
@pytest.mark.parametrize("m", [10, 10**6])
def test_numbers_of_sampled_functions_reach_where_sampling_costs_nothing(rho, m):
    sizes = sample_sizes(rho, m)
    assert sizes[0] == 1
    assert np.exp(-sizes[-1] * rho**2 / 32) == pytest.approx(1 / (10 * m + 10), rel=0.05)
    assert max(b / a for a, b in pairwise(sizes)) <= 2
    assert len(sizes) > 50
