"""Searches with a limit of time end with a model that is worth having, or with an error."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from votedkernels import (
    Polynomial,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.datasets import make_waveform
from votedkernels.estimators._fold_scores import FOLDS_OF_REFIT, Schedule
from votedkernels.exceptions import FitLimitError
from votedkernels.solvers.grid_order import DEFAULT_PENALTIES, walk_outwards

GRID = {"complexity_penalties": DEFAULT_PENALTIES, "l1_penalties": DEFAULT_PENALTIES}


@pytest.fixture(scope="module")
def noisy():
    """Waveform rows with a fifth of the labels flipped, and clean ones to test on."""
    X, y = make_waveform(1000, random_state=0)
    flipped = np.random.default_rng(0).random(400) < 0.2
    y_train = np.where(flipped, -y[:400], y[:400])
    return X[:400], y_train, X[400:], y[400:]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_fits", [5, 15, 50])
def test_a_short_search_is_worth_something(noisy, n_fits, n_classes):
    X, y, X_new, y_new = noisy
    if n_classes == 3:
        y, y_new = (np.where(Z[:, 10] > 2, 5, labels) for Z, labels in ((X, y), (X_new, y_new)))
    constant = np.unique(y_new, return_counts=True)[1].max() / len(y_new)
    VotedKernelClassifier().fit(X, y)  # load what is compiled
    tried = []
    # A busy machine may take time away from any run; from three in a row it does not.
    while len(tried) < 3 and not any(in_time and worth for in_time, worth in tried):
        started = time.perf_counter()
        VotedKernelClassifier().fit(X, y)
        # The limit is a number of fits, which take longer on a slow machine.
        time_limit = n_fits * (time.perf_counter() - started)
        model = VotedKernelClassifierCV(time_limit=time_limit)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert len(model.support_) > 0
        tried.append(
            (
                time.perf_counter() - started <= 1.2 * time_limit + 1.0,
                model.score(X_new, y_new) >= constant + 0.15,
            )
        )
    assert tried[-1] == (True, True), tried


def test_candidates_that_were_not_solved_are_not_chosen(noisy, monkeypatch):
    X, y, _, _ = noisy
    in_time = iter([3, 2, 4, 2, 5])

    def stopped(problem, complexities, lambdas, betas, *, order, **options):
        return solve(problem, complexities, lambdas, betas, order=order[: next(in_time)], **options)

    from votedkernels.estimators import path

    solve = path.solve_grid
    monkeypatch.setattr(path, "solve_grid", stopped)
    model = VotedKernelClassifierCV(Polynomial((1, 2)), **GRID, time_limit=60.0)
    with pytest.warns(ConvergenceWarning, match="2 of 49 candidates were solved in all folds"):
        model.fit(X, y)
    results = model.cv_results_
    order = walk_outwards(DEFAULT_PENALTIES, DEFAULT_PENALTIES)
    solved = [i * len(DEFAULT_PENALTIES) + j for i, j in order[:2]]
    assert sorted(np.flatnonzero(results["n_solved_splits"] == 5)) == sorted(solved)
    assert sorted(np.flatnonzero(np.isfinite(results["mean_test_score"]))) == sorted(solved)
    assert model.best_index_ in solved
    assert model.best_score_ == np.nanmax(results["mean_test_score"])
    assert sorted(results["rank_test_score"][solved]) in ([1, 1], [1, 2])
    assert (np.delete(results["rank_test_score"], solved) == 3).all()


def test_without_time_for_folds_the_usual_penalties_are_taken(noisy, monkeypatch):
    X, y, X_new, y_new = noisy
    monkeypatch.setattr(Schedule, "end_of_fold", lambda self, number: 0.0)
    model = VotedKernelClassifierCV(Polynomial((1, 2)), **GRID, time_limit=60.0)
    with pytest.warns(ConvergenceWarning, match=r"nearest to the defaults.*best_score_ is NaN"):
        model.fit(X, y)
    assert model.best_params_ == {"complexity_penalty": 0.01, "l1_penalty": 0.01}
    assert np.isnan(model.best_score_)
    assert model.stop_reason_ == "optimal"
    assert model.score(X_new, y_new) > 0.8


def test_a_slow_alternative_does_not_keep_others_from_being_tried(noisy):
    X, y, X_new, y_new = noisy

    def slow(A, B):
        time.sleep(0.05)
        return np.asarray(A) @ np.asarray(B).T

    kernels = {"slow": Similarity(slow), "quick": Polynomial((1, 2))}
    grid = {"complexity_penalties": [1e-2], "l1_penalties": [1e-2], "cv": 2}
    model = VotedKernelClassifierCV(kernels, **grid, time_limit=8.0)
    schedule = Schedule.end_of_fold

    def no_time_for_the_first(self, number):
        return 0.0 if number < 2 else schedule(self, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Schedule, "end_of_fold", no_time_for_the_first)
        with pytest.warns(ConvergenceWarning, match="1 of 2 candidates"):
            model.fit(X, y)
    assert model.best_params_["kernels"] == "quick"
    assert model.score(X_new, y_new) > 0.8


def test_without_time_for_folds_and_without_refit_there_is_nothing(noisy, monkeypatch):
    monkeypatch.setattr(Schedule, "end_of_fold", lambda self, number: 0.0)
    model = VotedKernelClassifierCV(Polynomial((1, 2)), **GRID, time_limit=60.0, refit=False)
    with pytest.raises(FitLimitError, match="before any pair of penalties was solved"):
        model.fit(*noisy[:2])


def test_without_time_for_anything_there_is_an_error(noisy):
    model = VotedKernelClassifierCV(time_limit=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises(
            FitLimitError, match=r"time_limit=1e-06 left no time.*larger time_limit"
        ):
            model.fit(*noisy[:2])
    assert not hasattr(model, "classes_")


def test_a_limit_that_is_not_reached_changes_nothing(noisy):
    X, y, _, _ = noisy
    grid = {"complexity_penalties": [1e-1, 1e-2], "l1_penalties": [1e-1, 1e-2], "cv": 3}
    plain = VotedKernelClassifierCV(Polynomial((1, 2)), **grid).fit(X, y)
    limited = VotedKernelClassifierCV(Polynomial((1, 2)), **grid, time_limit=300).fit(X, y)
    assert limited.best_params_ == plain.best_params_
    np.testing.assert_allclose(
        limited.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.02
    )
    np.testing.assert_array_equal(limited.decision_function(X), plain.decision_function(X))


# -- the order and the schedule ------------------------------------------------------------


@pytest.mark.parametrize(
    "grid",
    [(DEFAULT_PENALTIES, DEFAULT_PENALTIES), ([0.0], [0.0, 1.0]), ([3.0, 0.0, 1e-9], [2e-2])],
)
def test_the_walk_outwards_goes_everywhere_once(grid):
    grid = tuple(map(np.array, grid))
    assert sorted(walk_outwards(*grid)) == list(np.ndindex(len(grid[0]), len(grid[1])))


def test_the_walk_goes_from_the_usual_pair_to_larger_then_to_smaller_penalties():
    penalties = np.array(DEFAULT_PENALTIES)
    pairs = [(penalties[i], penalties[j]) for i, j in walk_outwards(penalties, penalties)]
    assert pairs[0] == (1e-2, 1e-2)
    assert pairs.index((1e-1, 1e-2)) < pairs.index((1e-3, 1e-2))
    assert pairs[-1] == (1e-6, 1e-6)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_folds_share_the_time_and_leave_some_for_the_last_fit(n_workers):
    schedule = Schedule(time.time(), 70.0, 5, n_workers)
    rounds = {1: 5, 2: 3}[n_workers]
    share = 70.0 / (rounds + FOLDS_OF_REFIT)
    assert schedule.end_of_fold(0) - time.perf_counter() == pytest.approx(share, abs=0.5)
    # The last fold may use what the others have left, and no more.
    late = Schedule(time.time() - share * (rounds - 1), 70.0, 5, n_workers)
    assert late.end_of_fold(4) - time.perf_counter() == pytest.approx(share, abs=0.5)
    over = Schedule(time.time() - 70.0, 70.0, 5, n_workers)
    assert over.end_of_fold(4) - time.perf_counter() == pytest.approx(0.0, abs=0.5)
