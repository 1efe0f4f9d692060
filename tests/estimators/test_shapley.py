"""Shapley values: the same as the definition, by all subsets of features."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.saved_models import MODELS

from votedkernels import (
    ContinuousGaussian,
    Gaussian,
    Polynomial,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)

SEED = np.random.default_rng(5)
ROWS = SEED.normal(size=(40, 8))
BACKGROUND = SEED.normal(size=(6, 8))
FAMILIES = {
    "linear": Polynomial((1,), gamma=1.0),
    "degrees": Polynomial((2, 3, 6), coef0=0.5),
    "gaussian": Gaussian((0.3, 3.0)),
    "narrow": Gaussian((1.0,), unit=500.0),
    "continuous": ContinuousGaussian(0.1, 10.0),
    "default": None,
}


def labels(X, n_classes):
    return (X[:, 0] > 0).astype(int) + (n_classes > 2) * (X[:, -1] > 0.3)


def by_all_subsets(model, x, background):
    """Return the values of all features and v of the empty set, from the definition."""
    d = len(x)
    subsets = [s for size in range(d + 1) for s in combinations(range(d), size)]
    mixed = np.tile(background, (len(subsets), 1, 1))
    for rows, chosen in zip(mixed, subsets, strict=True):
        rows[:, chosen] = x[list(chosen)]
    votes = model.decision_function(mixed.reshape(-1, d)).reshape(len(subsets), len(background), -1)
    game = dict(zip(subsets, votes.mean(axis=1), strict=True))
    values = np.zeros((d, len(game[()])))
    for chosen, before in game.items():
        for i in set(range(d)) - set(chosen):
            after = game[tuple(sorted((*chosen, i)))]
            values[i] += (after - before) / (d * comb(d - 1, len(chosen)))
    return values.T, game[()]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("d", "n_classes"), [(1, 2), (3, 3), (8, 2)])
def test_equal_to_the_definition(name, d, n_classes):
    X, background = ROWS[:, :d], BACKGROUND[:, :d]
    model = VotedKernelClassifier(
        FAMILIES[name], complexity_penalty=1e-3, l1_penalty=1e-3, tol=1e-3
    ).fit(X, labels(X, n_classes))
    explanation = model.explain(X[:2], background=background)
    for row in range(2):
        values, empty = by_all_subsets(model, X[row], background)
        size = max(1.0, np.abs(explanation.contributions[row]).sum())
        assert np.abs(explanation.shapley_values[row] - values).max() <= 1e-9 * size
        assert np.abs(explanation.baseline - empty).max() <= 1e-9 * size


def test_values_sum_to_the_vote_with_many_features_and_rows():
    X = SEED.normal(size=(60, 45))
    model = VotedKernelClassifierCV(cv=2).fit(X, X[:, 0] > 0)
    explanation = model.explain(X[:3], background=X)
    sums = explanation.shapley_values.sum(axis=-1) + explanation.baseline
    np.testing.assert_allclose(sums[:, 0], model.decision_function(X[:3]), atol=1e-9)


def test_scaled_features_are_equal_to_the_definition():
    X, background = ROWS[:, :3], BACKGROUND[:, :3]
    family = Gaussian((0.3, 3.0), feature_scales=(2.0, 0.5, 0.0))
    model = VotedKernelClassifier(family, complexity_penalty=1e-3, l1_penalty=1e-3, tol=1e-3)
    explanation = model.fit(X, labels(X, 2)).explain(X[:1], background=background)
    values, _ = by_all_subsets(model, X[0], background)
    np.testing.assert_allclose(explanation.shapley_values[0], values, atol=1e-9)
    assert not explanation.shapley_values[0, 0, 2]


def test_features_that_the_background_shares_add_nothing():
    model = VotedKernelClassifier().fit(ROWS, labels(ROWS, 2))
    mixed = BACKGROUND.copy()
    mixed[:, 2] = ROWS[0, 2]
    values = model.explain(ROWS[:1], background=mixed).shapley_values[0, 0]
    assert abs(values[2]) < 1e-12
    assert np.abs(values[[0, 1, 3]]).min() > 0


def test_names_of_features():
    frame = pd.DataFrame(ROWS[:, :3], columns=["a", "b", "c"])
    model = VotedKernelClassifier().fit(frame, labels(ROWS, 2))
    assert model.explain(frame[:1], background=frame[5:]).features == ["a", "b", "c"]
    assert model.explain(frame[:1]).features is None


@pytest.mark.parametrize("name", ["precomputed", "similarity", "edit-distance", "spectrum"])
def test_other_families_are_refused(name):
    make, new = MODELS[name]
    with pytest.raises(ValueError, match="call explain without background"):
        make().explain(new, background=new)


def test_sparse_rows_are_refused():
    X = sparse.csr_array(ROWS)
    model = VotedKernelClassifier(Gaussian((1.0,))).fit(X, labels(ROWS, 2))
    with pytest.raises(ValueError, match=r"dense rows.*X\.toarray\(\)"):
        model.explain(X, background=X)
