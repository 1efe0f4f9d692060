"""Kernels that are declared positive definite, and are not."""

import warnings

import numpy as np
import pytest

from votedkernels import Gaussian, Precomputed, Similarity, VotedKernelClassifier
from votedkernels.kernels import LocalColumns


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 3))
    return X, (X[:, 0] + 0.5 * random.standard_normal(60) > 0).astype(int)


def hybrid(kernel, **options):
    options = {"l1_penalty": 1e-3, "l2_penalty": 1e-2, "complexity": [1e-3], **options}
    return VotedKernelClassifier(kernel, solver="coordinate-descent", **options)


def gaussian(A, B):
    return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def fit_quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


MATRIX = Precomputed(positive_definite=True)


def test_a_matrix_that_is_not_symmetric(data):
    X, y = data
    K = gaussian(X, X)
    K[3, 50] += 0.1
    with pytest.raises(ValueError, match=r"kernel precomputed.*is not symmetric.*l2_penalty=0"):
        fit_quietly(hybrid(MATRIX), K, y)


def test_a_negative_diagonal(data):
    X, y = data
    K = gaussian(X, X)
    K[7, 7] = -0.5
    with pytest.raises(ValueError, match=r"kernel precomputed.*K\(x, x\) = -0\.5"):
        fit_quietly(hybrid(MATRIX), K, y)


def test_a_negative_eigenvalue(data):
    X, y = data
    # Distances are symmetric, their diagonal is 0, and they are far from positive definite.
    K = -np.abs(X[:, None] - X[None]).sum(axis=2) + 3.0
    assert np.linalg.eigvalsh(K)[0] < -0.1
    with pytest.raises(ValueError, match=r"kernel precomputed.*has the eigenvalue -\d"):
        fit_quietly(hybrid(MATRIX), K, y)


def test_a_function_that_is_not_definite(data):
    X, y = data

    def tangent(A, B):
        return np.tanh(2.0 * A @ B.T - 1.0)

    kernel = Similarity(tangent, positive_definite=True)
    with pytest.raises(ValueError, match="kernel tangent is declared positive definite"):
        fit_quietly(hybrid(kernel), X, y)


def test_what_is_not_seen_before_is_told_during_the_fit(data, monkeypatch):
    from votedkernels.preparation import training

    X, y = data
    K = -np.abs(X[:, None] - X[None]).sum(axis=2) + 3.0
    monkeypatch.setattr(training, "check_definite", lambda *arguments: None, raising=False)
    with pytest.raises(ValueError, match=r"kernel precomputed.*has the eigenvalue -\d"):
        fit_quietly(hybrid(MATRIX), K, y)


def test_more_centers_than_are_looked_at(data, monkeypatch):
    from votedkernels.kernels import definiteness

    X, y = data
    monkeypatch.setattr(definiteness, "MOST_CENTERS", 20)
    model = hybrid(MATRIX).fit(gaussian(X, X), y)
    assert model.stop_reason_ == "optimal"
    with pytest.raises(ValueError, match="declared positive definite"):
        fit_quietly(hybrid(MATRIX), -np.abs(X[:, None] - X[None]).sum(axis=2) + 3.0, y)


@pytest.mark.parametrize("shift", [0.0, 1e-12])
def test_definite_matrices_are_taken_for_that(shift, data):
    X, y = data
    # Rank 3 of 60: all other eigenvalues are 0 but for rounding.
    for K in (X @ X.T - shift * np.eye(60), gaussian(X, X), np.zeros((60, 60)) + 1.0):
        model = fit_quietly(hybrid(MATRIX), K, y)
        assert model.stop_reason_ == "optimal"
    kernel = Similarity(gaussian, positive_definite=True)
    by_function = hybrid(kernel, tol=1e-8).fit(X, y)
    by_formula = hybrid(Gaussian((0.3,), unit=1.0), tol=1e-8).fit(X, y)
    assert by_function.objective_ == pytest.approx(by_formula.objective_, rel=1e-6)


def test_kernels_by_formula_are_not_looked_at(data):
    X, _ = data
    family = Gaussian((0.3, 3.0)).fit(X, np.ones(60))
    assert family.is_definite_by_formula
    assert LocalColumns([family], X, X).family_of(1) is family


def test_nothing_is_asked_of_a_plain_vote(data):
    X, y = data
    K = gaussian(X, X)
    K[3, 50] += 0.1
    assert fit_quietly(hybrid(MATRIX, l2_penalty=0.0), K, y).stop_reason_ == "optimal"
