"""Passes that start from the sums of the last one."""

import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, Threshold
from votedkernels.datasets import make_waveform
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem
from votedkernels.solvers import passes
from votedkernels.solvers.passes import Passes, Sums, most_extreme


def problem_of(families, n=120, seed=0):
    X, y = make_waveform(n, random_state=seed)
    w = np.full(n, 1 / n)
    columns = LocalColumns([family.fit(X, w) for family in families], X, X)
    return Problem(columns, y, w, np.full(columns.n_kernels, 0.05))


def walk(problem, seed=0, n_steps=12, n_moved=8):
    """Yield dual vectors, each of which differs from the last one at a few rows."""
    random = np.random.default_rng(seed)
    u = problem.w * (random.random(len(problem.w)) < 0.7)
    for _ in range(n_steps):
        yield u.copy()
        moved = random.choice(len(u), n_moved, replace=False)
        u[moved] = problem.w[moved] * random.random(n_moved)


@pytest.fixture(autouse=True)
def no_pass_is_small(monkeypatch):
    monkeypatch.setattr(passes, "FEW_VALUES", 0)
    monkeypatch.setattr(passes, "FRESH", 5)


KINDS = {
    "kernels": lambda: [Polynomial(degrees=(1, 2, 3)), Gaussian()],
    "with rules": lambda: [Gaussian(), Threshold()],
    "rules": lambda: [Threshold()],
}


@pytest.mark.parametrize("kind", KINDS)
def test_prices_are_those_of_full_passes(kind):
    problem, quick = problem_of(KINDS[kind]()), Passes()
    for u in walk(problem):
        found, right = quick.price(problem, u), problem.price(u)
        assert found.bound == pytest.approx(right.bound, rel=1e-12)
        np.testing.assert_allclose(found.excess, right.excess, rtol=1e-11, atol=1e-13)
        np.testing.assert_array_equal(found.centers, right.centers)


@pytest.mark.parametrize("kind", KINDS)
def test_some_centers_and_some_columns_in_between(kind):
    problem, quick = problem_of(KINDS[kind]()), Passes()
    random = np.random.default_rng(1)
    columns = problem.columns
    for u in walk(problem):
        centers = np.sort(random.choice(columns.n_centers, 20, replace=False))
        right = problem.excess(problem.correlate(u, centers), centers)
        found = quick.excess(problem, u, centers)
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-13)
        kernels, v = random.integers(columns.n_kernels, size=20), problem.signed(u)
        sums = quick.sums(columns, v, kernels, centers)
        np.testing.assert_allclose(sums, columns.sums(v, kernels, centers), atol=1e-13)
        if random.random() < 0.5:
            quick.price(problem, u)


def count_rows(monkeypatch, columns):
    """Return a list to which each pass over all centres adds its number of rows."""
    rows, sum_kernels = [], columns.sum_kernels

    def counting(v, centers=None):
        if centers is None:
            rows.append(int(np.count_nonzero(v)))
        return sum_kernels(v, centers)

    monkeypatch.setattr(columns, "sum_kernels", counting)
    return rows


def test_a_pass_covers_only_rows_that_have_changed(monkeypatch):
    problem, quick = problem_of(KINDS["kernels"]()), Passes()
    rows = count_rows(monkeypatch, problem.columns)
    for u in walk(problem, n_steps=3, n_moved=4):
        quick.price(problem, u)
    assert rows[0] > 60
    assert 0 < max(rows[1:]) <= 4


def test_rounding_is_no_change(monkeypatch):
    problem, quick = problem_of(KINDS["kernels"]()), Passes()
    rows = count_rows(monkeypatch, problem.columns)
    u = problem.w.copy()
    quick.price(problem, u)
    for _ in range(100):
        u = u * (1 - 1e-15)
        found = quick.price(problem, u)
        right = problem.excess(problem.columns.correlate(problem.signed(u), np.arange(120)))
        np.testing.assert_allclose(found.excess, right, rtol=1e-11, atol=1e-13)
    assert rows.count(0) > 80, "most passes cover no rows"
    assert rows.count(120) > 2, "but many such changes make one that counts"


def test_a_pass_is_full_if_most_rows_have_changed(monkeypatch):
    problem, quick = problem_of(KINDS["kernels"]()), Passes()
    rows = count_rows(monkeypatch, problem.columns)
    quick.price(problem, problem.w)
    quick.price(problem, 0.9 * problem.w)
    assert rows == [120, 120]


def test_a_pass_is_full_before_rounding_errors_add_up(monkeypatch):
    problem, quick = problem_of(KINDS["kernels"]()), Passes()
    rows = count_rows(monkeypatch, problem.columns)
    u = problem.w.copy()
    for step in range(40):  # each of these changes a quarter of all mass
        u[:30] = 0.0 if step % 2 == 0 else problem.w[:30]
        quick.price(problem, u)
    assert rows.count(30) > 2 * (len(rows) - rows.count(30)) > 2, "some are full, most are not"


def test_the_columns_that_decide_the_bound_are_summed_afresh():
    problem, quick = problem_of(KINDS["kernels"]()), Passes()
    start, u = list(walk(problem, n_steps=2))
    right = quick.price(problem, start)
    quick._last = Sums(problem.signed(start), right_sums(problem, start) * (1 + 1e-6), 0.0)
    found, right = quick.price(problem, u), problem.price(u)
    assert found.bound == pytest.approx(right.bound, rel=1e-13)
    assert np.abs(found.excess - right.excess).max() > 1e-9, "the others are not"


def right_sums(problem, u):
    return problem.columns.correlate(problem.signed(u))


def test_a_copy_goes_its_own_way():
    problem, first = problem_of(KINDS["kernels"]()), Passes()
    a, b, c = walk(problem, n_steps=3)
    first.price(problem, a)
    second = first.copy()
    second.price(problem, b)
    assert first.price(problem, c).bound == pytest.approx(problem.price(c).bound, rel=1e-12)


@pytest.mark.parametrize(("n", "found"), [(2, [1, 3]), (9, [0, 1, 2, 3])])
def test_most_extreme_centers(n, found):
    excess = np.array([[0.1, 2.0, 0.3, 0.2], [0.2, 0.1, 0.1, 0.9]])
    np.testing.assert_array_equal(most_extreme(excess, n), found)
