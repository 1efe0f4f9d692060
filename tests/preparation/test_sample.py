import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from votedkernels.preparation.sample import canonical_sample, hash_rows

# Few values, so that equal rows are common; both zeros, because they are equal.
VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300])
TABLES = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=VALUES)


def points_of(X, codes, sample):
    return [(*X[row], code) for row, code in zip(sample.rows, sample.codes, strict=True)]


def test_identical_rows_of_one_class_are_merged():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0]])
    codes = np.array([0, 1, 0, 1])
    sample = canonical_sample(X, codes, np.array([1.0, 2.0, 4.0, 8.0]))
    merged = dict(zip(points_of(X, codes, sample), sample.weights, strict=True))
    assert merged == {(1, 2, 0): 5, (3, 4, 1): 2, (1, 2, 1): 8}
    # As centres, (1, 2) counts once, whatever its class.
    assert sorted(map(tuple, X[sample.centers])) == [(1, 2), (3, 4)]


def test_rows_are_named_by_their_first_appearance():
    X = np.array([[5.0], [7.0], [5.0], [7.0]])
    sample = canonical_sample(X, np.zeros(4, int), np.ones(4))
    assert sorted(sample.rows) == [0, 1]
    assert sorted(sample.centers) == [0, 1]


def test_rows_without_weight_do_not_exist():
    X = np.array([[1.0], [2.0], [1.0]])
    sample = canonical_sample(X, np.array([0, 1, 0]), np.array([0.0, 1.0, 3.0]))
    assert sorted(sample.rows) == [1, 2]
    assert sorted(sample.centers) == [1, 2]


@given(TABLES, st.randoms(use_true_random=False))
def test_weights_are_those_of_the_distinct_rows(X, random):
    codes = np.array([random.randrange(2) for _ in X])
    weights = np.array([float(random.randrange(3)) for _ in X])
    weights[0] = 1.0
    expected = {}
    for row, code, weight in zip(X, codes, weights, strict=True):
        if weight:
            # + 0.0 turns -0.0 into 0.0.
            key = (*(row + 0.0), code)
            expected[key] = expected.get(key, 0) + weight
    sample = canonical_sample(X, codes, weights)
    merged = dict(zip(points_of(X + 0.0, codes, sample), sample.weights, strict=True))
    assert len(sample.rows) == len(expected)
    assert merged == expected


@given(TABLES, st.randoms(use_true_random=False))
def test_order_depends_on_content_only(X, random):
    codes = np.array([random.randrange(2) for _ in X])
    order = np.array(random.sample(range(len(X)), len(X)))
    first = canonical_sample(X, codes, np.ones(len(X)))
    second = canonical_sample(X[order], codes[order], np.ones(len(X)))
    assert points_of(X, codes, first) == points_of(X[order], codes[order], second)
    np.testing.assert_array_equal(X[first.centers], X[order][second.centers])
    np.testing.assert_array_equal(first.weights, second.weights)


@given(TABLES)
def test_sparse_rows_come_as_dense_ones(X):
    codes = np.zeros(len(X), int)
    dense = canonical_sample(X, codes, np.ones(len(X)))
    for form in (sparse.csr_matrix, sparse.csr_array):
        S = form(X)
        same = canonical_sample(S, codes, np.ones(len(X)))
        np.testing.assert_array_equal(same.rows, dense.rows)
        np.testing.assert_array_equal(same.weights, dense.weights)


def test_stored_zeros_do_not_make_a_sparse_row_different():
    plain = sparse.csr_matrix(np.array([[1.0, 0.0], [1.0, 0.0]]))
    stored = sparse.csr_matrix((np.array([1.0, 1.0, 0.0]), [0, 0, 1], [0, 1, 3]), shape=(2, 2))
    np.testing.assert_array_equal(stored.toarray(), plain.toarray())
    assert len(np.unique(hash_rows(stored))) == 1
    assert len(canonical_sample(stored, np.zeros(2, int), np.ones(2)).rows) == 1


def test_hash_tells_columns_apart():
    assert len(np.unique(hash_rows(np.eye(50)))) == 50


def test_equal_hashes_are_not_believed(monkeypatch):
    monkeypatch.setattr(
        "votedkernels.preparation.sample.hash_rows",
        lambda X: np.zeros(X.shape[0], np.uint64),
    )
    X = np.array([[1.0], [2.0], [3.0], [1.0]])
    sample = canonical_sample(X, np.zeros(4, int), np.ones(4))
    # Different rows must never be merged; whether equal ones meet depends on the hash.
    assert set(X[sample.rows].ravel()) == {1.0, 2.0, 3.0}
    assert sample.weights.sum() == 4


def test_kernel_matrix_keeps_its_order():
    K = np.random.default_rng(0).standard_normal((6, 6))
    sample = canonical_sample(K, np.array([0, 1] * 3), np.ones(6), precomputed=True)
    np.testing.assert_array_equal(sample.rows, np.arange(6))
    np.testing.assert_array_equal(sample.centers, np.arange(6))


def test_equal_columns_of_a_kernel_matrix_are_one_centre():
    K = np.random.default_rng(0).standard_normal((4, 4))
    K[:, 3] = K[:, 1]
    sample = canonical_sample(K, np.array([0, 1, 0, 1]), np.ones(4), precomputed=True)
    np.testing.assert_array_equal(sample.rows, np.arange(4))
    np.testing.assert_array_equal(sample.centers, [0, 1, 2])


@pytest.mark.parametrize(
    "objects",
    [["b", "a", "b", "c"], [("b",), ("a",), ("b",), ("c",)], [frozenset(c) for c in "babc"]],
    ids=["strings", "tuples", "frozensets"],
)
def test_equal_objects_are_merged(objects):
    sample = canonical_sample(objects, np.zeros(4, int), np.ones(4))
    assert sorted(sample.rows) == [0, 1, 3]
    assert dict(zip(sample.rows, sample.weights, strict=True)) == {0: 2, 1: 1, 3: 1}


def test_objects_without_a_hash_are_all_different():
    sample = canonical_sample([["a"], ["b"], ["a"]], np.zeros(3, int), np.ones(3))
    np.testing.assert_array_equal(sample.rows, [0, 1, 2])


def test_objects_that_compare_equal_across_types_stay_apart():
    sample = canonical_sample([1, 1.0, True], np.zeros(3, int), np.ones(3))
    assert len(sample.rows) == 3


def test_strings_are_ordered_by_content():
    words = ["pear", "fig", "apple"]
    sample = canonical_sample(words, np.zeros(3, int), np.ones(3))
    assert [words[row] for row in sample.rows] == ["apple", "fig", "pear"]
