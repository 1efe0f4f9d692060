"""Sums for several vectors in one pass equal the sums for each of them."""

import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, Similarity, Threshold, _native
from votedkernels._system.budget import Budget
from votedkernels.exceptions import OutOfTime
from votedkernels.kernels import LocalColumns, several_sums
from votedkernels.kernels.several_sums import weights_by_row
from votedkernels.kernels.stacked_columns import stack_columns

FAMILIES = {
    "default": lambda: [Polynomial((1, 2, 3)), Gaussian()],
    "unordered degrees": lambda: [Polynomial((4, 1))],
    "high degrees": lambda: [Polynomial((2, 12), gamma=0.1)],
    "far from each other": lambda: [Gaussian((1e9,), unit=1.0)],
    "rules": lambda: [Threshold(), Gaussian((1.0,))],
    "function": lambda: [Similarity(lambda X, centers: np.tanh(X @ centers.T))],
}


def sparse_vectors(n_rows, n_vectors=5, seed=0):
    random = np.random.default_rng(seed)
    weights = random.standard_normal((n_vectors, n_rows))
    return np.where(random.random(weights.shape) < 0.2, weights, 0.0)


def columns_of(families, n_rows=600, n_centers=300, **options):
    random = np.random.default_rng(1)
    X = random.standard_normal((n_rows, 4))
    weights = np.full(n_rows, 1 / n_rows)
    return LocalColumns([f.fit(X, weights) for f in families], X, X[:n_centers], **options)


def check(columns, vectors):
    found = columns.sum_several(vectors)
    assert found.shape == (len(vectors), columns.n_kernels, columns.n_centers)
    for v, sums in zip(vectors, found, strict=True):
        right = columns.sum_kernels(v)
        np.testing.assert_allclose(sums, right, rtol=1e-9, atol=1e-11 * np.abs(right).max())


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("for_bases", [0, 2**30], ids=["computed", "stored"])
@pytest.mark.parametrize("compiled", [False, True])
def test_sums_are_those_of_each_vector(name, for_bases, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(_native, "loops", None)
    is_slow = name == "function"
    sizes = (60, 30) if is_slow else (600, 300)
    columns = columns_of(FAMILIES[name](), *sizes, for_bases=for_bases)
    check(columns, sparse_vectors(sizes[0]))


def test_threads_change_nothing():
    columns = columns_of(FAMILIES["default"](), for_bases=0)
    vectors = sparse_vectors(600)
    threads = columns.within(Budget(n_jobs=2))
    np.testing.assert_array_equal(threads.sum_several(vectors), columns.sum_several(vectors))


def test_vectors_of_zeros_have_sums_of_zero():
    columns = columns_of(FAMILIES["default"]())
    assert not columns.sum_several(np.zeros((3, 600))).any()
    vectors = sparse_vectors(600)
    vectors[2] = 0.0
    check(columns, vectors)
    assert not columns.sum_several(vectors)[2].any()


def test_columns_of_other_kinds_sum_one_vector_after_the_other():
    columns = stack_columns(columns_of(FAMILIES["default"](), 80, 40))
    check(columns, sparse_vectors(80))


def test_the_deadline_ends_a_pass():
    columns = columns_of(FAMILIES["default"]()).within(Budget(deadline=0.0))
    with pytest.raises(OutOfTime):
        columns.sum_several(sparse_vectors(600))


def test_each_kernel_value_is_computed_once(monkeypatch):
    columns, n_values = columns_of(FAMILIES["default"](), for_bases=0), []
    vectors = sparse_vectors(600)
    for family in columns.families:
        evaluate = family.correlate_several

        def counting(base, several, evaluate=evaluate, family=family):
            n_values.append(family.n_kernels * base.size)
            return evaluate(base, several)

        monkeypatch.setattr(family, "correlate_several", counting)
    columns.sum_several(vectors)
    assert sum(n_values) == columns.n_kernels * 300 * np.count_nonzero(vectors.any(axis=0))


def test_weights_are_listed_row_by_row():
    vectors = sparse_vectors(50)
    vectors[:, 7] = 0.0
    rows, several = weights_by_row(vectors)
    assert sorted(rows) == list(np.flatnonzero(vectors.any(axis=0)))
    np.testing.assert_array_equal(several.dense(), vectors[:, rows])
    some = slice(5, 11)
    np.testing.assert_array_equal(several.on(some).dense(), vectors[:, rows[some]])


def test_blocks_need_not_divide_the_rows(monkeypatch):
    monkeypatch.setattr(several_sums, "BLOCK_ROWS", 7)
    monkeypatch.setattr(several_sums, "BLOCK_CENTERS", 11)
    check(columns_of(FAMILIES["default"](), 100, 50), sparse_vectors(100))


SPOILED = {
    "starts": np.array([0, 3, 2, 3]),
    "too few starts": np.array([0, 1, 3]),
    "which": np.array([0, 2, 1]),
    "v": np.ones(2),
    "out": np.zeros((5, 4)),
}


@pytest.mark.skipif(_native.loops is None, reason="there are no compiled loops")
@pytest.mark.parametrize("spoiled", SPOILED)
def test_loops_refuse_what_is_outside_their_arrays(spoiled):
    given = {
        "starts": np.array([0, 1, 2, 3]),
        "which": np.array([0, 1, 1]),
        "v": np.ones(3),
        "out": np.zeros((6, 4)),
    }
    base = np.full((3, 4), 2.0)
    _native.loops.add_powers_to_several(base, *given.values(), 2)
    np.testing.assert_array_equal(given["out"][:, 0], [2, 4, 4, 8, 8, 16])
    given["starts" if "starts" in spoiled else spoiled] = SPOILED[spoiled]
    with pytest.raises((ValueError, IndexError)):
        _native.loops.add_powers_to_several(base, *given.values(), 2)
    with pytest.raises((ValueError, IndexError)):
        _native.loops.add_gaussians_to_several(base, *given.values(), 2, np.ones(3))
