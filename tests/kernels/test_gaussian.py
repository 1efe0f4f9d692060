import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from votedkernels import ContinuousGaussian, Gaussian, VotedKernelClassifier


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((30, 4))


def fit(family, X, weights=None):
    return family.fit(X, np.ones(X.shape[0]) if weights is None else weights)


def members(family, X, centers):
    base = family.base(X, centers)
    return [family.member(base, k) for k in range(family.n_kernels)]


def test_default_is_seven_widths(X):
    family = fit(Gaussian(), X)
    np.testing.assert_array_equal(family.gammas_, [0.03, 0.1, 0.3, 1, 3, 10, 30])
    assert family.names_[1] == "gaussian(gamma=0.1)"
    assert family.is_positive_definite


@pytest.mark.parametrize("unit", [1.0, 0.2])
def test_members_equal_those_of_scikit_learn(X, unit):
    family = fit(Gaussian((0.1, 2.0), unit=unit), X)
    for values, gamma in zip(members(family, X, X[:7]), (0.1, 2.0), strict=True):
        np.testing.assert_allclose(
            values, rbf_kernel(X, X[:7], gamma=gamma * unit), rtol=1e-11, atol=1e-13
        )


def test_values_by_hand():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    (values,) = members(fit(Gaussian((0.1,), unit=0.5), X), X, X)
    expected = [[1, math.exp(-0.1 * 0.5 * 25)], [math.exp(-0.1 * 0.5 * 25), 1]]
    np.testing.assert_allclose(values, expected, rtol=1e-13)


def test_unit_is_the_scale_of_scikit_learn(X):
    assert fit(Gaussian(), X).unit_ == pytest.approx(1 / (4 * X.var()), rel=1e-13)


def test_unit_counts_a_row_as_often_as_its_weight(X):
    weights = np.random.default_rng(1).integers(1, 5, len(X))
    weighted = fit(Gaussian(), X, weights.astype(float)).unit_
    repeated = fit(Gaussian(), np.repeat(X, weights, axis=0)).unit_
    assert weighted == pytest.approx(repeated, rel=1e-13)


def test_rescaling_the_features_changes_nothing(X):
    first, second = (members(fit(Gaussian((1.0,)), Z), Z, Z)[0] for Z in (X, 1e5 * X))
    np.testing.assert_allclose(first, second, rtol=1e-10)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_distances_keep_their_digits_far_from_the_origin(X, shift):
    far = X + shift
    family = fit(Gaussian((1.0,), unit=1.0), far)
    expected = ((far[:, None] - far[None]) ** 2).sum(axis=-1)
    # Shifting rounds the coordinates, once; x.x - 2 x.c + c.c would lose all digits.
    np.testing.assert_allclose(family.base(far, far), expected, rtol=1e-9, atol=1e-9)


def test_sparse_rows_give_the_values_of_dense_ones(X):
    X[X < 0.5] = 0
    dense = fit(Gaussian((0.5,), unit=1.0), X)
    S = sparse.csr_matrix(X)
    family = fit(Gaussian((0.5,), unit=1.0), S)
    for centers in (X, S):
        np.testing.assert_allclose(
            members(family, S, centers)[0], members(dense, X, X)[0], rtol=1e-12
        )
    np.testing.assert_array_equal(family.diagonal(S, S), np.ones((1, 30)))


def test_every_point_is_like_itself(X):
    family = fit(Gaussian((0.03, 30.0)), X)
    np.testing.assert_array_equal(family.diagonal(X, X), np.ones((2, 30)))
    for values in members(family, X, X):
        np.testing.assert_allclose(values.diagonal(), 1, rtol=1e-12)


def test_values_lie_between_zero_and_one(X):
    for values in members(fit(Gaussian(), X), X, X):
        assert values.min() >= 0
        assert values.max() <= 1


def test_correlation_and_columns_are_those_of_the_members(X):
    family = fit(Gaussian((0.1, 1.0, 10.0)), X)
    base, v = family.base(X, X), np.random.default_rng(1).standard_normal(30)
    values = members(family, X, X)
    np.testing.assert_allclose(family.correlate(base, v), [v @ K for K in values], rtol=1e-12)
    chosen, positions = np.array([2, 0, 2, 1]), np.array([5, 5, 0, 29])
    expected = np.column_stack([values[k][:, j] for k, j in zip(chosen, positions, strict=True)])
    np.testing.assert_array_equal(family.columns(base, chosen, positions), expected)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Gaussian(()), "gammas of Gaussian is empty"),
        (Gaussian((1.0, 0.0)), "gammas of Gaussian must be positive numbers, got 0.0"),
        (Gaussian((math.inf,)), "got inf"),
        (Gaussian((1.0, 1.0)), "repeated entries"),
        (Gaussian(unit="auto"), "unit of Gaussian must be 'scale' or a positive number"),
        (Gaussian(unit=-1.0), "unit of Gaussian"),
    ],
)
def test_impossible_parameters_are_named(X, family, message):
    with pytest.raises(ValueError, match=message):
        fit(family, X)


@pytest.mark.parametrize("size", [1e3, 1e8])
@pytest.mark.parametrize(
    "family", [Gaussian((1.0, 1e5), unit=1.0), ContinuousGaussian(1.0, 1e5, unit=1.0)]
)
def test_narrow_kernels_far_out_are_those_of_the_differences(size, family):
    # By norms and products, K(x, x) came out as 0.99 and as 0.
    random = np.random.default_rng(0)
    X = size * random.standard_normal((30, 3))
    near = X + 1e-3 * random.standard_normal(X.shape)
    family = family.fit(X, np.ones(30))
    base = family.base(X, near)
    expected = ((X[:, None] - near[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(base, expected, rtol=1e-12)
    assert (family.base(X, X).diagonal() == 0).all()


def test_a_model_of_narrow_kernels_far_out_recognises_its_rows():
    X = 1e8 * np.random.default_rng(0).standard_normal((40, 3))
    y = np.arange(40) % 2
    model = VotedKernelClassifier(Gaussian((1e5,), unit=1.0)).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)


def test_feature_scales_multiply_the_features(X):
    scales = np.linspace(0.0, 2.0, X.shape[1])
    w = np.ones(len(X))
    scaled = Gaussian((0.3, 2.0), feature_scales=scales).fit(X, w)
    plain = Gaussian((0.3, 2.0)).fit(X * scales, w)
    assert scaled.unit_ == pytest.approx(plain.unit_)
    expected = plain.base(X * scales, X[:4] * scales)
    np.testing.assert_allclose(scaled.base(X, X[:4]), expected, atol=1e-12)
    rows = sparse.csr_array(X)
    by_sparse = Gaussian((0.3, 2.0), feature_scales=tuple(scales)).fit(rows, w)
    np.testing.assert_allclose(by_sparse.base(rows, rows[:4]), expected, atol=1e-9)
    np.testing.assert_allclose(scaled.error_growth(X), plain.error_growth(X * scales))
    far = Gaussian((1e9,), feature_scales=scales).fit(X, w)
    np.testing.assert_allclose(far.base(X, X[:4]), expected, atol=1e-12)


@pytest.mark.parametrize("scales", [(1.0,), (-1.0, 1.0), (0.0, 0.0), (np.nan, 1.0)])
def test_impossible_feature_scales_are_named(scales):
    with pytest.raises(ValueError, match="feature_scales of Gaussian"):
        Gaussian(feature_scales=scales).fit(np.ones((3, 2)), np.ones(3))
