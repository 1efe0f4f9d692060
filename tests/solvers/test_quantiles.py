import numpy as np
import pytest
from scipy.optimize import linprog

from votedkernels import Gaussian, Polynomial
from votedkernels._system.budget import Budget
from votedkernels.kernels import LocalColumns
from votedkernels.solvers import quantiles
from votedkernels.solvers.quantiles import QuantileProblem, solve_quantiles


def make_problem(seed, n_rows=30):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 2))
    t = np.sin(2 * X[:, 0]) + random.standard_normal(n_rows) * (0.3 + 0.2 * np.abs(X[:, 1]))
    if seed % 2:
        t = np.round(t)
    w = random.uniform(0.5, 2.0, n_rows)
    families = [Gaussian((0.3, 3.0), unit=1.0), Polynomial((1,), gamma=1.0)]
    columns = LocalColumns([family.fit(X, w) for family in families], X, X)
    penalties = 10.0 ** random.uniform(-3, -1.5) * np.array([1.0, 2.0, 1.0])
    widening = np.array([True, True, False])
    return QuantileProblem(columns, t, w / w.sum(), np.array([0.1, 0.5, 0.9]), penalties, widening)


def by_linprog(problem):
    """Return the minimum of F, by one LP in weights, constants and residuals of both signs."""
    columns, n, levels = problem.columns, len(problem.w), problem.quantiles
    kernels, centers = (a.ravel() for a in np.indices((columns.n_kernels, columns.n_centers)))
    K, prices = columns.take(kernels, centers), problem.penalties[kernels]
    may = problem.widening[kernels]
    one = np.ones((n, 1))
    costs = [prices, prices, [0.0, 0.0]] + [np.append(prices[may], 0.0)] * (len(levels) - 1)
    costs += [part for q in levels for part in (q * problem.w, (1 - q) * problem.w)]
    rows, right = [], []
    for q in range(len(levels)):
        f = [K, -K, one, -one]
        f += [np.hstack([K[:, may], one]) * (r <= q) for r in range(1, len(levels))]
        above, below = np.zeros((2, n, 2 * n * len(levels)))
        above[:, 2 * n * q : 2 * n * q + n] = below[:, 2 * n * q + n : 2 * n * (q + 1)] = np.eye(n)
        rows += [np.hstack([*(-part for part in f), -above]), np.hstack([*f, -below])]
        right += [-problem.targets, problem.targets]
    answer = linprog(np.concatenate(costs), A_ub=np.vstack(rows), b_ub=np.concatenate(right))
    assert answer.status == 0
    return answer.fun


@pytest.mark.parametrize("seed", range(4))
def test_joint_quantiles_agree_with_a_full_lp(seed):
    problem = make_problem(seed)
    solution = solve_quantiles(problem, tol=1e-8)
    optimum = by_linprog(problem)
    assert solution.stop_reason == "optimal"
    assert solution.objective == pytest.approx(optimum, rel=1e-7)
    assert solution.dual_bound <= optimum * (1 + 1e-8)
    for layer in solution.layers[1:]:
        assert (layer.weights >= 0).all()
        assert layer.intercept >= 0
        assert problem.widening[layer.kernels].all()


def test_no_dual_vector_proves_too_much():
    problem, random = make_problem(0), np.random.default_rng(0)
    optimum = by_linprog(problem)
    for _ in range(50):
        v = problem.feasible(problem.w[:, None] * random.uniform(-1.5, 1.5, (30, 3)))
        tails = np.cumsum(v[:, ::-1], axis=1)[:, ::-1].sum(axis=0)
        assert tails[0] == pytest.approx(0.0, abs=1e-12)
        assert (tails[1:] <= 1e-12).all()
        assert problem.bound(v, problem.excess(v)) <= optimum * (1 + 1e-9)


def test_limits_end_it_with_a_valid_solution():
    problem = make_problem(0)
    one = solve_quantiles(problem, tol=1e-8, max_iter=1)
    assert one.stop_reason == "max-iter"
    assert one.n_iter == 1
    assert one.dual_bound <= one.objective
    late = QuantileProblem(**vars(problem) | {"columns": problem.columns.within(Budget(0.0))})
    nothing = solve_quantiles(late, tol=1e-8)
    assert (nothing.stop_reason, nothing.dual_bound) == ("time-limit", 0.0)
    assert not nothing.dual.any()
    assert all(len(layer.kernels) == 0 for layer in nothing.layers)
    assert nothing.objective == pytest.approx(problem.objective(nothing.layers))


def test_a_feasible_dual_vector_is_left_as_it_is():
    problem = make_problem(0)
    v = np.zeros((30, 3))
    # The sums of the layers are -2, 1 and 1, in small units: those of the tails -2, -1 and 0.
    unit = 0.01 * problem.w.min()
    v[:4, 2], v[4:6, 1], v[6:8, 0] = -0.5 * unit, 0.5 * unit, 0.5 * unit
    np.testing.assert_allclose(problem.feasible(v), v, atol=1e-6 * unit)


def test_an_lp_that_fails_from_its_old_basis_is_solved_from_scratch(monkeypatch):
    problem, true_solve = make_problem(0), quantiles.solve_highs
    expected = solve_quantiles(problem, tol=1e-8)

    def failing(lp, *, basis=None, **options):
        return None if basis is not None else true_solve(lp, **options)

    monkeypatch.setattr(quantiles, "solve_highs", failing)
    found = solve_quantiles(problem, tol=1e-8)
    assert found.stop_reason == "optimal"
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
    monkeypatch.setattr(quantiles, "solve_highs", lambda *args, **options: None)
    assert solve_quantiles(problem, tol=1e-8).stop_reason == "precision"
