"""The master: its answers are proved optimal for its pool, whatever rows it leaves out."""

from dataclasses import replace

import numpy as np
import pytest
from support.problems import make_problem

from votedkernels._system.budget import Budget
from votedkernels.kernels import LocalColumns, Polynomial
from votedkernels.problem import Terms
from votedkernels.solvers import master as module
from votedkernels.solvers import solve_by_column_generation
from votedkernels.solvers.lp.linear_program import BASIC, LOWER, UPPER
from votedkernels.solvers.master import Master


def few_rows(monkeypatch):
    """Let the master leave out rows of small problems, as it does with large ones."""
    for name in (
        "FEWEST_ROWS",
        "ROWS_PER_TERM",
        "ROWS_PER_ROOT",
        "STORE_ALL_ROWS",
        "MANY_INSIDE",
        "MORE_ROWS_AT_HAND",
    ):
        monkeypatch.setattr(module, name, 1)


def assert_optimal_for_the_pool(master, answer):
    problem, (terms, u, decision) = master.problem, answer
    np.testing.assert_allclose(decision, problem.decision(terms), atol=1e-10)
    np.testing.assert_allclose(master.margins, problem.y * decision)
    assert ((u >= 0) & (u <= problem.w)).all()
    columns = problem.columns.take(master.kernels, master.centers) * problem.y[:, None]
    limits = problem.penalties[master.kernels]
    assert (np.abs(u @ columns) <= limits * (1 + 1e-9)).all()
    if problem.fit_intercept:
        assert u @ problem.y == pytest.approx(0.0, abs=1e-12)
    # F = D, so both are optimal.
    assert problem.objective(terms, decision) == pytest.approx(u.sum(), rel=1e-9)


def assert_values_are_those_of_the_columns(master, rows):
    expected = master.problem.columns.take(master.kernels, master.centers, rows).T
    np.testing.assert_allclose(master._columns_on(rows), expected)
    np.testing.assert_array_equal(master._where[master._stored], np.arange(len(master._stored)))
    assert (master._where >= 0).sum() == len(master._stored)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_optimal_for_the_pool(monkeypatch, fit_intercept, few, seed):
    if few:
        few_rows(monkeypatch)
    problem = make_problem(seed=seed, fit_intercept=fit_intercept)
    random, master = np.random.default_rng(seed), Master(problem)
    for _ in range(4):
        master.add_columns(random.integers(0, 2, 12), random.permutation(80)[:12])
        answer = master.solve()
        assert_optimal_for_the_pool(master, answer)
        assert_values_are_those_of_the_columns(master, random.permutation(80)[:30])
        assert_values_are_those_of_the_columns(master, master._stored)
        # a second time, nothing moves
        again = master.solve()
        np.testing.assert_allclose(again[0].weights, answer[0].weights, atol=1e-9)
        np.testing.assert_allclose(again[1], answer[1], atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rows_that_were_wrongly_left_out_are_freed(monkeypatch, fit_intercept):
    few_rows(monkeypatch)
    problem = make_problem(fit_intercept=fit_intercept)
    solution = solve_by_column_generation(problem, tol=1e-9)
    master = Master(problem)
    # A guess that has every row on the wrong side of its margin.
    master.start_from(problem.y * np.where(problem.y * problem.decision(solution.terms) < 1, 5, -5))
    master.add_columns(solution.terms.kernels, solution.terms.centers)
    answer = master.solve()
    assert_optimal_for_the_pool(master, answer)
    assert answer[1].sum() == pytest.approx(solution.objective, rel=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_few_rows_lead_to_the_same_optimum(monkeypatch, fit_intercept):
    problem = make_problem(200, fit_intercept=fit_intercept)
    expected = solve_by_column_generation(problem, tol=1e-9)
    few_rows(monkeypatch)
    n_fixed = []
    true_solve, true_restricted = Master.solve, Master._solve_restricted

    def solve(master):
        answer = true_solve(master)
        assert_optimal_for_the_pool(master, answer)
        return answer

    def solve_restricted(master, free, high, offset):
        n_fixed.append(high.sum())
        columns = master.problem.columns.take(master.kernels, master.centers)
        fixed = np.where(high, master.problem.y * master.problem.w, 0.0)
        np.testing.assert_allclose(offset, fixed @ columns, atol=1e-12)
        return true_restricted(master, free, high, offset)

    monkeypatch.setattr(Master, "solve", solve)
    monkeypatch.setattr(Master, "_solve_restricted", solve_restricted)
    found = solve_by_column_generation(problem, tol=1e-9, start=expected.terms)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.n_iter <= 6  # 3, and room for rounding
    found = solve_by_column_generation(problem, tol=1e-9)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.n_iter <= 2 * expected.n_iter
    assert max(n_fixed) > 20  # rows were left out


def test_columns_are_scaled_by_their_largest_value():
    problem = make_problem(20)
    X = problem.columns.X
    gram = LocalColumns([Polynomial((1, 3), gamma=1.0).fit(X, np.ones(20))], X, X)
    master = Master(replace(problem, columns=gram))
    master.add_columns(np.array([0, 1, 1]), np.array([4, 4, 7]))
    values = np.abs(gram.take(master.kernels, master.centers)).max(axis=0)
    assert (np.abs(values - 1) > 0.1).all()
    np.testing.assert_allclose(master.scale, values)
    assert_optimal_for_the_pool(master, master.solve())


def test_the_guess_says_which_samples_are_inside():
    problem = make_problem(6)
    master = Master(problem)
    master.start_from(problem.y * np.array([0.0, 0.999, 1.0, 1.001, 2.0, -1.0]))
    np.testing.assert_array_equal(master.column_status, [UPPER, UPPER, LOWER, LOWER, LOWER, UPPER])
    np.testing.assert_array_equal(master.u > 0, [True, True, False, False, False, True])
    np.testing.assert_array_equal(master.u[[0, 1, 5]], problem.w[[0, 1, 5]])
    assert master.settled


def test_a_new_master_has_all_samples_at_their_weight():
    master = Master(make_problem(6))
    assert not master.settled
    assert (master.column_status == UPPER).all()
    np.testing.assert_array_equal(master.u, master.problem.w)
    assert not master.margins.any()
    free, high = master._choose_rows()
    assert free.all()
    assert not high.any()


def test_the_rows_nearest_to_the_margin():
    master = Master(make_problem(6))
    master.margins = np.array([0.0, 0.9, 1.2, 3.0, 1.0, -7.0])
    among = np.array([True, True, True, True, False, True])
    np.testing.assert_array_equal(np.flatnonzero(master._nearest(among, 2)), [1, 2])
    np.testing.assert_array_equal(np.flatnonzero(master._nearest(among, 3)), [0, 1, 2])
    for n_near in (5, 6):
        nearest = master._nearest(among, n_near)
        np.testing.assert_array_equal(nearest, among)
        assert nearest is not among


@pytest.mark.parametrize(("many_inside", "settled"), [(2, True), (3, True), (2, False)])
def test_rows_far_inside_are_fixed_where_they_are_many(monkeypatch, many_inside, settled):
    few_rows(monkeypatch)
    monkeypatch.setattr(module, "ROWS_PER_ROOT", 0)
    monkeypatch.setattr(module, "MANY_INSIDE", many_inside)
    master = Master(make_problem(8))
    master.margins = np.array([-3.0, -2.0, -1.5, 0.9, 1.3, 1.4, 0.0, 4.0])
    master.column_status[:] = LOWER
    master.column_status[[4, 6]] = BASIC
    master.u = np.where(master.margins < 1, master.problem.w, 0.0)
    master.settled = settled
    free, high = master._choose_rows()
    if many_inside == 2 and settled:  # ROWS_PER_TERM * 2 are near
        np.testing.assert_array_equal(np.flatnonzero(high), [0, 1, 2])
        np.testing.assert_array_equal(np.flatnonzero(free), [3, 4, 6])
    else:
        assert not high.any()
        near = [5] if not settled else []  # UNSETTLED times as many
        np.testing.assert_array_equal(np.flatnonzero(free), sorted([0, 1, 2, 3, 4, 6, *near]))


def test_stored_rows_are_forgotten_once_half_are_enough(monkeypatch):
    few_rows(monkeypatch)
    master = Master(make_problem(20))
    master.add_columns(np.array([0, 1]), np.array([3, 4]))
    assert_values_are_those_of_the_columns(master, np.arange(10))
    keep = np.zeros(20, bool)
    keep[[1, 3, 5, 7, 9, 11]] = True
    master._forget_rows(keep)  # 10 stored, 6 to keep
    assert len(master._stored) == 10
    keep[11] = False
    master._forget_rows(keep)  # exactly twice as many
    np.testing.assert_array_equal(np.sort(master._stored), [1, 3, 5, 7, 9])
    assert_values_are_those_of_the_columns(master, np.array([9, 2, 1]))


# -- the pool ----------------------------------------------------------------------------


def test_the_worst_columns_join_one_kernel_a_centre(monkeypatch):
    monkeypatch.setattr(module, "COLUMNS_PER_ROUND", 3)
    master = Master(make_problem(6))
    master.add_columns(np.array([0]), np.array([5]))
    excess = np.array([
        [1.5, 0.9, 1.0, 3.0, 1.1, 9.0],
        [1.4, 0.8, 1.0, 4.0, 1.0, 0.5],
    ])  # fmt: skip
    assert master.add_worst(excess, tol=1e-6)
    np.testing.assert_array_equal(master.kernels, [0, 1, 0, 0])
    np.testing.assert_array_equal(master.centers, [5, 3, 0, 4])
    assert not master.settled
    assert master.member.sum() == 4
    np.testing.assert_array_equal(master.row_status, BASIC)
    np.testing.assert_array_equal(master.idle, 0)
    values = np.abs(master.problem.columns.take(master.kernels, master.centers))
    np.testing.assert_allclose(master.scale, values.max(axis=0))


@pytest.mark.parametrize(("worst", "settled"), [(1.15, True), (1.2, False), (1.25, False)])
def test_columns_of_some_centres_have_their_numbers(worst, settled):
    master = Master(make_problem(6))
    assert master.add_worst(np.array([[worst], [1.1]]), 1e-6, np.array([4]))
    assert (master.kernels.tolist(), master.centers.tolist()) == ([0], [4])
    assert master.settled is settled  # where nothing exceeds its penalty by a fifth


@pytest.mark.parametrize(("excess", "joins"), [(1 + 2e-7, True), (1 + 5e-8, False), (1.0, False)])
def test_only_violated_columns_join(excess, joins):
    master = Master(make_problem(4))
    assert master.add_worst(np.full((2, 4), excess), tol=1e-3) is joins
    assert len(master.kernels) == (4 if joins else 0)


def test_columns_without_weight_leave_a_crowded_pool(monkeypatch):
    master = Master(make_problem(6))
    master.add_columns(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]))
    master.idle = np.array([4, 3, 5, 0])
    master.row_status = np.array([BASIC, BASIC, UPPER, BASIC], np.int8)
    excess = np.zeros((2, 6))
    excess[1, 5] = 2.0
    monkeypatch.setattr(module, "CROWDED_POOL", 4)
    assert master.add_worst(excess, 1e-6)
    assert len(master.kernels) == 5  # four are no crowd
    excess[1, 4] = 2.0
    assert master.add_worst(excess, 1e-6)
    np.testing.assert_array_equal(master.kernels, [0, 1, 1, 1, 1])
    np.testing.assert_array_equal(master.centers, [1, 2, 3, 5, 4])
    np.testing.assert_array_equal(
        np.argwhere(master.member), [[0, 1], [1, 2], [1, 3], [1, 4], [1, 5]]
    )
    assert len(master.idle) == len(master.scale) == len(master.row_status) == len(master._values)
    assert_values_are_those_of_the_columns(master, np.arange(6))


def master_with_room(n_columns):
    problem = make_problem(6)
    for memory in range(0, 10**5, 48):
        master = Master(problem.within(Budget(memory=memory)))
        if master.room == n_columns:
            return master
    raise AssertionError(f"no memory has room for {n_columns} columns")


@pytest.mark.parametrize(("n_worst", "cramped"), [(2, False), (3, False), (4, True)])
def test_columns_are_kept_out_only_where_there_is_no_room(n_worst, cramped):
    master, excess = master_with_room(3), np.zeros((2, 6))
    excess[0, :n_worst] = 2.0
    assert master.add_worst(excess, 1e-6)
    assert master.is_cramped is cramped
    assert len(master.kernels) == min(3, n_worst)


def test_columns_without_a_weight_make_room_for_others():
    master, excess = master_with_room(3), np.zeros((2, 6))
    master.add_columns(np.zeros(3, int), np.arange(3))
    master.idle = np.array([1, 0, 1])
    excess[1, 3:6] = 4.0, 3.0, 2.0
    assert master.add_worst(excess, 1e-6)
    np.testing.assert_array_equal(master.kernels, [0, 1, 1])
    np.testing.assert_array_equal(master.centers, [1, 3, 4])
    assert master.is_cramped


def test_there_are_coarser_units_where_penalties_are_tiny():
    problem = make_problem(6)
    rows, coarse = np.arange(6), problem.w.mean()
    for fine, expected in (
        (0.5, [0.5]),
        (2e-3, [2e-3]),  # less than a thousand times finer
        (1e-8, [1e-8, 1e-4, 1.0]),
        (20.0, [1.0]),
    ):
        # All columns are 1 at their centre, so that their scale is 1.
        master = Master(replace(problem, penalties=coarse * np.array([fine, fine])))
        master.add_columns(np.array([0, 1]), np.array([0, 1]))
        np.testing.assert_array_equal(master.scale, 1.0)
        units = np.array(master._units(rows)) / coarse
        np.testing.assert_allclose(units, expected, rtol=1e-9)


def test_rounds_without_weight_are_counted():
    problem = make_problem(60, penalty=1e-2)
    master = Master(problem)
    master.add_columns(np.repeat([0, 1], 30), np.tile(np.arange(30), 2))
    for n_round in (1, 2, 3):
        terms, _, _ = master.solve()
        used = terms.weights != 0
        assert 0 < used.sum() < 60
        np.testing.assert_array_equal(master.idle, np.where(used, 0, n_round))


def test_no_lp_no_answer(monkeypatch):
    monkeypatch.setattr(module, "solve_lp", lambda *args, **kwargs: None)
    master = Master(make_problem(6))
    master.add_columns(np.array([0]), np.array([0]))
    assert master.solve() is None


def test_units_become_coarser_where_no_lp_is_solved(monkeypatch):
    problem = make_problem(penalty=1e-9)
    master, easy = Master(problem), Master(problem)
    for each in (master, easy):
        each.add_columns(np.repeat([0, 1], 40), np.tile(np.arange(40), 2))
    expected = problem.objective(*easy.solve()[::2])
    assert easy.coarseness == 0
    true_solve, largest = module.solve_lp, []

    def solve_lp(lp, **options):
        largest.append(lp.upper.max())
        return true_solve(lp, **options) if largest[-1] < 1e5 else None

    monkeypatch.setattr(module, "solve_lp", solve_lp)
    terms, _, decision = master.solve()
    assert problem.objective(terms, decision) == pytest.approx(expected, rel=1e-3)
    assert master.coarseness == 1
    assert largest[0] / largest[1] > 1e2
    largest.clear()
    master.solve()
    assert max(largest) < 1e5  # what failed is not tried again


def test_the_vote_of_stored_values_is_that_of_the_problem(monkeypatch):
    few_rows(monkeypatch)
    problem = make_problem(12)
    terms = Terms(np.array([0, 1, 1]), np.array([3, 4, 0]), np.array([0.5, 0.0, -2.0]), 0.25)
    master = Master(problem)
    master.add_columns(terms.kernels, terms.centers)
    np.testing.assert_allclose(master._decision(terms), problem.decision(terms))
    master._columns_on(np.arange(12)[::-1])
    np.testing.assert_allclose(master._decision(terms), problem.decision(terms))


def test_a_column_of_zeros_is_not_divided_by_its_size():
    problem = make_problem(6)
    far = np.vstack([problem.columns.X, [[1e6, 1e6]]])
    problem = replace(
        problem, columns=LocalColumns(problem.columns.families, problem.columns.X, far)
    )
    master = Master(problem)
    master.add_columns(np.array([0, 0]), np.array([2, 6]))
    assert not master._values[1].any()
    np.testing.assert_array_equal(master.scale, [1.0, 1.0])
    assert_optimal_for_the_pool(master, master.solve())
