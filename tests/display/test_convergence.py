import subprocess
import sys
import time
from dataclasses import replace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votedkernels import (
    ConvergenceDisplay,
    Gaussian,
    Polynomial,
    Precomputed,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.datasets import make_waveform
from votedkernels.solvers import SOLVERS

MODEL = VotedKernelClassifier(Polynomial((1, 2, 3)), complexity_penalty=1e-2)


@pytest.fixture(scope="module")
def data():
    return make_waveform(120, random_state=0)


@pytest.fixture(scope="module")
def display(data):
    return ConvergenceDisplay.from_estimator(MODEL, *data, solvers=tuple(SOLVERS))


def three_classes():
    X = np.random.default_rng(0).standard_normal((60, 3))
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# -- what is recorded -----------------------------------------------------------------


def test_time_goes_on_the_objective_falls_and_the_bound_rises(display):
    for seconds, objectives, bounds in zip(
        display.seconds, display.objectives, display.dual_bounds, strict=True
    ):
        assert len(seconds) == len(objectives) == len(bounds) >= 3
        assert seconds[0] > 0
        assert (np.diff(seconds) >= 0).all()
        assert (np.diff(objectives) <= 0).all()
        assert (np.diff(bounds) >= 0).all()
        assert (objectives >= bounds - 1e-12).all()


def test_every_solver_starts_from_nothing_when_the_data_are_ready(display):
    starts = [seconds[0] for seconds in display.seconds]
    assert len(set(starts)) == 1  # the preparation counts alike
    assert [objectives[0] for objectives in display.objectives] == pytest.approx([1.0] * 4)
    assert [bounds[0] for bounds in display.dual_bounds] == [0.0] * 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_last_record_is_the_certificate_of_the_model(data, display):
    for number, solver in enumerate(display.solvers):
        model = clone(MODEL).set_params(solver=solver).fit(*data)
        assert display.objectives[number][-1] == model.objective_
        assert display.dual_bounds[number][-1] == model.dual_bound_
        gap = model.dual_gap_ / model.objective_
        assert display.relative_gaps[number][-1] == gap
        assert display.stop_reasons[number] == model.stop_reason_
        # One record a round, the start and the end.
        assert len(display.seconds[number]) == model.n_iter_ + 2


def test_more_classes_are_summed():
    X, y = three_classes()
    model = VotedKernelClassifier(Gaussian((1.0,)), complexity_penalty=1e-2)
    display = ConvergenceDisplay.from_estimator(model, X, y, solvers=["column-generation"])
    fitted = model.fit(X, y)
    assert display.objectives[0][0] == pytest.approx(3.0)
    # The display solves one class after the other, a fit all together: sums round differently.
    assert display.objectives[0][-1] == pytest.approx(fitted.objective_, rel=1e-9)
    assert display.dual_bounds[0][-1] == pytest.approx(fitted.dual_bound_, rel=1e-9)
    assert (np.diff(display.objectives[0]) <= 0).all()
    assert (np.diff(display.dual_bounds[0]) >= 0).all()
    # A start, and for each class at least one round and the end.
    n_points = len(display.seconds[0])
    assert n_points == len(display.objectives[0]) == len(display.dual_bounds[0])
    assert n_points >= 1 + 3 + 3


def test_sample_weight_counts(data):
    X, y = data
    weights = np.where(y == y[0], 2.0, 1.0)
    display = ConvergenceDisplay.from_estimator(
        MODEL, X, y, solvers=["column-generation"], sample_weight=weights
    )
    model = clone(MODEL).fit(X, y, weights)
    assert display.objectives[0][-1] == model.objective_ != clone(MODEL).fit(X, y).objective_


def test_solvers_get_the_same_centres(data):
    model = clone(MODEL).set_params(centers=20)  # drawn anew at each fit
    display = ConvergenceDisplay.from_estimator(model, *data)
    first, second = (objectives[-1] for objectives in display.objectives)
    assert first == pytest.approx(second, rel=1e-6)


def test_a_precomputed_kernel(data):
    X, y = data
    model = VotedKernelClassifier(Precomputed(), complexity_penalty=1e-2)
    display = ConvergenceDisplay.from_estimator(model, X @ X.T, y)
    assert all(gaps[-1] <= model.tol for gaps in display.relative_gaps)


@pytest.mark.parametrize("limit", [1e-6, 0.2])
def test_time_limit_holds_for_each_solver(limit):
    X, y = make_waveform(800, random_state=0)
    model = VotedKernelClassifier(complexity_penalty=1e-6, l1_penalty=1e-7)
    solvers = ["coordinate-descent", "lp"]
    started = time.process_time()
    display = ConvergenceDisplay.from_estimator(model, X, y, solvers=solvers, time_limit=limit)
    assert time.process_time() - started < 20
    assert display.stop_reasons == ["time-limit", "time-limit"]
    assert all(gaps[-1] > model.tol for gaps in display.relative_gaps)
    assert model.time_limit is None


def test_the_estimator_is_left_as_it_was(data):
    model = clone(MODEL)
    before = set(vars(model))
    ConvergenceDisplay.from_estimator(model, *data)
    assert set(vars(model)) == before
    assert model.solver == "column-generation"


def test_what_was_known_stays_known(data, monkeypatch):
    """A solver that hands over to another begins anew."""
    solver = SOLVERS["column-generation"]
    solve = solver.solve

    def handing_over(problem, *, on_round, **kwargs):
        solve(problem, on_round=on_round, **kwargs)
        return solve(problem, on_round=on_round, **kwargs)

    monkeypatch.setitem(SOLVERS, "column-generation", replace(solver, solve=handing_over))
    display = ConvergenceDisplay.from_estimator(MODEL, *data, solvers=["column-generation"])
    assert (np.diff(display.objectives[0]) <= 0).all()
    assert (np.diff(display.dual_bounds[0]) >= 0).all()


def test_nothing_is_warned_of_that_the_plot_shows(data, recwarn):
    solvers = ["coordinate-descent-paper"]
    ConvergenceDisplay.from_estimator(MODEL, *data, solvers=solvers)
    assert not [warning for warning in recwarn if warning.category is ConvergenceWarning]


# -- what is drawn --------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "n_curves"), [("gap", 1), ("objective", 2)])
def test_curves_labels_and_legend(display, kind, n_curves):
    assert display.plot(kind=kind) is display
    ax = display.ax_
    assert display.figure_ is ax.figure
    assert display.lines_.shape == (4, n_curves)
    assert ax.get_xlabel() == "time (s)"
    assert ("gap" if kind == "gap" else "objective") in ax.get_ylabel()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert texts(ax) == [
        "column-generation",
        "lp",
        "coordinate-descent",
        "coordinate-descent-paper (stalled)",
    ]
    assert len({curves[0].get_color() for curves in display.lines_}) == 4
    display.figure_.canvas.draw()


def test_curves_are_the_data(display):
    display.plot(kind="objective")
    for number, (objective, bound) in enumerate(display.lines_):
        assert objective.get_ydata()[-1] == display.objectives[number][-1]
        assert bound.get_ydata()[-1] == display.dual_bounds[number][-1]
        assert objective.get_xdata()[-1] == display.seconds[number][-1]
        # Stairs: what is known holds until the next record.
        assert objective.get_ydata()[1] == display.objectives[number][0]
        assert objective.get_xdata()[1] == display.seconds[number][1]
        assert (objective.get_linestyle(), bound.get_linestyle()) == ("-", "--")


def test_a_full_symbol_is_a_proof(display):
    display.plot()
    open_ones = [curves[0].get_markerfacecolor() == "white" for curves in display.lines_]
    assert open_ones == [reason != "optimal" for reason in display.stop_reasons]


def test_axes_can_be_given_and_shared(data, display):
    figure, (above, below) = plt.subplots(2, 1, sharex=True)
    display.plot(above, kind="objective").plot(below, kind="gap")
    assert display.ax_ is below
    assert display.figure_ is figure
    assert len(above.lines) == 8
    other = ConvergenceDisplay.from_estimator(MODEL, *data, ax=below)
    assert other.ax_ is below
    assert len(texts(below)) == 4 + 2
    assert plt.get_fignums() == [figure.number]


def test_recorded_data_are_enough():
    display = ConvergenceDisplay(
        solvers=["mine"],
        seconds=[[0.1, 1.0, 2000.0]],
        objectives=[[1.0, 0.5, 0.0]],
        dual_bounds=[[0.0, 0.4, 0.0]],
    )
    np.testing.assert_allclose(display.relative_gaps[0], [1.0, 0.2, 0.0])
    display.plot(kind="gap", line_kw={"lw": 3, "c": "black"})
    (line,) = display.lines_[0]
    assert (line.get_linewidth(), line.get_color()) == (3, "black")
    assert (line.get_ydata() > 0).all()
    display.figure_.canvas.draw()
    display.plot(kind="objective").figure_.canvas.draw()


# -- what goes wrong ------------------------------------------------------------------


@pytest.mark.parametrize("solvers", [["simplex"], [], None, "lp", ["lp", "lp"]])
def test_solvers_that_cannot_be_compared(data, solvers):
    with pytest.raises(ValueError, match="solvers"):
        ConvergenceDisplay.from_estimator(MODEL, *data, solvers=solvers)


def test_unknown_kind(data, display):
    for attempt in (
        lambda: display.plot(kind="loss"),
        lambda: ConvergenceDisplay.from_estimator(MODEL, *data, kind="loss"),
    ):
        with pytest.raises(ValueError, match="kind must be one of 'gap', 'objective', got 'loss'"):
            attempt()


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        VotedKernelClassifierCV(),
    ],
)
def test_estimators_without_our_solvers(data, estimator):
    with pytest.raises(TypeError, match=r"ends in one, got .*(LogisticRegression|CV);"):
        ConvergenceDisplay.from_estimator(estimator, *data)


def test_the_earlier_steps_of_a_pipeline_are_fitted(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), clone(MODEL))
    display = ConvergenceDisplay.from_estimator(pipeline, X, y)
    scaled = StandardScaler().fit_transform(X)
    expected = clone(MODEL).fit(scaled, y).objective_
    for objectives in display.objectives:
        assert objectives[-1] == pytest.approx(expected, rel=1e-5)
    assert not hasattr(pipeline[0], "mean_")  # it is left as it was


def test_parameters_are_checked_before_any_work(data):
    model = clone(MODEL).set_params(l1_penalty=-1.0)
    with pytest.raises(ValueError, match="l1_penalty"):
        ConvergenceDisplay.from_estimator(model, *data)
    with pytest.raises(ValueError, match="time_limit"):
        ConvergenceDisplay.from_estimator(MODEL, *data, time_limit=-1)


def test_the_way_to_matplotlib_is_told(data, display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install votedkernels\[plot\]"):
        ConvergenceDisplay.from_estimator(MODEL, *data)
    with pytest.raises(ImportError, match=r"ConvergenceDisplay.plot needs matplotlib"):
        display.plot()


def test_the_package_does_not_import_matplotlib():
    code = "import sys, votedkernels; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
