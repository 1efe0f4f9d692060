"""Rules about categories and gaps: pricing, prediction, model files."""

import math

import numpy as np
import pytest

from votedkernels import (
    Categories,
    Missing,
    Threshold,
    VotedKernelClassifier,
    load_model,
    save_model,
)
from votedkernels.kernels import LocalColumns


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (90, 3)).astype(float)
    X[:, 2] = 5.0
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


@pytest.mark.parametrize("family", [Categories(), Missing()])
def test_pricing_equals_sums_over_an_explicit_matrix(X, family):
    v = np.random.default_rng(1).standard_normal(len(X))
    columns = LocalColumns([family.fit(X, np.ones(len(X)))], X, X)
    priced = columns.correlate(v)
    for f, x in enumerate(X.T):
        equal = np.equal.outer(x, x)
        if isinstance(family, Missing):
            equal = np.logical_and.outer(np.isnan(x), np.isnan(x))
        expected = v @ equal
        found, wanted = (np.unique(np.abs(sums).round(9)) for sums in (priced[f], expected))
        np.testing.assert_allclose(found, np.unique(np.append(wanted, 0.0)), atol=1e-9)
        kernels, centers = np.full(len(X), f), np.arange(len(X))
        np.testing.assert_array_equal(columns.take(kernels, centers), equal.astype(float))


def test_new_categories_and_gaps_get_no_vote_from_categories(X):
    y = np.where(np.nan_to_num(X[:, 0], nan=1) >= 2, 1, -1)
    model = VotedKernelClassifier(Categories(), complexity_penalty=0, l1_penalty=0.01).fit(X, y)
    new = np.array([[9.0, 9.0, 9.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(model.decision_function(new), [0.0, 0.0])
    assert {"x0 = 2", "x0 = 3"} <= set(model.term_rules_)


def test_a_gap_can_decide_and_files_keep_it(X, tmp_path):
    y = np.where(np.isnan(X[:, 1]) | (X[:, 0] == 3), 1, -1)
    kernels = [Threshold([1]), Categories([0]), Missing()]
    model = VotedKernelClassifier(kernels, complexity_penalty=0, l1_penalty=0.01, tol=1e-9)
    model.fit(X, y)
    assert model.dual_gap_ <= 1e-9 * model.objective_
    assert model.score(X, y) == 1.0
    assert {"x1 is missing", "x0 = 3"} <= set(model.term_rules_)
    save_model(model, tmp_path / "model.vk")
    again = load_model(tmp_path / "model.vk")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.term_rules_ == model.term_rules_


def test_growth_counts_columns_and_their_negatives(X):
    weights = np.ones(len(X))
    assert Categories().fit(X, weights).log_growth(90)[0] == pytest.approx(math.log(2 * 9))
    assert Missing([0, 1]).fit(X, weights).log_growth(90)[0] == pytest.approx(math.log(4))
