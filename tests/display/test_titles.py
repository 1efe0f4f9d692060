"""Each display says what it shows, and leaves a title that is there."""

import numpy as np
import pytest

from votedkernels import (
    BoundDisplay,
    ConvergenceDisplay,
    Gaussian,
    KernelMassDisplay,
    PenaltyGridDisplay,
    SupportPathDisplay,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotingBoundaryDisplay,
)

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).standard_normal((60, 2))
    return X, np.sign(X[:, 0] * X[:, 1])


@pytest.fixture(scope="module")
def model(data):
    return VotedKernelClassifier(Gaussian((1.0,))).fit(*data)


@pytest.fixture(scope="module")
def search(data):
    grid = {"complexity_penalties": [1e-1, 1e-2], "l1_penalties": [1e-2, 1e-3]}
    return VotedKernelClassifierCV(Gaussian((1.0,)), cv=2, **grid).fit(*data)


def test_displays_of_a_model(data, model, search):
    displays = [
        KernelMassDisplay.from_estimator(model),
        VotingBoundaryDisplay.from_estimator(model, *data),
        BoundDisplay.from_estimator(model, *data),
        ConvergenceDisplay.from_estimator(model, *data),
        PenaltyGridDisplay.from_estimator(search),
        PenaltyGridDisplay.from_estimator(search, quantity="mean_n_support"),
        SupportPathDisplay.from_estimator(search),
    ]
    titles = [display.ax_.get_title() for display in displays]
    assert all(titles)
    assert len(set(titles)) == len(titles)
    for display in displays:
        pyplot.close(display.figure_)


def test_a_title_stays(model):
    figure, ax = pyplot.subplots()
    ax.set_title("mine")
    KernelMassDisplay.from_estimator(model, ax=ax)
    assert ax.get_title() == "mine"
    pyplot.close(figure)


def test_one_outlier_leaves_the_heat_map_readable():
    """The colours of the other cells still differ, and the numbers contrast with them."""
    values = np.linspace(0.90, 0.95, 12).reshape(3, 4)
    values[0, 0] = 0.1
    display = PenaltyGridDisplay(
        values=values, complexity_penalties=[1e-3, 1e-2, 1e-1], l1_penalties=[1e-3, 1e-2, 0.1, 1]
    ).plot()
    shades = display.im_.norm(values)
    assert shades.max() - np.sort(shades.ravel())[1] > 0.9
    assert "down to 0.1" in display.colorbar_.ax.get_ylabel()
    pyplot.close(display.figure_)
