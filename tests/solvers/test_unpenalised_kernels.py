"""Kernels without a penalty, in every solver."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg
from support.problems import make_problem

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.exceptions import FitLimitError
from votedkernels.solvers import solve_by_coordinate_descent
from votedkernels.solvers.lp.linear_program import lu_factors


def noisy(seed, n=60, n_features=2):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, n_features))
    y = (X[:, 0] + 0.8 * random.standard_normal(n) > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def fit(X, y, kernels, solver, **parameters):
    parameters = {"complexity_penalty": 0.05, "l1_penalty": 0.0, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return VotedKernelClassifier(kernels, solver=solver, **parameters).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    ("kernels", "complexity"),
    [
        ([Polynomial((1,)), Gaussian((0.3,))], [0.0, 1.0]),
        ([Polynomial((1, 2)), Gaussian((1.0,))], [0.0, 0.0, 1.0]),
        ([Polynomial((1,)), Polynomial((2,))], [1.0, 0.0]),
        (Polynomial((1, 2)), [0.0, 0.0]),
    ],
    ids=["linear", "quadratic", "quadratic beside linear", "all"],
)
@pytest.mark.parametrize("seed", range(3))
def test_coordinate_descent_agrees_with_the_other_solvers(
    seed, kernels, complexity, fit_intercept, capfd
):
    X, y = noisy(seed)
    options = {"complexity": complexity, "fit_intercept": fit_intercept}
    by_columns = fit(X, y, kernels, "column-generation", **options)
    by_lp = fit(X, y, kernels, "lp", **options)
    model = fit(X, y, kernels, "coordinate-descent", **options)
    best = min(by_columns.objective_, by_lp.objective_)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.dual_bound_ == 0.0  # nothing is proved
    assert model.stop_reason_ == "precision"
    assert capfd.readouterr() == ("", "")


def test_the_objective_is_that_of_the_problem_given():
    X, y = noisy(3)
    model = fit(
        X, y, [Polynomial((1,)), Gaussian((0.3,))], "coordinate-descent", complexity=[0.0, 1.0]
    )
    signs = np.where(y == 1, 1.0, -1.0)
    loss = np.maximum(0, 1 - signs * model.decision_function(X)).mean()
    price = model.penalties_[model.term_kernel_indices_] @ np.abs(model.term_weights_[0])
    assert model.penalties_.tolist() == [0.0, 0.05]
    assert model.objective_ == pytest.approx(loss + price, rel=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_no_loss_and_no_penalty_is_optimal(fit_intercept, capfd):
    # A narrow kernel without a penalty can fit anything.
    X, y = noisy(0, n=40)
    model = fit(
        X, y, [Polynomial((1,)), Gaussian((300.0,))], "coordinate-descent",
        complexity=[1.0, 0.0], fit_intercept=fit_intercept,
    )  # fmt: skip
    assert model.objective_ == 0.0
    assert model.stop_reason_ == "optimal"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("seed", range(3))
def test_one_feature_and_no_penalty_at_all(seed, capfd):
    X, y = noisy(seed, n_features=1)
    kernels = [Polynomial((1,)), Polynomial((2,))]
    options = {"complexity_penalty": 0.0}
    model = fit(X, y, kernels, "coordinate-descent", **options)
    other = fit(X, y, kernels, "column-generation", **options)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert capfd.readouterr() == ("", "")


def test_limits_hold_without_penalties():
    X, y = noisy(0, n=200)
    options = {"complexity_penalty": 0.0}
    model = fit(X, y, Polynomial((1, 2)), "coordinate-descent", max_iter=2, **options)
    assert model.stop_reason_ == "max-iter"
    assert model.n_iter_ <= 2
    with pytest.raises(FitLimitError):
        fit(X, y, Polynomial((1, 2)), "coordinate-descent", time_limit=1e-6, **options)


def test_an_empty_matrix_has_no_factors(capfd):
    with pytest.raises(linalg.LinAlgError):
        lu_factors(np.zeros((0, 0)))
    assert capfd.readouterr() == ("", "")


def test_rounds_are_counted_through_all_substitutes_for_penalties():
    problem = replace(make_problem(30), penalties=np.array([0.0, 0.01]))
    seen = []
    solution = solve_by_coordinate_descent(
        problem, tol=1e-6, on_round=lambda state: seen.append(state.n_iter)
    )
    assert len(seen) > 4  # there are four substitutes
    assert seen == sorted(seen)
    assert seen[0] == 1
    assert seen[-1] <= solution.n_iter
    assert (np.diff(seen) <= 1).all()
