import cvxpy
import numpy as np
import pytest

from votedkernels.solvers import barrier
from votedkernels.solvers.barrier import solve_pool


def random_pool(seed):
    """A pool with a squared term: of the weights, or of the norm in a kernel's space."""
    random = np.random.default_rng(seed)
    n, n_columns = 80, 40
    X = random.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * random.standard_normal(n) > 0, 1.0, -1.0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-0.5 * distances)[:, :n_columns]
    penalties = np.full(n_columns, 10.0 ** random.uniform(-7, -1))
    squared = 10.0 ** random.uniform(-5, 0) * (np.eye(n_columns) if seed % 2 else K[:n_columns])
    w = random.uniform(0.5, 2, n)
    return K * y[:, None], w / w.sum(), penalties, squared, y if seed % 3 == 0 else None


def by_clarabel(Z, w, penalties, squared, balance):
    b, constant = cvxpy.Variable(Z.shape[1]), cvxpy.Variable()
    margins = Z @ b if balance is None else Z @ b + balance * constant
    eigenvalues, vectors = np.linalg.eigh(squared)
    root = np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T
    loss = w @ cvxpy.pos(1 - margins) + penalties @ cvxpy.abs(b)
    model = cvxpy.Problem(cvxpy.Minimize(loss + 0.5 * cvxpy.sum_squares(root @ b)))
    model.solve(solver=cvxpy.CLARABEL, tol_gap_rel=1e-11, tol_gap_abs=1e-13, tol_feas=1e-11)
    assert model.status == cvxpy.OPTIMAL
    return float(model.value)


@pytest.mark.parametrize("seed", range(24))
def test_a_pool_is_solved_as_by_an_independent_solver(seed):
    Z, w, penalties, squared, balance = random_pool(seed)
    found = solve_pool(Z, w, penalties, 1e-9, balance, squared)
    b = found.weights
    margins = Z @ b if balance is None else Z @ b + balance * found.intercept
    value = w @ np.maximum(0, 1 - margins) + penalties @ np.abs(b) + 0.5 * b @ squared @ b
    assert value == pytest.approx(by_clarabel(Z, w, penalties, squared, balance), rel=1e-8)
    assert (found.dual >= 0).all()
    assert (found.dual <= w).all()


def test_a_square_of_zero_is_none():
    Z, w, penalties, _, _ = random_pool(3)
    penalties[:] = 0.01
    plain = solve_pool(Z, w, penalties, 1e-10, None)
    found = solve_pool(Z, w, penalties, 1e-10, None, np.zeros((Z.shape[1],) * 2))
    np.testing.assert_allclose(found.weights, plain.weights, atol=1e-6)
    np.testing.assert_array_equal(found.weights != 0, plain.weights != 0)


def state_after(n_steps, seed, *, square, intercept):
    Z, w, penalties, squared, _ = random_pool(seed)
    y = np.sign(Z[np.arange(len(Z)), np.abs(Z).argmax(axis=1)])
    state = barrier._State(Z, w, penalties, y if intercept else None, squared if square else None)
    for _ in range(n_steps):
        assert state.step()
    return state


@pytest.mark.parametrize("square", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_steps", [0, 3, 8])
def test_a_direction_solves_the_equations_it_is_made_for(square, intercept, n_steps):
    state = state_after(n_steps, 5, square=square, intercept=intercept)
    aim = tuple(x * z * 0.3 + 1e-4 for x, z in zip(state.primal, state.dual, strict=True))
    move = state._direction(state._factor(), aim)
    for x, z, dx, dz, a in zip(state.primal, state.dual, move.primal, move.dual, aim, strict=True):
        size = np.abs(x * dz) + np.abs(z * dx) + np.abs(a)
        assert (np.abs(x * z + x * dz + z * dx - a) <= 1e-9 * size).all()
    # A whole step satisfies all linear equations, whatever was missing before.
    xi, s, up, down = (x + dx for x, dx in zip(state.primal, move.primal, strict=True))
    t, u, p, q = (z + dz for z, dz in zip(state.dual, move.dual, strict=True))
    b, H = up - down, 0.0 if state.squared is None else state.squared
    pull = H @ b if square else 0.0
    margins = state.Z @ b
    if intercept:
        margins = margins + state.balance * (state.intercept + move.intercept)
        assert state.balance @ u == pytest.approx(0.0, abs=1e-9)
    scale = 1 + np.abs(state.Z) @ np.abs(b) + np.abs(xi) + np.abs(s)
    assert (np.abs(xi - s + margins - 1) <= 1e-8 * scale).all()
    np.testing.assert_allclose(u + t, state.w, rtol=1e-9)
    size = 1e-8 * (state.penalties + np.abs(u) @ np.abs(state.Z) + np.abs(pull))
    assert (np.abs(u @ state.Z - pull + p - state.penalties) <= size).all()
    assert (np.abs(pull - u @ state.Z + q - state.penalties) <= size).all()


@pytest.mark.parametrize("square", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_start_is_where_the_method_wants_it(square, intercept):
    state = state_after(0, 4, square=square, intercept=intercept)
    for x, z in zip(state.primal, state.dual, strict=True):
        assert (x > 0).all()
        assert (z > 0).all()
        np.testing.assert_allclose(x * z, 10 * state.w.mean())
    t, u, p, q = state.dual
    np.testing.assert_allclose(t + u, state.w)
    correlation = u @ state.Z
    slack = state.penalties + 0.1 * np.abs(correlation).max()
    np.testing.assert_allclose(p, np.maximum(state.penalties - correlation, slack))
    np.testing.assert_allclose(q, np.maximum(state.penalties + correlation, slack))
    if intercept:
        assert state.balance @ u == pytest.approx(0.0, abs=1e-13)
        heavier = state.balance == np.sign(state.balance @ state.w)
        np.testing.assert_allclose(u[~heavier], state.w[~heavier] / 2)
    else:
        np.testing.assert_allclose(u, state.w / 2)


@pytest.mark.parametrize(
    ("x", "dx", "longest"),
    [
        ([1.0, 2.0], [-4.0, 1.0], 0.25),
        ([1.0, 2.0], [-4.0, -16.0], 0.125),
        ([1.0, 2.0], [-0.5, 0.0], 1.0),
        ([1.0, 2.0], [0.5, 0.0], 1.0),
        ([], [], 1.0),
    ],
)
def test_the_longest_step(x, dx, longest):
    assert barrier._longest(np.array(x), np.array(dx)) == longest


@pytest.mark.parametrize("seed", range(6))
def test_corrections_make_longer_steps(seed):
    state = state_after(4, seed, square=False, intercept=False)
    solve = state._factor()
    mu = np.mean(np.concatenate([x * z for x, z in zip(state.primal, state.dual, strict=True)]))
    aim = tuple(np.full_like(x, 0.01 * mu) for x in state.primal)
    move = state._direction(solve, aim)
    corrected = state._corrected(solve, aim, move, 0.01 * mu)
    before, after = sum(state._step_lengths(move)), sum(state._step_lengths(corrected))
    assert after > before + 0.02 if corrected is not move else after == before
    assert before >= 1.8 or corrected is not move


@pytest.mark.parametrize(("square", "most"), [(True, 241), (False, 260)])
def test_pools_take_ten_newton_steps(square, most):
    n_steps = 0
    for seed in range(24):
        Z, w, penalties, squared, balance = random_pool(seed)
        penalties = np.maximum(penalties, 1e-3)
        found = solve_pool(
            Z, w, penalties, 1e-5, balance if square else None, squared if square else None
        )
        n_steps += found.n_steps
    assert n_steps <= most


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_a_vote_has_no_weights_but_those_of_the_optimum(seed):
    Z, w, penalties, _, _ = random_pool(seed)
    penalties[:] = 1e-2
    b = cvxpy.Variable(Z.shape[1])
    loss = w @ cvxpy.pos(1 - Z @ b) + penalties @ cvxpy.abs(b)
    cvxpy.Problem(cvxpy.Minimize(loss)).solve(solver=cvxpy.CLARABEL, tol_gap_rel=1e-11)
    found = solve_pool(Z, w, penalties, 1e-9, None)
    np.testing.assert_array_equal(found.weights != 0, np.abs(b.value) > 1e-6)
    np.testing.assert_allclose(found.weights, b.value, atol=1e-5)


@pytest.mark.parametrize("square", [False, True])
def test_the_bound_of_a_point_is_that_of_its_formula(square):
    state = state_after(1, 1, square=square, intercept=False)
    b, u = state.b, state.u
    pull = state.squared @ b if square else np.zeros_like(b)
    excess = (np.abs(u @ state.Z - pull) / state.penalties).max()
    assert excess > 1
    value, shrink = state.dual_value()
    assert shrink == pytest.approx(1 / excess)
    assert value == pytest.approx(u.sum() / excess - 0.5 * (b @ pull) / excess**2)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("side", ["primal", "dual"])
def test_one_number_that_is_none_ends_it(monkeypatch, side, part):
    state = state_after(1, 2, square=False, intercept=False)

    def spoil(self, solve, aim, move, target):
        getattr(move, side)[part][0] = np.nan
        return move

    monkeypatch.setattr(barrier._State, "_corrected", spoil)
    before = state.primal
    assert not state.step()
    assert state.primal is before


def test_products_after_a_step_as_long_as_it_may_be():
    state = state_after(2, 1, square=False, intercept=False)
    aim = tuple(0.01 * x * z for x, z in zip(state.primal, state.dual, strict=True))
    move = state._direction(state._factor(), aim)
    primal, dual = state._step_lengths(move)
    assert primal != dual
    for stretch, more in [(1.0, 0.0), (1.08, 0.08), (1.0, 5.0)]:
        a, b = min(1.0, stretch * primal + more), min(1.0, stretch * dual + more)
        expected = [
            (x + a * dx) * (z + b * dz)
            for x, dx, z, dz in zip(state.primal, move.primal, state.dual, move.dual, strict=True)
        ]
        for found, product in zip(
            state._products_after(move, stretch, more), expected, strict=True
        ):
            np.testing.assert_allclose(found, product, rtol=1e-12)


def corrections(monkeypatch, state, lengths, target):
    """The aims of the corrections that are tried when steps have these lengths."""
    aims, lengths = [], iter(lengths)
    monkeypatch.setattr(state, "_step_lengths", lambda move: move)
    monkeypatch.setattr(state, "_direction", lambda solve, aim: aims.append(aim) or next(lengths))
    monkeypatch.setattr(
        state, "_products_after", lambda move, *longer: [np.array([*longer, 50.0, 1e-9])] * 4
    )
    aim = tuple(np.zeros(4) for _ in range(4))
    return state._corrected(None, aim, next(lengths), target), aims


@pytest.mark.parametrize(
    ("lengths", "n_tried", "kept"),
    [
        ([(0.95, 0.91), (1.0, 1.0)], 0, 0),  # long already
        ([(0.3, 0.3), (0.3, 0.31), (1.0, 1.0)], 1, 0),  # no longer to speak of
        ([(0.3, 0.3), (0.3, 0.33), (0.3, 0.34), (1.0, 1.0)], 2, 1),
        ([(0.3, 0.3), (0.4, 0.4), (0.5, 0.5), (0.6, 0.6), (0.7, 0.7)], 3, 3),
        ([(0.3, 0.3), (0.4, 0.4), (1.0, 0.91), (1.0, 1.0)], 2, 2),
        ([(0.3, 0.3), (0.4, 0.4), (1.0, 0.89), (1.0, 1.0)], 3, 3),
    ],
)
def test_corrections_go_on_while_steps_get_longer(monkeypatch, lengths, n_tried, kept):
    state = state_after(0, 1, square=False, intercept=False)
    move, aims = corrections(monkeypatch, state, lengths, 1.0)
    assert len(aims) == n_tried
    assert move == lengths[kept]


def test_corrections_aim_at_products_between_a_tenth_and_ten_times_the_target(monkeypatch):
    state = state_after(0, 1, square=False, intercept=False)
    _, aims = corrections(monkeypatch, state, [(0.3, 0.3), (0.4, 0.4), (0.4, 0.4)], 2.0)
    # products 1.08 and 0.08 (how much longer was asked for), 50 and almost 0
    once = np.array([0.0, 0.2 - 0.08, -20.0, 0.2])
    for aim in aims[0]:
        np.testing.assert_allclose(aim, once, atol=1e-8)
    for aim in aims[1]:
        np.testing.assert_allclose(aim, 2 * once, atol=1e-8)
    assert len(aims) == 2
