"""Columns chosen one by one are those that lower a sum of squares most."""

import numpy as np
import pytest

from votedkernels.solvers import greedy
from votedkernels.solvers.greedy import choose_columns

NONE = np.zeros(0, np.intp)


@pytest.fixture
def columns():
    # What they have in common makes the first choice change what the others still add.
    random = np.random.default_rng(0)
    return random.normal(size=(40, 12)) + 3 * random.normal(size=(40, 1))


def square_left(columns, target, w, chosen):
    """Return the weighted sum of squares of the best fit of some columns and a constant."""
    roots = np.sqrt(w)
    design = np.column_stack([np.ones(len(target)), columns[:, chosen]]) * roots[:, None]
    best = np.linalg.lstsq(design, target * roots)[0]
    return float(np.sum((target * roots - design @ best) ** 2))


@pytest.mark.parametrize("chosen", [[], [3, 7]])
def test_each_choice_lowers_the_sum_of_squares_most(columns, chosen, monkeypatch):
    monkeypatch.setattr(greedy, "DELTA", 0.0)
    random = np.random.default_rng(1)
    target, w = random.normal(size=40), random.uniform(0.5, 2.0, 40)
    added = choose_columns(columns, target, w, np.array(chosen, np.intp), 4).tolist()
    so_far = list(chosen)
    for choice in added:
        others = [j for j in range(12) if j not in so_far]
        assert choice == min(others, key=lambda j: square_left(columns, target, w, [*so_far, j]))
        so_far.append(choice)


def test_the_columns_of_a_sum_are_found(columns):
    target = 3 * columns[:, 2] - 2 * columns[:, 5] + columns[:, 9] + 4.0
    assert choose_columns(columns, target, np.ones(40), NONE, 3).tolist() == [2, 5, 9]


def test_no_column_is_chosen_that_is_a_sum_of_others(columns):
    twice = np.column_stack([columns[:, :3], columns[:, :3], columns[:, 0] + columns[:, 1] + 1.0])
    added = choose_columns(twice, np.arange(40.0), np.ones(40), NONE, 7)
    assert len(added) == 3
    assert len(choose_columns(twice, np.arange(40.0), np.ones(40), added, 7)) == 0


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_the_unit_of_the_columns_does_not_matter(columns, unit):
    random = np.random.default_rng(2)
    target, w = random.normal(size=40), random.uniform(0.5, 2.0, 40)
    expected = choose_columns(columns, target, w, NONE, 5).tolist()
    assert len(expected) == 5
    assert choose_columns(unit * columns, target, w, NONE, 5).tolist() == expected
