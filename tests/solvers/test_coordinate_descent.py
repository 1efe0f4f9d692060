import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import PlainProblem, by_linprog
from support.problems import random_problem
from threadpoolctl import threadpool_limits

from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem, Terms
from votedkernels.solvers import (
    descent_pool,
    solve_by_column_generation,
    solve_by_coordinate_descent,
    solve_by_paper_rule,
)
from votedkernels.solvers.barrier import solve_pool
from votedkernels.solvers.descent_pool import (
    DescentPool,
    most_columns,
    most_rows,
    pool_bytes,
    read_off_corner,
)
from votedkernels.solvers.paper_rule import best_step
from votedkernels.solvers.rounds import Incumbent


def waveform_problem(n_rows, complexity_penalty, **changes):
    """The benchmark's problem: ten degrees, trace complexity, beta = lambda / 10."""
    X, y = make_waveform(n_rows, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(X.shape[1])
    gram = LocalColumns([Polynomial(gamma=1.0).fit(X, np.ones(n_rows))], X, X)
    diagonal = gram.diagonal(0)
    r = np.sqrt(diagonal.max(axis=1) * diagonal.sum(axis=1)) / n_rows
    penalties = complexity_penalty * r + complexity_penalty / 10
    w = np.full(n_rows, 1 / n_rows)
    return Problem(gram, y.astype(float), w, penalties, **changes)


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
        problem.columns.take(np.full(problem.n_rows, k), np.arange(problem.n_rows))
        for k in range(problem.columns.n_kernels)
    ]
    plain = PlainProblem(columns, problem.y, problem.w, problem.penalties, problem.fit_intercept)
    assert solution.objective == pytest.approx(by_linprog(plain), rel=1e-6)
    assert solution.gap <= 1e-6 * solution.objective


@given(st.integers(0, 10**6), st.sampled_from([solve_by_coordinate_descent, solve_by_paper_rule]))
@settings(max_examples=100, deadline=None)
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
    with threadpool_limits(1):  # as fit has it: threads wait for each other on a busy machine
        start, worked = time.perf_counter(), time.process_time()
        solution = solve_by_coordinate_descent(problem.within(Budget(start + 0.2)), tol=1e-9)
        assert time.process_time() - worked < 3
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


# -- the pool ----------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_corner_is_read_off_to_the_last_digits(seed, intercept):
    random = np.random.default_rng(seed)
    Z = random.standard_normal((50, 12))
    y = np.where(random.random(50) < 0.5, 1.0, -1.0) if intercept else None
    w = random.uniform(0.5, 2.0, 50)
    w, penalties = w / w.sum(), random.uniform(0.01, 0.1, 12)
    found = solve_pool(Z, w, penalties, 1e-8, y)
    corner = read_off_corner(Z, w, penalties, found, y)
    assert corner is not None
    margins = Z @ corner.weights + (corner.intercept * y if intercept else 0.0)
    value = w @ np.maximum(0, 1 - margins) + penalties @ np.abs(corner.weights)
    assert value == pytest.approx(corner.dual.sum(), rel=1e-13)
    assert ((corner.dual >= 0) & (corner.dual <= w)).all()
    assert (np.abs(corner.dual @ Z) <= penalties * (1 + 1e-13)).all()
    if intercept:
        assert corner.dual @ y == pytest.approx(0.0, abs=1e-13)
        assert corner.intercept != 0
    else:
        assert corner.intercept == 0
    between = (corner.dual > 1e-12) & (corner.dual < w - 1e-12)
    assert between.sum() == (corner.weights != 0).sum() + intercept


def test_there_may_be_no_corner():
    random = np.random.default_rng(0)
    Z = np.repeat(random.standard_normal((30, 1)), 2, axis=1)  # two equal columns share a weight
    w, penalties = np.full(30, 1 / 30), np.full(2, 0.01)
    found = solve_pool(Z, w, penalties, 1e-8, None)
    assert (found.weights != 0).all()
    assert read_off_corner(Z, w, penalties, found, None) is None


def make_pool(kernels=(), centers=()):
    pool = DescentPool(waveform_problem(30, 1e-3))
    pool.add(np.array(kernels, np.intp), np.array(centers, np.intp))
    return pool


def assert_consistent(pool):
    problem = pool.problem
    columns = problem.columns.take(pool.kernels, pool.centers) * problem.y[:, None]
    np.testing.assert_allclose(pool.Z * pool.scale, columns)
    np.testing.assert_allclose(np.abs(pool.Z).max(axis=0), 1.0)
    assert pool.member.sum() == len(pool.kernels) == len(pool.idle)
    assert pool.member[pool.kernels, pool.centers].all()


def test_columns_join_once():
    pool = make_pool([0, 3, 3], [5, 1, 2])
    pool.add(np.array([3, 4]), np.array([1, 7]))
    np.testing.assert_array_equal(pool.kernels, [0, 3, 3, 4])
    np.testing.assert_array_equal(pool.centers, [5, 1, 2, 7])
    assert_consistent(pool)


def test_the_steepest_coordinates_join_one_kernel_a_centre(monkeypatch):
    monkeypatch.setattr(descent_pool, "COORDINATES_PER_ROUND", 2)
    pool = make_pool([0], [4])
    excess = np.zeros((10, 30))
    excess[0, 4], excess[1, 3], excess[2, 3], excess[5, 9], excess[6, 2] = 9.0, 3.0, 4.0, 2.0, 5.0
    assert pool.add_steepest(excess, 1e-6)
    np.testing.assert_array_equal(pool.kernels, [0, 6, 2])
    np.testing.assert_array_equal(pool.centers, [4, 2, 3])
    assert_consistent(pool)
    excess[excess > 0] = 1 + 5e-8  # within a tenth of the tolerance
    assert not pool.add_steepest(excess, 1e-3)
    excess[5, 9] = 1 + 2e-7
    assert pool.add_steepest(excess, 1e-3)
    np.testing.assert_array_equal(pool.kernels, [0, 6, 2, 5])


def test_half_a_pool_of_coordinates_may_join(monkeypatch):
    monkeypatch.setattr(descent_pool, "COORDINATES_PER_ROUND", 2)
    pool = make_pool(np.zeros(12), np.arange(12))
    assert pool.add_steepest(np.full((10, 30), 2.0), 1e-6)
    assert len(pool.kernels) == 18


def test_idle_columns_leave_a_large_pool(monkeypatch):
    excess = np.zeros((10, 30))
    excess[5, 9] = 2.0
    for large, expected in ((5, [0, 1, 2, 3, 5]), (4, [1, 3, 5])):
        monkeypatch.setattr(descent_pool, "LARGE_POOL", large)
        pool = make_pool([0, 1, 2, 3], [4, 5, 6, 7])
        pool.idle = np.array([3, 2, 7, 0])
        assert pool.add_steepest(excess, 1e-6)
        np.testing.assert_array_equal(pool.kernels, expected)
    np.testing.assert_array_equal(pool.centers, [5, 7, 9])
    np.testing.assert_array_equal(pool.idle, [2, 0, 0])
    assert_consistent(pool)


def test_rounds_without_weight_are_counted():
    pool = make_pool(np.repeat([0, 9], 10), np.tile(np.arange(10), 2))
    best = Incumbent(pool.problem)
    for n_round in (1, 2):
        pool.improve(best, 1e-6, 1e-9)
        used = np.isin(
            10 * pool.kernels + pool.centers, 10 * best.terms.kernels + best.terms.centers
        )
        assert 0 < used.sum() < 20
        np.testing.assert_array_equal(pool.idle[~used], n_round)


def test_memory_is_that_of_the_columns_or_of_the_system():
    # Many columns: three arrays of 10 x 20 numbers and five of 20 x 20, and 40 vectors.
    assert pool_bytes(10, 20, 2) == 8 * (3 * 10 * 20 + 5 * 20**2 + 40 * 10)
    # Many rows on the margin: the columns, two arrays of 50 x 3 and two of 53 x 53.
    assert pool_bytes(50, 3, 50) == 8 * (50 * 3 + 2 * 50 * 3 + 2 * 53**2 + 40 * 50)


def test_as_many_columns_and_rows_are_used_as_fit_in_memory():
    for memory in (10**5, 10**6):
        n = most_columns(50, memory, 10**6)
        assert pool_bytes(50, n, min(n, 50)) <= memory < pool_bytes(50, n + 1, min(n + 1, 50))
    rows = most_rows(1000, 20, 10**6)
    assert pool_bytes(1000, 20, rows) <= 10**6 < pool_bytes(1000, 20, rows + 1)
    assert most_columns(50, 10**9, 7) == 7
    assert most_rows(30, 5, 10**9) == 30
    # Without memory there are no rows, but one column there must be.
    assert (most_columns(50, 0, 7), most_rows(30, 5, 0)) == (1, 0)


def test_a_vote_that_does_not_fit_is_cut_to_its_heaviest_columns():
    pool = make_pool()
    weights = np.array([1.0, -5.0, 0.1, 3.0])
    terms = Terms(np.zeros(4, np.intp), np.arange(4), weights)
    pool.most = 4
    pool.add_terms(terms)
    assert (len(pool.kernels), pool.reason_to_give_up) == (4, "precision")
    pool = make_pool()
    pool.most = 2
    pool.add_terms(terms)
    np.testing.assert_array_equal(pool.centers, [1, 3])
    assert pool.reason_to_give_up == "memory-limit"


def test_coordinates_that_do_not_fit_are_kept_out():
    excess = np.zeros((10, 30))
    excess[0, :3] = 4.0, 3.0, 2.0
    for most, reason in ((3, "precision"), (2, "memory-limit")):
        pool = make_pool()
        pool.most = most
        assert pool.add_steepest(excess, 1e-6)
        np.testing.assert_array_equal(pool.centers, np.arange(most))
        assert pool.reason_to_give_up == reason


def test_an_answer_can_be_sharpened_three_times():
    pool = make_pool()
    assert [pool.sharpen() for _ in range(4)] == [True, True, True, False]
    assert pool.accuracy == pytest.approx(1e-9)


@pytest.mark.parametrize(("shrink", "n_iter"), [(1.0, 16), (0.995, 16), (0.98, 40)])
def test_it_gives_up_when_the_gap_does_not_shrink(monkeypatch, shrink, n_iter):
    bounds = iter(1 - 0.9 * shrink ** np.arange(40))
    monkeypatch.setattr(Problem, "dual_value", lambda *args: next(bounds))
    monkeypatch.setattr(DescentPool, "add_steepest", lambda *args: True)
    monkeypatch.setattr(DescentPool, "improve", lambda pool, *args: (pool.problem.w, Terms.none()))
    solution = solve_by_coordinate_descent(waveform_problem(30, 1e-3), tol=1e-6, max_iter=40)
    if shrink == 0.995:  # every other round counts
        assert solution.stop_reason == "max-iter"
    else:
        assert solution.n_iter == n_iter
        assert solution.stop_reason == ("precision" if n_iter < 40 else "max-iter")


@pytest.mark.parametrize(("adds", "sharpens", "goes_on"), [
    (False, False, False), (True, False, True), (False, True, True),
])  # fmt: skip
def test_it_ends_when_no_column_and_no_digit_is_left(monkeypatch, adds, sharpens, goes_on):
    monkeypatch.setattr(DescentPool, "add_steepest", lambda *args: adds)
    monkeypatch.setattr(DescentPool, "sharpen", lambda *args: sharpens)
    monkeypatch.setattr(DescentPool, "improve", lambda pool, *args: (pool.problem.w, Terms.none()))
    solution = solve_by_coordinate_descent(waveform_problem(30, 1e-3), tol=1e-6, max_iter=5)
    assert (solution.stop_reason, solution.n_iter) == (
        ("max-iter", 5) if goes_on else ("precision", 1)
    )
