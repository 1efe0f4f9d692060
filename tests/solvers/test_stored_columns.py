"""Columns and rows may come and go in any order; the values always are those of what is there."""

import numpy as np
import pytest

from votedkernels.solvers.stored_columns import StoredColumns

N_ROWS, N_COLUMNS = 12, 40


def check(stored, whole, columns):
    assert stored.n_columns == len(columns)
    np.testing.assert_array_equal(stored.values, whole[np.ix_(columns, stored.rows)])
    assert stored.nbytes >= stored.values.nbytes


@pytest.mark.parametrize("seed", range(20))
def test_any_sequence_of_changes(seed):
    random = np.random.default_rng(seed)
    whole = random.normal(size=(N_COLUMNS, N_ROWS))
    stored = StoredColumns(N_ROWS, random.permutation(N_ROWS)[: random.integers(N_ROWS)])
    columns = np.zeros(0, int)
    for _ in range(30):
        match random.integers(4):
            case 0:
                new = random.permutation(N_COLUMNS)[: random.integers(9)]
                stored.append(whole[np.ix_(new, stored.rows)])
                columns = np.append(columns, new)
            case 1:
                kept = random.random(len(columns)) < 0.7
                stored.keep_columns(kept)
                columns = columns[kept]
            case 2:
                rows = stored.missing(random.permutation(N_ROWS)[:4])
                stored.add_rows(rows, whole[np.ix_(columns, rows)])
                assert len(stored.missing(rows)) == 0
            case 3:
                stored.keep_rows(random.random(len(stored.rows)) < 0.8)
        check(stored, whole, columns)
        some = random.permutation(stored.rows)[:5]
        np.testing.assert_array_equal(stored.on(some), whole[np.ix_(columns, some)])
        assert set(stored.missing(np.arange(N_ROWS))) == set(range(N_ROWS)) - set(stored.rows)


def test_a_copy_has_values_of_its_own():
    whole = np.arange(12.0).reshape(3, 4)
    stored = StoredColumns(4, np.array([2, 0, 1, 3]))
    stored.append(whole[:, stored.rows])
    other = stored.copy()
    other.keep_columns(np.array([False, True, True]))
    other.keep_rows(np.array([True, False, True, True]))
    check(stored, whole, [0, 1, 2])
    check(other, whole, [1, 2])
    assert len(stored.missing(np.array([0]))) == 0
    assert len(other.missing(np.array([0]))) == 1


@pytest.mark.parametrize("n_used", [1, 5])
def test_a_vote_is_in_the_order_of_the_rows(n_used):
    whole = np.random.default_rng(0).normal(size=(5, 4))
    stored = StoredColumns(4, np.array([2, 0, 1, 3]))
    stored.append(whole[:, stored.rows])
    weights = np.where(np.arange(5) < n_used, 2.0, 0.0)
    np.testing.assert_allclose(stored.vote(weights), 2 * whole[:n_used].sum(axis=0), atol=1e-14)
