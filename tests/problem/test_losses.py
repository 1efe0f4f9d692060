import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from support.regressions import (
    by_linprog_of_residuals,
    make_regression_problem,
    random_regression,
)

from votedkernels.problem import Terms
from votedkernels.problem.losses import (
    EpsilonInsensitive,
    Hinge,
    Pinball,
    best_constant,
    best_factor,
)
from votedkernels.solvers import CONVERGENT_SOLVERS, SOLVERS
from votedkernels.solvers.grid import solve_grid

LOSSES = [EpsilonInsensitive(0.2), EpsilonInsensitive(0.0), Pinball(0.3)]


def by_hand(loss, t, f):
    error = t - f
    if isinstance(loss, Hinge):
        return np.maximum(0.0, 1 - t * f)
    if isinstance(loss, Pinball):
        return np.maximum(loss.quantile * error, (loss.quantile - 1) * error)
    return np.maximum(0.0, np.abs(error) - loss.epsilon)


@pytest.mark.parametrize("loss", [Hinge(), *LOSSES], ids=repr)
def test_hinges_add_up_to_the_loss(loss):
    random = np.random.default_rng(0)
    t, f, w = random.standard_normal((3, 50))
    t = np.sign(t) if isinstance(loss, Hinge) else t
    w = np.abs(w)
    hinges = loss.hinges(t, w)
    goals = 1.0 if hinges.goals is None else hinges.goals
    at = f if hinges.rows is None else f[hinges.rows]
    total = hinges.weights @ np.maximum(0.0, goals - hinges.signs * at)
    assert total == pytest.approx(w @ by_hand(loss, t, f), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_best_constant_minimises_the_loss(loss):
    random = np.random.default_rng(1)
    t, w = random.standard_normal(41), random.uniform(0.5, 2.0, 41)
    hinges = loss.hinges(t, w)
    found = best_constant(hinges.signs, hinges.weights, hinges.goals)
    expected = minimize_scalar(lambda b: w @ by_hand(loss, t, b), bounds=(-3, 3), method="bounded")
    assert w @ by_hand(loss, t, found) <= expected.fun + 1e-12


def test_best_constants_are_medians_and_quantiles():
    t, w = np.array([1.0, 2.0, 10.0, 20.0]), np.array([1.0, 1.0, 1.0, 4.0])
    hinges = EpsilonInsensitive(0.0).hinges(t, w)
    assert best_constant(hinges.signs, hinges.weights, hinges.goals) == 20.0
    hinges = Pinball(0.2).hinges(t, w)
    assert best_constant(hinges.signs, hinges.weights, hinges.goals) == 2.0


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_best_factor_minimises_the_loss_along_a_ray(loss):
    random = np.random.default_rng(2)
    for _ in range(20):
        t, f = random.standard_normal((2, 15))
        hinges, price = loss.hinges(t, np.full(15, 1 / 15)), random.uniform(0, 0.3)
        margins = hinges.signs * f[hinges.rows]
        found = best_factor(margins, hinges.goals, hinges.weights, price)

        def value(c, t=t, f=f, price=price):
            return by_hand(loss, t, c * f).mean() + c * price

        expected = minimize_scalar(value, bounds=(0, 10), method="bounded")
        assert found >= 0
        assert value(found) <= min(expected.fun, value(0.0)) + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_optimum_and_certificate_agree_with_a_full_lp(seed):
    problem, data = random_regression(seed)
    expected = by_linprog_of_residuals(problem, *data)
    for name in CONVERGENT_SOLVERS:
        solution = SOLVERS[name].solve(problem, tol=1e-8)
        allowed = 1e-8 + 1e-7 * abs(expected)
        if name == "coordinate-descent" and solution.stop_reason == "precision":
            allowed = 1e-6  # and it says so
        else:
            assert solution.stop_reason == "optimal"
        assert solution.objective == pytest.approx(expected, abs=allowed)
        objective, bound = problem.certify(solution.terms, solution.dual)
        assert objective == pytest.approx(solution.objective, abs=allowed)
        assert solution.dual_bound - 1e-12 <= bound <= expected + allowed


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_dual_vector_proves_too_much(loss):
    random = np.random.default_rng(3)
    X, t = random.standard_normal((30, 2)), random.standard_normal(30)
    w, prices = np.full(30, 1 / 30), np.full(3, 0.02)
    for fit_intercept in (False, True):
        problem = make_regression_problem(X, t, w, loss, prices, fit_intercept=fit_intercept)
        optimum = by_linprog_of_residuals(problem, t, w, loss)
        for _ in range(50):
            u = random.uniform(-0.5, 1.5, len(problem.y)) * problem.w
            _, bound = problem.certify(Terms.none(), u)
            assert bound <= optimum + 1e-10


def test_targets_inside_the_tube_need_no_vote():
    random = np.random.default_rng(4)
    X, t, w = random.standard_normal((20, 2)), random.uniform(-0.1, 0.1, 20), np.full(20, 0.05)
    loss, prices = EpsilonInsensitive(0.2), np.full(3, 0.01)
    problem = make_regression_problem(X, t, w, loss, prices, fit_intercept=False)
    solution = SOLVERS["column-generation"].solve(problem, tol=1e-9)
    assert solution.objective == 0.0
    assert solution.stop_reason == "optimal"


def test_many_rows_and_a_grid_agree_with_single_fits():
    # Enough rows for a subsample and for rows fixed at a bound.
    random = np.random.default_rng(5)
    X = random.standard_normal((1200, 2))
    t, w = np.sin(2 * X[:, 0]) + 0.3 * random.standard_normal(1200), np.full(1200, 1 / 1200)
    problem = make_regression_problem(
        X, t, w, EpsilonInsensitive(0.1), np.full(3, 0.01), fit_intercept=True
    )
    single = SOLVERS["column-generation"].solve(problem, tol=1e-6)
    assert single.is_optimal(1e-6)
    grid = solve_grid(problem, np.ones(3), np.array([0.1, 0.01]), np.array([0.0]), tol=1e-6)
    assert grid.objectives[1, 0] == pytest.approx(single.objective, rel=2e-6)
    assert (grid.dual_bounds <= grid.objectives).all()


def test_without_a_tube_the_loss_is_the_absolute_error():
    hinges = EpsilonInsensitive().hinges(np.array([2.0]), np.ones(1))
    for f in (1.5, 2.0, 5.0):
        assert np.maximum(0.0, hinges.goals - hinges.signs * f).sum() == abs(2.0 - f)


def test_a_constant_that_only_needs_to_be_large_enough_reaches_every_goal():
    goals = np.array([1.0, 7.0, 3.0])
    assert best_constant(np.ones(3), np.array([1.0, 2.0, 5.0]), goals) == 7.0
    assert best_constant(-np.ones(3), np.array([1.0, 2.0, 5.0]), goals) == -7.0


@pytest.mark.parametrize(
    ("margins", "price", "expected"),
    # Along the ray, F is max(0, 1 - c) / 4 + max(0, 1 - c / 2) / 4 + c price.
    [(0.5, 0.375, 0.0), (0.5, 0.125, 1.0), (0.5, 0.1, 2.0), (-0.5, 0.125, 0.0)],
    ids=["flat from 0 to 1", "flat from 1 to 2", "down to 2", "uphill"],
)
def test_of_factors_that_are_equally_good_the_smallest_is_taken(margins, price, expected):
    found = best_factor(np.array([1.0, margins]), np.ones(2), np.full(2, 0.25), price)
    assert found == expected
