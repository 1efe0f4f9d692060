"""Lemmas 1 and 2, with their constants, against the complexity itself on the data of the paper."""

import csv
import gzip
import math

import numpy as np
import pytest
from support.paths import SHARED_DATA
from threadpoolctl import threadpool_limits

from votedkernels import Dimension, Empirical, Gaussian, Polynomial, Trace
from votedkernels.complexity import measure_complexities, measure_with_errors
from votedkernels.kernels import LocalColumns

DATA = SHARED_DATA / "uci"
DEGREES = tuple(range(1, 11))
NAMES = sorted(path.name for path in DATA.glob("*.csv*"))
MOST_ROWS = 300

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory shared/data/uci")


def load(name):
    """Return at most 300 rows, every feature scaled to [-1, 1]."""
    path = DATA / name
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        rows = [row for row in list(csv.reader(file))[1:] if all(row)]
    table = np.array(rows, dtype=float)
    chosen = np.random.default_rng(0).permutation(len(table))[:MOST_ROWS]
    X = table[chosen, :-1]
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1


def make_gram(family, X):
    return LocalColumns([family.fit(X, np.ones(len(X)))], X, X)


def estimate(gram):
    """Return the complexity over the rows as centres, less five standard errors."""
    with threadpool_limits(1):
        r, error = measure_with_errors(Empirical(256), gram, np.ones(gram.n_rows))
    return r - 5 * error


def test_there_are_data():
    if DATA.is_dir():
        assert len(NAMES) == 11


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_both_lemmas_hold_for_polynomials(name):
    X = load(name)
    assert np.abs(X).max() == 1
    m, n_features = X.shape
    gram = make_gram(Polynomial(DEGREES, gamma=1.0), X)
    least = estimate(gram)
    assert (least > 0).all()

    lemma_1 = measure_complexities(Trace(), gram, np.ones(m))
    diagonal = [(np.einsum("ij,ij->i", X, X) + 1) ** k for k in DEGREES]
    by_hand = [math.sqrt(d.max() * d.sum()) / m for d in diagonal]
    np.testing.assert_allclose(lemma_1, by_hand, rtol=1e-12)
    assert (lemma_1 >= least).all()

    constant = 12 * math.sqrt(math.pi / m)
    lemma_2 = constant * measure_complexities(Dimension(), gram, np.ones(m))
    dimensions = [math.comb(n_features + k, k) for k in DEGREES]
    by_hand = [constant * d.max() * math.sqrt(n) for d, n in zip(diagonal, dimensions, strict=True)]
    np.testing.assert_allclose(lemma_2, by_hand, rtol=1e-12)
    assert (lemma_2 >= least).all()
    # With its constant, the second lemma is never the better one: by 12 sqrt(pi) = 21 at least.
    assert (lemma_2 >= 21 * lemma_1).all()


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_the_first_lemma_holds_for_gaussians(name):
    X = load(name)
    gram = make_gram(Gaussian(unit=1.0), X)
    least = estimate(gram)
    lemma_1 = measure_complexities(Trace(), gram, np.ones(len(X)))
    np.testing.assert_allclose(lemma_1, 1 / math.sqrt(len(X)), rtol=1e-12)
    assert (lemma_1 >= least).all()


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_half_the_first_lemma_would_not_hold(name):
    # So the test above can fail: a nearly constant kernel has 0.8 of the bound.
    X = load(name)
    gram = make_gram(Gaussian((1e-9,), unit=1.0), X)
    r, error = measure_with_errors(Empirical(1000), gram, np.ones(len(X)))
    half = measure_complexities(Trace(), gram, np.ones(len(X))) / 2
    assert (half < r - 5 * error).all()
