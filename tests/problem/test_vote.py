"""A vote evaluates itself, whatever the number of votes that share its terms."""

import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, Precomputed, Threshold
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Centers, Terms, Vote, union_of_terms


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((7, 2))


def terms(*triples):
    kernels, centers, weights = zip(*triples, strict=True)
    return Terms(np.array(kernels), np.array(centers), np.array(weights, float))


def families(X):
    return [family.fit(X, np.ones(len(X))) for family in (Polynomial((1, 2)), Gaussian((1.0,)))]


FIRST, SECOND = terms((0, 3, 1.0), (2, 1, -2.0)), terms((2, 1, 0.5), (1, 0, 4.0))


def test_the_union_has_every_column_once():
    kernels, centers, weights = union_of_terms([FIRST, SECOND], 5)
    np.testing.assert_array_equal(kernels, [0, 1, 2])
    np.testing.assert_array_equal(centers, [3, 0, 1])
    np.testing.assert_array_equal(weights, [[1.0, 0.0, -2.0], [0.0, 4.0, 0.5]])


def test_the_union_of_nothing_is_nothing():
    kernels, centers, weights = union_of_terms([Terms.none(), Terms.none()], 5)
    assert (len(kernels), len(centers), weights.shape) == (0, 0, (2, 0))
    assert union_of_terms([], 5)[2].shape == (0, 0)


def over(fitted, rows):
    return LocalColumns(fitted, rows, rows)


def test_it_decides_as_the_sum_over_its_terms(rows):
    fitted = families(rows)
    centers = Centers(np.array([6, 2, 5, 0, 1]), rows)
    vote = Vote.gather([FIRST, SECOND], np.array([0.25, -1.0]), over(fitted, rows), centers)
    np.testing.assert_array_equal(vote.support, [0, 2, 6])
    np.testing.assert_array_equal(vote.points, rows[[0, 2, 6]])
    x = np.random.default_rng(1).standard_normal((4, 2))
    linear, square = (
        (fitted[0].gamma_ * x @ rows[i] + 1) ** degree for i, degree in ((0, 1), (6, 2))
    )
    gaussian = np.exp(-fitted[1].unit_ * ((x - rows[2]) ** 2).sum(axis=1))
    expected = np.column_stack([linear - 2 * gaussian + 0.25, 4 * square + 0.5 * gaussian - 1.0])
    np.testing.assert_allclose(vote.decide(x), expected, rtol=1e-12)
    np.testing.assert_allclose(vote.kernel_mass, [1.0, 4.0, 2.5])
    assert vote.count_points() == 3


def test_leading_axes_are_those_of_the_weights(rows):
    centers = Centers(np.arange(7), rows)
    weights = np.arange(12.0).reshape(2, 3, 2)
    grid = Terms(np.array([0, 2]), np.array([3, 1]), weights)
    intercepts = np.arange(6.0).reshape(2, 3, 1)
    vote = Vote.gather([grid], intercepts, over(families(rows), rows), centers)
    decisions = vote.decide(rows)
    assert decisions.shape == (7, 2, 3, 1)
    for i in range(2):
        for j in range(3):
            single = Terms(grid.kernels, grid.centers, weights[i, j])
            alone = Vote.gather([single], intercepts[i, j], over(vote.families, rows), centers)
            np.testing.assert_allclose(decisions[:, i, j], alone.decide(rows), rtol=1e-12)
            assert vote.count_points()[i, j] == alone.count_points()


def test_the_contributions_of_kernels_and_rules_add_up(rows):
    fitted = [
        family.fit(rows, np.ones(7)) for family in (Gaussian((1.0,)), Threshold(), Gaussian((0.1,)))
    ]
    columns = over(fitted, rows)
    n_rules = fitted[1].n_kernels
    kernels, places = [0, 1, 1 + n_rules - 1, 1 + n_rules], [3, 1, 2, 3]
    for weights in (np.array([1.0, -2.0, 3.0, 0.5]), np.arange(1.0, 9.0).reshape(2, 4)):
        terms = Terms(np.array(kernels), np.array(places), weights)
        constant = np.zeros((*weights.shape[:-1], 1))
        vote = Vote.gather([terms], constant, columns, Centers(np.arange(7), rows))
        parts = vote.contributions(rows)
        values = columns.take(terms.kernels, terms.centers)
        expected = np.array([values @ w for w in np.atleast_2d(weights)]).T
        np.testing.assert_allclose(parts.sum(axis=-1).reshape(7, -1), expected, rtol=1e-12)
        np.testing.assert_allclose(vote.decide(rows).reshape(7, -1), expected, rtol=1e-12)


def test_two_leading_axes_of_different_lengths(rows):
    weights, intercepts = np.arange(6.0).reshape(3, 1, 2), np.arange(6.0).reshape(3, 2)
    both = [Terms(np.array([k, 2]), np.array([3, 1]), weights[:, 0]) for k in (0, 1)]
    columns = over(families(rows), rows)
    vote = Vote.gather(both, intercepts, columns, Centers(np.arange(7), rows))
    decisions = vote.decide(rows)
    assert decisions.shape == (7, 3, 2)
    for p, terms in enumerate(both):
        values = columns.take(terms.kernels, terms.centers) @ weights[:, 0].T
        np.testing.assert_allclose(decisions[:, :, p], values + intercepts[:, p], rtol=1e-12)


def test_a_rule_from_several_centres_is_one_term_beside_kernels():
    x = np.array([[0.0], [1.0], [1.0], [2.0]])
    fitted = [family.fit(x, np.ones(4)) for family in (Gaussian((1.0,)), Threshold())]
    columns = over(fitted, x)
    levels = columns.levels(np.ones(4, int), np.arange(4))
    same = np.flatnonzero(levels == levels[1])  # rows 1 and 2 are equal
    assert same.tolist() == [1, 2]
    both = Terms(np.array([0, 1, 1]), np.array([3, 1, 2]), np.array([1.0, 2.0, 0.5]))
    vote = Vote.gather([both], np.zeros(1), columns, Centers(np.arange(4), x))
    np.testing.assert_array_equal(vote.kernels, [0, 1])
    np.testing.assert_array_equal(vote.weights, [[1.0, 2.5]])
    expected = columns.take(both.kernels, both.centers) @ both.weights
    np.testing.assert_allclose(vote.decide(x)[:, 0], expected, rtol=1e-12)


def test_without_terms_it_is_its_constant(rows):
    columns = over(families(rows), rows)
    vote = Vote.gather([Terms.none()], np.array([0.3]), columns, Centers(np.arange(7), rows))
    np.testing.assert_array_equal(vote.decide(rows), np.full((7, 1), 0.3))
    np.testing.assert_array_equal(vote.kernel_mass, np.zeros(3))


def test_a_matrix_of_kernel_values_is_asked_for_its_columns(rows):
    K = rows @ rows.T
    family = Precomputed().fit(K, np.ones(7))
    vote = Vote.gather(
        [terms((0, 1, 2.0), (0, 4, -1.0))],
        np.zeros(1),
        LocalColumns([family], K, np.arange(7)),
        Centers(np.arange(7), None),
    )
    np.testing.assert_allclose(vote.decide(K)[:, 0], 2 * K[:, 1] - K[:, 4], rtol=1e-12)
    assert np.shape(vote.points) == (0, 0)  # nothing but numbers of columns is kept
