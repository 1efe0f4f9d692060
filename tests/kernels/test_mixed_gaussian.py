"""Gaussians over numbers, categories and gaps: values, what is learned, and from which rows."""

import numpy as np
import pytest

from votedkernels import MixedGaussian, VotedKernelClassifier, load_model, save_model
from votedkernels.kernels import LocalColumns

WEIGHTS = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0])


@pytest.fixture
def X():
    """Return two numbers, two categories, with gaps in one of each."""
    gap = np.nan
    return np.array(
        [[1, 7, 0, 3], [2, 7, 1, 3], [gap, 7, 1, 4], [4, 7, 2, gap], [8, 7, 0, 3], [5, 7, 0, 4]],
        dtype=float,
    )


def test_values_are_those_of_the_formula(X):
    family = MixedGaussian((0.5, 2.0), categorical=[2, 3]).fit(X, WEIGHTS)
    known = ~np.isnan(X[:, 0])
    mean = np.average(X[known, 0], weights=WEIGHTS[known])
    spread = np.sqrt(np.average((X[known, 0] - mean) ** 2, weights=WEIGHTS[known]))
    z = np.where(known, (X[:, 0] - mean) / spread, 0.0)
    differ = [
        [0.0 if a == b or (np.isnan(a) and np.isnan(b)) else 2.0 for b in x]
        for x in (X[:, 2], X[:, 3])
        for a in x
    ]
    squares = np.subtract.outer(z, z) ** 2 + np.array(differ).reshape(2, 6, 6).sum(axis=0)
    # Mean squared distances are twice the sum of variances.
    unit = 2.0 / (WEIGHTS @ squares @ WEIGHTS / WEIGHTS.sum() ** 2)
    assert family.unit_ == pytest.approx(unit)
    base = family.base(X, X)
    np.testing.assert_allclose(base, unit * squares, atol=1e-12)
    np.testing.assert_allclose(family.member(base, 1), np.exp(-2 * unit * squares), atol=1e-12)
    assert family.names_ == ["mixed gaussian(gamma=0.5)", "mixed gaussian(gamma=2)"]
    factors = family.multiply(family.left_factor(X), family.right_factor(X))
    np.testing.assert_allclose(factors, base, atol=1e-12)


def test_over_categories_alone_they_count_differences(X):
    family = MixedGaussian(1.0, numeric=(), categorical=[2], unit=0.25).fit(X, WEIGHTS)
    expected = np.where(np.equal.outer(X[:, 2], X[:, 2]), 1.0, np.exp(-0.5))
    np.testing.assert_allclose(family.member(family.base(X, X), 0), expected, atol=1e-15)
    assert family.names_ == ["overlap(gamma=1)"]


def test_new_values_are_as_far_from_all_known_ones_and_constants_say_nothing(X):
    family = MixedGaussian(1.0, categorical=[2, 3], unit=1.0).fit(X, WEIGHTS)
    new = np.array([[np.nan, 1e6, 9.0, 3.0], [np.nan, 7.0, np.nan, 3.0]])
    known = np.array([[np.nan, 7.0, value, 3.0] for value in (0.0, 1.0, 2.0)])
    np.testing.assert_allclose(family.base(new, known), np.ones((2, 3)))


def test_negating_a_number_changes_nothing(X):
    other = X.copy()
    other[:, 0] *= -1
    bases = [MixedGaussian(categorical=[2, 3]).fit(T, WEIGHTS).base(T, T) for T in (X, other)]
    np.testing.assert_array_equal(*bases)


def test_folds_learn_from_their_own_rows(X):
    family = MixedGaussian(categorical=[2, 3]).fit(X, WEIGHTS)
    columns = LocalColumns([family], X, X)
    rows = np.array([0, 1, 3])
    own = columns.relearned(rows, WEIGHTS[rows])
    expected = MixedGaussian(categorical=[2, 3]).fit(X[rows], WEIGHTS[rows])
    everyone = np.arange(len(X))
    np.testing.assert_allclose(own.base(0, everyone, everyone), expected.base(X, X))
    np.testing.assert_allclose(columns.base(0, everyone, everyone), family.base(X, X))
    assert own.names == columns.names


def test_gaps_in_support_vectors_survive_in_files(X, tmp_path):
    y = np.array([0, 1, 1, 1, 0, 0])
    model = VotedKernelClassifier(MixedGaussian(categorical=[2, 3]), l1_penalty=1e-3).fit(X, y)
    save_model(model, tmp_path / "model.vk")
    again = load_model(tmp_path / "model.vk")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert np.isnan(again.support_vectors_).any()


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        (MixedGaussian(categorical=[4]), "column numbers from 0 to 3, got 4"),
        (MixedGaussian(numeric=[0, 1], categorical=[1]), "must be distinct column numbers"),
        (MixedGaussian(numeric=[], categorical=[]), "at least one"),
        (MixedGaussian(unit="narrow"), "unit of MixedGaussian must be 'scale'"),
        (MixedGaussian(unit=-1.0), "unit of MixedGaussian must be 'scale'"),
    ],
)
def test_wrong_parameters_are_named(X, family, reason):
    with pytest.raises(ValueError, match=reason):
        family.fit(X, WEIGHTS)
