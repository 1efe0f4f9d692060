"""``relaxation`` of a fit: the l1 vote chooses the terms, a second problem their weights."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from votedkernels import (
    ContinuousGaussian,
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
    load_model,
    save_model,
)
from votedkernels.datasets import make_waveform


@pytest.fixture(scope="module")
def data():
    X, y = make_waveform(200, random_state=0)
    return X, y


def rbf(A, B):
    return np.exp(-((np.asarray(A)[:, None] - np.asarray(B)[None]) ** 2).sum(-1) / 40)


@pytest.mark.parametrize(
    "kernels",
    [None, Gaussian((0.3, 1.0)), Polynomial((1, 2)), Similarity(rbf),
     Similarity(rbf, positive_definite=True), ContinuousGaussian(0.1, 3.0)],
    ids=["default", "gaussian", "polynomial", "similarity", "definite similarity", "continuous"],
)  # fmt: skip
def test_the_selection_is_the_vote_without_relaxation(data, kernels):
    X, y = data
    relaxed = VotedKernelClassifier(kernels, relaxation="auto").fit(X, y)
    penalties = {"complexity_penalty": relaxed.complexity_penalty_}
    plain = VotedKernelClassifier(kernels, **penalties).fit(X, y)
    np.testing.assert_array_equal(relaxed.selection_.term_weights, plain.term_weights_)
    np.testing.assert_array_equal(relaxed.support_, plain.support_)
    assert relaxed.objective_ == plain.objective_
    assert relaxed.dual_gap_ <= 1e-6 * relaxed.objective_
    assert relaxed.relaxed_dual_gap_ <= 1e-6 * relaxed.relaxed_objective_
    assert not np.allclose(relaxed.term_weights_, plain.term_weights_)
    assert relaxed.score(X, y) >= plain.score(X, y) - 0.03


def test_smaller_rho_fits_closer(data):
    X, y = data
    losses = [
        VotedKernelClassifier(relaxation=rho).fit(X, y).relaxed_objective_
        for rho in (1.0, 1e-2, 1e-4, 1e-6)
    ]
    assert (np.diff(losses) < 0).all()


def test_rescaling_a_kernel_changes_nothing(data):
    X, y = data
    K = rbf(X, X)
    votes = []
    for size in (1.0, 1e3):
        model = VotedKernelClassifier(
            Precomputed(positive_definite=True),
            complexity=[size],
            complexity_penalty=1e-2,
            l1_penalty=0.0,
            relaxation=1e-3,
        )
        votes.append(model.fit(size * K, y).decision_function(size * K))
    np.testing.assert_allclose(*votes, rtol=1e-4, atol=1e-6)


def test_classes_share_their_terms():
    X, y = load_iris(return_X_y=True)
    plain = VotedKernelClassifier().fit(X, y)
    relaxed = VotedKernelClassifier(relaxation="auto").fit(X, y)
    assert (plain.term_weights_ == 0).any()
    assert (relaxed.term_weights_ != 0).all()
    assert relaxed.score(X, y) >= plain.score(X, y)


def test_given_centres_and_weights(data):
    X, y = data
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    model = VotedKernelClassifier(Gaussian(), centers=X[:30] + 0.1, relaxation=1e-3)
    a = model.fit(X, y, weights).decision_function(X)
    b = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).decision_function(X)
    np.testing.assert_allclose(a, b, atol=1e-7)


def test_an_empty_vote_stays_empty(data):
    with pytest.warns(UserWarning, match="no kernel"):
        model = VotedKernelClassifier(complexity_penalty=1e3, relaxation="auto").fit(*data)
    assert len(model.support_) == 0
    assert not hasattr(model, "selection_")


def test_it_survives_its_file(data, tmp_path):
    X, y = data
    model = VotedKernelClassifier(relaxation=1e-3).fit(X, y)
    save_model(model, tmp_path / "model.vk")
    loaded = load_model(tmp_path / "model.vk")
    assert loaded.relaxation == 1e-3
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("relaxation", [0.0, -1.0, np.inf, np.nan, "always", True, [1.0]])
def test_bad_values_are_named(data, relaxation):
    with pytest.raises(ValueError, match="relaxation must be None, 'auto' or a finite number > 0"):
        VotedKernelClassifier(relaxation=relaxation).fit(*data)
