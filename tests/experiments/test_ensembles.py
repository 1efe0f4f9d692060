"""Ensembles of SVMs: each stage is what its module says it minimises."""

import numpy as np
import pytest
from sklearn.svm import SVC

from votedkernels import Gaussian, Polynomial
from votedkernels.datasets import make_waveform
from votedkernels.experiments import ensembles
from votedkernels.experiments.protocol import split


@pytest.fixture(scope="module")
def small():
    X, y = make_waveform(100, random_state=0)
    return split(X, y, seed=0, run=0, scaling="standard")


@pytest.fixture(scope="module")
def matrices(small):
    families = [Polynomial((1, 3), gamma=0.05), Gaussian((0.3, 3.0), unit=0.05)]
    return [train for train, _, _ in ensembles.each_kernel(small, families)]


@pytest.mark.parametrize("beta", [0.5, 0.01])
def test_the_second_stage_is_a_norm_1_svm(beta):
    random = np.random.default_rng(0)
    y = np.where(random.random(40) < 0.5, -1, 1)
    decisions = y[:, None] * random.normal(0.5, 1.0, (40, 3))
    mu = ensembles.combine(decisions, y, beta)
    assert (mu >= 0).all()

    def objective(mu):
        return np.maximum(0, 1 - y * (decisions @ mu)).mean() + beta * mu.sum()

    for other in (np.zeros(3), *random.exponential(1.0, (200, 3)), *(mu + 1e-3 * np.eye(3))):
        assert objective(mu) <= objective(other) + 1e-9


def test_one_kernel_in_one_stage_is_an_svc(small, matrices):
    K = matrices[2]
    model, mu, status = ensembles.fit_jointly([K], [1.0], small.y_train, 1.0, np.ones(1))
    plain = SVC(kernel="precomputed", C=1.0).fit(K, small.y_train)
    np.testing.assert_allclose(model.decision_function(K), plain.decision_function(K))
    assert status == "ok"
    np.testing.assert_allclose(mu, 1.0)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_no_other_weights_are_much_better_than_those_of_one_stage(C, small, matrices):
    scales = np.array([1 / np.diag(K).mean() for K in matrices])

    def objective(mu):
        model = SVC(kernel="precomputed", C=C, tol=1e-6)
        model.fit(ensembles.mix(matrices, mu * scales), small.y_train)
        alpha, support = model.dual_coef_.ravel(), model.support_
        K = ensembles.mix(matrices, mu * scales)[np.ix_(support, support)]
        return np.abs(alpha).sum() - alpha @ K @ alpha / 2

    even = np.full(4, 0.25)
    _, mu, status = ensembles.fit_jointly(matrices, scales, small.y_train, C, even)
    assert status == "ok"
    np.testing.assert_allclose(mu.sum(), 1.0)
    others = np.vstack([np.eye(4), np.random.default_rng(0).dirichlet(np.ones(4), 20)])
    assert objective(mu) <= 1.03 * min(map(objective, others))
