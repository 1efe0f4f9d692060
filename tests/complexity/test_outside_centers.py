"""Complexities over centres that are no training rows."""

import numpy as np
import pytest

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
)
from votedkernels.complexity import Dimension, Empirical, Local, Trace

pytestmark = pytest.mark.filterwarnings("ignore:The penalties are so large")


def dot(A, B):
    return np.asarray(A) @ np.asarray(B).T


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 3))
    y = (X[:, 0] + 0.5 * random.standard_normal(60) > 0).astype(int)
    return X, y, 10 * random.standard_normal((5, 3))


def complexities(X, y, kernels, complexity, **options):
    model = VotedKernelClassifier(kernels, complexity=complexity, l1_penalty=10.0, **options)
    return model.fit(X, y).complexities_


@pytest.mark.parametrize(
    "kernels",
    [Polynomial((1, 2, 3), gamma=1.0), Gaussian((0.3,)), Similarity(dot, positive_definite=True)],
    ids=["polynomial", "gaussian", "similarity"],
)
@pytest.mark.parametrize("measure", [Trace(), Local(np.inf)], ids=["trace", "local"])
def test_bounds_hold_for_centers_far_outside_the_rows(measure, kernels, data):
    X, y, centers = data
    bound = complexities(X, y, kernels, measure, centers=centers, complexity_penalty=0)
    truth = complexities(X, y, kernels, Empirical(500), centers=centers, complexity_penalty=0)
    assert (bound >= truth).all()


def test_trace_by_hand(data):
    X, y, centers = data
    linear = Polynomial((1,), gamma=1.0, coef0=0.0)
    found = complexities(X, y, linear, Trace(), centers=centers)
    kappa_squared = (np.vstack([X, centers]) ** 2).sum(axis=1).max()
    np.testing.assert_allclose(found, np.sqrt(kappa_squared * (X**2).sum()) / len(X))
    infinite = complexities(X, y, linear, Local(np.inf), centers=centers)
    np.testing.assert_allclose(infinite, np.sqrt(2) * found)
    dimension = complexities(X, y, linear, Dimension(), centers=centers)
    np.testing.assert_allclose(dimension, kappa_squared * np.sqrt(3))


def test_centers_near_the_origin_change_nothing(data):
    X, y, _ = data
    plain = complexities(X, y, Polynomial((1, 2)), Trace())
    inside = complexities(X, y, Polynomial((1, 2)), Trace(), centers=0.1 * X[:5])
    np.testing.assert_array_equal(plain, inside)


def test_columns_of_a_matrix_that_are_no_rows_count(data):
    # A row of weight 0 is no row, but its column may be a centre.
    X, y, centers = data
    points = np.vstack([X, centers])
    labels = np.concatenate([y, np.zeros(5, int)])
    weights = np.repeat([1.0, 0.0], [len(X), 5])
    kernel = Precomputed(positive_definite=True)
    model = VotedKernelClassifier(
        kernel, complexity="trace", l1_penalty=10.0, centers=np.arange(60, 65)
    )
    model.fit(points @ points.T, labels, weights)
    kappa_squared = (points**2).sum(axis=1).max()
    np.testing.assert_allclose(model.complexities_, np.sqrt(kappa_squared * (X**2).sum()) / len(X))


def test_a_negative_diagonal_at_a_centre_is_told(data):
    X, y, _ = data
    points = np.vstack([X, [[0.0, 0.0, 50.0]]])
    matrix = points @ points.T
    matrix[-1, -1] = -1.0
    model = VotedKernelClassifier(
        Precomputed(positive_definite=True), complexity="trace", centers=np.array([60])
    )
    with pytest.raises(ValueError, match=r"precomputed is declared positive definite but"):
        model.fit(matrix, np.append(y, 0), np.append(np.ones(60), 0.0))
