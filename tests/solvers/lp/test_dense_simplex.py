from dataclasses import replace

import numpy as np
import pytest
from support.problems import assert_optimal, random_lp, reference

from votedkernels import _native
from votedkernels.exceptions import Infeasible
from votedkernels.solvers.lp import dense_simplex, tableau
from votedkernels.solvers.lp.dense_simplex import solve_dense
from votedkernels.solvers.lp.linear_program import (
    BASIC,
    LOWER,
    UPPER,
    Basis,
    LinearProgram,
    solve_basis,
)


@pytest.fixture(autouse=True, params=["compiled", "numpy"])
def loops(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(_native, "loops", None)
    elif _native.loops is None:
        pytest.skip("there are no compiled loops")


@pytest.mark.parametrize("seed", range(120))
def test_it_finds_the_optimum_of_an_independent_solver(seed):
    lp = random_lp(seed)
    result = solve_dense(lp)
    assert result is not None
    value = reference(lp)
    assert_optimal(lp, result, value)
    assert_optimal(lp, solve_basis(lp, result), value)


@pytest.mark.parametrize("seed", range(40))
def test_any_old_basis_is_a_start(seed):
    lp = random_lp(seed)
    old = solve_dense(lp)
    lower, upper = lp.row_lower * 1.1, lp.row_upper * 1.1
    moved = LinearProgram(lp.cost, lp.upper * 0.7, lp.matrix, lower, upper)
    result = solve_dense(moved, basis=old.basis)
    assert_optimal(moved, result, reference(moved))
    # A basis of the wrong shape of things (no variable fits its rows) is thrown away.
    nonsense = old.basis.columns.copy()
    nonsense[:] = BASIC
    again = solve_dense(lp, basis=type(old.basis)(nonsense, old.basis.rows))
    assert_optimal(lp, again, reference(lp))


def test_a_hot_start_at_the_optimum_takes_no_pivot():
    lp = random_lp(1)
    basis = solve_dense(lp).basis
    assert (basis.rows != BASIC).any()
    assert solve_dense(lp, basis=basis).iterations == 0
    assert solve_dense(lp, basis=replace(basis, table=None)).iterations == 0


@pytest.mark.parametrize(("lower", "upper"), [(3.0, 4.0), (-4.0, -3.0), (-2.0, -1.0)])
def test_an_infeasible_program_is_called_so(lower, upper):
    lp = LinearProgram(
        np.ones(2), np.ones(2), np.array([[1.0, 1.0]]), np.array([lower]), np.array([upper])
    )
    with pytest.raises(Infeasible):
        solve_dense(lp)


def test_a_row_out_of_reach_is_seen_before_any_pivot(monkeypatch):
    monkeypatch.setattr(dense_simplex, "_DenseSimplex", None)
    matrix = np.array([[1.0, -2.0]])
    for lower, upper in ((1.1, 2.0), (-9.0, -2.1)):
        lp = LinearProgram(np.ones(2), np.ones(2), matrix, np.full(1, lower), np.full(1, upper))
        with pytest.raises(Infeasible):
            solve_dense(lp)
    for lower, upper in ((1.0, 2.0), (-9.0, -2.0)):
        lp = LinearProgram(np.ones(2), np.ones(2), matrix, np.full(1, lower), np.full(1, upper))
        assert not dense_simplex.has_row_out_of_reach(lp)


def test_a_deadline_ends_it():
    lp = random_lp(2)
    assert solve_dense(lp, deadline=0.0) is None


def state_of(simplex):
    """Return what is known of each variable and row, and the tableau in a fixed order."""
    t = simplex.tableau
    slots, places = np.argsort(t.basic), np.argsort(t.nonbasic)
    basic, nonbasic = ("basic", "values", "lower", "upper", "tolerance"), ("nonbasic", "at", "side")
    state = {name: getattr(t, name)[slots] for name in basic}
    state |= {name: getattr(t, name)[places] for name in (*nonbasic, "width", "reduced")}
    table = np.array([t.row(slot) for slot in range(len(t.basic))])
    columns = np.array([t.column(place) for place in range(len(t.nonbasic))]).T
    np.testing.assert_allclose(table, columns, rtol=1e-7, atol=1e-9)
    state["table"] = table[np.ix_(slots, places)]
    return state


def assert_state_is_that_of_its_basis(simplex):
    """What the updates have made of the tableau and all values is what the basis says they are."""
    fresh = dense_simplex._DenseSimplex(simplex.lp, None)
    fresh.tableau = simplex.tableau
    fresh.refactor()
    expected = state_of(fresh)
    for name, actual in state_of(simplex).items():
        np.testing.assert_allclose(actual, expected[name], rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("together", [1, 4, 32])
@pytest.mark.parametrize("seed", [3 * seed + 1 for seed in range(12)])
def test_every_pivot_leaves_the_state_of_its_basis(seed, together, monkeypatch):
    monkeypatch.setattr(tableau, "TOGETHER", together)
    simplex = dense_simplex._DenseSimplex(random_lp(seed), None)
    assert_state_is_that_of_its_basis(simplex)
    for _ in range(300):
        outcome, done = simplex.tableau.run(1)
        assert_state_is_that_of_its_basis(simplex)
        if done == 0:
            break
    assert outcome == dense_simplex.FEASIBLE


@pytest.mark.parametrize("seed", range(1, 60, 3))  # without ties
def test_both_versions_of_a_pivot_are_the_same(seed, monkeypatch):
    ours = dense_simplex._DenseSimplex(random_lp(seed), None)
    other = dense_simplex._DenseSimplex(random_lp(seed), None)
    for _ in range(40):
        done = ours.tableau.run(1)
        with monkeypatch.context() as patch:
            patch.setattr(_native, "loops", None)
            assert other.tableau.run(1) == done
        np.testing.assert_array_equal(ours.tableau.basic, other.tableau.basic)
        np.testing.assert_array_equal(ours.tableau.nonbasic, other.tableau.nonbasic)
        for name in ("values", "at", "side", "width", "reduced", "norms", "lower", "upper"):
            expected = getattr(other.tableau, name)
            np.testing.assert_allclose(getattr(ours.tableau, name), expected, rtol=1e-9, atol=1e-9)


def test_norms_start_as_those_of_the_inverse_and_never_fall_below_their_share():
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    n = simplex.program.n_variables
    for _ in range(8):
        simplex.tableau.run(1)
    t = simplex.tableau
    t.absorb()
    exact = (t.table[:, t.nonbasic >= n] ** 2).sum(axis=1) + (t.basic >= n)
    t.settle()
    np.testing.assert_allclose(t.norms, exact)
    before = t.norms.copy()
    slot, off = t.most_infeasible()
    place, _ = t.long_step(t.row(slot), off)
    factors = t.column(place) / t.row(slot)[place]
    t.run(1)
    expected = np.maximum(before, factors**2 * before[slot])
    expected[slot] = before[slot] * t.row(slot)[place] ** 2  # 1 / pivot, after the exchange
    np.testing.assert_allclose(t.norms, expected, rtol=1e-9)


def test_it_does_as_many_pivots_as_it_may():
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    assert simplex.advance(3, None) == (dense_simplex.GOING, 3)
    assert simplex.advance(100, 0.0) == (dense_simplex.LATE, 0)
    outcome, done = simplex.advance(100, None)
    assert outcome == dense_simplex.FEASIBLE
    assert 3 + done == solve_dense(random_lp(1)).iterations


def test_an_accurate_end_needs_no_second_factorisation(monkeypatch):
    calls, factorise = [], dense_simplex.factorise
    monkeypatch.setattr(
        dense_simplex, "factorise", lambda *args: (calls.append(1), factorise(*args))[1]
    )
    for seed in range(1, 30, 3):
        calls.clear()
        assert solve_dense(random_lp(seed)).iterations <= 100
        assert len(calls) == 1


def test_an_inaccurate_end_is_taken_back(monkeypatch):
    lp = random_lp(1)
    monkeypatch.setattr(dense_simplex._DenseSimplex, "is_accurate", lambda simplex, *_: False)
    result = solve_dense(
        lp
    )  # after a factorisation no pivot is left to do, and the end is believed
    assert_optimal(lp, result, reference(lp))


@pytest.mark.parametrize("outcome", ["GOING", "FEASIBLE", "STUCK"])
def test_it_gives_up_after_ten_disputes_or_too_many_pivots(monkeypatch, outcome):
    lp, calls = random_lp(1), []
    advance = (getattr(dense_simplex, outcome), 10)
    monkeypatch.setattr(dense_simplex._DenseSimplex, "is_accurate", lambda simplex, *_: False)
    monkeypatch.setattr(
        dense_simplex._DenseSimplex, "advance", lambda *args, **kwargs: calls.append(1) or advance
    )
    assert dense_simplex._solve(lp, None, None, tableau.PERTURBATION) is None
    most = 10 * (len(lp.row_lower) + 20)
    assert len(calls) == (np.ceil(most / 10) if outcome == "GOING" else 10)


@pytest.mark.parametrize("spoil", ["values", "reduced"])
def test_errors_of_updates_are_seen(spoil):
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    simplex.advance(100, None)
    assert simplex.is_accurate()
    t, n = simplex.tableau, simplex.program.n_variables
    if spoil == "values":
        t.values[np.flatnonzero(t.basic < n)[0]] += 1e-7
    else:
        t.reduced[np.flatnonzero(t.nonbasic >= n)[0]] += 1e-7
    assert not simplex.is_accurate()


def test_a_table_is_kept_as_long_as_it_is_accurate():
    simplex = dense_simplex._DenseSimplex(random_lp(1), None)
    assert simplex.is_new
    simplex.advance(5, None)
    simplex.go_on()
    assert not simplex.is_new
    assert simplex.is_accurate()
    simplex.tableau.table *= 1 + 1e-5
    assert simplex.is_accurate()  # the values are those of the right table
    simplex.go_on()
    assert simplex.is_new
    assert_state_is_that_of_its_basis(simplex)


def test_the_end_is_believed_only_if_the_values_computed_anew_are_feasible():
    # x = 2 is between its bounds while the row is at its own: 2 x = 4; but x may be 1 at most.
    lp = LinearProgram(np.ones(1), np.ones(1), np.full((1, 1), 2.0), np.zeros(1), np.full(1, 4.0))
    basis = Basis(np.full(1, BASIC, np.int8), np.full(1, UPPER, np.int8))
    t = dense_simplex._DenseSimplex(lp, basis).tableau
    assert t.most_infeasible() == (0, pytest.approx(1.0))
    t.values[0], t.is_fresh = 0.5, False  # what updates may have made of it
    assert t.run(9) == (dense_simplex.FEASIBLE, 1)
    np.testing.assert_allclose([t.at[0], t.values[0]], [1.0, 2.0])


def test_what_cannot_move_does_not_enter():
    lp = LinearProgram(np.ones(2), np.ones(2), np.eye(2), np.zeros(2), np.array([0.0, 0.5]))
    simplex = dense_simplex._DenseSimplex(lp, None)
    assert simplex.advance(9, None) == (dense_simplex.FEASIBLE, 2)
    t = simplex.tableau
    assert dict(zip(t.nonbasic.tolist(), t.side.tolist(), strict=True)) == {2: 0.0, 3: -1.0}


def test_tolerances_are_relative_to_bounds_above_one():
    lp = LinearProgram(
        np.ones(2), np.array([0.0, 99.0]), np.ones((2, 2)), np.zeros(2), np.array([0.0, 999.0])
    )
    program = tableau.prepare(lp)
    expected = tableau.FEASIBILITY * np.array([1.0, 100.0, 1.0, 1000.0])
    np.testing.assert_allclose(program.tolerance, expected)


def with_others(lp, n_new, random):
    """Return the program with new rows and variables in front, and where the others were before.

    The last variable is gone.
    """
    n_rows, n_variables = lp.matrix.shape
    old = lp.matrix[:, : n_variables - 1]
    matrix = np.vstack([random.standard_normal((n_new, old.shape[1])), old])
    matrix = np.hstack([random.standard_normal((len(matrix), n_new)), matrix])
    lower = np.concatenate([np.full(n_new, -0.5), lp.row_lower])
    upper = np.concatenate([np.full(n_new, 0.5), lp.row_upper])
    new = np.full(n_new, -1)
    return (
        LinearProgram(
            np.concatenate([np.ones(n_new), lp.cost[:-1]]),
            np.concatenate([np.ones(n_new), lp.upper[:-1]]),
            matrix, lower, upper,
        ),
        np.concatenate([new, np.arange(n_variables - 1)]),
        np.concatenate([new, np.arange(n_rows)]),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(1, 20, 3))
def test_a_table_of_the_last_program_saves_a_factorisation(seed, monkeypatch):
    lp = random_lp(seed)
    old = solve_dense(lp).basis
    moved, variables, rows = with_others(lp, 3, np.random.default_rng(seed))
    table = old.table.moved(variables, rows)
    columns = np.concatenate([np.full(3, LOWER, np.int8), old.columns[:-1]])
    if old.columns[-1] == BASIC:
        assert table is None
        return
    basis = Basis(columns, np.concatenate([np.full(3, BASIC, np.int8), old.rows]))
    factorised = dense_simplex._DenseSimplex(moved, basis)
    without = solve_dense(moved, basis=basis)
    monkeypatch.setattr(dense_simplex, "factorise", None)
    basis = replace(basis, table=table)
    kept = state_of(dense_simplex._DenseSimplex(moved, basis))
    for name, expected in state_of(factorised).items():
        np.testing.assert_allclose(kept[name], expected, rtol=1e-7, atol=1e-9, err_msg=name)
    result = solve_dense(moved, basis=basis)
    assert_optimal(moved, result, reference(moved))
    np.testing.assert_allclose(result.x, without.x, atol=1e-9)


def test_the_table_of_a_result_is_not_changed_by_the_next_program():
    lp = random_lp(1)
    old = solve_dense(lp).basis
    before = [part.copy() for part in (old.table.entries, old.table.basic, old.table.nonbasic)]
    tighter = replace(lp, row_lower=0.5 * lp.row_lower, row_upper=0.5 * lp.row_upper)
    assert solve_dense(tighter, basis=old).iterations > 0
    for part, expected in zip(
        (old.table.entries, old.table.basic, old.table.nonbasic), before, strict=True
    ):
        np.testing.assert_array_equal(part, expected)


def test_a_wrong_table_is_not_used():
    lp = random_lp(1)
    old = solve_dense(lp).basis
    wrong = replace(old.table, entries=old.table.entries * (1 + 1e-6))
    result = solve_dense(lp, basis=replace(old, table=wrong))
    assert_optimal(lp, result, reference(lp))


def test_a_singular_basis_is_thrown_away():
    lp = random_lp(1)
    old = solve_dense(lp).basis
    matrix = lp.matrix.copy()
    held = np.flatnonzero(old.rows != BASIC)
    assert len(held) > 1
    matrix[held[0]] = matrix[held[1]]
    near = matrix.copy()
    near[held[0], 0] += 1e-15
    for changed in (matrix, near):
        moved = LinearProgram(lp.cost, lp.upper, changed, lp.row_lower, lp.row_upper)
        assert_optimal(moved, solve_dense(moved, basis=old), reference(moved))
        simplex = dense_simplex._DenseSimplex(moved, replace(old, table=None))
        np.testing.assert_array_equal(simplex.tableau.nonbasic, np.arange(len(lp.upper)))
        np.testing.assert_array_equal(simplex.tableau.table, changed)


def test_random_programs_take_few_pivots():
    cold = sum(solve_dense(random_lp(seed)).iterations for seed in range(1, 120, 3))
    assert cold <= 2 * 1092  # what it takes, and room for rounding that chooses other pivots


def test_a_program_that_takes_many_pivots():
    random = np.random.default_rng(0)
    matrix = random.standard_normal((150, 200))
    lp = LinearProgram(np.ones(200), np.ones(200), matrix, np.full(150, -0.5), np.full(150, 0.5))
    result = solve_dense(lp)
    assert result.iterations > dense_simplex.CHECK_EVERY > tableau.TOGETHER
    assert_optimal(lp, result, reference(lp))


@pytest.mark.parametrize(("missing", "n_tried"), [(set(), 5), ({1e-10}, 5), ({1e-9}, 4)])
def test_after_a_breakdown_it_starts_from_more_perturbed_costs(monkeypatch, missing, n_tried):
    tried, solve = [], dense_simplex._solve

    def broken(lp, basis, deadline, perturbation):
        tried.append(perturbation)
        if len(tried) == 1 or perturbation in missing:
            return None
        assert (basis is None) == (len(tried) == 2)
        return solve(lp, basis, deadline, perturbation)

    monkeypatch.setattr(dense_simplex, "_solve", broken)
    lp = random_lp(3)
    result = solve_dense(lp)
    assert tried == [1e-10, 1e-7, 1e-8, 1e-9, 1e-10][:n_tried]
    if 1e-9 in missing:
        assert result is None
    else:
        assert_optimal(lp, result, reference(lp))
