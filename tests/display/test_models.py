"""Displays of fitted models: what is drawn are the numbers of the model."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from votedkernels import (
    BoundDisplay,
    Gaussian,
    KernelMassDisplay,
    PenaltyGridDisplay,
    Polynomial,
    Precomputed,
    SupportPathDisplay,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotingBoundaryDisplay,
    choose_by_bound,
    voted_kernel_path,
)
from votedkernels.datasets import make_waveform

FAMILIES = [Polynomial((1, 2, 3)), Gaussian((1.0, 3.0))]
MODEL = VotedKernelClassifier(FAMILIES, complexity_penalty=1e-3, l1_penalty=3e-3)
LAMBDAS, BETAS = [1e-1, 1e-3, 1e-2], [1e-2, 1e-1]
SEARCH = VotedKernelClassifierCV(
    Polynomial((1, 2)), complexity_penalties=LAMBDAS, l1_penalties=BETAS, cv=3
)


@pytest.fixture(scope="module")
def two_classes(moons):
    return clone(MODEL).fit(*moons)


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data[::2, 2:], data.target_names[data.target[::2]]


@pytest.fixture(scope="module")
def three_classes(iris):
    return clone(MODEL).fit(*iris)


@pytest.fixture(scope="module")
def search(moons):
    return clone(SEARCH).fit(*moons)


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def widths(container):
    return [bar.get_width() for bar in container]


def heights(container):
    return [bar.get_height() for bar in container]


# -- kernel mass ----------------------------------------------------------------------


def test_bars_are_the_kernel_mass(two_classes):
    display = KernelMassDisplay.from_estimator(two_classes)
    polynomials, gaussians = display.bars_
    assert widths(polynomials) + widths(gaussians) == list(two_classes.kernel_mass_)
    assert legend_texts(display.ax_) == ["polynomial", "gaussian"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "degree=1", "degree=2", "degree=3", "gamma=1", "gamma=3",
    ]  # fmt: skip
    assert polynomials[0].get_facecolor() != gaussians[0].get_facecolor()
    assert polynomials[0].get_hatch() != gaussians[0].get_hatch()
    display.figure_.canvas.draw()


def test_one_family_needs_no_legend(moons):
    model = VotedKernelClassifier(Polynomial((1, 2)), l1_penalty=1e-2).fit(*moons)
    display = KernelMassDisplay.from_estimator(model)
    assert display.ax_.get_legend() is None
    assert display.ax_.get_ylabel() == "polynomial"


def test_classes_are_summed_or_stacked(three_classes):
    display = KernelMassDisplay.from_estimator(three_classes)
    drawn = [width for bars in display.bars_ for width in widths(bars)]
    assert drawn == list(three_classes.kernel_mass_)
    display.plot(per_class=True)
    assert legend_texts(display.ax_) == ["setosa", "versicolor", "virginica"]
    stacked = np.array([widths(bars) for bars in display.bars_])
    for k in range(5):
        terms = three_classes.term_kernel_indices_ == k
        expected = np.abs(three_classes.term_weights_[:, terms]).sum(axis=1)
        np.testing.assert_allclose(stacked[:, k], expected)
    starts = np.array([[bar.get_x() for bar in bars] for bars in display.bars_])
    np.testing.assert_allclose(starts[1:], np.cumsum(stacked, axis=0)[:-1])
    # The longest bar, and the number at its end, are inside the picture.
    assert display.ax_.get_xlim()[1] > 1.1 * three_classes.kernel_mass_.max()


def test_many_kernels_keep_their_names_apart():
    display = KernelMassDisplay(
        kernel_names=[f"gaussian(gamma={g})" for g in range(200)], kernel_mass=np.ones(200)
    ).plot()
    assert len(display.ax_.get_yticks()) <= 45
    assert display.figure_.get_size_inches()[1] <= 13


def test_a_vote_without_terms_can_be_drawn(moons):
    with pytest.warns(UserWarning, match="no kernel gets a weight"):
        model = clone(MODEL).set_params(l1_penalty=100.0).fit(*moons)
    assert sum(map(sum, map(widths, KernelMassDisplay.from_estimator(model).bars_))) == 0
    display = VotingBoundaryDisplay.from_estimator(model, *moons)
    assert display.voters_ == {}
    assert display.contours_ == []
    VotingBoundaryDisplay.from_estimator(model).figure_.canvas.draw()


def test_two_classes_are_one_problem(two_classes):
    with pytest.raises(ValueError, match="more than two classes"):
        KernelMassDisplay.from_estimator(two_classes, per_class=True)


# -- penalty grid ---------------------------------------------------------------------


def test_cells_are_the_scores_and_the_choice_is_framed(search):
    display = PenaltyGridDisplay.from_estimator(search)
    assert list(display.complexity_penalties) == sorted(LAMBDAS)
    assert list(display.l1_penalties) == sorted(BETAS)
    for point, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        row = sorted(LAMBDAS).index(point["complexity_penalty"])
        column = sorted(BETAS).index(point["l1_penalty"])
        assert display.im_.get_array()[row, column] == score
        assert display.text_[row, column].get_text() == f"{score:#.3g}"
        assert display.text_[row, column].get_position() == (column, row)
        if point == search.best_params_:
            assert display.chosen == (row, column)
            corner = display.frames_["chosen"].get_xy()
            np.testing.assert_allclose(corner, (column - 0.46, row - 0.44))
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["0.01", "0.1"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["0.001", "0.01", "0.1"]
    assert "complexity_penalty" in display.ax_.get_ylabel()
    assert "l1_penalty" in display.ax_.get_xlabel()
    display.figure_.canvas.draw()


def test_the_sparse_choice_and_the_best_score_have_their_frames(search):
    sparse = clone(SEARCH).set_params(refit=False).fit(*make_waveform(60, random_state=0))
    scores = sparse.cv_results_["mean_test_score"]
    worst = int(scores.argmin())
    sparse.best_index_ = worst  # a choice that certainly has not the best score
    display = PenaltyGridDisplay.from_estimator(sparse)
    assert set(display.frames_) == {"chosen", "best score"}
    assert display.values[display.chosen] == scores.min() < scores.max()
    assert display.values[display.best] == scores.max()
    assert set(PenaltyGridDisplay.from_estimator(search).frames_) == {"chosen"}


def test_other_columns_of_the_results(search):
    display = PenaltyGridDisplay.from_estimator(search, quantity="mean_n_support")
    assert sorted(display.values.ravel()) == sorted(search.cv_results_["mean_n_support"])
    assert display.colorbar_.ax.get_ylabel() == "support vectors, mean over folds"
    with pytest.raises(ValueError, match="quantity must be one of 'split0_test_score'"):
        PenaltyGridDisplay.from_estimator(search, quantity="params")


def test_alternatives_are_drawn_one_at_a_time(moons):
    model = clone(SEARCH).set_params(
        kernels={"line": Polynomial((1,)), "curve": Polynomial((3,))}, refit=False
    )
    model.fit(*moons)
    chosen = model.best_params_["kernels"]
    other = ({"line", "curve"} - {chosen}).pop()
    for name in (chosen, other):
        display = PenaltyGridDisplay.from_estimator(model, kernels=name)
        rows = model.cv_results_["param_kernels"] == name
        expected = model.cv_results_["mean_test_score"][rows]
        assert sorted(display.values.ravel()) == sorted(expected)
        assert (display.chosen is None) == (name == other)
        counts = SupportPathDisplay.from_estimator(model, kernels=name)
        assert sorted(counts.n_support.ravel()) == sorted(model.cv_results_["mean_n_support"][rows])
        assert (counts.chosen_ is None) == (name == other)
    assert PenaltyGridDisplay.from_estimator(model).chosen is not None
    with pytest.raises(ValueError, match="kernels must be one of 'line', 'curve', got 'wave'"):
        PenaltyGridDisplay.from_estimator(model, kernels="wave")


def test_an_alternative_that_was_not_searched(search):
    with pytest.raises(ValueError, match="complexity='trace' names an alternative"):
        PenaltyGridDisplay.from_estimator(search, complexity="trace")


def test_looks_of_the_grid(search):
    display = PenaltyGridDisplay.from_estimator(
        search, cmap="magma", include_values=False, colorbar=False, im_kw={"vmin": 0.0}
    )
    assert display.im_.get_cmap().name == "magma"
    assert display.im_.norm.vmin == 0.0
    assert display.text_ is None
    assert display.colorbar_ is None
    assert display.plot(values_format=".1f").text_[0, 0].get_text() == f"{display.values[0, 0]:.1f}"
    # Many cells have no numbers of their own accord, and NaN has none at all.
    many = PenaltyGridDisplay(
        complexity_penalties=np.arange(11), l1_penalties=np.arange(11), values=np.eye(11)
    )
    assert many.plot().text_ is None
    few = PenaltyGridDisplay(complexity_penalties=[1], l1_penalties=[1, 2], values=[[np.nan, 1]])
    assert [text.get_text() for text in few.plot().text_[0]] == ["", "1.00"]


def test_numbers_stand_out_from_their_cells(search):
    display = PenaltyGridDisplay(
        complexity_penalties=[1], l1_penalties=[1, 2], values=[[0.0, 1.0]]
    ).plot()
    assert [text.get_color() for text in display.text_[0]] == ["white", "black"]


def test_values_of_another_shape():
    with pytest.raises(ValueError, match=r"shape \(1, 3\), but the axes have 1 and 2"):
        PenaltyGridDisplay(complexity_penalties=[1], l1_penalties=[1, 2], values=[[1, 2, 3]]).plot()


# -- support path ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(moons):
    grid = {"complexity_penalties": [0.0, *LAMBDAS], "l1_penalties": BETAS}
    return voted_kernel_path(*moons, Polynomial((1, 2)), **grid)


def test_curves_are_the_counts_of_the_models(moons, path):
    display = SupportPathDisplay.from_path(path)
    assert len(display.lines_) == len(BETAS)
    for line, beta in zip(display.lines_, sorted(BETAS), strict=True):
        assert line.get_label() == f"{beta:g}"
        assert list(line.get_xdata()) == [0.0, *sorted(LAMBDAS)]
        model = VotedKernelClassifier(
            Polynomial((1, 2)), complexity_penalty=1e-2, l1_penalty=beta
        ).fit(*moons)
        assert line.get_ydata()[2] == len(model.support_)
    assert display.ax_.get_xscale() == "symlog"  # there is a penalty of 0
    low, high = display.ax_.get_xlim()
    assert low < 0 < max(LAMBDAS) < high
    assert display.chosen_ is None
    display.figure_.canvas.draw()


def test_either_penalty_can_be_on_the_axis(path):
    display = SupportPathDisplay.from_path(path, x="l1_penalty", line_kw={"lw": 3})
    assert len(display.lines_) == len(LAMBDAS) + 1
    assert display.ax_.get_xscale() == "log"
    assert "l1_penalty" in display.ax_.get_xlabel()
    assert "complexity_penalty" in display.ax_.get_legend().get_title().get_text()
    first = display.lines_[0]
    assert first.get_linewidth() == 3
    by_beta = dict(zip(path.l1_penalties, path.n_support[0], strict=True))
    assert list(first.get_ydata()) == [by_beta[beta] for beta in sorted(BETAS)]
    assert len({tuple(line.get_color()) for line in display.lines_}) == len(display.lines_)


@pytest.mark.parametrize("x", ["complexity_penalty", "l1_penalty"])
def test_the_choice_of_a_search_is_marked(search, x):
    display = SupportPathDisplay.from_estimator(search, x=x)
    (place,), (count,) = display.chosen_.get_data()
    assert place == search.best_params_[x]
    assert count == search.cv_results_["mean_n_support"][search.best_index_]
    assert display.ax_.get_ylabel() == "support vectors, mean over folds"


def test_paths_that_are_none(path):
    with pytest.raises(ValueError, match="x must be one of 'complexity_penalty', 'l1_penalty'"):
        SupportPathDisplay.from_path(path, x="tol")
    with pytest.raises(TypeError, match="needs what voted_kernel_path returned, got list"):
        SupportPathDisplay.from_path([1, 2])


# -- voting boundary ------------------------------------------------------------------


def test_voting_points_are_the_support_vectors(moons, two_classes):
    display = VotingBoundaryDisplay.from_estimator(two_classes, *moons)
    net = np.zeros(len(two_classes.support_))
    np.add.at(net, two_classes.term_support_indices_, two_classes.term_weights_[0])
    for code in (0, 1):
        drawn = display.voters_[code, True]
        which = (net > 0) == bool(code)
        np.testing.assert_array_equal(drawn.get_offsets(), two_classes.support_vectors_[which])
        mass = np.zeros(len(net))
        np.add.at(mass, two_classes.term_support_indices_, np.abs(two_classes.term_weights_[0]))
        # Areas are linear in the mass, and the heaviest is the largest.
        np.testing.assert_allclose(drawn.get_sizes(), 25 + 295 * mass[which] / mass.max())
    assert legend_texts(display.ax_) == ["for 0", "for 1"]
    display.figure_.canvas.draw()


def test_the_surface_is_the_prediction(moons, two_classes):
    display = VotingBoundaryDisplay.from_estimator(two_classes, *moons, grid_resolution=30)
    grid = np.array([[a, b] for b in display.x1 for a in display.x0])
    codes = np.asarray(display.surface_.get_array()).ravel()
    np.testing.assert_array_equal(codes, two_classes.predict(grid))
    assert display.decision.shape == (30, 30, 1)
    # On the solid line f is 0, as far as the grid resolves it.
    (contours,) = display.contours_
    solid = list(contours.levels).index(0.0)
    points = contours.get_paths()[solid].vertices
    assert np.abs(two_classes.decision_function(points)).max() < 0.25


def test_more_classes_have_voters_for_and_against(iris, three_classes):
    display = VotingBoundaryDisplay.from_estimator(three_classes, *iris, grid_resolution=20)
    assert sum(len(drawn.get_offsets()) for drawn in display.voters_.values()) == len(
        three_classes.support_
    )
    codes, approves = display.sides()
    for number in range(len(three_classes.support_)):
        terms = three_classes.term_support_indices_ == number
        weights = three_classes.term_weights_[:, terms]
        assert codes[number] == np.abs(weights).sum(axis=1).argmax()
        assert approves[number] == (weights[codes[number]].sum() > 0)
    assert not approves.all()
    assert all(text.startswith(("for ", "against ")) for text in legend_texts(display.ax_))
    grid = np.array([[a, b] for b in display.x1 for a in display.x0])
    codes = np.asarray(display.surface_.get_array()).ravel()
    assert list(three_classes.classes_[codes]) == list(three_classes.predict(grid))
    display.figure_.canvas.draw()


def test_rows_by_class_in_grey_or_not_at_all(moons, two_classes):
    X, y = moons
    by_class = VotingBoundaryDisplay.from_estimator(two_classes, X, y).rows_
    assert [len(drawn.get_offsets()) for drawn in by_class] == [(y == 0).sum(), (y == 1).sum()]
    (grey,) = VotingBoundaryDisplay.from_estimator(two_classes, X).rows_
    np.testing.assert_array_equal(grey.get_offsets(), X)
    assert VotingBoundaryDisplay.from_estimator(two_classes).rows_ == []


def test_columns_of_a_frame_name_the_axes(moons, recwarn):
    X, y = moons
    frame = pd.DataFrame(X, columns=["length", "width"])
    model = clone(MODEL).fit(frame, y)
    display = VotingBoundaryDisplay.from_estimator(
        model, frame, y, voter_kw={"alpha": 0.5}, row_kw={"s": 5}
    )
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    assert display.voters_[0, True].get_alpha() == 0.5
    assert display.rows_[0].get_sizes()[0] == 5
    assert not recwarn.list


def test_rows_that_are_not_in_the_plane(moons, two_classes, three_classes):
    X, y = moons
    attempts = {
        "X must have two columns": (np.ones((3, 5)), None),
        "y has shape": (X, y[:-1]),
        r"y has labels \['7'\]": (X, np.full(len(X), 7)),
        "y was passed without X": (None, y),
    }
    for message, (rows, labels) in attempts.items():
        with pytest.raises(ValueError, match=message):
            VotingBoundaryDisplay.from_estimator(two_classes, rows, labels)
    with pytest.raises(ValueError, match="grid_resolution"):
        VotingBoundaryDisplay.from_estimator(two_classes, X, grid_resolution=1)


def test_models_that_are_not_of_two_features(moons):
    X, y = make_waveform(60, random_state=0)
    model = clone(MODEL).fit(X, y)
    with pytest.raises(ValueError, match=r"this one has 21; fit one on two columns"):
        VotingBoundaryDisplay.from_estimator(model, X, y)
    model = VotedKernelClassifier(Precomputed(), l1_penalty=1e-2).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="KernelMassDisplay draws any model"):
        VotingBoundaryDisplay.from_estimator(model)


# -- bounds ---------------------------------------------------------------------------


def test_bars_are_the_terms_and_their_sum_the_bound(moons, two_classes):
    display = BoundDisplay.from_estimator(two_classes, *moons, delta=0.1)
    bound = two_classes.generalization_bound(*moons, delta=0.1)
    drawn = {name: heights(bars)[0] for name, bars in display.bars_.items()}
    assert drawn == pytest.approx(bound.terms)
    last = list(display.bars_.values())[-1][0]
    assert last.get_y() + last.get_height() == pytest.approx(bound.value)
    assert display.ax_.get_ylim()[1] > bound.value
    assert legend_texts(display.ax_) == list(bound.terms)[::-1]
    (tick,) = display.ax_.get_xticklabels()
    assert tick.get_text() == "80\n(heuristic)"  # the widths come from the sample
    display.figure_.canvas.draw()


def test_several_bounds_with_measured_errors(moons):
    X, y = moons
    kernel = Gaussian((1.0,), unit=1.0)
    model = VotedKernelClassifier(kernel, l1_penalty=1e-2).fit(X, y)
    bounds = [model.generalization_bound(X, y, delta=delta) for delta in (0.01, 0.2)]
    display = BoundDisplay.from_bounds(
        bounds, names=["1 %", "20 %"], errors=[0.1, 0.2], bar_kw={"width": 0.3}
    )
    for name, bars in display.bars_.items():
        assert heights(bars) == pytest.approx([bound.terms[name] for bound in bounds])
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["1 %", "20 %"]
    assert list(display.errors_.get_ydata()) == [0.1, 0.2]
    assert display.bars_["confidence"][0].get_width() == 0.3
    assert display.errors_.get_label() == "test error"


def test_methods_side_by_side(moons):
    X, y = moons
    model = VotedKernelClassifier(Gaussian((1.0,), unit=1.0), l1_penalty=1e-2).fit(X, y)
    methods = ["theorem", "compression", "best"]
    display = BoundDisplay.from_estimator(model, X, y, method=methods)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == methods
    for place, method in enumerate(methods):
        bound = model.generalization_bound(X, y, method=method)
        drawn = {name: heights(bars)[place] for name, bars in display.bars_.items()}
        assert {name: drawn[name] for name in bound.terms} == pytest.approx(bound.terms)
        assert sum(drawn.values()) == pytest.approx(bound.value)


def test_test_rows_have_bars(moons, two_classes):
    X, y = moons
    display = BoundDisplay.from_estimator(two_classes, X + 0.01, y, method="test")
    assert list(display.bars_) == ["error on these rows", "uncertainty"]


def test_bounds_along_a_path(moons):
    X, y = moons
    choice = choose_by_bound(VotedKernelClassifier(Gaussian((0.3, 1.0, 3.0))), X, y)
    display = BoundDisplay.from_choice(choice, X + 0.01, y)
    values = [bound.value for bound in choice.bounds]
    assert len(values) > 8
    tops = sum(np.array(heights(bars)) for bars in display.bars_.values())
    assert tops == pytest.approx(values)
    # Only the smallest has a number: bars along a path are narrow.
    numbers = [text.get_text() for text in display.ax_.texts]
    assert [text for text in numbers if text != "vacuous above"] == [f"{min(values):.3g}"]
    errors = list(display.errors_.get_ydata())
    chosen = int(np.argmin(values))
    scaler = choice.model[0]
    assert errors[chosen] == 1 - choice.bounds[chosen].rounded.score(scaler.transform(X + 0.01), y)
    assert display.ax_.get_xlabel() == "complexity penalty"
    assert BoundDisplay.from_choice(choice).errors_ is None
    with pytest.raises(TypeError, match="needs what choose_by_bound returned"):
        BoundDisplay.from_choice(choice.model)


def test_bounds_that_cannot_be_drawn(moons, two_classes, three_classes, iris):
    bound = two_classes.generalization_bound(*moons)
    for bounds in ([], bound):
        with pytest.raises(ValueError, match="list of one or more bounds"):
            BoundDisplay.from_bounds(bounds)
    with pytest.raises(ValueError, match="errors has 2 entries for 1 bounds"):
        BoundDisplay.from_bounds([bound], errors=[0.1, 0.2])
    with pytest.raises(ValueError, match="one-vs-rest"):
        BoundDisplay.from_estimator(three_classes, *iris)


# -- all of them ----------------------------------------------------------------------

OF_MODELS = {
    KernelMassDisplay: lambda model, data, **kw: KernelMassDisplay.from_estimator(model, **kw),
    VotingBoundaryDisplay: lambda model, data, **kw: VotingBoundaryDisplay.from_estimator(
        model, *data, **kw
    ),
    BoundDisplay: lambda model, data, **kw: BoundDisplay.from_estimator(model, *data, **kw),
}
OF_SEARCHES = {
    PenaltyGridDisplay: lambda model, data, **kw: PenaltyGridDisplay.from_estimator(model, **kw),
    SupportPathDisplay: lambda model, data, **kw: SupportPathDisplay.from_estimator(model, **kw),
}


@pytest.mark.parametrize("kind", [*OF_MODELS, *OF_SEARCHES])
def test_axes_can_be_given(kind, moons, search):
    figure, (left, right) = plt.subplots(1, 2)
    display = (OF_MODELS | OF_SEARCHES)[kind](search, moons, ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.has_data()
    assert display.plot(left) is display
    assert left.has_data()
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("kind", [*OF_MODELS, *OF_SEARCHES])
def test_models_that_are_not_fitted(kind, moons):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        (OF_MODELS | OF_SEARCHES)[kind](SEARCH, moons)


@pytest.mark.parametrize("kind", [*OF_MODELS, *OF_SEARCHES])
@pytest.mark.parametrize(
    ("estimator", "name"),
    [(SVC(), "SVC"), (make_pipeline(StandardScaler(), SVC()), "a pipeline that ends in SVC")],
)
def test_other_models_are_named(kind, estimator, name, moons):
    estimator = clone(estimator).fit(*moons)
    with pytest.raises(TypeError, match=f"or a pipeline that ends in one, got {name};"):
        (OF_MODELS | OF_SEARCHES)[kind](estimator, moons)


@pytest.mark.parametrize("kind", OF_SEARCHES)
def test_a_model_that_did_not_search(kind, moons, two_classes):
    with pytest.raises(TypeError, match=r"needs a fitted VotedKernelClassifierCV, .* got Voted"):
        OF_SEARCHES[kind](two_classes, moons)


@pytest.mark.parametrize("kind", OF_MODELS)
def test_a_search_without_a_model(kind, moons):
    model = clone(SEARCH).set_params(refit=False).fit(*moons)
    with pytest.raises(ValueError, match="use refit=True"):
        OF_MODELS[kind](model, moons)


@pytest.mark.parametrize("kind", [*OF_MODELS, *OF_SEARCHES])
def test_the_way_to_matplotlib_is_told(kind, moons, search, monkeypatch):
    display = (OF_MODELS | OF_SEARCHES)[kind](search, moons)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install votedkernels\[plot\]"):
        (OF_MODELS | OF_SEARCHES)[kind](search, moons)
    with pytest.raises(ImportError, match=rf"{kind.__name__}.plot needs matplotlib"):
        display.plot()
