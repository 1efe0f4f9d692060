"""The second stage: its certificate against solvers that nobody here wrote."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from votedkernels.kernels.design import LocalDesign
from votedkernels.problem.losses import EpsilonInsensitive, Pinball
from votedkernels.problem.relaxed import (
    RIDGES,
    RelaxedProblem,
    RelaxedVote,
    Whitening,
    smooth_hinge,
    triangular_root,
)
from votedkernels.solvers.newton import solve_relaxed

RHOS = (1e-1, 1e-2, 1e-3, 1e-5)


def random_problem(seed, n_rows=120, n_terms=15):
    random = np.random.default_rng(seed)
    B = random.standard_normal((n_rows, n_terms)) * 10.0 ** random.uniform(-1, 1, n_terms)
    y = np.where(
        B @ random.standard_normal(n_terms) + random.standard_normal(n_rows) > 0, 1.0, -1.0
    )
    w = random.uniform(0.1, 1.0, n_rows)
    return RelaxedProblem(LocalDesign(B), y, w / w.sum(), 1.0, fit_intercept=bool(seed % 2))


def by_lbfgs(problem):
    """The optimum by a method for smooth functions in general."""

    def value_and_gradient(v):
        z, b = (v[:-1], v[-1]) if problem.fit_intercept else (v, 0.0)
        f = problem.columns.matrix @ z + b
        pull = -problem.w * np.clip(1 - problem.y * f, 0, 1) * problem.y
        gradient = problem.columns.matrix.T @ pull + problem.rho * z
        value = problem.w @ smooth_hinge(1 - problem.y * f) + problem.rho / 2 * z @ z
        return value, np.append(gradient, pull.sum()) if problem.fit_intercept else gradient

    start = np.zeros(problem.columns.shape[1] + problem.fit_intercept)
    options = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-11}
    return minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_closes_at_the_optimum_of_another_solver(seed):
    problem = random_problem(seed)
    for rho, (z, b) in zip(RHOS, solve_relaxed(problem, RHOS, tol=0.0), strict=True):
        at_rho = replace(problem, rho=rho)
        objective, bound = at_rho.certify(z, b)
        assert objective - bound <= 1e-9 * objective
        assert bound <= by_lbfgs(at_rho) * (1 + 1e-9)
        assert objective <= by_lbfgs(at_rho) * (1 + 1e-7)


def test_the_gap_is_what_the_bound_leaves_open_and_never_negative():
    assert RelaxedVote(np.zeros(1), 0.0, 2.0, 1.5).gap == 0.5
    assert RelaxedVote(np.zeros(1), 0.0, 1.5, 1.5 + 1e-15).gap == 0


@pytest.mark.parametrize("seed", range(6))
def test_any_dual_vector_proves_a_true_bound(seed):
    random = np.random.default_rng(seed)
    problem = replace(random_problem(seed), rho=1e-2)
    optimum = by_lbfgs(problem)
    for size in (1e-3, 1.0, 1e3):
        u = size * problem.w * random.standard_normal(len(problem.w))
        assert 0 <= problem.dual_value(u) <= optimum * (1 + 1e-9)
    assert problem.dual_value(np.zeros(len(problem.w))) == 0


def test_the_loss_is_squared_within_the_margin_and_linear_beyond():
    h = np.array([-1.0, 0.0, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(smooth_hinge(h), [0.0, 0.0, 0.125, 0.5, 2.5])


def test_whitening_makes_the_norm_that_of_the_kernels_spaces():
    random = np.random.default_rng(0)
    points = random.standard_normal((12, 3))
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    K = np.exp(-distances)
    kernels = np.repeat([3, 5], 6)
    sizes = np.arange(1.0, 13)
    definite = kernels == 3
    W = Whitening.of_terms(kernels, K, definite, sizes)
    z = random.standard_normal(12)
    a = W.weights(z)
    np.testing.assert_allclose(W.apply(K) @ z, K @ a, atol=1e-9)
    norm = a[:6] @ K[:6, :6] @ a[:6]
    assert norm == pytest.approx(z[:6] @ z[:6], rel=1e-6)
    np.testing.assert_allclose(a[6:], z[6:] / sizes[6:])


@pytest.mark.parametrize(
    "values", [np.ones((5, 5)), np.zeros((3, 3)), -np.eye(4), np.diag([1.0, 0.0, 1e-30])],
    ids=["one direction", "nothing", "negative", "nearly singular"],
)  # fmt: skip
def test_every_matrix_has_a_root(values):
    root = triangular_root(values)
    assert np.isfinite(root).all()
    assert np.isfinite(np.linalg.inv(root)).all()


def test_labels_of_one_class_have_a_solution():
    problem = replace(random_problem(1), y=np.ones(120))
    ((z, b),) = solve_relaxed(problem, [1e-2], tol=0.0)
    assert np.isfinite(z).all()
    assert (problem.decision(z, b) > 0.9).all()


def test_a_column_of_zeros_is_not_whitened():
    W = Whitening.of_terms(np.zeros(2, int), np.eye(2), np.zeros(2, bool), np.array([0.0, 4.0]))
    np.testing.assert_array_equal(W.apply(np.array([[0.0, 8.0]])), [[0.0, 2.0]])
    np.testing.assert_array_equal(W.weights(np.array([3.0, 8.0])), [3.0, 2.0])


def test_a_matrix_far_from_definite_has_the_root_of_its_diagonal():
    values = np.array([[8.0, 30.0, 0.0], [30.0, 4.0, 0.0], [0.0, 0.0, -2.0]])
    expected = np.diag([np.sqrt(8.0), 2.0, np.sqrt(10.0 * RIDGES[-1])])  # the trace is 10
    np.testing.assert_allclose(triangular_root(values), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Pinball(0.3)], ids=repr)
@pytest.mark.parametrize("width", [0.3, 2.0])
def test_corners_of_any_width_have_their_optimum(loss, width):
    random = np.random.default_rng(0)
    B, t = random.standard_normal((40, 4)), random.standard_normal(40)
    hinges = loss.hinges(t, np.full(40, 1 / 40))
    problem = RelaxedProblem.of_hinges(LocalDesign(B), hinges, rho=1.0, width=width)
    for rho, (z, b) in zip(RHOS, solve_relaxed(problem, RHOS, tol=0.0), strict=True):
        objective, bound = replace(problem, rho=rho).certify(z, b)
        f = B @ z + b
        h = hinges.goals - hinges.signs * f[hinges.rows]
        rounded = np.where(h < width, np.maximum(h, 0) ** 2 / (2 * width), h - width / 2)
        assert objective == pytest.approx(hinges.weights @ rounded + rho / 2 * z @ z, rel=1e-12)
        assert objective - bound <= 1e-9 * objective


def test_removal_costs_are_the_least_change_without_a_term():
    random = np.random.default_rng(0)
    A = random.standard_normal((6, 6))
    values = np.zeros((9, 9))
    values[:6, :6] = A @ A.T
    kernels, definite = np.repeat([0, 1], [6, 3]), np.repeat([True, False], [6, 3])
    whitening = Whitening.of_terms(kernels, values, definite, np.arange(1.0, 10.0))
    W = whitening.apply(np.eye(9))
    z = random.standard_normal((9, 2))
    costs = whitening.removal_costs(W @ z)
    for t, cost in enumerate(costs):
        step = -np.linalg.pinv(W[t : t + 1]) @ (W[t : t + 1] @ z)
        np.testing.assert_allclose((W @ (z + step))[t], 0.0, atol=1e-9)
        np.testing.assert_allclose(cost, (step**2).sum(), rtol=1e-6)
