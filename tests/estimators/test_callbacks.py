import io
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")


class Recorder:
    """Keeps what it is told; asks to stop after so many rounds."""

    def __init__(self, stop_after=None):
        self.begun, self.ended, self.models = [], [], []
        self.set_up = self.torn_down = 0
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        if fitted_estimator is not None and context.parent is not None:
            self.models.append((fitted_estimator.objective_, fitted_estimator.predict(X)))
        rounds = self.ended.count("round")
        return self.stop_after is not None and rounds >= self.stop_after


@pytest.fixture(scope="module")
def data():
    return make_waveform(150, random_state=0)


def three_classes():
    X = np.random.default_rng(0).standard_normal((90, 3))
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])


def test_a_callback_sees_every_round(data):
    X, y = data
    recorder = Recorder()
    model = VotedKernelClassifier().set_callbacks(recorder).fit(X, y)
    assert recorder.ended.count("round") == model.n_iter_
    assert sorted(recorder.begun) == sorted(recorder.ended)
    assert (recorder.set_up, recorder.torn_down) == (1, 1)


def test_a_callback_gets_a_model_that_predicts_after_every_round(data):
    X, y = data
    recorder = Recorder()
    model = VotedKernelClassifier().set_callbacks(recorder).fit(X, y)
    objectives = [objective for objective, _ in recorder.models]
    assert len(objectives) >= model.n_iter_
    assert (np.diff(objectives[: model.n_iter_]) <= 1e-15).all()
    assert objectives[-1] == model.objective_
    np.testing.assert_array_equal(recorder.models[-1][1], model.predict(X))


def test_the_task_of_the_whole_fit_ends_with_the_model(data):
    class Last(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.parent is None:
                self.models.append(fitted_estimator)

    X, y = data
    last = Last()
    model = VotedKernelClassifier().set_callbacks(last).fit(X, y)
    (final,) = last.models
    # None would say that there is no model to be had; an empty one is of no use.
    assert final is None or final.objective_ == model.objective_


def test_more_classes_are_more_tasks():
    X, y = three_classes()
    recorder = Recorder()
    model = VotedKernelClassifier(Gaussian((1.0,))).set_callbacks(recorder).fit(X, y)
    assert recorder.ended.count("round") == model.n_iter_
    # One task each, besides the rounds and the fit itself.
    assert len(recorder.ended) == model.n_iter_ + 3 + 1


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_callback_can_stop_the_fit(data, rounds):
    X, y = data
    recorder = Recorder(stop_after=rounds)
    model = VotedKernelClassifier(complexity_penalty=1e-5, l1_penalty=1e-6)
    with pytest.warns(match="stopped \\(interrupted\\)"):
        model.set_callbacks(recorder).fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert recorder.ended.count("round") == rounds
    assert model.objective_ <= 1 + 1e-15
    assert model.dual_gap_ > 1e-6 * model.objective_
    assert model.predict(X).shape == y.shape
    assert recorder.torn_down == 1


def test_a_stop_leaves_the_classes_that_were_not_reached_empty():
    X, y = three_classes()
    recorder = Recorder(stop_after=1)
    model = VotedKernelClassifier(Gaussian((1.0,)), complexity_penalty=1e-4)
    with pytest.warns(match="stopped \\(interrupted\\)"):
        model.set_callbacks(recorder).fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.class_objectives_.shape == (3,)
    assert model.class_objectives_[2] == pytest.approx(1.0)
    assert set(model.predict(X)) <= {0, 1, 2}


def test_an_error_in_a_callback_reaches_the_user(data):
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("callback broke down")

    X, y = data
    failing = Failing()
    with pytest.raises(RuntimeError, match="callback broke down"):
        VotedKernelClassifier().set_callbacks(failing).fit(X, y)
    assert failing.torn_down == 1


def test_a_model_is_the_same_with_and_without_callbacks(data):
    X, y = data
    plain = VotedKernelClassifier().fit(X, y)
    watched = VotedKernelClassifier().set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_array_equal(plain.term_weights_, watched.term_weights_)


def test_progress_bar(data):
    pytest.importorskip("rich", reason="the progress bar needs rich")
    X, y = data
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        VotedKernelClassifier().set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "VotedKernelClassifier" in output.getvalue()


def test_progress_bar_in_a_grid_search(data):
    pytest.importorskip("rich", reason="the progress bar needs rich")
    X, y = data
    search = GridSearchCV(
        VotedKernelClassifier(Polynomial((1, 2))), {"l1_penalty": [1e-2, 1e-3]}, cv=2
    )
    if not hasattr(search, "set_callbacks"):
        pytest.skip("this grid search takes no callbacks")
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, y)
    assert "VotedKernelClassifier" in output.getvalue()
    assert search.best_score_ > 0.7


def test_scoring_monitor(data):
    X, y = data
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = VotedKernelClassifier().set_callbacks(monitor).fit(X, y)
    assert model.stop_reason_ == "optimal"
