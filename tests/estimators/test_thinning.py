"""Searches over kernels that are not positive definite: votes are thinned after they have grown."""

from dataclasses import replace

import numpy as np
import pytest

from votedkernels import (
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotedKernelRegressorCV,
)
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.estimators import _path_search
from votedkernels.estimators._path_committee import (
    NEARLY_ALL,
    Member,
    choose_committee,
    path_end,
    refit,
)
from votedkernels.estimators._path_level import Level, ancestry
from votedkernels.estimators._path_sample import PathSample, Setting
from votedkernels.estimators._path_search import (
    FEWEST_TO_THIN,
    KEPT,
    KEPT_OF_FEW,
    MANY_FOR_RHOS,
    MOST_THINNED_OF_FEW,
)
from votedkernels.estimators._path_strategy import with_defaults
from votedkernels.exceptions import OutOfTime
from votedkernels.preparation.training import Training
from votedkernels.solvers.relaxation import ChosenColumns


def near(A, B):
    """A similarity that is neither definite nor symmetric."""
    distances = np.abs(A[:, None] - 1.1 * B[None]).mean(axis=2)
    return np.exp(-((distances / 0.5) ** 3))


def far(A, B):
    return np.exp(-np.abs(A[:, None] - B[None]).max(axis=2) / 3)


@pytest.fixture(scope="module")
def data():
    X, y = make_waveform(260, random_state=0)
    X = X[:, 3:18] / X.std()
    return X[:160], y[:160], X[160:], y[160:]


def kernels():
    return [Similarity(near, bound=1.0), Similarity(far, bound=1.0)]


@pytest.fixture(scope="module")
def model(data):
    X, y, _, _ = data
    return VotedKernelClassifierCV(kernels(), cv=3).fit(X, y)


def levels_of(model):
    results = model.cv_results_
    return dict(zip(results["param_level"], results["mean_n_support"], strict=True))


def test_a_search_thins_the_votes_that_have_grown(model, data):
    sizes = list(levels_of(model).values())
    largest = int(np.argmax(sizes))
    thinned = sizes[largest:]
    assert 2 < len(thinned) <= MOST_THINNED_OF_FEW + 1
    assert (np.diff(thinned) < 0).all()
    assert min(thinned) >= KEPT_OF_FEW * FEWEST_TO_THIN
    steps = np.divide(thinned[1:], thinned[:-1])
    sizes = np.array(thinned[:-1])
    assert (steps[sizes > 1.1 * MANY_FOR_RHOS] < KEPT + 0.02).all()
    assert (steps[sizes < 0.9 * MANY_FOR_RHOS] > KEPT_OF_FEW - 1e-9).all()
    _, _, X_new, y_new = data
    assert model.score(X_new, y_new) > 0.7


def test_with_many_rows_a_fifth_of_the_centres_leaves_at_every_level(data, monkeypatch):
    X, y, _, _ = data
    monkeypatch.setattr(_path_search, "FEW_ROWS", 79)
    model = VotedKernelClassifierCV(kernels(), cv=2, refit=False).fit(X[:80], y[:80])
    sizes = np.array(list(levels_of(model).values()))
    thinned = sizes[int(np.argmax(sizes)) :]
    assert len(thinned) > 1
    assert (thinned[1:] <= KEPT * thinned[:-1] + 1).all()


def test_all_members_are_from_one_level_with_a_kernel_each(model):
    assert len({member.level for member in model.members_}) == 1
    names = [member.kernel for member in model.members_]
    assert len(set(names)) == len(names)
    assert (
        max(member.relaxed_dual_gap / member.relaxed_objective for member in model.members_) < 1e-5
    )
    assert model.dual_gap_ <= 1e-2 * model.objective_


def test_definite_kernels_and_numbers_are_not_thinned(data, monkeypatch):
    X, y, _, _ = data
    X, y = X[:80], y[:80]

    def refuse(self, setting, kept):
        pytest.fail("a vote was thinned")

    monkeypatch.setattr(PathSample, "thin", refuse)
    family = Similarity(far, positive_definite=True, bound=1.0)
    VotedKernelClassifierCV(family, cv=2).fit(X, y)
    VotedKernelRegressorCV(Similarity(near, bound=1.0), cv=2).fit(X, X[:, 0])


@pytest.fixture
def sample(data):
    X, y, _, _ = data
    training = Training.prepare(
        with_defaults(VotedKernelClassifier(kernels())), X, y, budget=Budget()
    )
    sample = PathSample(training, training.w, 1e-2)
    sample.chosen = np.arange(40)
    return sample


def level(n_support, losses=None, **parts):
    """A level of which only the number of centres and the losses matter."""
    rows = np.zeros((1, 10), np.float32) if losses is None else np.float32([losses])
    parts = {"grown_by": None, **parts}
    return Level(
        1.0, settings=(Setting(0, 1e-2),), criteria=rows.mean(axis=1), losses=rows,
        decisions=rows[..., None], scores=np.zeros((1, 2)), n_support=np.array([n_support]),
        gap=0.0, seconds=0.0, **parts,
    )  # fmt: skip


def test_thinning_removes_the_centres_that_a_vote_needs_least(sample):
    training = sample.training
    (votes,) = sample.relax(1, [1e-2])
    sizes = np.sqrt(training.w @ sample.columns.take(votes.kernels, np.arange(40)) ** 2)
    needs = np.abs(votes.weights[:, 0]) * sizes
    sample.thin(Setting(1, 1e-2), 0.7)
    assert len(sample.chosen) == 28
    removed = np.setdiff1d(np.arange(40), sample.chosen)
    assert needs[removed].max() <= needs[sample.chosen].min() * (1 + 1e-6)


@pytest.mark.parametrize(("step", "arguments"), [("thin", (KEPT,)), ("grow", ())])
def test_a_vote_that_is_known_is_not_fitted_again(sample, monkeypatch, step, arguments):
    setting = Setting(1, 1e-3)
    sample.compare(1, [1e-1, 1e-3])
    with monkeypatch.context() as patched:
        patched.setattr(ChosenColumns, "relax", None)
        getattr(sample, step)(setting, *arguments)
    chosen = sample.chosen
    sample.chosen = np.arange(40)  # another array, so the vote is fitted again
    getattr(sample, step)(setting, *arguments)
    assert len(np.intersect1d(sample.chosen, chosen)) >= 0.9 * len(chosen)


def test_with_many_centres_few_rhos_are_tried_and_thinning_begins_after_the_best(data, monkeypatch):
    X, y, _, _ = data
    monkeypatch.setattr(_path_search, "MANY_FOR_RHOS", 10)
    monkeypatch.setattr(_path_search, "MANY_TO_THIN", 20)
    chosen = []

    def watched(training, levels, committee, **limits):
        chosen.append((levels, committee))
        return refit(training, levels, committee, **limits)

    monkeypatch.setattr("votedkernels.estimators._path_strategy.refit", watched)
    model = VotedKernelClassifierCV(kernels(), cv=3).fit(X, y)
    ((levels, committee),) = chosen
    first = next(n for n, one in enumerate(levels) if one.thinned_by is not None)
    origin = levels[first].follows
    best = min(range(first), key=lambda n: levels[n].criteria[0])
    assert origin == min(best + 1, first - 1)
    expected = np.ceil(KEPT * levels[origin].n_support)
    np.testing.assert_array_equal(levels[first].n_support, expected)
    for one in levels[1:]:
        if one.n_support.max() > 10:
            assert max(len([s for s in one.settings if s.kernel == k]) for k in (0, 1)) <= 3
    number = committee[0].level
    assert ancestry(levels, number) == (
        [*range(number + 1)] if number < first else [*range(origin + 1), *range(first, number + 1)]
    )
    # The model has as many centres as the folds, which have two thirds of its rows.
    assert len(model.support_) < 2.5 * levels[number].n_support.mean()


def test_a_level_leads_back_to_the_one_whose_centres_it_has():
    thinned = {"thinned_by": Setting(0, 1.0)}
    levels = [level(9), level(20), level(30), level(16, follows=1, **thinned), level(13, **thinned)]
    assert ancestry(levels, 2) == [0, 1, 2]
    assert ancestry(levels, 4) == [0, 1, 3, 4]
    assert ancestry(levels, 0) == [0]


def test_a_thinned_level_is_not_on_the_path():
    assert path_end([level(9), level(20), level(16, thinned_by=Setting(0, 1.0))]) == 1


def test_the_vote_of_a_kernel_that_is_clearly_worse_is_left_out():
    rows = np.zeros((4, 100), np.float32)
    rows[1, ::2] += 0.2  # the same kernel as the best
    rows[2, ::2], rows[2, 1::2] = 1.1, -1.0  # worse, but perhaps by chance
    rows[3] = 0.3 + 0.01 * np.arange(100) / 100
    settings = tuple(Setting(kernel, 1.0) for kernel in (0, 0, 1, 2))
    found = Level(
        1.0, None, settings, rows.mean(axis=1), rows, rows[..., None],
        np.zeros((4, 5)), np.array([9]), 0.0, 0.0, thinned_by=settings[0],
    )  # fmt: skip
    assert choose_committee([found], "best", 5) == [Member(0, 0), Member(0, 2)]
    assert choose_committee([found], "best", 1) == [Member(0, 0)]


def test_where_all_rows_of_the_folds_are_centres_no_row_of_the_refit_is_left_out(sample):
    training, setting = sample.training, Setting(1, 1e-2)
    n_rows = len(sample.centers)
    sample.follow_path(0.05 * sample.first_entry(), Budget())
    joined = {True: [], False: []}
    for is_full in joined:
        levels = [replace(level(9), penalty=sample.penalty)]
        for _ in range(20):
            levels.append(level(9, grown_by=setting))
            levels[-1] = replace(levels[-1], is_full=is_full)
            grown, _ = refit(
                training, levels, [Member(len(levels) - 1, 0)], tol=1e-2, budget=Budget()
            )
            joined[is_full].append(len(grown.chosen))
            if len(grown.chosen) > NEARLY_ALL * n_rows:
                break
    before, last = joined[True][:-1], joined[True][-1]
    assert before == joined[False][:-1]
    assert last == n_rows


def test_a_search_without_time_for_thinning_returns_what_it_found(data, monkeypatch):
    X, y, _, _ = data

    def too_late(self, setting, kept):
        raise OutOfTime

    monkeypatch.setattr(PathSample, "thin", too_late)
    model = VotedKernelClassifierCV(kernels(), cv=2).fit(X[:80], y[:80])
    assert len(model.support_) > 0
