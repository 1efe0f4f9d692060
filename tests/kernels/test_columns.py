import time

import numpy as np
import pytest
from scipy import sparse

from votedkernels import Gaussian, Polynomial, Precomputed, Similarity, _native
from votedkernels._system.budget import Budget
from votedkernels.exceptions import OutOfTime
from votedkernels.kernels import LocalColumns


def dot(A, B):
    return A @ B.T


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    # More rows and centres than one block of 4096 x 256.
    return rng.standard_normal((4200, 3)), rng.standard_normal((300, 3))


def families(X):
    weights = np.ones(len(X))
    out = [Polynomial((3, 1), gamma=0.5), Gaussian((0.3, 3.0)), Similarity(dot)]
    return [family.fit(X, weights) for family in out]


def plain(gram, X, C):
    base = 0.5 * dot(X, C) + 1
    square = ((X[:, None] - C[None]) ** 2).sum(axis=-1) * gram.families[1].unit_
    return [base**3, base, np.exp(-0.3 * square), np.exp(-3 * square), dot(X, C)]


@pytest.mark.parametrize("for_bases", [0, 2**30], ids=["in blocks", "kept"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
def test_questions_are_answered_as_by_the_full_matrices(
    points, for_bases, n_jobs, compiled, monkeypatch
):
    if not compiled:
        monkeypatch.setattr(_native, "loops", None)
    X, C = points
    budget = Budget(n_jobs=n_jobs)
    gram = LocalColumns(families(X), X, C, for_bases=for_bases, budget=budget)
    matrices = plain(gram, X, C)
    rng = np.random.default_rng(1)
    v = rng.standard_normal(len(X)) * (rng.random(len(X)) < 0.5)
    np.testing.assert_allclose(gram.correlate(v), [v @ K for K in matrices], rtol=1e-8, atol=1e-9)
    some = rng.permutation(300)[:40]
    np.testing.assert_allclose(
        gram.correlate(v, some), [v @ K[:, some] for K in matrices], rtol=1e-8, atol=1e-9
    )
    kernels, centers = rng.integers(0, 5, 20), rng.integers(0, 300, 20)
    expected = np.column_stack([matrices[k][:, j] for k, j in zip(kernels, centers, strict=True)])
    np.testing.assert_allclose(gram.take(kernels, centers), expected, rtol=1e-8, atol=1e-12)
    rows = rng.permutation(len(X))[:50]
    np.testing.assert_allclose(
        gram.take(kernels, centers, rows), expected[rows], rtol=1e-8, atol=1e-12
    )
    a = rng.standard_normal((20, 3))
    np.testing.assert_allclose(gram.vote(kernels, centers, a), expected @ a, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        gram.vote(kernels, centers, a[:, 0], rows), expected[rows] @ a[:, 0], rtol=1e-7, atol=1e-9
    )
    squares = gram.squares(np.abs(v), 1)
    expected = [np.abs(v) @ matrices[k] ** 2 for k in (2, 3)]
    np.testing.assert_allclose(squares, expected, rtol=1e-8)


@pytest.mark.parametrize(
    "degrees", [(1,), (5, 2), (10, 3, 1), tuple(range(1, 11)), (2, 12)], ids=str
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_compiled_loops_give_what_numpy_gives(degrees, form, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3)) * (rng.random((500, 3)) < 0.7)
    families = [Polynomial(degrees), Gaussian((0.03, 1.0, 30.0))]
    families = [family.fit(form(X), np.ones(500)) for family in families]
    v = rng.standard_normal(500)
    answers = []
    for loops in (_native.loops, None):
        monkeypatch.setattr(_native, "loops", loops)
        answers.append(LocalColumns(families, form(X), form(X[:70])).correlate(v))
    size = np.abs(answers[1]).max(axis=1, keepdims=True)
    np.testing.assert_allclose(answers[0] / size, answers[1] / size, atol=1e-12)


def test_compiled_loops_show_an_overflow():
    # The family refuses such data beforehand; what slips through must not look like a number.
    X = np.array([[1.0], [2.0]])
    family = Polynomial((10,), gamma=1.0).fit(X, np.ones(2))
    gram = LocalColumns([family], X, X)
    gram.X = 1e60 * X
    gram._bases = [None]
    with np.errstate(all="ignore"):
        assert not np.isfinite(gram.correlate(np.ones(2))).any()


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
def test_sums_do_not_depend_on_threads(points, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(_native, "loops", None)
    X, C = points
    v = np.random.default_rng(1).standard_normal(len(X))
    one, two = (
        LocalColumns(families(X), X, C, budget=Budget(n_jobs=n)).correlate(v) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_rows_with_zero_take_no_part(points, monkeypatch):
    X, C = points
    gram = LocalColumns(families(X), X, C, for_bases=0)
    v = np.zeros(len(X))
    v[7] = 1.0
    seen = []
    monkeypatch.setattr(Similarity, "base", lambda self, X, C: (seen.append(len(X)), dot(X, C))[1])
    gram.correlate(v)
    assert set(seen) == {1}


def test_kernels_are_numbered_family_by_family(points):
    X, C = points
    gram = LocalColumns(families(X), X[:10], C)
    assert gram.names == [
        "polynomial(degree=3)",
        "polynomial(degree=1)",
        "gaussian(gamma=0.3)",
        "gaussian(gamma=3)",
        "dot",
    ]
    assert [gram.members_of(f).tolist() for f in range(3)] == [[0, 1], [2, 3], [4]]


def test_an_empty_vote_is_zero(points):
    X, C = points
    none = np.zeros(0, np.intp)
    gram = LocalColumns(families(X), X[:10], C)
    np.testing.assert_array_equal(gram.vote(none, none, np.zeros(0)), np.zeros(10))
    np.testing.assert_array_equal(gram.correlate(np.zeros(10)), np.zeros((5, 300)))


def test_diagonal_of_a_precomputed_kernel_needs_its_columns():
    K = np.random.default_rng(0).standard_normal((8, 8))
    rows = np.array([5, 0, 2])
    family = Precomputed().fit(K, np.ones(8))
    gram = LocalColumns([family], K[rows], np.arange(8), itself=rows)
    np.testing.assert_array_equal(gram.diagonal(0), [K.diagonal()[rows]])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pass_stops_at_its_deadline(points, n_jobs):
    X, C = points
    late = Budget(time.perf_counter() - 1, n_jobs=n_jobs)
    gram = LocalColumns(families(X), X, C).within(late)
    with pytest.raises(OutOfTime):
        gram.correlate(np.ones(len(X)))


def test_overflow_is_seen_when_rows_and_centres_meet():
    X = np.full((3, 1), 1e100)
    family = Polynomial((4,), gamma=1.0).fit(X, np.ones(3))
    with pytest.raises(ValueError, match=r"polynomial\(degree=4\) overflows"):
        LocalColumns([family], X, X)
