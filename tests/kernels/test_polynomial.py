import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel

from votedkernels import Polynomial


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((30, 4))


def fit(family, X, weights=None):
    return family.fit(X, np.ones(X.shape[0]) if weights is None else weights)


def test_default_is_degrees_one_to_ten(X):
    family = fit(Polynomial(), X)
    np.testing.assert_array_equal(family.degrees_, np.arange(1, 11))
    assert family.names_[0] == "polynomial(degree=1)"
    assert family.n_kernels == 10


@pytest.mark.parametrize(("gamma", "coef0"), [(1.0, 1.0), (0.3, 0.0), (2.0, -0.5)])
def test_members_equal_those_of_scikit_learn(X, gamma, coef0):
    family = fit(Polynomial((1, 3, 10), gamma=gamma, coef0=coef0), X)
    base = family.base(X, X[:7])
    for k, degree in enumerate((1, 3, 10)):
        expected = polynomial_kernel(X, X[:7], degree, gamma=gamma, coef0=coef0)
        np.testing.assert_allclose(family.member(base, k), expected, rtol=1e-12, atol=1e-13)


def test_scale_is_that_of_scikit_learn(X):
    assert fit(Polynomial(), X).gamma_ == pytest.approx(1 / (4 * X.var()), rel=1e-13)


def test_scale_counts_a_row_as_often_as_its_weight(X):
    weights = np.random.default_rng(1).integers(1, 5, len(X))
    weighted = fit(Polynomial(), X, weights.astype(float)).gamma_
    repeated = fit(Polynomial(), np.repeat(X, weights, axis=0)).gamma_
    assert weighted == pytest.approx(repeated, rel=1e-13)


def test_scale_is_the_same_for_sparse_rows(X):
    X[X < 0.5] = 0
    expected = fit(Polynomial(), X).gamma_
    assert fit(Polynomial(), sparse.csr_matrix(X)).gamma_ == pytest.approx(expected, rel=1e-13)


def test_sparse_rows_give_the_values_of_dense_ones(X):
    X[X < 0.5] = 0
    family = fit(Polynomial((1, 2), gamma=1.0), X)
    S = sparse.csr_matrix(X)
    for centers in (X, S):
        np.testing.assert_allclose(family.base(S, centers), family.base(X, X), rtol=1e-13)
    np.testing.assert_allclose(family.diagonal(S, S), family.diagonal(X, X), rtol=1e-13)


def test_diagonal_is_that_of_the_members(X):
    family = fit(Polynomial((1, 4)), X)
    base = family.base(X, X)
    for k in range(2):
        np.testing.assert_allclose(
            family.diagonal(X, X)[k], family.member(base, k).diagonal(), rtol=1e-13
        )


@given(
    st.lists(st.integers(1, 10), min_size=1, max_size=5, unique=True),
    st.integers(1, 600),
    st.integers(1, 70),
)
def test_shared_powers_give_what_each_member_gives(degrees, n_rows, n_centers):
    # Sizes on both sides of the tiles of 512 x 64, degrees in any order.
    rng = np.random.default_rng(n_rows * n_centers)
    base = rng.uniform(-1.2, 1.2, (n_rows, n_centers))
    v = rng.standard_normal(n_rows)
    family = fit(Polynomial(tuple(degrees)), rng.standard_normal((3, 2)))
    correlation = family.correlate(base, v)
    for k, degree in enumerate(degrees):
        np.testing.assert_allclose(correlation[k], v @ base**degree, rtol=1e-9, atol=1e-11)
    members = rng.integers(0, len(degrees), 9)
    positions = rng.integers(0, n_centers, 9)
    columns = family.columns(base, members, positions)
    expected = base[:, positions] ** np.array(degrees)[members]
    np.testing.assert_allclose(columns, expected, rtol=1e-12)


@pytest.mark.parametrize(("coef0", "dimension"), [(1.0, math.comb(7, 3)), (0.0, math.comb(6, 3))])
def test_feature_dimension(X, coef0, dimension):
    assert fit(Polynomial((3,), coef0=coef0), X).feature_dimension(0) == dimension


def test_negative_constant_is_not_positive_definite():
    assert Polynomial(coef0=0.0).is_positive_definite
    assert not Polynomial(coef0=-0.1).is_positive_definite


def test_a_lone_degree_is_one_kernel(X):
    assert fit(Polynomial(3), X).names_ == ["polynomial(degree=3)"]
    assert fit(Polynomial(np.array([2, 3])), X).n_kernels == 2


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Polynomial(()), "degrees of Polynomial is empty"),
        (Polynomial((0, 1)), "degrees of Polynomial must be integers >= 1, got 0"),
        (Polynomial((1.5,)), "got 1.5"),
        (Polynomial((2, 3, 2)), "repeated entries"),
        (Polynomial(gamma=0.0), "gamma of Polynomial must be 'scale' or a positive number"),
        (Polynomial(gamma=math.nan), "gamma of Polynomial"),
        (Polynomial(gamma=()), "gamma of Polynomial must be 'scale' or a positive number"),
        (Polynomial(gamma=(0.5,)), "gamma of Polynomial must be 'scale' or a positive number"),
        (Polynomial(gamma="auto"), "gamma of Polynomial must be 'scale'"),
        (Polynomial(coef0=math.inf), "coef0 of Polynomial must be a finite number"),
        (Polynomial(coef0=[1.0]), "coef0 of Polynomial must be a finite number"),
        (Polynomial(coef0="1"), "coef0 of Polynomial must be a finite number"),
    ],
)
def test_impossible_parameters_are_named(X, family, message):
    with pytest.raises(ValueError, match=message):
        fit(family, X)


def test_overflow_is_seen_before_any_work():
    X = np.array([[1e40], [2e40]])
    family = fit(Polynomial((1, 2, 3, 4, 5), gamma=1.0), X)
    with pytest.raises(ValueError, match=r"degree=4\) overflows.*4e\+80.*gamma='scale'.*above 3"):
        family.check_range(X, X)


def test_what_does_not_overflow_is_finite():
    X = np.array([[1e14], [-1e14]])
    family = fit(Polynomial((10,), gamma=1.0), X)
    family.check_range(X, X)
    assert np.isfinite(family.member(family.base(X, X), 0)).all()
