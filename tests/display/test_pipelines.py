"""Displays of pipelines draw the last step, in the units of the pipeline's input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

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
)

MODEL = VotedKernelClassifier(Gaussian((1.0, 3.0)), l1_penalty=1e-2)
SCALED = make_pipeline(StandardScaler(), MODEL)
#: Its earlier steps have no inverse.
EXPANDED = make_pipeline(StandardScaler(), PolynomialFeatures(2), MODEL)


@pytest.fixture(scope="module")
def far(moons):
    """Rows far from zero, in two units."""
    X, y = moons
    return X * [100.0, 0.01] + [500.0, 3.0], y


def grid_of(display):
    return np.array([[a, b] for b in display.x1 for a in display.x0])


@pytest.mark.parametrize("nested", [False, True])
def test_the_boundary_is_in_the_units_of_the_input(far, nested):
    X, y = far
    pipeline = clone(SCALED).fit(X, y)
    drawn = make_pipeline("passthrough", pipeline) if nested else pipeline
    display = VotingBoundaryDisplay.from_estimator(drawn, X, y, grid_resolution=30)
    np.testing.assert_array_equal(display.voters, X[pipeline[-1].support_])
    assert display.x0.min() < X[:, 0].min() < X[:, 0].max() < display.x0.max()
    decision = pipeline.decision_function(grid_of(display)).reshape(30, 30)
    np.testing.assert_allclose(display.decision[..., 0], decision)


@pytest.mark.parametrize("rows", ["none", "others"])
def test_voting_points_come_from_the_inverse_if_the_rows_of_fit_are_not_given(far, rows):
    X, y = far
    pipeline = clone(SCALED).fit(X, y)
    given = () if rows == "none" else (X[::-1], y[::-1])
    display = VotingBoundaryDisplay.from_estimator(pipeline, *given, grid_resolution=5)
    np.testing.assert_allclose(display.voters, X[pipeline[-1].support_])


def test_steps_without_an_inverse_need_the_rows_of_fit(far):
    X, y = far
    pipeline = clone(EXPANDED).fit(X, y)
    display = VotingBoundaryDisplay.from_estimator(pipeline, X, y, grid_resolution=10)
    np.testing.assert_array_equal(display.voters, X[pipeline[-1].support_])
    decision = pipeline.decision_function(grid_of(display)).reshape(10, 10)
    np.testing.assert_allclose(display.decision[..., 0], decision)
    for rows in (None, X[::-1], X[:5]):
        with pytest.raises(ValueError, match="pass the rows of fit as X"):
            VotingBoundaryDisplay.from_estimator(pipeline, rows)


def test_steps_can_choose_columns_by_name(far, recwarn):
    X, y = far
    frame = pd.DataFrame(X, columns=["length", "width"])
    columns = make_column_transformer((StandardScaler(), ["width", "length"]))
    pipeline = make_pipeline(columns, clone(MODEL)).fit(frame, y)
    display = VotingBoundaryDisplay.from_estimator(pipeline, frame, y, grid_resolution=5)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    np.testing.assert_array_equal(display.voters, X[pipeline[-1].support_])
    assert not recwarn.list


def test_a_pipeline_without_votes(far):
    pipeline = clone(SCALED).set_params(votedkernelclassifier__l1_penalty=100.0)
    with pytest.warns(UserWarning, match="no kernel gets a weight"):
        pipeline.fit(*far)
    assert VotingBoundaryDisplay.from_estimator(pipeline, *far).voters_ == {}


def test_the_input_must_have_two_features(far):
    X, y = far
    wide = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="this one has 3"):
        VotingBoundaryDisplay.from_estimator(clone(SCALED).fit(wide, y))
    matrix = make_pipeline(StandardScaler(), VotedKernelClassifier(Precomputed()))
    with pytest.raises(ValueError, match="values of a precomputed kernel"):
        VotingBoundaryDisplay.from_estimator(matrix.fit(X @ X.T / 1e6, y))


def test_the_mass_is_that_of_the_last_step(far):
    pipeline = clone(SCALED).fit(*far)
    display = KernelMassDisplay.from_estimator(pipeline)
    assert list(display.kernel_mass) == list(pipeline[-1].kernel_mass_)


def test_bounds_of_pipelines_are_heuristic(far):
    X, y = far
    kernel = Polynomial((1,), gamma=1.0)  # by itself, it has a guarantee
    pipeline = make_pipeline(StandardScaler(), VotedKernelClassifier(kernel, l1_penalty=1e-2))
    pipeline.fit(X, y)
    (bound,) = BoundDisplay.from_estimator(pipeline, X, y).bounds
    expected = pipeline[-1].generalization_bound(pipeline[:-1].transform(X), y)
    assert expected.is_guarantee
    assert bound.value == expected.value
    assert not bound.is_guarantee
    assert "earlier steps of the pipeline" in bound.reasons[-1]
    alone = make_pipeline("passthrough", pipeline[-1])
    (bound,) = BoundDisplay.from_estimator(alone, pipeline[:-1].transform(X), y).bounds
    assert bound.is_guarantee


@pytest.mark.parametrize("kind", [PenaltyGridDisplay, SupportPathDisplay])
def test_searches_in_pipelines(kind, far):
    penalties = {"complexity_penalties": [1e-1, 1e-2], "l1_penalties": [1e-2]}
    pipeline = make_pipeline(StandardScaler(), VotedKernelClassifierCV(**penalties, cv=3))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        kind.from_estimator(pipeline)
    pipeline.fit(*far)
    assert kind.from_estimator(pipeline).chosen == kind.from_estimator(pipeline[-1]).chosen
