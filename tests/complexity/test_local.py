import math

import numpy as np
import pytest
from support.oracles import PlainProblem, by_linprog
from threadpoolctl import threadpool_limits

from votedkernels import Gaussian, Local, Polynomial, Precomputed, Similarity, VotedKernelClassifier
from votedkernels.complexity import local, measure_complexities
from votedkernels.complexity import measure_with_errors as measure
from votedkernels.kernels import LocalColumns

GAMMAS = (0.1, 1.0, 10.0)
RADII = [1e-6, 1e-3, 0.01, 0.1, 1.0, np.inf]


def make_gram(family, X, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return LocalColumns([family.fit(X, weights)], X, X)


def gaussian_matrices(X, centers, gammas=GAMMAS):
    squares = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return [np.exp(-gamma * squares) for gamma in gammas]


def spectrum_of(K, s):
    """Eigenvalues of D^1/2 K D^1/2 / (kappa^2 m)."""
    root = np.sqrt(s)
    matrix = root[:, None] * K * root / (K.diagonal().max() * s.sum())
    return np.clip(np.linalg.eigvalsh(matrix), 0, None)


def psi_of(radius, mu, m):
    return math.sqrt(2 / m * sum(min(radius, value) for value in mu))


@pytest.fixture(autouse=True)
def one_thread():
    """As fit has it: threads only get in each other's way on matrices as small as these."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((30, 3))


@pytest.fixture
def y(X):
    noise = np.random.default_rng(2).standard_normal(len(X))
    return np.where(X[:, 0] + 0.5 * noise > 0, "yes", "no")


# -- facts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("s", "degree", "radius", "by_hand"),
    [
        # K = (x x')^d has one eigenvalue: 14/27 and 98/243, and with weights 18/36 and 114/324.
        ((1, 1, 1), 1, 0.1, 9 * math.sqrt(2 / 3 * 0.1)),
        ((1, 1, 1), 1, 0.9, 9 * math.sqrt(2 / 3 * 14 / 27)),
        ((1, 1, 1), 2, 0.1, 81 * math.sqrt(2 / 3 * 0.1)),
        ((1, 1, 1), 2, 0.9, 81 * math.sqrt(2 / 3 * 98 / 243)),
        ((1, 2, 1), 1, 0.1, 9 * math.sqrt(2 / 4 * 0.1)),
        ((1, 2, 1), 1, 0.9, 9 * math.sqrt(2 / 4 * 18 / 36)),
        ((1, 2, 1), 2, 0.1, 81 * math.sqrt(2 / 4 * 0.1)),
        ((1, 2, 1), 2, 0.9, 81 * math.sqrt(2 / 4 * 114 / 324)),
        # rho^2 = (2/m) mu where that exceeds mu, else rho = 2/m.
        ((1, 1, 1), 1, "fixed-point", 9 * math.sqrt(2 / 3 * 14 / 27)),
        ((1, 1, 1), 2, "fixed-point", 81 * math.sqrt(2 / 3 * 98 / 243)),
        ((6, 2, 6), 1, "fixed-point", 9 * 2 / 14),
    ],
)
def test_one_eigenvalue_by_hand(s, degree, radius, by_hand):
    X, s = np.array([[1.0], [2.0], [3.0]]), np.array(s, dtype=float)
    gram = make_gram(Polynomial((degree,), gamma=1.0, coef0=0.0), X, s)
    (r,), (error,) = measure(Local(radius), gram, s)
    assert r == pytest.approx(by_hand, rel=1e-12)
    assert error == 0


def test_far_points_by_hand():
    # K is the identity: all eigenvalues are s_i / 6.
    X, s = np.array([[0.0], [100.0], [200.0]]), np.array([1.0, 2.0, 3.0])
    gram = make_gram(Gaussian((1.0,), unit=1.0), X, s)
    (r,) = measure_complexities(Local(0.4), gram, s)
    assert r == pytest.approx(math.sqrt(2 / 6 * (1 / 6 + 2 / 6 + 0.4)), rel=1e-12)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_formula_on_eigenvalues_by_numpy(X, radius, weighted):
    s = np.random.default_rng(1).uniform(0.1, 3, len(X)) if weighted else np.ones(len(X))
    gaussian = measure_complexities(Local(radius), make_gram(Gaussian(GAMMAS, unit=1.0), X, s), s)
    polynomial = measure_complexities(
        Local(radius), make_gram(Polynomial((1, 2, 3), gamma=1.0), X, s), s
    )
    powers = [(X @ X.T + 1) ** degree for degree in (1, 2, 3)]
    expected = [
        K.diagonal().max() * psi_of(radius, spectrum_of(K, s), s.sum())
        for K in gaussian_matrices(X, X) + powers
    ]
    np.testing.assert_allclose([*gaussian, *polynomial], expected, rtol=1e-10)


def test_infinite_radius_is_the_root_of_two_times_trace(X):
    s = np.random.default_rng(1).uniform(0.1, 3, len(X))
    for family in (Gaussian(GAMMAS, unit=1.0), Polynomial((1, 2, 3), gamma=1.0)):
        gram = make_gram(family, X, s)
        r = measure_complexities(Local(np.inf), gram, s)
        trace = measure_complexities("trace", gram, s)
        np.testing.assert_allclose(r, math.sqrt(2) * trace, rtol=1e-10)


def test_fixed_point_reproduces_itself(X):
    s = np.random.default_rng(1).uniform(0.1, 3, len(X))
    for family, kappa_squared, matrices in [
        (Gaussian(GAMMAS, unit=1.0), np.ones(3), gaussian_matrices(X, X)),
        (
            Polynomial((1, 4), gamma=1.0),
            np.array([(X @ X.T + 1).max(), ((X @ X.T + 1) ** 4).max()]),
            [X @ X.T + 1, (X @ X.T + 1) ** 4],
        ),
    ]:
        fixed = measure_complexities("local", make_gram(family, X, s), s) / kappa_squared
        assert (fixed > 0).all()
        for rho, K in zip(fixed, matrices, strict=True):
            assert psi_of(rho, spectrum_of(K, s), s.sum()) == pytest.approx(rho, rel=1e-9)


def test_fixed_point_is_used_as_the_radius(X):
    gram, s = make_gram(Gaussian(GAMMAS, unit=1.0), X), np.ones(len(X))
    fixed = measure_complexities(Local("fixed-point"), gram, s)
    np.testing.assert_allclose(measure_complexities(Local(fixed), gram, s), fixed, rtol=1e-9)


def test_each_member_may_have_its_radius(X):
    gram, s = make_gram(Gaussian(GAMMAS, unit=1.0), X), np.ones(len(X))
    together = measure_complexities(Local([0.001, 0.1, np.inf]), gram, s)
    alone = [
        measure_complexities(Local(radius), gram, s)[k]
        for k, radius in enumerate([0.001, 0.1, np.inf])
    ]
    np.testing.assert_array_equal(together, alone)


def test_a_kernel_that_is_nought_has_no_complexity(X):
    nought = Similarity(lambda A, B: np.zeros((len(A), len(B))), positive_definite=True)
    for radius in ("fixed-point", 0.1, np.inf):
        (r,) = measure_complexities(Local(radius), make_gram(nought, X), np.ones(len(X)))
        assert r == 0


# -- properties --------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian(GAMMAS, unit=1.0), Polynomial((1, 2, 5))])
def test_larger_radius_never_makes_it_smaller(X, family):
    gram, s = make_gram(family, X), np.ones(len(X))
    radii = [*np.geomspace(1e-8, 10, 40), np.inf]
    r = np.array([measure_complexities(Local(radius), gram, s) for radius in radii])
    assert (np.diff(r, axis=0) >= -1e-14 * r[1:]).all()
    assert (r[0] < r[-1]).all()


@pytest.mark.parametrize("radius", ["fixed-point", 0.01, np.inf])
def test_repetition_equals_weight(X, radius):
    s = np.random.default_rng(1).integers(1, 4, len(X))
    repeated = np.repeat(X, s, axis=0)
    for family in (Gaussian(GAMMAS, unit=1.0), Polynomial((1, 2), gamma=1.0)):
        weighted = make_gram(family, X, s.astype(float))
        r = measure_complexities(Local(radius), weighted, s.astype(float))
        rows = make_gram(family, repeated)
        once = measure_complexities(Local(radius), rows, np.ones(len(repeated)))
        np.testing.assert_allclose(r, once, rtol=1e-8)


@pytest.mark.parametrize("radius", ["fixed-point", 0.01, np.inf])
@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e6])
def test_scales_with_the_kernel(X, radius, factor):
    def times(c):
        return Similarity(lambda A, B: c * (A @ B.T + 1) ** 2, positive_definite=True)

    one, scaled = (
        measure_complexities(Local(radius), make_gram(times(c), X), np.ones(len(X)))
        for c in (1.0, factor)
    )
    np.testing.assert_allclose(scaled, factor * one, rtol=1e-10)


def test_tells_widths_apart_that_trace_does_not():
    X, s = np.random.default_rng(0).standard_normal((200, 1)), np.ones(200)
    gram = make_gram(Gaussian(GAMMAS, unit=1.0), X)
    assert np.ptp(measure_complexities("trace", gram, s)) < 1e-13
    for radius in ("fixed-point", 0.01):
        assert (np.diff(measure_complexities(Local(radius), gram, s)) > 0).all()


def test_precomputed_matrix_gives_the_same(X, y):
    (K,) = gaussian_matrices(X, X, (1.0,))
    by_matrix = VotedKernelClassifier(Precomputed(positive_definite=True), complexity=Local(0.05))
    by_rows = VotedKernelClassifier(Gaussian((1.0,), unit=1.0), complexity=Local(0.05))
    r = by_matrix.fit(K, y).complexities_
    np.testing.assert_allclose(r, by_rows.fit(X, y).complexities_, rtol=1e-10)


# -- estimated spectra -------------------------------------------------------------------


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(local, "EXACT_ROWS", 100)
    monkeypatch.setattr(local, "SUBSAMPLE_ROWS", 90)
    monkeypatch.setattr(local, "N_SUBSAMPLES", 6)


@pytest.mark.parametrize("radius", ["fixed-point", 0.01, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
def test_estimate_is_close_to_the_exact_one_and_tells_its_error(monkeypatch, radius, weighted):
    X = np.random.default_rng(3).standard_normal((300, 2))
    s = np.random.default_rng(4).uniform(0.5, 2, 300) if weighted else np.ones(300)
    gram = make_gram(Gaussian(GAMMAS, unit=1.0), X, s)
    exact, no_error = measure(Local(radius), gram, s)
    assert (no_error == 0).all()
    for name, value in [("EXACT_ROWS", 100), ("SUBSAMPLE_ROWS", 90), ("N_SUBSAMPLES", 6)]:
        monkeypatch.setattr(local, name, value)
    estimate, error = measure(Local(radius), gram, s)
    # A fixed point above all eigenvalues leaves their sum, the trace, which subsamples share.
    whole = measure_complexities(Local(np.inf), gram, s)
    estimated = exact < (1 - 1e-9) * whole
    assert estimated[:2].all()
    assert (np.abs(estimate - exact)[estimated] > 1e-9).all()
    assert (error[estimated] > 1e-9).all()
    np.testing.assert_allclose(estimate[~estimated], exact[~estimated], rtol=1e-12)
    assert (np.abs(estimate - exact) <= 5 * error + 0.1 * exact).all()


@pytest.mark.usefixtures("few_rows")
def test_standard_error_is_that_of_the_subsamples():
    X = np.random.default_rng(3).standard_normal((300, 2))
    gram, s = make_gram(Gaussian(GAMMAS, unit=1.0), X), np.ones(300)
    r, error = measure(Local(0.05, random_state=7), gram, s)
    random = np.random.default_rng(7)
    each = []
    for _ in range(6):
        rows = np.sort(random.choice(300, 90, replace=False))
        spectra = [spectrum_of(K, np.ones(90)) for K in gaussian_matrices(X[rows], X[rows])]
        each.append([psi_of(0.05, mu, 300) for mu in spectra])
    np.testing.assert_allclose(r, np.mean(each, axis=0), rtol=1e-9)
    np.testing.assert_allclose(error, np.std(each, axis=0, ddof=1) / math.sqrt(6), rtol=1e-7)


@pytest.mark.usefixtures("few_rows")
def test_the_seed_chooses_the_subsamples():
    X = np.random.default_rng(3).standard_normal((300, 2))
    gram, s = make_gram(Gaussian((10.0,), unit=1.0), X), np.ones(300)
    first, again, other = (
        measure_complexities(Local(0.05, random_state=seed), gram, s)[0] for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.usefixtures("few_rows")
def test_a_fitted_model_reports_the_errors():
    X = np.random.default_rng(3).standard_normal((150, 2))
    y = X[:, 0] > 0
    model = VotedKernelClassifier(Gaussian((10.0,), unit=1.0), complexity=Local(0.05)).fit(X, y)
    assert model.complexity_errors_[0] > 0


# -- only columns of the class may vote --------------------------------------------------


def sizes_of(matrices, s):
    """mean_i (K(x_i, c) / kappa^2)^2 by kernel and centre."""
    return np.array([s @ (K / K.diagonal().max()) ** 2 / s.sum() for K in matrices])


def fit(X, y, s=None, **kwargs):
    model = VotedKernelClassifier(
        Gaussian(GAMMAS, unit=1.0), complexity_penalty=0.01, l1_penalty=0.001, tol=1e-8, **kwargs
    )
    return model.fit(X, y, s)


@pytest.mark.parametrize("radius", [0.1, [0.3, 0.04, 0.034], "fixed-point"])
@pytest.mark.parametrize("weighted", [False, True])
def test_filter_lets_only_small_columns_vote(X, y, radius, weighted):
    s = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    matrices = gaussian_matrices(X, X)
    sizes = sizes_of(matrices, s)
    radii = np.broadcast_to(np.inf if radius == "fixed-point" else radius, 3)
    if radius == "fixed-point":
        radii = fit(X, y, s, complexity=Local()).complexities_  # kappa is 1
    allowed = sizes <= radii[:, None]
    assert allowed.any()
    assert not allowed.all()

    open_to_all = fit(X, y, s, complexity=Local(radius))
    used = open_to_all.term_kernel_indices_, open_to_all.support_[open_to_all.term_support_indices_]
    assert not allowed[used].all()

    models = [
        fit(X, y, s, complexity=Local(radius, filter=True), solver=solver)
        for solver in ("column-generation", "lp")
    ]
    signs = np.where(y == "yes", 1.0, -1.0)
    plain = PlainProblem(
        [K * keep for K, keep in zip(matrices, allowed, strict=True)],
        signs,
        s / s.sum(),
        models[0].penalties_,
    )
    optimum = by_linprog(plain)
    for model in models:
        used = model.term_kernel_indices_, model.support_[model.term_support_indices_]
        assert len(used[0])
        assert allowed[used].all()
        np.testing.assert_array_equal(model.complexities_, open_to_all.complexities_)
        assert 0 <= model.dual_gap_ <= 1e-8 * model.objective_
        assert model.objective_ == pytest.approx(optimum, rel=1e-6)
        assert model.objective_ > open_to_all.objective_ * (1 + 1e-6)
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-7)


def test_filter_divides_by_kappa(X, y):
    matrices = [X @ X.T + 1, (X @ X.T + 1) ** 2]
    sizes = sizes_of(matrices, np.ones(len(X)))
    radius = float(np.median(sizes))
    model = VotedKernelClassifier(
        Polynomial((1, 2), gamma=1.0), complexity=Local(radius, filter=True)
    ).fit(X, y)
    used = sizes[model.term_kernel_indices_, model.support_[model.term_support_indices_]]
    assert len(used) > 0
    assert (used <= radius).all()


def test_filter_that_admits_all_changes_nothing(X, y):
    whole, filtered = (fit(X, y, complexity=Local(1.0, filter=on)) for on in (False, True))
    np.testing.assert_array_equal(filtered.term_weights_, whole.term_weights_)


@pytest.mark.parametrize("solver", ["column-generation", "lp"])
def test_filter_that_admits_none_leaves_the_constant(X, y, solver):
    with pytest.warns(UserWarning, match="admits no column.*larger radius"):
        model = fit(X, y, complexity=Local(1e-9, filter=True), solver=solver)
    assert model.term_weights_.shape == (1, 0)
    assert model.objective_ == pytest.approx(1.0, rel=1e-12)
    assert model.dual_gap_ <= 1e-8


# -- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("radius", "message"),
    [
        (-1.0, "numbers > 0"),
        (0.0, "numbers > 0"),
        (np.nan, "numbers > 0"),
        ([0.1, np.nan, 0.1], "numbers > 0"),
        ([0.1, -0.1, 0.1], "numbers > 0"),
        (np.full((3, 1), 0.1), "numbers > 0"),
        (None, "numbers > 0"),
        ([0.1, 0.2], "2 entries for a family of 3 kernels"),
        ([], "0 entries for a family of 3 kernels"),
        ("best", "must be 'fixed-point' or numbers > 0, got 'best'"),
    ],
)
@pytest.mark.parametrize("filter", [False, True])
def test_bad_radius_is_refused(X, y, radius, message, filter):
    with pytest.raises(ValueError, match=message):
        fit(X, y, complexity=Local(radius, filter=filter))


@pytest.mark.parametrize(
    "family",
    [Similarity(lambda A, B: A @ B.T, name="dot"), Polynomial((1,), coef0=-1.0)],
)
def test_indefinite_kernels_are_refused(X, y, family):
    for filter in (False, True):
        with pytest.raises(
            ValueError, match=r"'local' needs positive definite kernels, and (dot|poly)"
        ):
            VotedKernelClassifier(family, complexity=Local(filter=filter)).fit(X, y)
