"""Small problems for solvers, and small linear programs with SciPy's answers."""

import numpy as np
import pytest
from scipy.optimize import linprog

from votedkernels import Gaussian, Polynomial
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem
from votedkernels.solvers.lp.linear_program import LinearProgram


def make_problem(n_rows=80, *, seed=0, fit_intercept=False, penalty=2e-3):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * random.standard_normal(n_rows) > 0, 1.0, -1.0)
    w = random.uniform(0.5, 2.0, n_rows)
    gram = LocalColumns([Gaussian((0.5, 2.0), unit=1.0).fit(X, w)], X, X)
    penalties = penalty * np.array([1.0, 2.0])
    return Problem(gram, y, w / w.sum(), penalties, fit_intercept)


def random_problem(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 40))
    X = random.standard_normal((n, int(random.integers(1, 4))))
    if seed % 3 == 0:
        X = np.round(X)  # rows that are equal
    y = np.where(random.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    family = Polynomial((1, 2, 3), gamma=1.0) if seed % 2 else Gaussian((0.3, 3.0), unit=1.0)
    w = random.uniform(0.2, 2.0, n)
    gram = LocalColumns([family.fit(X, np.ones(n))], X, X)
    penalties = 10.0 ** random.uniform(-5, -0.5) * np.ones(gram.n_kernels)
    return Problem(gram, y, w / w.sum(), penalties, fit_intercept=seed % 5 == 0)


def random_lp(seed):
    random = np.random.default_rng(seed)
    n_rows, n_cols = random.integers(1, 40), random.integers(1, 60)
    matrix = random.standard_normal((n_rows, n_cols))
    if seed % 3 == 0:  # ties and dependent rows
        matrix = np.round(matrix)
        matrix[-1] = matrix[0]
    bound = np.abs(random.standard_normal(n_rows)) * 10.0 ** random.uniform(-2, 1)
    lower, upper = -bound, bound.copy()
    if seed % 4 == 0:
        lower[0] = upper[0] = 0.0  # an equation
    if seed % 3 == 0:
        lower[-1], upper[-1] = lower[0], upper[0]
    return LinearProgram(np.ones(n_cols), random.uniform(0.1, 2, n_cols), matrix, lower, upper)


def reference(lp):
    answer = linprog(
        -lp.cost,
        A_ub=np.vstack([lp.matrix, -lp.matrix]),
        b_ub=np.concatenate([lp.row_upper, -lp.row_lower]),
        bounds=[(0, u) for u in lp.upper],
    )
    assert answer.status == 0
    return -answer.fun


def assert_optimal(lp, result, value):
    x, scale = result.x, 1 + np.abs(lp.row_upper)
    assert (x >= -1e-9).all()
    assert (x <= lp.upper + 1e-9).all()
    z = lp.matrix @ x
    assert (z >= lp.row_lower - 1e-8 * scale).all()
    assert (z <= lp.row_upper + 1e-8 * scale).all()
    assert lp.cost @ x == pytest.approx(value, rel=1e-8, abs=1e-9)
    # The row duals bound the optimum from above by the same value.
    reduced = lp.cost - result.row_dual @ lp.matrix
    dual = np.maximum(result.row_dual, 0) @ lp.row_upper
    dual += np.minimum(result.row_dual, 0) @ lp.row_lower + np.maximum(reduced, 0) @ lp.upper
    assert dual == pytest.approx(value, rel=1e-7, abs=1e-8)
