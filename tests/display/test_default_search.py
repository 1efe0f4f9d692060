"""Displays of a search without a grid: what is drawn is in its results."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from votedkernels import (
    Gaussian,
    PenaltyGridDisplay,
    Polynomial,
    SupportPathDisplay,
    VotedKernelClassifierCV,
)


def texts(labels):
    return [text.get_text() for text in labels]


def drawn_legend(display):
    return texts(display.ax_.get_legend().get_texts())


def best_rows(results, **wanted):
    """The row with the best criterion among those with these parameters; None if there is none."""
    rows = np.arange(len(results["params"]))
    for name, value in wanted.items():
        rows = rows[results[f"param_{name}"][rows] == value]
    return rows[results["mean_test_loss"][rows].argmin()] if len(rows) else None


# -- heat map -------------------------------------------------------------------------


def test_cells_are_the_best_relaxations(default_search):
    results = default_search.cv_results_
    display = PenaltyGridDisplay.from_estimator(default_search)
    assert display.kernel_names == [f"gaussian(gamma={g:g})" for g in (0.03, 0.3, 1, 3, 10)]
    assert display.values.shape == (5, results["param_level"].max() + 1)
    for (i, j), value in np.ndenumerate(display.values):
        row = best_rows(results, kernel=display.kernel_names[i], level=j)
        if row is None:
            assert np.isnan(value)
        else:
            assert value == results["mean_test_score"][row]
            assert display.n_support[j] == results["mean_n_support"][row]
    # The search gave up a kernel on the way, so that some cells are blank.
    assert np.isnan(display.values).any()
    assert drawn_legend(display)[-1] == "not tried"


def test_the_choice_and_the_best_score_are_framed(default_search):
    display = PenaltyGridDisplay.from_estimator(default_search)
    kernel, level = display.chosen
    assert display.kernel_names[kernel] == default_search.best_params_["kernel"]
    assert level == default_search.best_params_["level"]
    assert display.values[display.chosen] == default_search.best_score_
    np.testing.assert_allclose(display.frames_["chosen"].get_xy(), (level - 0.46, kernel - 0.44))
    assert display.values[display.best] == np.nanmax(display.values)
    is_best = default_search.best_score_ == np.nanmax(display.values)
    assert ("best score" in display.frames_) == (not is_best)


def test_labels_are_plain_english(default_search):
    display = PenaltyGridDisplay.from_estimator(default_search)
    ax = display.ax_
    assert ax.get_title() == "Cross-validated score by level and kernel"
    assert ax.get_xlabel() == "level: number of support vectors, mean over folds"
    assert ax.get_ylabel() == "kernel: gaussian"
    assert texts(ax.get_yticklabels()) == [f"gamma={g:g}" for g in (0.03, 0.3, 1, 3, 10)]
    assert len(ax.get_xticklabels()) == len(display.n_support)
    other = PenaltyGridDisplay.from_estimator(default_search, quantity="mean_test_loss")
    assert other.colorbar_.ax.get_ylabel().startswith("criterion of the choice")
    assert other.ax_.get_title() == "Results of the search by level and kernel"


def test_an_outlier_does_not_take_up_the_colours(default_search):
    search = copy.copy(default_search)
    scores = search.cv_results_["mean_test_score"].copy()
    scores[search.cv_results_["param_kernel"] == "gaussian(gamma=10)"] = 0.8
    row = best_rows(search.cv_results_, kernel="gaussian(gamma=10)", level=0)
    scores[row] = -40.0
    search.cv_results_ = search.cv_results_ | {"mean_test_score": scores}
    display = PenaltyGridDisplay.from_estimator(search)
    assert np.nanmin(display.values) == -40.0
    assert display.im_.norm.vmin > 0.5
    assert display.colorbar_.extend in ("min", "both")
    assert "down to -40" in display.colorbar_.ax.get_ylabel()
    # All colours are used if they are asked for.
    display.plot(im_kw={"vmin": -40.0, "vmax": 1.0})
    assert display.im_.norm.vmin == -40.0
    assert display.colorbar_.extend == "neither"
    assert display.colorbar_.ax.get_ylabel() == "score, mean over folds"
    display.figure_.canvas.draw()


def test_outliers_on_both_sides():
    values = [[-9.0, 0.90, 0.91, 0.92, 0.93, 0.94, 9.0]]
    display = PenaltyGridDisplay(
        values=values, complexity_penalties=[1.0], l1_penalties=np.arange(7)
    ).plot()
    assert (display.im_.norm.vmin, display.im_.norm.vmax) == (0.90, 0.94)
    assert display.colorbar_.extend == "both"
    assert display.colorbar_.ax.get_ylabel() == "(arrows: down to -9 and up to 9)"


@pytest.mark.parametrize("values", [[0.5, 0.5, 0.5, 0.5, 0.9], [np.nan] * 5])
def test_values_without_quartiles_to_tell_apart(values):
    display = PenaltyGridDisplay(
        values=[values], complexity_penalties=[1.0], l1_penalties=np.arange(5)
    ).plot()
    assert display.colorbar_.extend == "neither"
    display.figure_.canvas.draw()


def test_many_levels_keep_their_labels_apart():
    names = [
        *(f"polynomial(degree={d})" for d in (1, 2)),
        *(f"gaussian(gamma={g})" for g in (1, 2)),
    ]
    display = PenaltyGridDisplay(
        values=np.eye(4, 25), kernel_names=names, n_support=3 * 1.3 ** np.arange(25), chosen=(0, 0)
    ).plot()
    assert len(display.ax_.get_xticklabels()) <= 12
    assert display.text_ is None
    assert display.ax_.get_ylabel() == "kernel: polynomial, gaussian"
    # Names that do not differ without their families are not shortened.
    display.kernel_names = ["a(1)", "a(2)", "b(1)", "b(2)"]
    assert texts(display.plot().ax_.get_yticklabels()) == display.kernel_names
    assert display.ax_.get_ylabel() == "kernel"


def test_axes_without_values():
    with pytest.raises(ValueError, match="kernel_names and n_support"):
        PenaltyGridDisplay(values=[[1.0]], kernel_names=["gaussian"]).plot()
    with pytest.raises(ValueError, match="or values"):
        SupportPathDisplay(n_support=[1.0, 2.0]).plot()


# -- curve ----------------------------------------------------------------------------


def test_the_curve_is_the_error_of_the_best_setting_of_each_level(default_search):
    results = default_search.cv_results_
    display = SupportPathDisplay.from_estimator(default_search)
    (line,) = display.lines_
    by_count = dict(zip(*line.get_data(), strict=True))
    for level in range(results["param_level"].max() + 1):
        row = best_rows(results, level=level)
        scores = [results[f"split{split}_test_score"][row] for split in range(3)]
        assert display.values[level] == pytest.approx(1 - np.mean(scores))
        expected = np.std(scores, ddof=1) / np.sqrt(3)
        assert display.standard_errors[level] == pytest.approx(expected)
        assert by_count[results["mean_n_support"][row]] == display.values[level]
    assert list(line.get_xdata()) == sorted(line.get_xdata())
    low, high = (f(display.band_.get_paths()[0].vertices[:, 1]) for f in (np.min, np.max))
    assert high == pytest.approx((display.values + display.standard_errors).max())
    assert low == pytest.approx((display.values - display.standard_errors).min())
    assert display.ax_.get_ylim()[0] >= 0.0


def test_the_chosen_level_is_marked(default_search):
    display = SupportPathDisplay.from_estimator(default_search, line_kw={"lw": 3})
    (count,), (error,) = display.chosen_.get_data()
    index = default_search.best_index_
    assert count == default_search.cv_results_["mean_n_support"][index]
    assert error == 1 - default_search.best_score_
    assert drawn_legend(display) == ["best setting of each level", "± 1 standard error", "chosen"]
    assert display.lines_[0].get_linewidth() == 3
    assert display.ax_.get_title() == "Cross-validated error along the path"
    assert display.ax_.get_xlabel() == "number of support vectors, mean over folds"
    assert display.ax_.get_ylabel() == "error, mean over folds"
    display.figure_.canvas.draw()


def test_another_score_is_not_an_error(moons, default_search):
    model = clone(default_search).set_params(scoring="roc_auc", kernels=Gaussian((1.0,)))
    model.set_params(refit=False).fit(*moons)
    display = SupportPathDisplay.from_estimator(model)
    assert display.values[display.chosen] == model.best_score_
    assert display.ax_.get_ylabel() == "score, mean over folds"
    assert display.ax_.get_title() == "Cross-validated score along the path"


def test_recorded_data_are_enough():
    display = SupportPathDisplay(n_support=[2, 3, 4], values=[0.3, 0.2, 0.1]).plot()
    assert display.band_ is None
    assert display.chosen_ is None
    assert display.ax_.get_xscale() == "linear"
    wide = SupportPathDisplay(n_support=[2, 30, 40], values=[0.3, 0.2, 0.1]).plot()
    assert wide.ax_.get_xscale() == "log"
    empty = SupportPathDisplay(n_support=[0, 30, 40], values=[0.3, 0.2, 0.1]).plot()
    assert empty.ax_.get_xscale() == "linear"


def test_there_is_no_penalty_for_the_axis(default_search):
    with pytest.raises(ValueError, match="x='l1_penalty' is a penalty of a grid"):
        SupportPathDisplay.from_estimator(default_search, x="l1_penalty")


# -- both -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PenaltyGridDisplay, SupportPathDisplay])
def test_pipelines_axes_and_searches_without_results(kind, default_search):
    pipeline = make_pipeline("passthrough", default_search)
    display = kind.from_estimator(pipeline)
    again = kind.from_estimator(default_search, ax=display.figure_.add_subplot())
    assert again.figure_ is display.figure_
    assert again.chosen == display.chosen
    late = copy.copy(default_search)
    late.cv_results_ = {}
    with pytest.raises(ValueError, match="completed no level"):
        kind.from_estimator(late)


def test_alternatives_are_drawn_one_at_a_time(moons):
    model = VotedKernelClassifierCV(
        {"line": Polynomial((1, 2)), "bell": Gaussian((1.0, 3.0))}, cv=3, refit=False
    ).fit(*moons)
    chosen = model.best_params_["kernels"]
    other = ({"line", "bell"} - {chosen}).pop()
    for name in (chosen, other):
        table = PenaltyGridDisplay.from_estimator(model, kernels=name)
        curve = SupportPathDisplay.from_estimator(model, kernels=name)
        rows = model.cv_results_["param_kernels"] == name
        assert set(table.kernel_names) == set(model.cv_results_["param_kernel"][rows])
        assert list(table.n_support) == list(curve.n_support)
        assert (table.chosen is None) == (curve.chosen is None) == (name == other)
    assert PenaltyGridDisplay.from_estimator(model).chosen is not None
