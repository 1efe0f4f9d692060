import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votedkernels.solvers.box_newton import balanced, maximise_in_box


def random_box(seed):
    """A positive definite M, a gradient, and a box around 0 of which some sides are 0."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 30))
    B = random.standard_normal((n, n + 3))
    low, high = -random.uniform(0, 1, n), random.uniform(0, 1, n)
    low[random.random(n) < 0.3] = 0.0
    high[random.random(n) < 0.3] = 0.0
    return B @ B.T, 3 * random.standard_normal(n), low, high, random.choice([-1.0, 1.0], n)


@given(st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_no_feasible_direction_leads_upwards(seed):
    M, gradient, low, high, _ = random_box(seed)
    v, is_best = maximise_in_box(M, gradient, low, high)
    assert (v >= low).all()
    assert (v <= high).all()
    if is_best:
        rest = gradient - M @ v
        tiny = 1e-9 * (1 + np.abs(M).sum(axis=1))
        assert (rest[v < high] <= tiny[v < high]).all()
        assert (rest[v > low] >= -tiny[v > low]).all()


@given(st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_with_an_intercept_some_multiplier_leaves_no_direction(seed):
    M, gradient, low, high, y = random_box(seed)
    v, is_best = maximise_in_box(M, gradient, low, high, y)
    assert (v >= low).all()
    assert (v <= high).all()
    assert y @ v == pytest.approx(0, abs=1e-12)
    if is_best:
        rest = gradient - M @ v
        # y v may grow where v can follow y, and shrink where it can go against it.
        upwards = np.where(y > 0, v < high - 1e-12, v > low + 1e-12)
        downwards = np.where(y > 0, v > low + 1e-12, v < high - 1e-12)
        gains = y * rest
        if upwards.any() and downwards.any():
            tiny = 1e-8 * (1 + np.abs(M).sum())
            assert gains[upwards].max() <= gains[downwards].min() + tiny


def test_most_random_problems_are_solved_exactly():
    solved = [maximise_in_box(*random_box(seed)[:4])[1] for seed in range(100)]
    assert np.mean(solved) > 0.8


def test_a_matrix_that_is_not_definite_yields_a_point_in_the_box():
    v, is_best = maximise_in_box(-np.eye(2), np.ones(2), -np.ones(2), np.ones(2))
    assert not is_best
    assert (np.abs(v) <= 1).all()


def test_without_curvature_the_best_point_is_a_corner():
    v, is_best = maximise_in_box(1e-12 * np.eye(2), np.array([1.0, -1.0]), -np.ones(2), np.ones(2))
    assert is_best
    assert v == pytest.approx([1.0, -1.0])


@pytest.mark.parametrize("v", [[1.0, 1.0, -1.0], [0.5, -2.0, 0.0], [0.0, 0.0, 0.0]])
def test_balancing_only_shrinks(v):
    v, y = np.array(v), np.array([1.0, 1.0, -1.0])
    after = balanced(v, y)
    assert y @ after == pytest.approx(0, abs=1e-15)
    assert (np.abs(after) <= np.abs(v)).all()
    assert (after * v >= 0).all()
