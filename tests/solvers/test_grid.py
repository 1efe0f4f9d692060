"""The order in which a grid of penalties is solved."""

import numpy as np

from votedkernels.solvers.grid_order import DEFAULT_PENALTIES, USUAL_PAIR, walk_outwards


def test_the_default_penalties_are_seven_decades():
    np.testing.assert_allclose(np.log10(DEFAULT_PENALTIES), -np.arange(7.0), atol=1e-12)


def test_it_starts_at_the_usual_pair_and_goes_outwards():
    first, second = USUAL_PAIR
    lambdas, betas = first * 10.0 ** np.array([2, 1, 0, -1, -2]), np.array([second])
    # Decades away: 2, 1, 0 and, since a decade down counts as one and a half, 1.5 and 3.
    assert walk_outwards(lambdas, betas) == [(2, 0), (1, 0), (3, 0), (0, 0), (4, 0)]
    assert walk_outwards(np.array([first]), second * 10.0 ** np.array([2, 1, 0, -1, -2])) == [
        (0, 2), (0, 1), (0, 3), (0, 0), (0, 4),
    ]  # fmt: skip


def test_both_penalties_count_from_their_own_usual_value():
    first, second = USUAL_PAIR
    # (1, 0) is the usual pair; (0, 0) is 0.8 decades up, (1, 1) 1.5 decades down.
    found = walk_outwards(first * np.array([10**0.8, 1.0]), second * np.array([1.0, 0.1]))
    assert found == [(1, 0), (0, 0), (0, 1), (1, 1)]


def test_of_pairs_as_far_away_the_larger_penalties_come_first():
    first, second = USUAL_PAIR
    found = walk_outwards(first * np.array([1.0, 10.0]), second * np.array([1.0, 10.0]))
    assert found[:2] == [(0, 0), (1, 1)]
    # A penalty of 0 is farther than any other.
    assert walk_outwards(np.array([0.0, 1e-9]), np.array([second])) == [(1, 0), (0, 0)]
