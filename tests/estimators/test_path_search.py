"""The default search: what it finds, what it reports, and that both stages are proved."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, train_test_split
from sklearn.svm import SVC

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    load_model,
    save_model,
)
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.estimators import _path_committee, _path_strategy
from votedkernels.estimators._fitted_attributes import vote_of
from votedkernels.estimators._path_committee import Member, choose_committee
from votedkernels.estimators._path_judgement import losses_of_margins, margins_of
from votedkernels.estimators._path_level import Level
from votedkernels.estimators._path_sample import PathSample, Setting
from votedkernels.estimators._path_strategy import with_defaults
from votedkernels.kernels.design import LocalDesign
from votedkernels.preparation.training import Training
from votedkernels.problem.relaxed import RelaxedProblem, Whitening


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(1500, 10, n_informative=6, flip_y=0.1, class_sep=1.2, random_state=1)
    return train_test_split(X, y, train_size=300, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    X, _, y, _ = data
    return VotedKernelClassifierCV().fit(X, y)


def test_it_is_as_good_as_a_support_vector_machine_and_much_smaller(data, model):
    X, X_new, y, y_new = data
    machine = SVC().fit(X, y)
    assert model.score(X_new, y_new) >= machine.score(X_new, y_new) - 0.03
    assert len(model.support_) < 0.7 * len(machine.support_)


def test_results_tell_everything(model):
    results = model.cv_results_
    n = len(results["params"])
    for name in (
        "param_complexity_penalty", "param_level", "param_kernel", "param_relaxation",
        "mean_test_score", "std_test_score", "rank_test_score", "mean_test_loss",
        "mean_n_support", "mean_fit_time", "max_relative_gap", "n_solved_splits",
    ):  # fmt: skip
        assert len(results[name]) == n
    folds = [results[f"split{split}_test_score"] for split in range(model.n_splits_)]
    np.testing.assert_allclose(results["mean_test_score"], np.mean(folds, axis=0))
    assert model.best_params_ == results["params"][model.best_index_]
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    assert results["mean_test_loss"][model.best_index_] == results["mean_test_loss"].min()
    assert (results["max_relative_gap"] <= 1.1e-2).all()


def test_the_l1_votes_that_chose_the_centres_are_proved_and_kept(data, model):
    X, _, y, _ = data
    assert model.dual_gap_ <= model.tol * model.objective_
    again = VotedKernelClassifier(
        Gaussian(_path_strategy.WIDTHS),
        complexity=model.complexities_,
        complexity_penalty=model.complexity_penalty_,
        l1_penalty=0.0,
    ).fit(X, y)
    assert model.objective_ == pytest.approx(again.objective_, rel=3e-6)
    selection = model.selection_
    assert selection.term_weights.shape[1] == len(selection.term_kernel_indices)
    assert set(selection.support) <= set(model.support_)


def test_the_weights_of_the_committee_are_proved_given_its_terms(data):
    X, _, y, _ = data
    model = VotedKernelClassifierCV(committee=1).fit(X, y)
    (member,) = model.members_
    assert member.relaxed_dual_gap <= 1e-6 * member.relaxed_objective
    assert model.relaxed_objective_ == member.relaxed_objective
    # The problem once more, from what the model holds.
    vote = vote_of(model)
    kernel = model.kernel_names_.index(member.kernel)
    assert set(vote.kernels) == {kernel}
    family = model.kernels_[0]
    points = vote.points[vote.places]
    values = family.member(family.base(X, points), kernel)
    at_centers = family.member(family.base(points, points), kernel)
    n = len(points)
    W = Whitening.of_terms(vote.kernels, at_centers, np.ones(n, bool), np.ones(n))
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    w = np.full(len(y), 1 / len(y))
    problem = RelaxedProblem(LocalDesign(W.apply(values)), signs, w, member.relaxation)
    u = w * np.clip(1 - signs * model.decision_function(X), 0, 1)
    assert problem.dual_value(u) == pytest.approx(member.relaxed_objective, rel=1e-5)


def test_a_committee_is_one_vote_over_shared_centres(data, model):
    X, X_new, y, _ = data
    one = VotedKernelClassifierCV(committee=1).fit(X, y)
    assert len(model.members_) == 5
    assert len(one.members_) == 1
    assert set(one.support_) <= set(model.support_)
    assert model.decision_function(X_new).shape == (len(X_new),)


def test_sparse_has_no_more_support_vectors(data, model):
    X, _, y, _ = data
    sparse = VotedKernelClassifierCV(prefer="sparse").fit(X, y)
    assert len(sparse.support_) <= len(model.support_)
    assert len(sparse.members_) == 1


def test_several_classes_share_their_centres():
    X, y = load_iris(return_X_y=True)
    model = VotedKernelClassifierCV().fit(X, y)
    assert model.score(X, y) > 0.95
    assert (model.term_weights_ != 0).all(axis=0).any()
    assert model.term_weights_.shape[0] == 3


def test_shuffling_the_rows_changes_little_and_weights_count_repetitions(data):
    X, X_new, y, _ = data
    order = np.random.default_rng(0).permutation(len(y))
    splits = ShuffleSplit(3, test_size=0.3, random_state=0)
    folds = [(order.argsort()[train], order.argsort()[test]) for train, test in splits.split(X)]
    a = VotedKernelClassifierCV(cv=list(splits.split(X))).fit(X, y)
    b = VotedKernelClassifierCV(cv=folds).fit(X[order], y[order])
    np.testing.assert_allclose(
        a.decision_function(X_new), b.decision_function(X_new), rtol=1e-4, atol=1e-4
    )


def test_a_scorer_of_the_users_decides(data):
    X, _, y, _ = data
    model = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), scoring="roc_auc", cv=3).fit(X, y)
    results = model.cv_results_
    assert results["mean_test_score"][model.best_index_] == pytest.approx(
        results["mean_test_score"].max()
    )


@pytest.mark.parametrize(
    "kernels",
    [[Polynomial((1, 2)), Gaussian((1.0,))], Similarity(lambda A, B: np.tanh(A @ B.T / 10))],
    ids=["two families", "indefinite"],
)
def test_other_kernels_are_searched_alike(data, kernels):
    X, X_new, y, y_new = data
    model = VotedKernelClassifierCV(kernels).fit(X, y)
    assert model.score(X_new, y_new) > 0.7
    assert model.relaxed_dual_gap_ <= 1e-6 * model.relaxed_objective_


def test_a_precomputed_kernel_is_searched_alike(data):
    X, X_new, y, y_new = data

    def kernel(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1) / 10)

    model = VotedKernelClassifierCV(Precomputed(positive_definite=True)).fit(kernel(X, X), y)
    assert model.score(kernel(X_new, X), y_new) > 0.75


def test_given_centres_and_alternatives(data):
    X, X_new, y, y_new = data
    model = VotedKernelClassifierCV(
        {"wide": Gaussian((0.1,)), "all": Gaussian()}, centers=X[:40] + 0.1
    ).fit(X, y)
    assert model.best_params_["kernels"] in ("wide", "all")
    assert model.support_.max() < 40
    assert model.score(X_new, y_new) > 0.7


def test_large_data_are_searched_on_a_part_of_the_rows(data, monkeypatch):
    X, X_new, y, y_new = data
    monkeypatch.setattr(_path_strategy, "SEARCH_ROWS", 150)
    model = VotedKernelClassifierCV().fit(X, y)
    assert model.score(X_new, y_new) > 0.75


def test_with_many_rows_the_path_ends_early_and_is_still_proved(data, monkeypatch):
    X, X_new, y, y_new = data
    monkeypatch.setattr(_path_strategy, "SEARCH_ROWS", 150)
    penalty = VotedKernelClassifierCV().fit(X, y).complexity_penalty_
    monkeypatch.setattr(_path_committee, "CENTERS_ON_PATH", 3)
    model = VotedKernelClassifierCV().fit(X, y)
    assert model.complexity_penalty_ > 1.5 * penalty
    assert model.dual_gap_ <= 1e-6 * model.objective_
    assert model.score(X_new, y_new) > 0.75
    # The certificate belongs to the penalty that is reported.
    plain = model.chosen_classifier().fit(X, y)
    assert plain.objective_ == pytest.approx(model.objective_, rel=1e-5)


def test_a_model_survives_its_file(model, data, tmp_path):
    save_model(model, tmp_path / "model.vk")
    loaded = load_model(tmp_path / "model.vk")
    np.testing.assert_array_equal(
        loaded.decision_function(data[1]), model.decision_function(data[1])
    )


def test_constant_features_give_the_majority_class():
    X, y = np.ones((40, 2)), np.repeat([0, 1], [25, 15])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = VotedKernelClassifierCV().fit(X, y)
    assert (model.predict(X) == 0).all()


@pytest.mark.parametrize("committee", [0, 1.5, "three"])
def test_a_committee_has_members(committee):
    with pytest.raises(ValueError, match="committee must be an integer >= 1"):
        VotedKernelClassifierCV(committee=committee).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize(("n_classes", "relaxation"), [(2, None), (3, "auto")])
def test_a_vote_that_takes_most_of_the_time_is_the_model(data, monkeypatch, n_classes, relaxation):
    X, _, y, _ = data
    if n_classes == 3:
        y = np.where(X[:, 0] > 1, 2, y)
    monkeypatch.setattr(_path_strategy, "INSURANCE_SHARE", 0.0)
    with pytest.warns(ConvergenceWarning, match="ended the search before any level"):
        model = VotedKernelClassifierCV(time_limit=60.0).fit(X, y)
    plain = VotedKernelClassifier(relaxation=relaxation).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert np.isnan(model.best_score_)


# -- the parts -----------------------------------------------------------------------------


def test_margins_are_leads():
    votes = np.array([[0.5, 0.1, -0.3], [0.2, 0.8, 0.6]])
    np.testing.assert_allclose(margins_of(votes, np.array([0, 2])), [0.2, -0.1])
    np.testing.assert_allclose(margins_of(votes[:, :1], np.array([1, 0])), [0.5, -0.2])
    stacked = margins_of(np.stack([votes, -votes]), np.array([0, 2]))
    np.testing.assert_allclose(stacked[0], [0.2, -0.1])


def test_losses_do_not_depend_on_the_scale_of_a_vote():
    margins = np.random.default_rng(0).standard_normal((1, 50)) + 0.5
    np.testing.assert_allclose(
        losses_of_margins(margins), losses_of_margins(1000 * margins), rtol=1e-9
    )


def test_the_sparsest_level_near_the_best_is_chosen():
    def level(loss, n_support):
        row = np.full((1, 100), loss, np.float32)
        row[0, ::2] += 0.2
        return Level(
            1.0, None, (Setting(0, 1.0),), np.array([loss]), row, row[..., None],
            np.zeros((1, 5)), np.array([n_support]), 0.0, 0.0,
        )  # fmt: skip

    levels = [level(0.5, 2), level(0.304, 10), level(0.3, 50), level(0.4, 90)]
    assert choose_committee(levels, "best", 1) == [Member(2, 0)]
    assert choose_committee(levels, "best", 3) == [Member(2, 0), Member(1, 0), Member(3, 0)]
    assert choose_committee(levels, "sparse", 3) == [Member(1, 0)]


def test_growing_adds_rows_that_are_fitted_worst():
    X, y = make_waveform(150, random_state=0)
    training = Training.prepare(with_defaults(VotedKernelClassifier()), X, y, budget=Budget())
    sample = PathSample(training, training.w, 1e-2)
    sample.follow_path(0.1 * sample.first_entry(), Budget())
    before = sample.chosen
    setting = Setting(3, 1e-3)
    votes = sample.relax(setting.kernel, [1e-2, setting.rho])[-1]
    margins = margins_of(votes.decide(sample.columns.take(votes.kernels, before)), sample.codes)
    sample.grow(setting)
    fresh = np.setdiff1d(sample.chosen, before)
    assert len(fresh) == int(np.ceil(0.5 * len(before)))
    rest = np.setdiff1d(np.arange(150), sample.chosen)
    of_row = np.argsort(training.center_of)
    assert margins[of_row[fresh]].max() <= margins[of_row[rest]].min()


def test_rows_left_out_are_no_centres():
    X, y = make_waveform(60, random_state=0)
    training = Training.prepare(with_defaults(VotedKernelClassifier()), X, y, budget=Budget())
    w = np.where(np.arange(60) < 40, training.w, 0.0)
    sample = PathSample(training, w, 1e-2)
    assert sample.columns.n_rows == sample.columns.n_centers == 40
    np.testing.assert_array_equal(np.sort(training.center_of[:40]), sample.centers)
    part = training.some_rows(40)
    assert (part.columns.n_rows, part.columns.n_centers) == (40, 40)
    assert part.places.max() == 39


def test_a_search_on_some_strings_takes_them_from_the_whole_alphabet():
    words = [f"{letter}{number}" for letter in "abcdefgh" for number in range(10)]
    labels = np.arange(80) % 2
    training = Training.prepare(
        with_defaults(VotedKernelClassifier(Spectrum((1,)))), words, labels, budget=Budget()
    )
    part = training.some_rows(16)
    kept = part.columns.points(np.arange(16))[0]
    assert {word[0] for word in kept} == set("abcdefgh")
    # Each kept row is where it belongs, and the others are nowhere.
    for place, word in zip(part.places, words, strict=True):
        assert (kept[place] == word) if place >= 0 else word not in kept
