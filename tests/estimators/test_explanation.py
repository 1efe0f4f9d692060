"""Explanations: the votes of the examples, which sum to the decision."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from support.saved_models import MODELS, NEW, SIGNS, THREE, X, fit

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier, VotedKernelClassifierCV
from votedkernels.estimators.explanation import Ballot, Explanation

BY_HAND = Explanation(
    contributions=np.array([[[0.5, -0.25, 0.125, 0.0]], [[-1.0, 0.5, 0.0, 0.0]]]),
    intercepts=np.array([0.1]),
    support=np.array([7, 3, 7, 5]),
    kernels=["wide", "wide", "narrow", "narrow"],
    classes=np.array(["no", "yes"]),
)


@pytest.mark.parametrize("name", MODELS)
def test_contributions_sum_to_the_decision(name):
    make, new = MODELS[name]
    model = make()
    if isinstance(model, Pipeline):
        new, model = model[0].transform(new), model[1]
    explanation = model.explain(new)
    sizes = np.abs(explanation.contributions).sum(axis=-1)
    decisions = model.decision_function(new).reshape(sizes.shape)
    found = explanation.decisions.reshape(sizes.shape)
    assert (np.abs(found - decisions) <= 1e-12 * np.maximum(sizes, 1.0)).all()
    np.testing.assert_array_equal(explanation.predictions(), model.predict(new))
    assert set(explanation.examples) <= set(model.support_)
    np.testing.assert_allclose(
        explanation.by_example().sum(axis=-1), explanation.contributions.sum(axis=-1), atol=1e-9
    )


def test_each_contribution_is_weight_times_kernel():
    model = fit(Polynomial((1, 2), gamma=1.0), y=THREE)
    explanation = model.explain(NEW)
    for t in range(model.term_weights_.shape[1]):
        point = model.support_vectors_[model.term_support_indices_[t]]
        degree = model.term_kernel_indices_[t] + 1
        values = (NEW @ point + 1) ** degree
        np.testing.assert_allclose(
            explanation.contributions[:, :, t], np.outer(values, model.term_weights_[:, t])
        )
        assert explanation.support[t] == model.support_[model.term_support_indices_[t]]
        np.testing.assert_array_equal(X[explanation.support[t]], point)
        assert explanation.kernels[t] == model.kernel_names_[degree - 1]


def test_a_committee_is_explained_as_one_vote():
    model = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=2).fit(X, SIGNS)
    explanation = model.explain(NEW)
    np.testing.assert_allclose(explanation.decisions, model.decision_function(NEW), atol=1e-9)


def test_the_largest_votes_come_first_and_are_seen_from_the_class():
    assert BY_HAND.predictions().tolist() == ["yes", "no"]
    assert BY_HAND.largest() == [
        Ballot(7, "wide", 0.5), Ballot(3, "wide", -0.25), Ballot(7, "narrow", 0.125),
    ]  # fmt: skip
    assert BY_HAND.largest(1, 1) == [Ballot(7, "wide", 1.0)]
    assert BY_HAND.largest(0, 1, "no") == [Ballot(7, "wide", -0.5)]
    np.testing.assert_array_equal(BY_HAND.examples, [3, 5, 7])
    np.testing.assert_allclose(BY_HAND.by_example()[0, 0], [-0.25, 0.0, 0.625])


@pytest.mark.parametrize(("factor", "cancels"), [(1.0, False), (100.0, True)])
def test_the_table_says_if_votes_cancel(factor, cancels):
    explanation = replace(BY_HAND, contributions=factor * BY_HAND.contributions)
    balanced = replace(explanation, intercepts=-explanation.contributions[0].sum(axis=1))
    last = balanced.table(0).splitlines()[-1]
    assert last.startswith("These votes cancel: their sizes add up to") == cancels
    assert balanced.table(0, label="no").splitlines()[-1].startswith("These votes") == cancels


def test_the_table_adds_up():
    assert BY_HAND.table(0, 2).splitlines() == [
        "training row 7  wide  +0.5000",
        "training row 3  wide  -0.2500",
        "1 other vote          +0.1250",
        "constant              +0.1000",
        "vote for yes          +0.4750",
    ]
    assert str(BY_HAND) == BY_HAND.table(0)
    several = fit(Gaussian(), y=THREE).explain(NEW)
    assert several.table(3, 2, "high").splitlines()[-1].startswith("vote for high")


def test_the_table_of_features_adds_up():
    values = replace(
        BY_HAND, shapley_values=np.array([[[0.5, -0.125]], [[0.0, -0.25]]]),
        baseline=np.array([0.1]), features=["length", "width"],
    )  # fmt: skip
    assert values.feature_table(0, 1).splitlines() == [
        "mean vote for yes    +0.1000",
        "length               +0.5000",
        "1 other feature      -0.1250",
        "vote for yes         +0.4750",
    ]
    assert values.feature_table(0, label="no").splitlines()[1] == "length              -0.5000"
    assert str(values) == f"{values.table()}\n\n{values.feature_table()}"
    assert str(BY_HAND) == BY_HAND.table()
    with pytest.raises(ValueError, match=r"no Shapley values; call explain\(X, background="):
        BY_HAND.feature_table()


def test_bad_requests():
    with pytest.raises(ValueError, match=r"label must be one of .*'no'.*, got 'maybe'"):
        BY_HAND.table(label="maybe")
    with pytest.raises(NotFittedError):
        VotedKernelClassifier().explain(X)
    with pytest.raises(ValueError, match="2 features"):
        fit(Gaussian()).explain(NEW[:, :2])
