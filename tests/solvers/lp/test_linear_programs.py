"""The ladder of methods for a master LP: which comes when, with what, and for how long."""

import time
from collections import Counter
from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from support.problems import assert_optimal, make_problem, random_lp, reference

from votedkernels._system.budget import Budget
from votedkernels.exceptions import Infeasible, OutOfTime
from votedkernels.solvers import full_lp, solve_by_full_lp
from votedkernels.solvers.full_lp import check_memory_of_full_lp
from votedkernels.solvers.lp import highs as _highs
from votedkernels.solvers.lp import ladder as lp
from votedkernels.solvers.lp.linear_program import (
    BASIC,
    UPPER,
    Basis,
    LinearProgram,
    LPResult,
    Table,
    solve_basis,
)

HOT_DENSE, HOT_HIGHS = ("dense", {"basis": "old"}), ("highs", {"basis": "old"})
COLD = [
    ("dense", {}),
    ("highs", {"rescale": True}),
    ("highs", {"strategy": 4, "rescale": True}),
    ("highs", {"solver": "ipm", "rescale": True}),
]


def program(n_rows, n_columns=2):
    ones, bounds = np.ones(n_columns), np.ones(n_rows)
    return LinearProgram(ones, ones, np.ones((n_rows, n_columns)), -bounds, bounds)


@pytest.fixture
def tried(monkeypatch):
    """The methods that are tried, with what they are given; each of them fails."""
    calls = []

    def fail(method, lp, *, deadline=None, end=None, **options):
        end = deadline if end is None else end
        calls.append((method, options, end - time.perf_counter()))

    monkeypatch.setattr(lp, "solve_highs", lambda *args, **kwargs: fail("highs", *args, **kwargs))
    monkeypatch.setattr(lp, "solve_dense", lambda *args, **kwargs: fail("dense", *args, **kwargs))
    return calls


@pytest.mark.parametrize("n_rows", [3, 150])
def test_the_order_of_methods(tried, n_rows):
    assert lp.solve_lp(program(n_rows), basis="old") is None
    assert [call[:2] for call in tried] == [HOT_DENSE, HOT_HIGHS, *COLD]


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "hot", "cold"),
    [(3, 2, 5, 5), (700, 1000, 10, 11.9), (2000, 2000, 10, 120)],
)
def test_larger_programs_get_more_time(tried, n_rows, n_columns, hot, cold):
    assert lp.solve_lp(program(n_rows, n_columns)) is None
    np.testing.assert_allclose([call[2] for call in tried], 2 * [hot] + 4 * [cold], atol=0.5)


def test_what_failed_thrice_comes_last_until_it_succeeds(tried, monkeypatch):
    failures = Counter()
    for _ in range(3):
        lp.solve_lp(program(3), basis="old", failures=failures)
    assert set(failures.values()) == {3}
    failures.update(dict.fromkeys(("_hot_dense", "_cold_highs"), -3))
    tried.clear()
    lp.solve_lp(program(3), basis="old", failures=failures)
    order = [HOT_DENSE, COLD[1], HOT_HIGHS, COLD[0], COLD[2], COLD[3]]
    assert [call[:2] for call in tried] == order
    monkeypatch.setattr(lp, "solve_highs", lambda *args, **kwargs: "solved")
    assert lp.solve_lp(program(3), failures=failures) == "solved"
    assert failures["_cold_highs"] == 0
    assert failures["_hot_dense"] == 2


def test_a_deadline_shortens_every_try(tried):
    assert lp.solve_lp(program(1), deadline=time.perf_counter() + 3) is None
    assert len(tried) == 6
    np.testing.assert_allclose([call[2] for call in tried], 3, atol=0.5)


def test_nothing_is_tried_after_the_deadline(tried):
    assert lp.solve_lp(program(1), deadline=0.0) is None
    assert len(tried) == 1


@pytest.mark.parametrize("believed", [False, True])
def test_a_claim_of_infeasibility_counts_where_it_may_be_true(tried, monkeypatch, believed):
    def claim(*args, **kwargs):
        raise Infeasible

    monkeypatch.setattr(lp, "solve_dense", claim)
    assert lp.solve_lp(program(1), may_be_infeasible=believed) is None
    assert len(tried) == (0 if believed else 4)


# -- HiGHS -------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"strategy": 4}, {"solver": "ipm"}, {"rescale": True}])
@pytest.mark.parametrize("seed", range(6))
def test_highs_answers_and_restarts(seed, options):
    program = random_lp(seed)
    result = _highs.solve_highs(program, end=time.perf_counter() + 60, **options)
    assert_optimal(program, result, reference(program))
    again = _highs.solve_highs(program, basis=result.basis, end=time.perf_counter() + 60)
    assert_optimal(program, again, reference(program))
    assert again.iterations == 0
    if options.get("solver") != "ipm":
        assert result.iterations > 0


def test_highs_is_given_the_options_that_were_asked_for(monkeypatch):
    given = {}
    true_set = highspy.Highs.setOptionValue

    def set_option(highs, name, value):
        given[name] = value
        status = true_set(highs, name, value)
        assert status == highspy.HighsStatus.kOk, name
        return status

    monkeypatch.setattr(highspy.Highs, "setOptionValue", set_option)
    end = time.perf_counter() + 60
    _highs.solve_highs(random_lp(1), end=end)
    assert given["simplex_strategy"] == 1
    assert given["simplex_scale_strategy"] == 0
    assert given["presolve"] == "off"
    assert given["output_flag"] is False
    assert given["threads"] == 1
    _highs.solve_highs(random_lp(1), end=end, strategy=4, rescale=True)
    assert given["simplex_strategy"] == 4
    assert given["simplex_scale_strategy"] == 1
    _highs.solve_highs(random_lp(1), end=end, solver="ipm")
    assert (given["solver"], given["presolve"]) == ("ipm", "choose")


def test_highs_refuses_a_basis_that_is_none():
    program = random_lp(1)
    n_rows, n_cols = program.matrix.shape
    basis = Basis(np.full(n_cols + 1, BASIC, np.int8), np.full(n_rows, BASIC, np.int8))
    assert _highs.solve_highs(program, basis=basis, end=time.perf_counter() + 60) is None


class SlowHighs:
    """A solver that is done after so many runs, and does so many pivots in each."""

    def __init__(self, n_runs, pivots=1):
        self.limits, self.n_runs, self.pivots, self.run_time = [], n_runs, pivots, 100.0
        self.simplex_iteration_count = 0

    def setOptionValue(self, name, value):
        assert name == "time_limit"
        self.limits.append(value - self.run_time)

    def getRunTime(self):
        return self.run_time

    def run(self):
        self.run_time += self.limits[-1]
        self.simplex_iteration_count += self.pivots

    def getModelStatus(self):
        status = highspy.HighsModelStatus
        return status.kOptimal if len(self.limits) == self.n_runs else status.kTimeLimit

    def getInfo(self):
        return self


def test_runs_are_cut_into_slices():
    highs = SlowHighs(4)
    status = _highs._run_in_slices(highs, "simplex", time.perf_counter() + 60)
    assert status == highspy.HighsModelStatus.kOptimal
    np.testing.assert_allclose(highs.limits, [0.5] * 4)


def test_slices_grow_while_there_is_no_pivot():
    highs = SlowHighs(4, pivots=0)
    _highs._run_in_slices(highs, "simplex", time.perf_counter() + 60)
    np.testing.assert_allclose(highs.limits, [0.5, 1, 2, 4])


@pytest.mark.parametrize(("solver", "seconds"), [("ipm", 60), ("simplex", 0.3)])
def test_a_slice_ends_with_the_time(solver, seconds):
    highs = SlowHighs(1)
    _highs._run_in_slices(highs, solver, time.perf_counter() + seconds)
    np.testing.assert_allclose(highs.limits, [seconds], atol=0.2)


def test_no_run_after_the_end():
    highs = SlowHighs(1)
    status = _highs._run_in_slices(highs, "simplex", time.perf_counter())
    assert status == highspy.HighsModelStatus.kTimeLimit
    assert highs.limits == []


# -- refinement --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 30, 3))
def test_a_basis_is_solved_to_the_last_digits(seed):
    program = random_lp(seed)
    result = _highs.solve_highs(program, end=time.perf_counter() + 60)
    rough = type(result)(
        result.x * (1 + 1e-8), result.row_dual * (1 + 1e-8), result.basis, result.iterations
    )
    fine = solve_basis(program, rough)
    assert fine is not rough
    between, held = result.basis.columns == BASIC, result.basis.rows != BASIC
    square = program.matrix[np.ix_(held, between)].astype(np.longdouble)
    reached = program.matrix[held].astype(np.longdouble) @ fine.x
    bound = np.where(result.row_dual > 0, program.row_upper, program.row_lower)[held]
    eps, n = np.finfo(float).eps, len(program.upper)
    np.testing.assert_allclose(reached, bound, atol=n * eps * np.abs(program.matrix).max() * 4)
    np.testing.assert_allclose(
        fine.row_dual[held] @ square, program.cost[between], atol=n * eps * 20
    )
    assert not fine.row_dual[~held].any()
    np.testing.assert_array_equal(fine.x[~between] == 0, result.basis.columns[~between] == 0)


@pytest.mark.parametrize("spoil", ["weights", "values", "cost", "bound", "count", "singular"])
def test_a_basis_that_does_not_give_the_answer_changes_nothing(spoil):
    program = random_lp(1)
    result = _highs.solve_highs(program, end=time.perf_counter() + 60)
    between, held = result.basis.columns == BASIC, result.basis.rows != BASIC
    changed = {name: getattr(program, name).copy() for name in vars(program)}
    x, row_dual, columns = result.x.copy(), result.row_dual.copy(), result.basis.columns.copy()
    if spoil == "weights":
        row_dual[np.flatnonzero(held)[0]] += 1e-5 * (1 + np.abs(row_dual).max())
    elif spoil == "values":  # the basis asks for more than the bound of a variable
        changed["upper"][np.flatnonzero(between)[0]] = x[between][0] - 1e-5
    elif spoil == "cost":
        changed["cost"][np.flatnonzero(between)[0]] = np.inf
    elif spoil == "bound":
        changed["row_upper"][held] = changed["row_lower"][held] = np.inf
    elif spoil == "count":
        columns[np.flatnonzero(between)[0]] = 0
    else:
        changed["matrix"][np.flatnonzero(held)[0]] = 0.0
    spoilt = type(result)(x, row_dual, Basis(columns, result.basis.rows), 0)
    assert solve_basis(LinearProgram(**changed), spoilt) is spoilt


@pytest.mark.parametrize("vector", ["col_value", "row_dual"])
def test_one_number_that_is_none_spoils_an_answer_of_highs(monkeypatch, vector):
    true_solution = highspy.Highs.getSolution

    def solution(highs):
        answer = true_solution(highs)
        values = {name: list(getattr(answer, name)) for name in ("col_value", "row_dual")}
        values[vector][0] = np.nan
        return SimpleNamespace(**values)

    program, end = random_lp(1), time.perf_counter() + 60
    assert _highs.solve_highs(program, end=end) is not None
    monkeypatch.setattr(highspy.Highs, "getSolution", solution)
    assert _highs.solve_highs(program, end=end) is None


# -- the whole LP ------------------------------------------------------------------------


def test_the_memory_of_the_whole_lp():
    needed = 40 * 10 * 2 * 3 * 5  # bytes, rows, both signs, kernels, centres
    check_memory_of_full_lp(10, 3, 5, needed)
    with pytest.raises(ValueError, match="memory_limit"):
        check_memory_of_full_lp(10, 3, 5, needed - 1)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_whole_lp_is_one_round_however_it_ends(monkeypatch, fit_intercept):
    problem, rounds = make_problem(30, fit_intercept=fit_intercept), []
    solution = solve_by_full_lp(problem, tol=1e-6, on_round=rounds.append)
    assert (solution.stop_reason, solution.n_iter) == ("optimal", 1)
    assert [state.n_iter for state in rounds] == [1]
    solution = solve_by_full_lp(problem.within(Budget(0.0)), tol=1e-6)
    assert (solution.stop_reason, solution.n_iter) == ("time-limit", 1)
    monkeypatch.setattr(full_lp, "solve_highs", lambda *args, **kwargs: None)
    solution = solve_by_full_lp(problem, tol=1e-6)
    assert (solution.stop_reason, solution.n_iter) == ("precision", 1)


def test_the_whole_lp_is_tried_by_two_methods(monkeypatch):
    tried = []
    monkeypatch.setattr(full_lp, "solve_highs", lambda lp, **options: tried.append(options))
    now = time.perf_counter()
    solve_by_full_lp(make_problem(10), tol=1e-6)
    assert [options["strategy"] for options in tried] == [1, 4]
    assert all(options["rescale"] for options in tried)
    assert all(abs(options["end"] - now - 24 * 3600) < 60 for options in tried)


def test_time_to_read_the_whole_lp_is_taken_off(monkeypatch):
    tried = []
    monkeypatch.setattr(full_lp, "solve_highs", lambda lp, **options: tried.append(options))
    lp = LinearProgram(np.ones(2), np.ones(2), np.ones((3, 2)), -np.ones(3), np.ones(3))
    monkeypatch.setattr(full_lp, "LOAD_SECONDS", 100.0)
    now = time.perf_counter()
    assert full_lp._solve_whole(lp, now + 660) is None
    assert len(tried) == 2
    with pytest.raises(OutOfTime):
        full_lp._solve_whole(lp, now + 600)


def test_a_breakdown_of_one_method_leaves_the_other(monkeypatch):
    true_solve = full_lp.solve_highs

    def solve(lp, *, strategy, **options):
        if strategy == 1:
            raise Infeasible
        return true_solve(lp, strategy=strategy, **options)

    monkeypatch.setattr(full_lp, "solve_highs", solve)
    assert solve_by_full_lp(make_problem(30), tol=1e-6).stop_reason == "optimal"


# -- tables and bases ----------------------------------------------------------------------


def test_a_table_moves_with_its_program():
    # Variables 0 to 2, rows 3 and 4: variable 1 is basic, and row 3 is at a bound.
    table = Table(np.arange(6.0).reshape(2, 3), np.array([4, 1]), np.array([0, 3, 2]))
    # The new variables are 1, a new one and 2; the new rows are 0, a new one and another.
    moved = table.moved(np.array([1, -1, 2]), np.array([0, -1, -1]))
    np.testing.assert_array_equal(moved.basic, [0, 4, 5])
    np.testing.assert_array_equal(moved.nonbasic, [3, 2, 1])
    np.testing.assert_array_equal(moved.entries, [[4.0, 5.0]])
    assert table.moved(np.array([0, 2]), np.array([0, 1])) is None  # variable 1 is gone
    assert table.moved(np.array([0, 1, 2]), np.array([1])) is None  # row 0 is gone


@pytest.mark.parametrize(
    ("bound", "cost"), [(1.0, 0.0), (0.0, 1.0)], ids=["infinite values", "infinite duals"]
)
def test_a_basis_without_finite_solutions_is_left_alone(bound, cost):
    # The row at its bound is 1e-320 x = bound; the other row and the other variable stay out.
    lp = LinearProgram(
        np.array([cost, 1.0]), np.ones(2), np.array([[1e-320, 0.0], [0.0, 1.0]]),
        np.zeros(2), np.array([bound, 5.0]),
    )  # fmt: skip
    basis = Basis(np.array([BASIC, UPPER], np.int8), np.array([UPPER, BASIC], np.int8))
    result = LPResult(np.array([0.0, 1.0]), np.zeros(2), basis, 0)
    assert solve_basis(lp, result) is result
