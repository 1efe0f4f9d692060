"""Random regression problems, and their optima, from linear programs that are written out here."""

import cvxpy
import numpy as np
from scipy.optimize import linprog

from votedkernels import Gaussian, Polynomial
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem
from votedkernels.problem.losses import EpsilonInsensitive, Pinball


def make_regression_problem(X, t, w, loss, penalties, *, fit_intercept, families=None):
    """A problem over training rows as centres."""
    if families is None:
        families = [Gaussian((0.3, 3.0), unit=1.0), Polynomial((1,), gamma=1.0)]
    columns = LocalColumns([family.fit(X, np.ones(len(X))) for family in families], X, X)
    hinges = loss.hinges(t, w)
    return Problem(
        columns,
        hinges.signs,
        hinges.weights,
        penalties,
        fit_intercept,
        goals=hinges.goals,
        hinge_rows=hinges.rows,
    )


def random_regression(seed):
    """Return a problem and the data it was made from; some are degenerate."""
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 40))
    X = random.standard_normal((n, int(random.integers(1, 4))))
    t = np.sin(2 * X[:, 0]) + 0.3 * random.standard_normal(n)
    if random.random() < 0.3:
        X, t = np.round(X), np.round(t)  # equal rows, equal targets, both
    if random.random() < 0.1:
        again = random.integers(0, n, n)
        X, t = X[again], t[again]
    if random.random() < 0.1:
        t = np.full(n, 0.7)
    w = random.uniform(0.2, 2.0, n) if random.random() < 0.7 else np.ones(n)
    w /= w.sum()
    loss = (
        EpsilonInsensitive(random.uniform(0.01, 0.5)),
        EpsilonInsensitive(0.0),
        Pinball(random.uniform(0.05, 0.95)),
    )[seed % 3]
    penalties = 10.0 ** random.uniform(-4, -0.5) * np.array([1.0, 1.5, 1.0])
    fit_intercept = bool(random.random() < 0.7)
    problem = make_regression_problem(X, t, w, loss, penalties, fit_intercept=fit_intercept)
    return problem, (t, w, loss)


def residual_lp(problem, t, w, loss):
    """Return (cost, A, right) of min cost.x, A x <= right, x >= 0.

    Its variables are weights of both signs, residuals above and below, and constants.
    """
    columns = problem.columns
    kernels, centers = (a.ravel() for a in np.indices((columns.n_kernels, columns.n_centers)))
    K, prices, n = columns.take(kernels, centers), problem.penalties[kernels], len(t)
    epsilon = getattr(loss, "epsilon", 0.0)
    above, below = w, w
    if isinstance(loss, Pinball):
        above, below = loss.quantile * w, (1 - loss.quantile) * w
    one = np.ones((n, 1)) * problem.fit_intercept
    # t - f <= epsilon + xi and f - t <= epsilon + zeta
    A = np.block([
        [-K, K, -np.eye(n), np.zeros((n, n)), -one, one],
        [K, -K, np.zeros((n, n)), -np.eye(n), one, -one],
    ])  # fmt: skip
    right = np.concatenate([epsilon - t, epsilon + t])
    return np.concatenate([prices, prices, above, below, [0.0, 0.0]]), A, right


def by_linprog_of_residuals(problem, t, w, loss):
    """Return the minimum of F that HiGHS finds."""
    cost, A, right = residual_lp(problem, t, w, loss)
    answer = linprog(
        cost,
        A_ub=A,
        b_ub=right,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0
    return answer.fun


def by_clarabel_of_residuals(problem, t, w, loss):
    """Return the minimum of F that Clarabel, an interior point method, finds."""
    cost, A, right = residual_lp(problem, t, w, loss)
    x = cvxpy.Variable(len(cost))
    model = cvxpy.Problem(cvxpy.Minimize(cost @ x), [A @ x <= right, x >= 0])
    tolerances = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    model.solve(solver=cvxpy.CLARABEL, max_iter=500, **tolerances)
    assert model.status == cvxpy.OPTIMAL, model.status
    return float(model.value)
