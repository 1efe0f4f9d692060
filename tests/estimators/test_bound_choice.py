"""`choose_by_bound`: penalties chosen by the bound, with rows set aside for scaling."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from votedkernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    choose_by_bound,
    load_model,
    save_model,
)
from votedkernels.datasets import make_waveform
from votedkernels.exceptions import FitLimitError

FEW = [0.1, 0.03, 0.01]


def waves(n, seed=0):
    return make_waveform(n, random_state=seed)


@pytest.fixture(scope="module")
def choice():
    return choose_by_bound(VotedKernelClassifier(Gaussian()), *waves(300))


def test_the_bound_is_a_guarantee_that_says_something(choice):
    assert choice.bound.is_guarantee
    assert choice.bound.reasons == ()
    assert 1 - choice.model.score(*waves(20_000, seed=1)) < choice.bound.value < 0.38


def test_the_penalty_has_the_smallest_bound(choice):
    values = [bound.value for bound in choice.bounds]
    assert len(values) == len(choice.complexity_penalties) > 5
    assert (np.diff(choice.complexity_penalties) < 0).all()
    assert choice.complexity_penalty == choice.complexity_penalties[np.argmin(values)]
    # The chosen vote is fitted once more, which may change its last digits.
    assert choice.bound.value == pytest.approx(min(values), abs=0.05)


def test_scales_come_from_rows_set_aside(choice):
    X, _ = waves(300)
    aside = choice.rows_set_aside
    assert len(aside) == 30
    assert choice.bound.n_samples == 270
    scaler, classifier = (step for _, step in choice.model.steps)
    expected = StandardScaler().fit(X[aside])
    np.testing.assert_allclose(scaler.mean_, expected.mean_)
    np.testing.assert_allclose(scaler.scale_, expected.scale_)
    unit = 1 / (21 * expected.transform(X[aside]).var())
    assert classifier.kernels_[0].unit == pytest.approx(unit, rel=1e-12)
    # No row that was set aside is a support vector.
    kept = np.delete(X, aside, axis=0)
    np.testing.assert_array_equal(
        classifier.support_vectors_, scaler.transform(kept)[classifier.support_]
    )


def test_the_bound_is_that_of_the_method(choice):
    X, y = waves(300)
    kept = np.delete(np.arange(300), choice.rows_set_aside)
    classifier = choice.model[-1]
    rows = choice.model[0].transform(X[kept])
    wrong = np.delete(classifier.predict(rows) != y[kept], classifier.support_)
    assert choice.bound.terms["error on the other rows"] == pytest.approx(wrong.mean())
    assert len(classifier.support_) == choice.bound.n_support


def test_the_model_can_be_saved(choice, tmp_path):
    X, _ = waves(50, seed=2)
    save_model(choice.model, tmp_path / "model.vkm")
    again = load_model(tmp_path / "model.vkm")
    np.testing.assert_array_equal(again.predict(X), choice.model.predict(X))


def test_given_penalties_are_tried_from_large_to_small():
    X, y = waves(120)
    choice = choose_by_bound(
        VotedKernelClassifier(Gaussian((0.3, 1.0)), fit_intercept=True),
        X, y, complexity_penalties=FEW[::-1],
    )  # fmt: skip
    np.testing.assert_array_equal(choice.complexity_penalties, FEW)
    assert len(choice.bounds) == 3


def test_constants_known_beforehand_need_no_rows():
    X, y = waves(120)
    fixed = Gaussian((0.01, 0.03), unit=1.0)
    choice = choose_by_bound(
        VotedKernelClassifier(fixed), X, y, scaler=None, complexity_penalties=FEW
    )
    assert len(choice.rows_set_aside) == 0
    assert choice.bound.n_samples == 120
    assert isinstance(choice.model, VotedKernelClassifier)
    assert choice.bound.is_guarantee


@pytest.mark.filterwarnings("ignore:.*duality gap")
def test_rows_of_every_kind():
    X, y = waves(80)
    few = {"complexity_penalties": [0.05]}
    frame = pytest.importorskip("pandas").DataFrame(X, columns=[f"x{i}" for i in range(21)])
    tables = ((frame, "standard"), (sparse.csr_matrix(X), "standard"), (X, MinMaxScaler()))
    for rows, scaler in tables:
        choice = choose_by_bound(None, rows, y, scaler=scaler, **few)
        assert choice.bound.is_guarantee
        assert isinstance(choice.model, Pipeline)
        assert choice.model.predict(rows).shape == (80,)
    words = ["".join("ab"[int(v > 0)] for v in row[:8]) for row in X]
    matrix = (X @ X.T / 20 + 1) ** 2
    for kernels, rows in ((EditDistance((1.0,)), words), (Precomputed(), matrix)):
        model = VotedKernelClassifier(kernels)
        assert choose_by_bound(model, rows, y, scaler=None, **few).bound.n_samples == 80
        with pytest.raises(ValueError, match="set scaler=None"):
            choose_by_bound(model, rows, y)


def test_families_keep_their_names():
    X, y = waves(80)
    model = VotedKernelClassifier([("wide", Gaussian((0.1,))), ("lines", Polynomial((1,)))])
    choice = choose_by_bound(model, X, y, complexity_penalties=[0.05])
    assert choice.model[-1].kernel_names_[0].startswith("wide: ")
    assert model.kernels[0][1].unit == "scale"  # the user's own is unchanged


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (VotedKernelClassifierCV(), {}, TypeError, "chooses its penalties itself"),
        (VotedKernelClassifier(relaxation="auto"), {}, ValueError, "plain votes only"),
        (VotedKernelClassifier(centers=np.zeros((3, 21))), {}, ValueError, "training rows"),
        (VotedKernelClassifier(ContinuousGaussian()), {}, ValueError, "ContinuousGaussian"),
        (None, {"delta": 1.5}, ValueError, "delta must lie between 0 and 1"),
        (None, {"share_for_scaling": 0.0}, ValueError, "share_for_scaling must lie"),
        (None, {"share_for_scaling": 0.999}, ValueError, "pass more rows"),
        (None, {"scaler": "minmax"}, ValueError, "scaler must be"),
        (None, {"complexity_penalties": [-1.0]}, ValueError, "finite numbers >= 0"),
        (VotedKernelClassifier(time_limit=1e-9), {}, FitLimitError, "time"),
    ],
)
def test_refusals(model, options, error, message):
    with pytest.raises(error, match=message):
        choose_by_bound(model, *waves(60), **options)


def test_labels_are_checked():
    X, y = waves(60)
    with pytest.raises(ValueError, match="two classes"):
        choose_by_bound(None, X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        choose_by_bound(None, X, y[:-1])
