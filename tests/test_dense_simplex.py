from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog

from votedkernels.solvers import dense_simplex
from votedkernels.solvers.dense_simplex import solve_dense
from votedkernels.solvers.linear_program import BASIC, Infeasible, LinearProgram
from votedkernels.solvers.refinement import solve_basis


def random_lp(seed):
    random = np.random.default_rng(seed)
    n_rows, n_cols = random.integers(1, 40), random.integers(1, 60)
    matrix = random.standard_normal((n_rows, n_cols))
    if seed % 3 == 0:  # ties and dependent rows
        matrix = np.round(matrix)
        matrix[-1] = matrix[0]
    bound = np.abs(random.standard_normal(n_rows)) * 10.0 ** random.uniform(-2, 1)
    lower, upper = -bound, bound.copy()
    if seed % 4 == 0:
        lower[0] = upper[0] = 0.0  # an equation
    if seed % 3 == 0:
        lower[-1], upper[-1] = lower[0], upper[0]
    return LinearProgram(np.ones(n_cols), random.uniform(0.1, 2, n_cols), matrix, lower, upper)


def reference(lp):
    answer = linprog(
        -lp.cost,
        A_ub=np.vstack([lp.matrix, -lp.matrix]),
        b_ub=np.concatenate([lp.row_upper, -lp.row_lower]),
        bounds=[(0, u) for u in lp.upper],
    )
    assert answer.status == 0
    return -answer.fun


def assert_optimal(lp, result, value):
    x, scale = result.x, 1 + np.abs(lp.row_upper)
    assert (x >= -1e-9).all()
    assert (x <= lp.upper + 1e-9).all()
    z = lp.matrix @ x
    assert (z >= lp.row_lower - 1e-8 * scale).all()
    assert (z <= lp.row_upper + 1e-8 * scale).all()
    assert lp.cost @ x == pytest.approx(value, rel=1e-8, abs=1e-9)
    # The row duals bound the optimum from above by the same value.
    reduced = lp.cost - result.row_dual @ lp.matrix
    dual = np.maximum(result.row_dual, 0) @ lp.row_upper
    dual += np.minimum(result.row_dual, 0) @ lp.row_lower + np.maximum(reduced, 0) @ lp.upper
    assert dual == pytest.approx(value, rel=1e-7, abs=1e-8)


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
    assert solve(lp, basis=solve(lp).basis).iterations == 0


def test_an_infeasible_program_is_called_so(solve):
    lp = LinearProgram(
        np.ones(2), np.ones(2), np.array([[1.0, 1.0]]), np.array([3.0]), np.array([4.0])
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
    pivots = pytest.importorskip("votedkernels.solvers._pivots")
    for name in ("PIVOT", "TIE", "GOING", "FEASIBLE", "STUCK"):
        assert getattr(pivots, name) == getattr(dense_simplex, name)
