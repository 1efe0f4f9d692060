"""Centres that a user gives, and what is told about bad ones."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from votedkernels import (
    Gaussian,
    Precomputed,
    Similarity,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    voted_kernel_path,
)


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 3))
    return X, (X[:, 0] > 0).astype(int)


def overlap(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


BAD_TABLES = [
    (np.zeros((2, 2)), "centers has 2 features, but X has 3"),
    (sparse.csr_array(np.ones((2, 4))), "centers has 4 features, but X has 3"),
    (
        np.full((2, 3), np.nan),
        "centers must be a table of numbers, like X: Input centers contains",
    ),
    (np.full((2, 3), np.inf), "Input centers contains inf"),
    (np.zeros(3), "centers must be a table of numbers, like X: Expected 2D"),
    (np.zeros((0, 3)), "centers must be a table of numbers, like X: Found array with 0"),
    ([["a", "b", "c"]], "centers must be a table of numbers, like X: could not convert"),
    ("abc", "centers must be None, a number of training rows to draw, or points"),
    (2.5, "centers must be None, a number of training rows to draw, or points"),
    (True, "centers must be None, a number of training rows to draw, or points"),
]


@pytest.mark.parametrize(("centers", "message"), BAD_TABLES)
def test_bad_centers_are_not_blamed_on_the_rows(centers, message, data):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(centers=centers).fit(*data)


@pytest.mark.parametrize(("centers", "message"), BAD_TABLES[:3])
def test_nor_in_searches_and_paths(centers, message, data):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifierCV(centers=centers, cv=2).fit(*data)
    with pytest.raises(ValueError, match=message):
        voted_kernel_path(*data, centers=centers)


def test_kernels_of_dense_rows_say_that_centers_are_sparse(data):
    kernel = Similarity(lambda A, B: A @ B.T)
    with pytest.raises(ValueError, match="centers must be a table of numbers"):
        VotedKernelClassifier(kernel, centers=sparse.csr_array(np.eye(3))).fit(*data)


@pytest.mark.parametrize(
    ("centers", "message"),
    [
        ([1, 2], "centers has 1 of type int at row 0"),
        ([b"a"], r"centers has bytes at row 0.*for row in centers"),
        (["a", None], "centers has a missing value"),
        (np.zeros((2, 2)), "centers is a table"),
        ([], "Found centers with 0"),
        ("abc", "centers must be None"),
    ],
)
def test_bad_centers_of_strings(centers, message):
    X = ["ab" * (1 + i % 4) + "c" * (i % 3) for i in range(20)]
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(Spectrum(), centers=centers).fit(X, np.arange(20) % 2)


def test_objects_of_different_lengths_as_centers():
    X = [tuple(range(1 + i % 5)) for i in range(20)]
    model = VotedKernelClassifier(Similarity(overlap), centers=[(0,), (0, 1, 2)], l1_penalty=1e-3)
    model.fit(X, np.array([i % 5 > 1 for i in range(20)]))
    assert set(model.support_) <= {0, 1}


def test_lists_of_numbers_become_tables_where_the_rows_are_one(data):
    X, y = data
    kernel = Similarity(lambda A, B: A @ B.T)
    listed = VotedKernelClassifier(kernel, centers=X[:4].tolist(), l1_penalty=1e-3).fit(X, y)
    given = VotedKernelClassifier(kernel, centers=X[:4], l1_penalty=1e-3).fit(X, y)
    np.testing.assert_array_equal(listed.decision_function(X), given.decision_function(X))


def test_columns_of_centers_are_those_of_the_rows(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = VotedKernelClassifier(centers=frame[["a", "c", "b"]].iloc[:4])
    with pytest.raises(ValueError, match=r"centers has the columns \['a', 'c', 'b'\]"):
        model.fit(frame, y)
    model.set_params(centers=frame.iloc[:4]).fit(frame, y)
    plain = VotedKernelClassifier(centers=X[:4]).fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-5)


def test_numbers_of_columns_stay_what_they_are(data):
    X, y = data
    with pytest.raises(ValueError, match="centers of a precomputed kernel"):
        VotedKernelClassifier(Precomputed(), centers=[1.5]).fit(X @ X.T, y)


# -- sparse matrices with 64-bit indices ---------------------------------------------------


def with_large_indices(X, kind):
    X = kind(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert X.indices.dtype == np.int64
    return X


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_large_indices_are_accepted(kind, data):
    X, y = data
    small, large = kind(X), with_large_indices(X, kind)
    plain = VotedKernelClassifier(Gaussian((0.3,))).fit(small, y)
    model = VotedKernelClassifier(Gaussian((0.3,))).fit(large, y)
    np.testing.assert_array_equal(model.decision_function(large), plain.decision_function(small))
    assert large.indices.dtype == np.int64  # the user's own is as it was
    given = VotedKernelClassifier(Gaussian((0.3,)), centers=with_large_indices(X[:5], kind))
    given.fit(large, y)
    assert given.stop_reason_ == "optimal"
    options = {"complexity_penalties": [1e-2], "l1_penalties": [1e-2]}
    path = voted_kernel_path(large, y, Gaussian((0.3,)), **options)
    assert (path.stop_reasons == "optimal").all()
    search = VotedKernelClassifierCV(Gaussian((0.3,)), cv=2, **options).fit(large, y)
    assert search.predict(large).shape == y.shape


def test_indices_that_need_64_bits_are_an_error():
    X = sparse.csr_array(
        (np.ones(4), np.array([0, 1, 2, 2**31 + 5]), np.arange(5)), shape=(4, 2**31 + 10)
    )
    with pytest.raises(
        ValueError, match=r"X has 4 stored values in \d+ columns, too many for 32-bit"
    ):
        VotedKernelClassifier(Gaussian((0.3,))).fit(X, [0, 1, 0, 1])
