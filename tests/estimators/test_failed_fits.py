"""A fit that fails leaves its estimator as it was; Ctrl-C and limits keep what was found."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from votedkernels import (
    Gaussian,
    Polynomial,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.datasets import make_waveform
from votedkernels.estimators._ongoing_fit import OngoingFit, fitted_attributes
from votedkernels.exceptions import FitLimitError
from votedkernels.preparation.training import Training
from votedkernels.problem import Problem

GRID = {"complexity_penalties": [1e-2], "l1_penalties": [1e-2, 1e-3], "cv": 3}


class Boom(Exception):
    """What only our kernels raise."""


@pytest.fixture(scope="module")
def data():
    return make_waveform(120, random_state=0)


def failing_kernel(after, error=Boom):
    """Return a similarity that raises at some call, and until then is a dot product."""
    calls = iter(range(10**9))

    def function(A, B):
        if next(calls) == after:
            raise error
        return np.asarray(A) @ np.asarray(B).T

    return Similarity(function)


def estimators(kernels):
    return [VotedKernelClassifier(kernels), VotedKernelClassifierCV(kernels, **GRID)]


def assert_unchanged(model, before):
    after = fitted_attributes(model)
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert after[name] is value, name


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("number", [0, 1], ids=["plain", "search"])
def test_a_kernel_that_raises_leaves_nothing(data, after, number, monkeypatch):
    monkeypatch.setattr("votedkernels.Similarity.rows_at_once", 16)
    model = estimators(failing_kernel(after))[number]
    with pytest.raises(Boom):
        model.fit(*data)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("number", [0, 1], ids=["plain", "search"])
def test_a_kernel_that_raises_in_the_solver_leaves_the_last_model(data, number, monkeypatch):
    X, y = data
    model = estimators(Polynomial((1, 2)))[number].fit(X, y)
    before, decisions = fitted_attributes(model), model.decision_function(X)

    def fail(*args, **kwargs):
        raise Boom

    monkeypatch.setattr("votedkernels.solvers.column_generation.improve", fail)
    with pytest.raises(Boom):
        model.fit(X[:60, :5], y[:60])
    assert_unchanged(model, before)
    np.testing.assert_array_equal(model.decision_function(X), decisions)


@pytest.mark.parametrize("number", [0, 1], ids=["plain", "search"])
def test_bad_data_leave_the_names_and_the_number_of_columns(data, number):
    X, y = data
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    model = estimators(None)[number].fit(frame, y)
    before = fitted_attributes(model)
    other = pd.DataFrame(X[:, :2], columns=["c", "d"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(other, y[:-1])
    assert_unchanged(model, before)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.n_features_in_ == 3


def test_a_warning_made_an_error_leaves_the_last_model(data):
    X, y = data
    model = VotedKernelClassifier().fit(X, y)
    before = fitted_attributes(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning):
            model.set_params(max_iter=1, tol=1e-14, l1_penalty=1e-5).fit(X, y)
    assert_unchanged(model, before)


def test_a_search_without_refit_forgets_the_last_model(data):
    X, y = data
    model = VotedKernelClassifierCV(Polynomial((1, 2)), **GRID).fit(X, y)
    model.set_params(refit=False).fit(X, y)
    assert not hasattr(model, "term_weights_")
    with pytest.raises(NotFittedError, match="refit=False"):
        model.predict(X)


def test_a_new_fit_leaves_no_attribute_of_the_last(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    model = VotedKernelClassifier().fit(frame, y)
    model.fit(X, y)
    assert fitted_attributes(model).keys() == fitted_attributes(clone(model).fit(X, y)).keys()


def test_ctrl_c_in_the_solver_keeps_what_was_found(data, monkeypatch):
    X, y = data
    model = VotedKernelClassifier(complexity_penalty=1e-5, l1_penalty=1e-5, tol=1e-12).fit(X, y)
    from votedkernels.solvers import column_generation

    improve, rounds = column_generation.improve, iter(range(100))

    def interrupted(*args):
        if next(rounds) == 2:
            raise KeyboardInterrupt
        return improve(*args)

    monkeypatch.setattr(column_generation, "improve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:90, :4], y[:90])
    assert model.stop_reason_ == "interrupted"
    assert model.n_features_in_ == 4
    assert len(model.support_) > 0
    assert model.predict(X[:, :4]).shape == y.shape


def test_ctrl_c_in_the_last_fit_of_a_search_keeps_what_was_found(data, monkeypatch):
    X, y = data
    model = VotedKernelClassifierCV(Gaussian((1.0,)), **GRID)
    solve = OngoingFit.solve

    def interrupted(self):
        solve(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(OngoingFit, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.best_score_ > 0.5
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("number", [0, 1], ids=["plain", "search"])
def test_ctrl_c_before_there_is_a_problem_leaves_the_last_model(data, number, monkeypatch):
    X, y = data
    model = estimators(Polynomial((1, 2)))[number].fit(X, y)
    before = fitted_attributes(model)
    # The folds of a search prepare their own data; what is interrupted is its last fit.
    prepare = Training.prepare

    def interrupted(estimator, X, *args, **options):
        if len(X) == 100:
            raise KeyboardInterrupt
        return prepare(estimator, X, *args, **options)

    monkeypatch.setattr(Training, "prepare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], y[:100])
    assert_unchanged(model, before)


def test_ctrl_c_before_there_is_a_vote_leaves_the_last_model(data, monkeypatch):
    X, y = data
    model = VotedKernelClassifier().fit(X, y)
    before = fitted_attributes(model)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("votedkernels.solvers.column_generation.improve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:90], y[:90])
    assert_unchanged(model, before)


@pytest.mark.parametrize("solver", ["column-generation", "coordinate-descent"])
def test_ctrl_c_on_a_part_of_the_rows_keeps_the_vote_of_that_part(solver, monkeypatch):
    from votedkernels.solvers import column_generation, coordinate_descent

    module = {"column-generation": column_generation, "coordinate-descent": coordinate_descent}
    X, y = make_waveform(500, random_state=0)
    price, seen = Problem.into_box, []

    def interrupted(problem, u):
        seen.append(problem.n_rows)
        if sum(n < len(y) for n in seen) == 3:
            raise KeyboardInterrupt
        return price(problem, u)

    monkeypatch.setattr(module[solver], "SMALLEST_SUBSAMPLE", 100)
    monkeypatch.setattr(Problem, "into_box", interrupted)
    model = VotedKernelClassifier(solver=solver)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.stop_reason_ == "interrupted"
    assert model.objective_ < 1
    assert model.score(X, y) > 0.7


def test_a_limit_too_small_for_any_vote_is_an_error(data):
    X, y = data
    model = VotedKernelClassifier().fit(X, y)
    before = fitted_attributes(model)
    with pytest.raises(FitLimitError, match=r"time_limit=1e-06 ended the fit"):
        model.set_params(time_limit=1e-6).fit(X, y)
    assert_unchanged(model, before)


def test_every_class_gets_its_share_of_the_time():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((900, 20)), random.integers(0, 3, 900)
    model = VotedKernelClassifier(complexity_penalty=1e-5, l1_penalty=1e-6, time_limit=1.0)
    VotedKernelClassifier(max_iter=1, tol=0.5).fit(X, y)  # load what is compiled
    with pytest.warns(ConvergenceWarning, match="time-limit"):
        model.fit(X, y)
    assert (model.term_weights_ != 0).any(axis=1).all()
