import cvxpy
import numpy as np
import pytest

from votedkernels.solvers.barrier import solve_pool


def random_pool(seed):
    """A pool with a squared term: of the weights, or of the norm in a kernel's space."""
    random = np.random.default_rng(seed)
    n, n_columns = 80, 40
    X = random.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * random.standard_normal(n) > 0, 1.0, -1.0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-0.5 * distances)[:, :n_columns]
    penalties = np.full(n_columns, 10.0 ** random.uniform(-7, -1))
    squared = 10.0 ** random.uniform(-5, 0) * (np.eye(n_columns) if seed % 2 else K[:n_columns])
    w = random.uniform(0.5, 2, n)
    return K * y[:, None], w / w.sum(), penalties, squared, y if seed % 3 == 0 else None


def by_clarabel(Z, w, penalties, squared, balance):
    b, constant = cvxpy.Variable(Z.shape[1]), cvxpy.Variable()
    margins = Z @ b if balance is None else Z @ b + balance * constant
    eigenvalues, vectors = np.linalg.eigh(squared)
    root = np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T
    loss = w @ cvxpy.pos(1 - margins) + penalties @ cvxpy.abs(b)
    model = cvxpy.Problem(cvxpy.Minimize(loss + 0.5 * cvxpy.sum_squares(root @ b)))
    model.solve(solver=cvxpy.CLARABEL, tol_gap_rel=1e-11, tol_gap_abs=1e-13, tol_feas=1e-11)
    assert model.status == cvxpy.OPTIMAL
    return float(model.value)


@pytest.mark.parametrize("seed", range(24))
def test_a_pool_is_solved_as_by_an_independent_solver(seed):
    Z, w, penalties, squared, balance = random_pool(seed)
    found = solve_pool(Z, w, penalties, 1e-9, balance, squared)
    b = found.weights
    margins = Z @ b if balance is None else Z @ b + balance * found.intercept
    value = w @ np.maximum(0, 1 - margins) + penalties @ np.abs(b) + 0.5 * b @ squared @ b
    assert value == pytest.approx(by_clarabel(Z, w, penalties, squared, balance), rel=1e-8)
    assert (found.dual >= 0).all()
    assert (found.dual <= w).all()


def test_a_square_of_zero_is_none():
    Z, w, penalties, _, _ = random_pool(3)
    penalties[:] = 0.01
    plain = solve_pool(Z, w, penalties, 1e-10, None)
    found = solve_pool(Z, w, penalties, 1e-10, None, np.zeros((Z.shape[1],) * 2))
    np.testing.assert_allclose(found.weights, plain.weights, atol=1e-6)
    np.testing.assert_array_equal(found.weights != 0, plain.weights != 0)
