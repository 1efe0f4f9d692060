"""Probabilities: they agree with the votes, are calibrated, and do not depend on how rows come."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss

from votedkernels import (
    ContinuousGaussian,
    Gaussian,
    Polynomial,
    Precomputed,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.estimators import _path_strategy
from votedkernels.estimators._held_out_votes import assign_folds
from votedkernels.estimators._ongoing_fit import OngoingFit
from votedkernels.estimators._probabilities import (
    fit_scale,
    log_probabilities,
    probabilities,
    votes_for_all,
)
from votedkernels.exceptions import FitLimitError


def waves(n, n_classes, seed=0):
    X, y = make_waveform(n, random_state=seed)
    return X, y if n_classes == 2 else np.where(X[:, 10] > 2, 5, y)


GRID = {"complexity_penalties": [0.1, 0.01], "l1_penalties": [0.01], "cv": 3}
MODELS = {
    "single": VotedKernelClassifier(probability=True),
    "relaxed": VotedKernelClassifier(probability=True, relaxation="auto"),
    "search": VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=3),
    "grid": VotedKernelClassifierCV(Polynomial((1, 2)), **GRID),
}


# -- one number --------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_scale_is_found_again(n_classes):
    rng = np.random.default_rng(0)
    votes = rng.standard_normal((20_000, 1 if n_classes == 2 else n_classes))
    chances = probabilities(votes, 2.5)
    codes = (rng.random((len(votes), 1)) > np.cumsum(chances, axis=1)).sum(axis=1)
    codes = np.minimum(codes, n_classes - 1)
    found = fit_scale(votes, codes, np.ones(len(votes)), len(votes))
    assert found == pytest.approx(2.5, rel=0.05)
    # Votes in other units have the same probabilities.
    larger = fit_scale(1e6 * votes, codes, np.ones(len(votes)), len(votes))
    assert larger == pytest.approx(1e-6 * found, rel=1e-6)


def test_the_scale_has_the_largest_likelihood():
    rng = np.random.default_rng(1)
    votes = rng.standard_normal((500, 1))
    codes = (rng.random(500) < expit(1.7 * votes[:, 0])).astype(int)
    weights = rng.random(500)
    found = fit_scale(votes, codes, weights, 1e12)
    losses = [
        log_loss(codes, probabilities(votes, scale), sample_weight=weights)
        for scale in (found, 0.99 * found, 1.01 * found)
    ]
    assert losses[0] == min(losses)


def test_without_errors_the_scale_is_finite():
    votes = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    scale = fit_scale(votes, np.array([0, 0, 1, 1]), np.ones(4), 4)
    assert 0.6 < probabilities(votes, scale)[3, 1] < 0.99


def test_votes_of_zero_say_nothing():
    zero = np.zeros((6, 3))
    scale = fit_scale(zero, np.array([0, 1, 2, 0, 1, 2]), np.ones(6), 6)
    np.testing.assert_allclose(probabilities(zero, scale), 1 / 3)


@pytest.mark.parametrize("n_problems", [1, 2, 5])
@pytest.mark.parametrize("size", [1e-300, 1e-17, 1e-8, 1.0, 1e8])
def test_the_winner_is_the_most_probable_class(n_problems, size):
    rng = np.random.default_rng(2)
    votes = size * rng.integers(-3, 4, (100_000, n_problems))
    votes[::3] += 1e-16 * size * rng.standard_normal((len(votes[::3]), n_problems))
    chances = probabilities(votes, 1.3)
    winners = (votes[:, 0] > 0).astype(int) if n_problems == 1 else votes.argmax(axis=1)
    np.testing.assert_array_equal(chances.argmax(axis=1), winners)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-14)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert np.isfinite(log_probabilities(votes, 1.3)).all()


# -- models ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_probabilities_agree_with_predictions_and_are_calibrated(name, n_classes):
    X, y = waves(300, n_classes)
    X_new, y_new = waves(3_000, n_classes, seed=1)
    model = MODELS[name].fit(X, y)
    chances = model.predict_proba(X_new)
    assert chances.shape == (3_000, n_classes)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X_new))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X_new)), chances, atol=1e-12)
    frequency = np.bincount(np.searchsorted(model.classes_, y_new)) / len(y_new)
    assert log_loss(y_new, chances) < 0.7 * log_loss(y_new, np.tile(frequency, (3_000, 1)))
    # Of the rows with a probability near p, a share near p is right.
    top = chances.max(axis=1)
    right = model.predict(X_new) == y_new
    for low, high in ((0.6, 0.8), (0.8, 0.95), (0.95, 1.0)):
        chosen = (low < top) & (top <= high)
        assert abs(right[chosen].mean() - top[chosen].mean()) < 0.12


def test_they_are_as_good_as_those_of_scikit_learn():
    X, y = waves(400, 2)
    X_new, y_new = waves(4_000, 2, seed=1)
    ours = VotedKernelClassifier(probability=True).fit(X, y)
    theirs = CalibratedClassifierCV(VotedKernelClassifier(), ensemble=False).fit(X, y)
    losses = [log_loss(y_new, model.predict_proba(X_new)) for model in (ours, theirs)]
    assert losses[0] < 1.05 * losses[1]


def test_without_being_asked_for_there_are_none():
    X, y = waves(60, 2)
    assert not hasattr(VotedKernelClassifier(), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        _ = VotedKernelClassifier().predict_proba
    assert "probability=True" in str(caught.value.__cause__)
    assert not hasattr(VotedKernelClassifier().fit(X, y), "predict_log_proba")
    assert hasattr(VotedKernelClassifier(probability=True), "predict_proba")
    assert hasattr(VotedKernelClassifierCV(), "predict_proba")
    with pytest.raises(NotFittedError):
        VotedKernelClassifierCV().predict_proba(X)
    with pytest.raises(ValueError, match="probability must be True or False, got 'yes'"):
        VotedKernelClassifier(probability="yes").fit(X, y)


def test_they_do_not_change_the_vote():
    X, y = waves(150, 3)
    plain = VotedKernelClassifier().fit(X, y)
    model = VotedKernelClassifier(probability=True).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


def test_neither_order_nor_repetition_matters():
    X, y = waves(90, 2)
    twice = np.random.default_rng(0).integers(1, 3, len(y))
    order = np.random.default_rng(1).permutation(twice.sum())
    X_long, y_long = (np.repeat(part, twice, axis=0)[order] for part in (X, y))
    X_zero, y_zero = np.vstack([X, X[:5] + 1]), np.concatenate([y, y[:5]])
    weights = np.concatenate([twice, np.zeros(5)])
    by_weights = VotedKernelClassifier(probability=True).fit(X_zero, y_zero, weights)
    by_copies = VotedKernelClassifier(probability=True).fit(X_long, y_long)
    assert by_weights.probability_scale_ == pytest.approx(by_copies.probability_scale_, rel=1e-6)


def test_all_kinds_of_rows():
    X, y = waves(80, 2)
    dense = VotedKernelClassifier(Polynomial((1, 2)), probability=True).fit(X, y)
    sparse = VotedKernelClassifier(Polynomial((1, 2)), probability=True).fit(csr_matrix(X), y)
    assert sparse.probability_scale_ == pytest.approx(dense.probability_scale_, rel=1e-6)
    K = (X @ X.T / 20 + 1) ** 2
    given = VotedKernelClassifier(Precomputed(), probability=True).fit(K, y)
    assert given.predict_proba(K).shape == (80, 2)
    words = ["ab" * n + "ba" for n in range(1, 11)] + ["cd" * n + "dc" for n in range(1, 11)]
    strings = VotedKernelClassifier(Spectrum((2,)), probability=True).fit(
        words, [0] * 10 + [1] * 10
    )
    assert (strings.predict_proba(words).argmax(axis=1) == [0] * 10 + [1] * 10).all()
    continuous = VotedKernelClassifier(ContinuousGaussian(0.01, 1.0), probability=True).fit(X, y)
    assert continuous.predict_proba(X).shape == (80, 2)


def test_class_weights_count():
    X, y = waves(200, 2)
    keep = np.flatnonzero((y < 0) | (np.arange(200) % 5 == 0))
    plain = VotedKernelClassifier(probability=True).fit(X[keep], y[keep])
    even = VotedKernelClassifier(probability=True, class_weight={1: 5.0}).fit(X[keep], y[keep])
    means = [model.predict_proba(X)[:, 1].mean() for model in (plain, even)]
    assert means[1] > means[0] + 0.02


def test_the_only_row_of_a_class_is_never_held_out():
    X, y = waves(30, 2)
    y = np.where(np.arange(30) == 3, 7, y)
    assert VotedKernelClassifier(probability=True).fit(X, y).predict_proba(X).shape == (30, 3)
    assert assign_folds(np.array([0, 0, 0, 1, 2, 2])).tolist() == [0, 1, 0, -1, 0, 1]
    with pytest.raises(ValueError, match="each class has only one row; add rows"):
        VotedKernelClassifier(probability=True).fit([[0.0], [1.0]], [0, 1])


def test_folds_of_a_search_that_lack_a_class():
    X, y = waves(60, 2)
    y = np.where(np.arange(60) == 3, 7, np.where(np.arange(60) == 4, 8, y))
    with pytest.warns(UserWarning, match="least populated class"):
        model = VotedKernelClassifierCV(Polynomial((1, 2)), **GRID).fit(X, y)
    assert model.predict_proba(X).shape == (60, 4)


def test_folds_of_a_search_with_one_class():
    X, y = waves(30, 2)
    y = np.where(np.arange(30) == 3, "rare", "usual")
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(ValueError, match=r"fold \d of 3 have only one class, 'usual'.*\(cv\)"),
    ):
        VotedKernelClassifierCV(**GRID).fit(X, y)
    with pytest.warns(UserWarning, match="least populated class"):
        model = VotedKernelClassifierCV(cv=2).fit(X, y)
    assert model.predict_proba(X).shape == (30, 2)


def test_votes_of_a_fold_that_lacks_classes():
    classes = np.array(["a", "b", "c"])
    np.testing.assert_array_equal(
        votes_for_all(np.array([[0.5]]), np.array(["a", "c"]), classes), [[-0.5, -1.0, 0.5]]
    )
    votes = np.array([[0.1, 0.2, 0.3]])
    np.testing.assert_array_equal(votes_for_all(votes, classes, classes), votes)
    np.testing.assert_array_equal(
        votes_for_all(votes, np.array(["a", "b", "d"]), np.array(["a", "b", "c", "d"])),
        [[0.1, 0.2, -1.0, 0.3]],
    )


def test_folds_have_all_classes():
    codes = np.random.default_rng(0).integers(0, 3, 50)
    folds = assign_folds(codes)
    for code in range(3):
        counts = np.bincount(folds[codes == code], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert assign_folds(np.array([0, 0, 0, 1, 1])).max() == 1


# -- limits ------------------------------------------------------------------------------


def test_without_time_for_folds_there_is_an_error(monkeypatch):
    monkeypatch.setattr("votedkernels._system.budget.SHORTEST", 1e-9)
    monkeypatch.setattr(
        "votedkernels._system.budget.Budget.seconds_left", property(lambda self: 0.0)
    )
    with pytest.raises(FitLimitError, match=r"no time for probabilities.*probability=False"):
        VotedKernelClassifier(probability=True, time_limit=600.0).fit(*waves(80, 2))


def test_a_vote_that_takes_its_share_of_the_time_leaves_the_rest_for_the_folds(monkeypatch):
    X, y = waves(80, 2)
    expected = VotedKernelClassifier(probability=True, time_limit=600.0).fit(X, y)
    run = OngoingFit.run

    def run_until_late(fit, attempt):
        run(fit, attempt)
        fit.training.columns.budget = Budget(0.0)

    monkeypatch.setattr(OngoingFit, "run", run_until_late)
    model = VotedKernelClassifier(probability=True, time_limit=600.0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_ctrl_c_in_the_folds_keeps_the_vote(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("votedkernels.estimators.classifier.scale_of_classifier", interrupt)
    X, y = waves(80, 2)
    model = VotedKernelClassifier(probability=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.predict(X).shape == (80,)
    with pytest.raises(NotFittedError, match="has no probabilities"):
        model.predict_proba(X)


def test_a_search_without_time_has_none(monkeypatch):
    X, y = waves(80, 2)
    monkeypatch.setattr(_path_strategy, "INSURANCE_SHARE", 0.0)
    with pytest.warns(ConvergenceWarning):
        model = VotedKernelClassifierCV(time_limit=60.0).fit(X, y)
    with pytest.raises(NotFittedError, match="larger time_limit"):
        model.predict_proba(X)
