"""The order in which a grid of penalties is solved, and what each pair starts from."""

from itertools import pairwise

import numpy as np
import pytest

from votedkernels.solvers.grid_order import Frontier


def walk(prices, shares=None, has_loss=True):
    """Return the steps through all pairs if every solution has these shares of its price."""
    frontier, steps = Frontier(prices), []
    shares = np.zeros(prices.shape[1]) if shares is None else shares
    while len(frontier):
        steps.append(frontier.choose())
        frontier.add_start(steps[-1][0], shares, has_loss=has_loss)
    return steps


def test_every_pair_is_chosen_once_and_starts_from_an_earlier_one():
    prices = 10.0 ** np.random.default_rng(0).integers(-6, 1, (30, 3))
    steps = walk(prices)
    assert sorted(number for number, _ in steps) == list(range(30))
    seen = {steps[0][0]}
    assert steps[0][1] is None
    for number, start in steps[1:]:
        assert start in seen
        seen.add(number)


def test_a_single_list_is_walked_from_large_to_small():
    prices = np.array([[1e-3], [1e-1], [0.0], [1e-2], [1.0]])
    steps = walk(prices)
    assert [number for number, _ in steps] == [4, 1, 3, 0, 2]
    assert all(start == before for (before, _), (_, start) in pairwise(steps))


def test_what_the_vote_pays_for_counts_more():
    prices = np.array([[1.0, 1.0], [1.0, 0.1], [0.1, 1.0]])
    assert walk(prices, np.array([1.0, 0.0]))[1] == (1, 0)  # the price of the first is the same
    assert walk(prices, np.array([0.0, 1.0]))[1] == (2, 0)


def test_a_common_factor_adds_nothing_without_a_loss():
    prices = np.array([[1.0, 1.0], [1e-4, 1e-4], [0.5, 0.6]])
    assert walk(prices)[1] == (2, 0)
    assert walk(prices, has_loss=False)[1] == (1, 0)
    # Larger penalties may bring the loss back.
    frontier = Frontier(np.array([[1.0], [1e-4], [3e-5]]))
    for pair in (0, 1):
        assert frontier.choose()[0] == pair
        if pair == 0:
            frontier.add_start(0, np.ones(1), has_loss=True)
    frontier.remove_start(0)
    frontier.add_start(1, np.ones(1), has_loss=False)
    assert frontier.choose() == (2, 1)


def test_removed_starts_are_not_used():
    prices = np.array([[1.0], [0.1], [0.9]])
    frontier = Frontier(prices)
    first, _ = frontier.choose()
    frontier.add_start(first, np.ones(1), has_loss=True)
    second, _ = frontier.choose()
    frontier.add_start(second, np.ones(1), has_loss=True)
    frontier.remove_start(first)
    assert frontier.choose() == (1, second)


@pytest.mark.parametrize("n_pairs", [1, 2])
def test_without_a_start_the_largest_comes_first(n_pairs):
    assert Frontier(np.arange(1.0, n_pairs + 1)[:, None]).choose() == (n_pairs - 1, None)
