"""Columns with all their values answer as those without."""

import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial
from votedkernels._system.budget import Budget
from votedkernels.exceptions import OutOfTime
from votedkernels.kernels import LocalColumns, stacked_columns
from votedkernels.kernels.stacked_columns import StackedColumns, stack_columns


@pytest.fixture
def pair():
    X = np.random.default_rng(0).standard_normal((50, 3))
    families = [family.fit(X, np.ones(50)) for family in (Polynomial((1, 2)), Gaussian((0.3, 3.0)))]
    local = LocalColumns(families, X, X[:30])
    stacked = stack_columns(local)
    assert isinstance(stacked, StackedColumns)
    return local, stacked


@pytest.mark.parametrize("part", [False, True], ids=["whole", "part"])
def test_questions_have_the_same_answers(pair, part):
    local, stacked = pair
    random = np.random.default_rng(1)
    if part:
        rows, centers = np.arange(5, 45), np.array([3, 7, 20, 21, 29])
        local, stacked = local.restricted(rows, centers), stacked.part(rows, centers)
    n, c = local.n_rows, local.n_centers
    assert (stacked.n_rows, stacked.n_centers, stacked.names) == (n, c, local.names)
    for active in (0.2, 1.0):
        v = random.standard_normal(n) * (random.random(n) < active)
        np.testing.assert_allclose(stacked.correlate(v), local.correlate(v), atol=1e-12)
        some = random.permutation(c)[:3]
        np.testing.assert_allclose(stacked.correlate(v, some), local.correlate(v, some), atol=1e-12)
    kernels, centers = random.integers(0, 4, 6), random.integers(0, c, 6)
    rows = random.permutation(n)[:7]
    np.testing.assert_allclose(stacked.take(kernels, centers), local.take(kernels, centers))
    np.testing.assert_allclose(
        stacked.take(kernels, centers, rows), local.take(kernels, centers, rows)
    )
    np.testing.assert_allclose(
        stacked.sums(v, kernels, centers), local.sums(v, kernels, centers), atol=1e-12
    )
    a = random.standard_normal(6)
    np.testing.assert_allclose(
        stacked.vote(kernels, centers, a, rows), local.vote(kernels, centers, a, rows), atol=1e-12
    )
    values = np.abs(stacked.take(kernels, centers)).max(axis=0)
    assert (stacked.largest()[kernels] >= values).all()
    assert stacked.at_hand().n_rows == n
    for ours, theirs in zip(
        stacked.diagonal_range(1, np.ones(n)), local.diagonal_range(1, np.ones(n)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs)


def test_large_columns_stay_as_they_are(pair, monkeypatch):
    local, _ = pair
    monkeypatch.setattr(stacked_columns, "MOST_BYTES", 8 * local.n_values - 1)
    assert stack_columns(local) is local
    assert stack_columns(local.within(Budget(memory=10))).n_values == local.n_values


def test_passes_stop_at_the_deadline(pair):
    with pytest.raises(OutOfTime):
        pair[1].within(Budget(0.0)).correlate(np.ones(50))


def test_all_rows_and_centres_share_the_stored_values(pair):
    local, stacked = pair
    everything = np.arange(50), np.arange(30)
    assert stacked.part(*everything) is stacked
    X = np.random.default_rng(0).standard_normal((50, 3))
    precomputed = LocalColumns([Gaussian((1.0,)).fit(X, np.ones(50))], X, X)
    base = np.ones((50, 50))
    precomputed._bases = [base]
    whole = precomputed.restricted(np.arange(50), np.arange(50))
    assert whole._bases[0] is base
    turned = precomputed.restricted(np.arange(50)[::-1], np.arange(50))
    assert not np.shares_memory(turned._bases[0], base)
    assert local.restricted(*everything).n_centers == 30
