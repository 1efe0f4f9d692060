"""Single steps of Newton's method for relaxed votes."""

import numpy as np
import pytest

from votedkernels.kernels.design import LocalDesign
from votedkernels.problem.relaxed import RelaxedProblem
from votedkernels.solvers.newton import Newton


def newton_for(B, y, **changes):
    B, y = np.asarray(B, float), np.asarray(y, float)
    w = np.full(len(y), 1 / len(y))
    options = {"rho": 1.0, "fit_intercept": False} | changes
    return Newton(RelaxedProblem(LocalDesign(B), y, w, **options))


def test_a_singular_system_is_solved_by_least_squares():
    # Two equal columns of norm 2, without a ridge: no rounding hides that the matrix is singular.
    B, y = [[1, 1, 0], [1, 1, 1], [1, 1, 2], [-1, -1, 1]], [1, 1, -1, -1]
    newton = newton_for(B, y)
    newton.problem.w[:] = 1.0
    newton.matrix = newton._products(np.arange(4))
    found = newton._minimum_of_piece(np.zeros(3))
    best = np.linalg.lstsq(np.array(B, float), np.array(y, float))[0]
    np.testing.assert_allclose(found, best, atol=1e-9)


def test_a_step_that_goes_too_far_is_halved():
    # P(z) = (1 - z)^2 / 2 + z^2 / 2 for 0 <= z <= 1: the minimum is 0.5.
    newton, ridge = newton_for([[1]], [1]), np.ones(1)
    before = newton._value(newton.z, newton.h, ridge)
    assert before == 0.5
    value, is_full = newton._move(np.array([1.6]), before, ridge)
    assert (newton.z[0], is_full) == (0.8, False)
    assert value == pytest.approx(0.5 * 0.2**2 + 0.5 * 0.8**2)
    np.testing.assert_allclose(newton.h, [0.2])


def test_a_full_step_is_taken_where_it_lowers_the_value():
    newton, ridge = newton_for([[1]], [1]), np.ones(1)
    value, is_full = newton._move(np.array([0.5]), 0.5, ridge)
    assert (newton.z[0], is_full, value) == (0.5, True, 0.25)


def test_uphill_no_step_is_taken_and_none_is_left_to_take():
    newton, ridge = newton_for([[1]], [1]), np.ones(1)
    assert newton._move(np.array([-1.0]), 0.5, ridge) == (0.5, True)
    assert (newton.z[0], newton.h[0]) == (0.0, 1.0)
