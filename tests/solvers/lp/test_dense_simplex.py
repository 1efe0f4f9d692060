from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support.problems import assert_optimal, random_lp, reference

from votedkernels.exceptions import Infeasible
from votedkernels.solvers.lp import dense_simplex, tableau
from votedkernels.solvers.lp.dense_simplex import solve_dense
from votedkernels.solvers.lp.linear_program import BASIC, UPPER, Basis, LinearProgram, solve_basis


@pytest.fixture(params=["numpy", "compiled"])
def solve(request):
    if request.param == "compiled":
        pytest.importorskip("numba")
    return partial(solve_dense, compiled=request.param == "compiled")


@pytest.mark.parametrize("seed", range(120))
def test_it_finds_the_optimum_of_an_independent_solver(seed, solve):
    lp = random_lp(seed)
    result = solve(lp)
    assert result is not None
    value = reference(lp)
    assert_optimal(lp, result, value)
    assert_optimal(lp, solve_basis(lp, result), value)


@pytest.mark.parametrize("seed", range(40))
def test_any_old_basis_is_a_start(seed, solve):
    lp = random_lp(seed)
    old = solve(lp)
    lower, upper = lp.row_lower * 1.1, lp.row_upper * 1.1
    moved = LinearProgram(lp.cost, lp.upper * 0.7, lp.matrix, lower, upper)
    result = solve(moved, basis=old.basis)
    assert_optimal(moved, result, reference(moved))
    # A basis of the wrong shape of things (no variable fits its rows) is thrown away.
    nonsense = old.basis.columns.copy()
    nonsense[:] = BASIC
    again = solve(lp, basis=type(old.basis)(nonsense, old.basis.rows))
    assert_optimal(lp, again, reference(lp))


def test_a_hot_start_at_the_optimum_takes_no_pivot(solve):
    lp = random_lp(1)
    basis = solve(lp).basis
    assert (basis.rows != BASIC).any()
    assert solve(lp, basis=basis).iterations == 0
    assert solve(lp, basis=replace(basis, table=None)).iterations == 0


@pytest.mark.parametrize(("lower", "upper"), [(3.0, 4.0), (-4.0, -3.0), (-2.0, -1.0)])
def test_an_infeasible_program_is_called_so(lower, upper, solve):
    lp = LinearProgram(
        np.ones(2), np.ones(2), np.array([[1.0, 1.0]]), np.array([lower]), np.array([upper])
    )
    with pytest.raises(Infeasible):
        solve(lp)


def test_a_deadline_ends_it(solve):
    lp = random_lp(2)
    assert solve(lp, deadline=0.0) is None


@pytest.mark.parametrize("seed", range(40))
def test_compiled_pivots_are_the_same_pivots(seed):
    pytest.importorskip("numba")
    lp = random_lp(3 * seed + 1)  # without ties, where rounding might choose
    plain, compiled = solve_dense(lp), solve_dense(lp, compiled=True)
    assert compiled.iterations == plain.iterations
    np.testing.assert_allclose(compiled.x, plain.x, atol=1e-10)
    np.testing.assert_allclose(compiled.row_dual, plain.row_dual, atol=1e-10)
    np.testing.assert_array_equal(compiled.basis.rows, plain.basis.rows)


def test_compiled_pivots_share_the_constants():
    # Written twice: numba's cache on disk would not notice a constant imported from elsewhere.
    pivots = pytest.importorskip("votedkernels.solvers.lp.pivots")
    for name in ("PIVOT", "TIE", "SMALLEST_NORM"):
        assert getattr(pivots, name) == getattr(tableau, name)


def assert_state_is_that_of_its_basis(simplex):
    """What the updates have made of the table and all values is what the basis says they are."""
    fresh = dense_simplex._DenseSimplex(simplex.lp, None)
    fresh.B, fresh.S = simplex.B.copy(), simplex.S.copy()
    fresh.refactor()
    n, S, B, t = simplex.n, simplex.S, simplex.B, simplex.tableau
    assert n == len(S) == len(B) == fresh.n

    def agree(name, here=slice(None), there=None, rtol=1e-7):
        there = here if there is None else there
        actual, expected = getattr(t, name)[here], getattr(fresh.tableau, name)[there]
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-9, err_msg=name)

    basic = slice(0, n)
    rows, fresh_rows = slice(simplex.capacity, None), slice(fresh.capacity, None)
    for name in ("in_basis", "at_bound", "dual", "reduced", "x", "g"):
        agree(name)
    for name in ("basic_columns", "bound_rows", "A_bound", "slot_lower", "slot_upper"):
        agree(name, basic)
    agree("norms", basic, rtol=1e-3)
    agree("norms", rows, fresh_rows, rtol=1e-3)
    agree("values", basic)
    for name in ("values", "slot_lower", "slot_upper"):
        agree(name, rows, fresh_rows)
    agree("Q", (basic, basic))
    agree("Q", (rows, basic), (fresh_rows, basic))
    assert not t.Q[n : simplex.capacity].any()
    assert not t.Q[:, n:].any()
    free = ~t.at_bound
    agree("slot_tolerance", basic)
    np.testing.assert_allclose(
        t.slot_tolerance[rows][free], fresh.tableau.slot_tolerance[fresh_rows][free]
    )
    assert (t.slot_upper[n : simplex.capacity] == np.inf).all()
    assert (t.slot_lower[n : simplex.capacity] == -np.inf).all()
    agree("z_bound", S)
    agree("row_side", S)
    agree("side", ~t.in_basis)
    assert not t.row_side[simplex.program.row_width == 0].any()  # an equation stays


@pytest.mark.parametrize("seed", [3 * seed + 1 for seed in range(12)])
@pytest.mark.parametrize("compiled", [False, True])
def test_every_pivot_leaves_the_state_of_its_basis(seed, compiled):
    if compiled:
        pytest.importorskip("numba")
    lp = random_lp(seed)
    simplex = dense_simplex._DenseSimplex(lp, None)
    simplex.refactor()
    assert_state_is_that_of_its_basis(simplex)
    for _ in range(60):
        outcome, done = simplex.run(1, compiled=compiled)
        assert_state_is_that_of_its_basis(simplex)
        if done == 0:
            break
    assert outcome == dense_simplex.FEASIBLE


def test_it_does_as_many_pivots_as_it_may():
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    simplex.refactor()
    assert simplex.advance(3, None, compiled=False) == (dense_simplex.GOING, 3)
    assert simplex.advance(100, 0.0, compiled=False) == (dense_simplex.LATE, 0)
    outcome, done = simplex.advance(100, None, compiled=False)
    assert outcome == dense_simplex.FEASIBLE
    assert 3 + done == solve_dense(random_lp(1)).iterations


def test_an_accurate_end_needs_no_second_factorisation(monkeypatch):
    calls, true_refactor = [], dense_simplex._DenseSimplex.refactor
    monkeypatch.setattr(
        dense_simplex._DenseSimplex,
        "refactor",
        lambda simplex: (calls.append(1), true_refactor(simplex))[1],
    )
    for seed in range(1, 30, 3):
        calls.clear()
        assert solve_dense(random_lp(seed)).iterations <= 100
        assert len(calls) == 1


def test_an_inaccurate_end_is_taken_back(monkeypatch, solve):
    lp = random_lp(1)
    monkeypatch.setattr(dense_simplex._DenseSimplex, "is_accurate", lambda simplex: False)
    result = solve(lp)  # after a factorisation no pivot is left to do, and the end is believed
    assert_optimal(lp, result, reference(lp))


@pytest.mark.parametrize("outcome", ["GOING", "FEASIBLE", "STUCK"])
def test_it_gives_up_after_ten_disputes_or_too_many_pivots(monkeypatch, outcome):
    lp, calls = random_lp(1), []
    advance = (getattr(dense_simplex, outcome), 10)
    monkeypatch.setattr(dense_simplex._DenseSimplex, "is_accurate", lambda simplex: False)
    monkeypatch.setattr(
        dense_simplex._DenseSimplex, "advance", lambda *args, **kwargs: calls.append(1) or advance
    )
    assert solve_dense(lp) is None
    most = 10 * (len(lp.row_lower) + 20)
    assert len(calls) == (np.ceil(most / 10) if outcome == "GOING" else 10)


@pytest.mark.parametrize("spoil", ["values", "dual"])
def test_errors_of_updates_are_seen(spoil):
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    simplex.refactor()
    simplex.advance(100, None, compiled=False)
    assert simplex.is_accurate()
    if spoil == "values":
        simplex.tableau.values[0] += 1e-9
    else:
        simplex.tableau.dual[simplex.S[0]] += 1e-9
    assert not simplex.is_accurate()


def test_a_table_is_kept_as_long_as_it_is_accurate():
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    simplex.refactor()
    simplex.advance(5, None, compiled=False)
    simplex.go_on()
    assert not simplex.is_new
    assert simplex.is_accurate()
    simplex.tableau.Q[:] *= 1 + 1e-6
    simplex.tableau.values[0] += 1e-6
    simplex.go_on()
    assert simplex.is_new
    assert_state_is_that_of_its_basis(simplex)


def test_a_wrong_table_behind_accurate_values_is_not_kept():
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    simplex.refactor()
    simplex.advance(5, None, compiled=False)
    simplex.tableau.Q[:] *= 1 + 1e-6
    assert simplex.is_accurate()
    simplex.go_on()
    assert simplex.is_new
    assert_state_is_that_of_its_basis(simplex)


def test_the_end_is_believed_only_if_the_values_computed_anew_are_feasible(monkeypatch):
    # x = 2 is between its bounds while the row is at its own: 2 x = 4; but x may be 1 at most.
    lp = LinearProgram(np.ones(1), np.ones(1), np.full((1, 1), 2.0), np.zeros(1), np.full(1, 4.0))
    basis = Basis(np.full(1, BASIC, np.int8), np.full(1, UPPER, np.int8))
    simplex = dense_simplex._DenseSimplex(lp, basis)
    simplex.refactor()
    simplex.tableau.values[0] = 0.5  # what updates may have made of it
    stand_in = (dense_simplex.FEASIBLE, 1, 7)
    monkeypatch.setattr(dense_simplex, "run_pivots", lambda *args: stand_in)
    assert simplex.run(9, compiled=False) == (dense_simplex.GOING, 7)
    assert simplex.tableau.values[0] == pytest.approx(2.0)


def test_tolerances_are_relative_to_bounds_above_one():
    lp = LinearProgram(
        np.ones(2), np.array([0.0, 99.0]), np.ones((2, 2)), np.zeros(2), np.array([0.0, 999.0])
    )
    program = tableau.prepare(lp)
    np.testing.assert_allclose(program.tolerance, tableau.FEASIBILITY * np.array([1.0, 100.0]))
    np.testing.assert_allclose(program.row_tolerance, tableau.FEASIBILITY * np.array([1.0, 1000.0]))


def with_more_rows(lp, n_new, random):
    """Return the program with new rows in front, and where each of its rows was before."""
    matrix = np.vstack([random.standard_normal((n_new, lp.matrix.shape[1])), lp.matrix])
    lower = np.concatenate([np.full(n_new, -0.5), lp.row_lower])
    upper = np.concatenate([np.full(n_new, 0.5), lp.row_upper])
    origins = np.concatenate([np.full(n_new, -1), np.arange(len(lp.row_lower))])
    return LinearProgram(lp.cost, lp.upper, matrix, lower, upper), origins


@pytest.mark.parametrize("seed", range(1, 20, 3))
def test_a_table_of_the_last_program_saves_a_factorisation(seed, solve, monkeypatch):
    lp = random_lp(seed)
    old = solve(lp).basis
    moved, origins = with_more_rows(lp, 3, np.random.default_rng(seed))
    table = old.table.moved(old.table.columns, origins)
    rows = np.concatenate([np.full(3, BASIC, np.int8), old.rows])
    without = solve(moved, basis=Basis(old.columns, rows))
    monkeypatch.setattr(dense_simplex, "factorise", None)
    result = solve(moved, basis=Basis(old.columns, rows, table))
    assert_optimal(moved, result, reference(moved))
    np.testing.assert_allclose(result.x, without.x, atol=1e-9)


def test_a_wrong_table_is_not_used(solve):
    lp = random_lp(1)
    old = solve(lp).basis
    wrong = replace(old.table, inverse=old.table.inverse * (1 + 1e-6))
    result = solve(lp, basis=replace(old, table=wrong))
    assert_optimal(lp, result, reference(lp))
    lost = np.delete(np.arange(len(lp.row_lower)), old.table.rows[0])
    assert old.table.moved(old.table.columns, lost) is None


def test_a_singular_basis_is_thrown_away(solve):
    lp = random_lp(1)
    old = solve(lp).basis
    matrix = lp.matrix.copy()
    held = np.flatnonzero(old.rows != BASIC)
    assert len(held) > 1
    matrix[held[0]] = matrix[held[1]]
    near = matrix.copy()
    near[held[0], 0] += 1e-15
    for changed in (matrix, near):
        moved = LinearProgram(lp.cost, lp.upper, changed, lp.row_lower, lp.row_upper)
        assert_optimal(moved, solve(moved, basis=old), reference(moved))
        simplex = dense_simplex._DenseSimplex(moved, old)
        simplex.refactor()
        assert (simplex.n, len(simplex.B), len(simplex.S)) == (0, 0, 0)


def test_random_programs_take_few_pivots():
    cold = sum(solve_dense(random_lp(seed)).iterations for seed in range(1, 120, 3))
    assert cold <= 2 * 1092  # what it takes, and room for rounding that chooses other pivots


def test_a_program_of_many_rows_grows_beyond_its_first_table(solve):
    random = np.random.default_rng(0)
    matrix = random.standard_normal((150, 200))
    lp = LinearProgram(np.ones(200), np.ones(200), matrix, np.full(150, -0.5), np.full(150, 0.5))
    result = solve(lp)
    assert (result.basis.columns == BASIC).sum() > dense_simplex.ROOM
    assert_optimal(lp, result, reference(lp))
