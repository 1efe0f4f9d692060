"""``verbose``: nothing at 0, true lines otherwise, the same model in any case."""

import pickle
import re
import sys

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV
from support.pages import ROOT, agrees, blocks

from votedkernels import (
    Gaussian,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotedKernelRegressor,
    VotedKernelRegressorCV,
    voted_kernel_path,
)
from votedkernels.datasets import make_waveform
from votedkernels.estimators._ongoing_fit import GridWatch

GRID = {"complexity_penalties": [1e-1, 1e-2], "l1_penalties": [1e-2]}


@pytest.fixture(scope="module")
def data():
    return make_waveform(80, random_state=0)


def lines_of(capfd):
    captured = capfd.readouterr()
    assert captured.out == ""
    return [re.sub(r"(\d+ min )?[\d.]+ s\b", "T", line) for line in captured.err.splitlines()]


def test_silent_by_default(data, capfd):
    VotedKernelClassifier(Gaussian((1.0,)), probability=True).fit(*data)
    VotedKernelClassifierCV(Gaussian((1.0,)), cv=2).fit(*data)
    voted_kernel_path(*data, Gaussian((1.0,)), **GRID)
    assert lines_of(capfd) == []


def test_rounds_of_a_classifier(data, capfd):
    model = VotedKernelClassifier(Gaussian((1.0,)), verbose=2).fit(*data)
    lines = lines_of(capfd)
    rounds = [line for line in lines if "round" in line]
    assert len(rounds) == model.n_iter_
    assert f"objective {model.objective_:.6g}," in rounds[-1]
    assert lines[-1].startswith(
        f"VotedKernelClassifier, T: {len(model.support_)} support vectors, gap"
    )
    assert lines[-1].endswith("(optimal)")


def test_problems_and_folds_of_a_classifier(data, capfd):
    X, _ = data
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    VotedKernelClassifier(Gaussian((1.0,)), verbose=True, probability=True).fit(X, y)
    lines = lines_of(capfd)
    done = [f"VotedKernelClassifier, T: problem {n} of 3 done" for n in (1, 2, 3)]
    assert sorted(lines[:3]) == done, "problems that are solved together may end in any order"
    assert lines[3:8] == [
        f"VotedKernelClassifier, T: probabilities, fold {n} of 5" for n in range(1, 6)
    ]
    assert len(lines) == 9


def test_levels_of_a_search(data, capfd):
    model = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=2, verbose=2).fit(*data)
    lines = lines_of(capfd)
    n_levels = len(set(model.cv_results_["param_level"]))
    assert sum("done" in line for line in lines) == n_levels
    assert sum("fold 2 of 2" in line for line in lines) == n_levels
    assert f"best accuracy {model.best_score_:.4f}" in lines[-1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds_of_a_grid(data, capfd, n_jobs):
    search = VotedKernelClassifierCV(Gaussian((1.0,)), cv=3, **GRID, n_jobs=n_jobs, verbose=1)
    with parallel_config(backend="threading"):
        search.fit(*data)
    lines = lines_of(capfd)
    assert [line.partition(" done")[0][-11:] for line in lines[:3]] == [
        f"fold {n} of 3" for n in (1, 2, 3)
    ]
    assert "about T left" in lines[0]
    assert f"best mean accuracy {search.best_score_:.4f}" in lines[2]
    assert len(lines) == 4


def test_details_say_how_long_it_takes_and_what_was_found(data, capfd):
    # A terminal shows mostly details, because each one overwrites the step before.
    VotedKernelClassifierCV(Gaussian((1.0,)), cv=2, **GRID, verbose=2).fit(*data)
    points = [line for line in lines_of(capfd) if "points solved" in line]
    assert "left" not in points[0]
    assert re.search(r"fold 2 of 2, \d+ of \d+ points solved, best mean accuracy 0.\d+, about T "
                     "left", points[-1])  # fmt: skip
    VotedKernelClassifierCV(Gaussian((1.0,)), cv=2, verbose=2).fit(*data)
    folds = [line for line in lines_of(capfd) if "level 2, fold" in line]
    pattern = r"fold 2 of 2, at least T left, best accuracy 0.\d+ with \d+ support vectors"
    assert re.search(pattern, folds[1])


def test_a_grid_is_silent_in_other_processes():
    class Display:
        def detail(self, text):
            raise AssertionError(text)

    copy = pickle.loads(pickle.dumps(GridWatch(Display(), 3, "fold 1, ")))
    copy()
    assert (copy.n_done, copy.display) == (1, None)


def test_points_of_a_grid(data, capfd):
    VotedKernelClassifierCV(Gaussian((1.0,)), cv=2, **GRID, verbose=2).fit(*data)
    lines = lines_of(capfd)
    assert any("fold 2 of 2, 2 of 2 points solved" in line for line in lines)
    voted_kernel_path(*data, Gaussian((1.0,)), **GRID, verbose=1)
    assert lines_of(capfd) == ["voted_kernel_path, T: 2 of 2 points solved"]


def test_workers_write_whole_lines(data, capfd):
    search = GridSearchCV(
        VotedKernelClassifier(Gaussian((1.0,)), verbose=1), {"l1_penalty": [1e-2, 1e-3]},
        cv=2, n_jobs=2,
    )  # fmt: skip
    with parallel_config(backend="threading"):
        search.fit(*data)
    lines = lines_of(capfd)
    assert len(lines) == 5
    assert all(line.endswith("(optimal)") for line in lines)


def test_the_model_is_the_same(data, capfd):
    silent = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=2).fit(*data)
    verbose = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=2, verbose=2).fit(*data)
    np.testing.assert_array_equal(silent.term_weights_, verbose.term_weights_)
    assert capfd.readouterr().err


def test_regressors_tell_too(data, capfd):
    X, _ = data
    VotedKernelRegressor(Gaussian((1.0,)), verbose=1, tol=1e-3).fit(X, X[:, 0])
    VotedKernelRegressorCV(Gaussian((1.0,)), cv=2, verbose=1, tol=1e-3).fit(X, X[:, 0])
    lines = lines_of(capfd)
    assert lines[0].startswith("VotedKernelRegressor, T: ")
    assert "best negative mean absolute error -0." in lines[-1]


@pytest.mark.parametrize("verbose", [-1, "yes", None, 0.5])
@pytest.mark.parametrize(
    "kind", [VotedKernelClassifier, VotedKernelClassifierCV, VotedKernelRegressor]
)
def test_wrong_values_are_refused(data, kind, verbose):
    with pytest.raises(ValueError, match=r"verbose must be 0 \(silent\), 1"):
        kind(verbose=verbose).fit(*data)


def test_the_page_shows_what_is_printed(capfd, monkeypatch):
    """Progress goes to standard error, so the page's outputs are checked here."""
    page = blocks(ROOT / "docs" / "progress.md")
    promised = [block.code for block in page if block.language == "text"]
    names = {"__name__": "page"}
    capfd.readouterr()
    monkeypatch.setattr(sys, "argv", ["page"])
    for number in (0, 1):
        code = [block for block in page if block.language == "python"][number]
        exec(code.compiled(), names)
        printed = capfd.readouterr().err
        assert agrees(printed, promised[number]), printed
