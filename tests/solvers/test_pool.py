"""The pool of columns that the solvers share."""

import numpy as np
from support.problems import make_problem

from votedkernels.solvers.master import ColumnPool, largest_values


def pool_of(kernels, centers):
    pool = ColumnPool(make_problem(20))
    pool.admit(np.array(kernels), np.array(centers))
    pool.scale = np.arange(1.0, len(kernels) + 1)
    return pool


def test_columns_are_admitted_once():
    pool = pool_of([0, 1], [3, 3])
    kernels, centers = pool.admit(np.array([1, 0, 1]), np.array([3, 4, 5]))
    np.testing.assert_array_equal(kernels, [0, 1])
    np.testing.assert_array_equal(centers, [4, 5])
    np.testing.assert_array_equal(pool.kernels, [0, 1, 0, 1])
    assert pool.member.sum() == 4


def test_dismissed_columns_may_come_back():
    pool = pool_of([0, 1, 1], [3, 3, 7])
    pool.dismiss(np.array([False, True, False]))
    np.testing.assert_array_equal(pool.scale, [1.0, 3.0])
    assert not pool.member[1, 3]
    assert len(pool.admit(np.array([1]), np.array([3]))[0]) == 1


def test_weights_end_a_rest():
    pool = pool_of([0, 1, 1], [3, 3, 7])
    pool.note_weights(np.array([0.0, 2.0, 0.0]))
    pool.note_weights(np.array([0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(pool.idle, [2, 1, 0])


def test_the_worst_are_one_per_centre_and_outside_the_pool():
    pool = pool_of([0], [3])
    excess = np.zeros((2, 20))
    excess[:, 3] = 9.0, 2.0  # the first is a member
    excess[:, 5] = 3.0, 4.0
    excess[0, 6] = 1.0 + 1e-9  # within rounding of its penalty
    kernels, centers, worst = pool.worst_outside(excess, 1e-6, 5)
    np.testing.assert_array_equal(kernels, [1, 1])
    np.testing.assert_array_equal(centers, [5, 3])
    np.testing.assert_array_equal(worst, [4.0, 2.0])
    candidates = np.array([3, 6])
    _, centers, _ = pool.worst_outside(excess[:, candidates], 1e-6, 5, candidates)
    np.testing.assert_array_equal(centers, [3])


def test_a_column_of_zeros_has_a_scale():
    values = np.array([[0.0, -3.0], [0.0, 2.0]])
    np.testing.assert_array_equal(largest_values(values, axis=0), [1.0, 3.0])
    np.testing.assert_array_equal(largest_values(values, axis=1), [3.0, 2.0])
