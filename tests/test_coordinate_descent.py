import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainProblem, by_linprog

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform
from votedkernels.kernels import Gram
from votedkernels.problem import Problem
from votedkernels.solvers import (
    solve_by_column_generation,
    solve_by_coordinate_descent,
    solve_by_paper_rule,
)
from votedkernels.solvers.barrier import solve_pool
from votedkernels.solvers.paper_rule import best_step


def waveform_problem(n_rows, complexity_penalty, **changes):
    """The benchmark's problem: ten degrees, trace complexity, beta = lambda / 10."""
    X, y = make_waveform(n_rows, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(X.shape[1])
    gram = Gram([Polynomial(gamma=1.0).fit(X, np.ones(n_rows))], X, X)
    diagonal = gram.diagonal(0)
    r = np.sqrt(diagonal.max(axis=1) * diagonal.sum(axis=1)) / n_rows
    penalties = complexity_penalty * r + complexity_penalty / 10
    w = np.full(n_rows, 1 / n_rows)
    return Problem(gram, y.astype(float), w, penalties, **changes)


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
    gram = Gram([family.fit(X, np.ones(n))], X, X)
    penalties = 10.0 ** random.uniform(-5, -0.5) * np.ones(gram.n_kernels)
    return Problem(gram, y, w / w.sum(), penalties, fit_intercept=seed % 5 == 0)


# -- convergence -------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("complexity_penalty", [1e-2, 1e-3, 1e-4])
def test_it_reaches_the_gap_that_was_asked_for(complexity_penalty, tol):
    problem = waveform_problem(300, complexity_penalty)
    optimum = solve_by_column_generation(problem, tol=1e-9).objective
    solution = solve_by_coordinate_descent(problem, tol=tol)
    assert solution.stop_reason == "optimal"
    assert solution.gap <= tol * solution.objective
    assert optimum * (1 - 1e-9) <= solution.objective <= optimum * (1 + tol)


@pytest.mark.parametrize("seed", range(60))
def test_it_finds_the_optimum_of_an_independent_solver(seed):
    problem = random_problem(seed)
    solution = solve_by_coordinate_descent(problem, tol=1e-8)
    columns = [
        problem.gram.columns(np.full(problem.n_rows, k), np.arange(problem.n_rows))
        for k in range(problem.gram.n_kernels)
    ]
    plain = PlainProblem(columns, problem.y, problem.w, problem.penalties, problem.fit_intercept)
    assert solution.objective == pytest.approx(by_linprog(plain), rel=1e-6)
    assert solution.gap <= 1e-6 * solution.objective


@given(st.integers(0, 10**6), st.sampled_from([solve_by_coordinate_descent, solve_by_paper_rule]))
@settings(max_examples=500, deadline=None)
def test_the_best_objective_never_rises_and_the_gap_is_never_negative(seed, solve):
    problem = random_problem(seed)
    objectives, gaps = [], []

    def on_round(state):
        objectives.append(state.solution.objective)
        gaps.append(state.solution.objective - state.solution.dual_bound)
        return False

    solution = solve(problem, tol=1e-6, on_round=on_round)
    assert (np.diff(objectives) <= 1e-15).all()
    assert min(gaps) >= -1e-12
    assert solution.objective <= objectives[-1] * (1 + 1e-12)


def test_its_vote_is_sparse():
    problem = waveform_problem(300, 1e-2)
    exact = solve_by_column_generation(problem, tol=1e-9)
    solution = solve_by_coordinate_descent(problem, tol=1e-6)
    assert len(solution.terms.kernels) == len(exact.terms.kernels)


def test_a_deadline_ends_it():
    problem = waveform_problem(1000, 1e-4)
    start = time.perf_counter()
    solution = solve_by_coordinate_descent(problem, tol=1e-9, deadline=start + 0.2)
    assert time.perf_counter() - start < 3
    assert solution.stop_reason == "time-limit"
    assert solution.objective <= 1


# -- joint steps -------------------------------------------------------------------------


@pytest.mark.parametrize("with_intercept", [False, True])
def test_joint_steps_solve_a_pool(with_intercept):
    random = np.random.default_rng(0)
    Z = random.uniform(-1, 1, (60, 12))
    y = np.where(random.random(60) < 0.5, -1.0, 1.0)
    w, penalties = np.full(60, 1 / 60), np.full(12, 0.02)
    found = solve_pool(Z, w, penalties, 1e-9, y if with_intercept else None)
    optimum = by_linprog(PlainProblem([Z * y[:, None]], y, w, np.array([0.02]), with_intercept))
    margins = Z @ found.weights + y * found.intercept
    objective = w @ np.maximum(0, 1 - margins) + penalties @ np.abs(found.weights)
    assert objective == pytest.approx(optimum, rel=1e-7)
    assert found.dual.sum() == pytest.approx(optimum, rel=1e-7)


# -- the paper's rule --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("complexity_penalty", "stops_at", "optimum"),
    [(1e-1, 0.3489341, 0.3203113), (1e-2, 0.8336567, 0.1657457), (1e-3, 0.6318914, 0.0505023)],
)
def test_where_the_papers_rule_stops(complexity_penalty, stops_at, optimum):
    problem = waveform_problem(400, complexity_penalty)
    solution = solve_by_paper_rule(problem, tol=1e-6)
    assert solution.stop_reason == "stalled"
    assert solution.objective == pytest.approx(stops_at, rel=1e-3)
    assert solve_by_column_generation(problem, tol=1e-9).objective == pytest.approx(
        optimum, rel=1e-6
    )
    # Its certificate does not pretend.
    assert solution.dual_bound <= optimum * (1 + 1e-6)


def test_a_user_is_told_that_the_papers_rule_stalled():
    X, y = make_waveform(200, random_state=0)
    model = VotedKernelClassifier(solver="coordinate-descent-paper", complexity_penalty=1e-2)
    with pytest.warns(UserWarning, match=r"stalled.*solver='coordinate-descent'"):
        model.fit(X, y)
    assert model.stop_reason_ == "stalled"


@pytest.mark.parametrize("seed", range(20))
def test_the_line_search_is_exact(seed):
    random = np.random.default_rng(seed)
    margins, column = random.standard_normal(30), random.standard_normal(30)
    column[::7] = 0
    w, weight, penalty = random.uniform(0, 1, 30), float(random.standard_normal()), 0.3

    def value(step):
        return w @ np.maximum(0, 1 - margins - step * column) + penalty * abs(weight + step)

    step = best_step(margins, column, w, weight, penalty)
    assert value(step) <= min(value(s) for s in np.linspace(-10, 10, 20_001)) + 1e-12
