"""Sample and class weights near the ends of double precision."""

import warnings

import numpy as np
import pytest

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    voted_kernel_path,
)
from votedkernels.complexity import Empirical, Local, Massart, Trace, measure_complexities
from votedkernels.complexity.empirical import draw_signs
from votedkernels.kernels import LocalColumns
from votedkernels.kernels import base as kernel_base

KERNELS = [Polynomial((1, 2)), Gaussian((0.3, 3.0))]


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((80, 3))
    y = (X[:, 0] + 0.5 * random.standard_normal(80) > 0).astype(int)
    return X, y


def fit_plain(X, y, weights):
    VotedKernelClassifier(KERNELS).fit(X, y, weights)


def fit_cv(X, y, weights):
    VotedKernelClassifierCV(KERNELS, cv=2).fit(X, y, sample_weight=weights)


def fit_path(X, y, weights):
    voted_kernel_path(X, y, KERNELS, sample_weight=weights)


@pytest.mark.parametrize("fit", [fit_plain, fit_cv, fit_path])
def test_weights_whose_sum_overflows_are_an_error(fit, data):
    X, y = data
    with pytest.raises(ValueError, match=r"sample_weight sums to more than.*scale it down"):
        fit(X, y, np.full(len(y), 5e307))


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize(
    "complexity", [Trace(), Massart(), Local(), Local(0.01, filter=True), Empirical(n_draws=16)]
)
def test_extreme_weights_give_a_true_model(complexity, size, data):
    X, y = data
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) * size
    model = VotedKernelClassifier(
        KERNELS, complexity=complexity, complexity_penalty=1e-3 * np.sqrt(size), l1_penalty=1e-2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "sample_weight sums")
        warnings.filterwarnings("ignore", "The radius of the complexity")
        model.fit(X, y, weights)
    assert np.isfinite(model.penalties_).all()
    assert (model.complexities_ > 0).all()
    signs, w = np.where(y == 1, 1.0, -1.0), weights / size
    loss = (w / w.sum()) @ np.maximum(0, 1 - signs * model.decision_function(X))
    price = model.penalties_[model.term_kernel_indices_] @ np.abs(model.term_weights_[0])
    if model.term_weights_.size:
        assert model.objective_ == pytest.approx(loss + price, rel=1e-9)
    assert model.stop_reason_ == "optimal"


@pytest.mark.parametrize("measure", [Trace(), Massart()])
def test_complexities_fall_with_the_root_of_the_weights(measure, data):
    X, _ = data
    s = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    families = [family.fit(X, s) for family in (Polynomial((1, 2)), Gaussian((0.3,)))]
    gram = LocalColumns(families, X, X)
    once = measure_complexities(measure, gram, s)
    many = measure_complexities(measure, gram, s * 1e300)
    np.testing.assert_allclose(many, once / 1e150, rtol=1e-12)


def test_units_change_no_digit(data):
    X, _ = data
    s = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    for family in (Polynomial((2,)), Gaussian((0.3,))):
        plain = type(family)().fit(X, s)
        large = type(family)().fit(X, np.ldexp(s, 900))
        assert getattr(plain, "unit_", 0) == getattr(large, "unit_", 0)
        assert getattr(plain, "gamma_", 0) == getattr(large, "gamma_", 0)
    scaled, root = kernel_base.in_moderate_units(np.ldexp(s, 901))
    assert scaled.max() < 4
    np.testing.assert_array_equal(scaled * root * root, np.ldexp(s, 901))


@pytest.mark.parametrize("size", [1e15, 1e16, 1e300])
def test_sums_of_many_signs_have_the_right_spread(size):
    signs = draw_signs(np.array([size, 4.0, size]), 4000, 0)
    assert np.isfinite(signs).all()
    np.testing.assert_allclose(signs.std(axis=0) / np.sqrt([size, 4.0, size]), 1.0, rtol=0.06)
    np.testing.assert_allclose(signs.mean(axis=0) / np.sqrt([size, 4.0, size]), 0.0, atol=0.08)


@pytest.mark.parametrize("class_weight", [{0: 1e308}, {0: 1e-308, 1: 1e308}])
def test_class_weights_that_leave_the_others_nothing_are_an_error(class_weight, data):
    X, y = data
    message = "sample_weight, multiplied by class_weight, spans more orders"
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(KERNELS, class_weight=class_weight).fit(X, y)
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifierCV(KERNELS, class_weight=class_weight, cv=2).fit(X, y)


@pytest.mark.parametrize("sample_weight", [None, "1e300"])
@pytest.mark.parametrize("class_weight", [{0: 1e307, 1: 1e307}, {0: 1e-300, 1: 2e-300}, "balanced"])
def test_only_the_ratio_of_class_weights_counts(class_weight, sample_weight, data):
    X, y = data
    s = None if sample_weight is None else np.full(len(y), float(sample_weight))
    small = (
        "balanced" if class_weight == "balanced" else {0: 1.0, 1: class_weight[1] / class_weight[0]}
    )
    options = {"complexity": [0.1] * 4, "complexity_penalty": 1e-2, "l1_penalty": 3e-3}
    huge = VotedKernelClassifier(KERNELS, class_weight=class_weight, **options).fit(X, y, s)
    plain = VotedKernelClassifier(KERNELS, class_weight=small, **options).fit(X, y)
    assert huge.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert huge.stop_reason_ == "optimal"


@pytest.mark.parametrize("relaxation", [None, "auto"])
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_default_penalties_stay_solvable(size, relaxation, data):
    X, y = data
    model = VotedKernelClassifier(KERNELS, relaxation=relaxation)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "sample_weight sums")
        model.fit(X, y, np.full(len(y), size))
    assert 1e-9 < model.penalties_.min() < 1e-1
    assert model.stop_reason_ == "optimal"
    assert np.isfinite(model.decision_function(X)).all()


def test_a_search_with_huge_weights(data):
    X, y = data
    options = {"cv": 2, "complexity_penalties": [1e-2], "l1_penalties": [1e-1, 1e-2]}
    search = VotedKernelClassifierCV(KERNELS, class_weight={0: 1e307, 1: 1e307}, **options)
    search.fit(X, y, sample_weight=np.full(len(y), 1e300))
    assert 0.5 < search.best_score_ <= 1


def test_sample_weights_that_leave_the_others_nothing_are_an_error(data):
    X, y = data
    weights = np.where(np.arange(len(y)) < 40, 1e300, 1e-300)
    with pytest.raises(ValueError, match="sample_weight"):
        VotedKernelClassifier(KERNELS).fit(X, y, weights)


def test_a_matrix_takes_huge_weights(data):
    X, y = data
    model = VotedKernelClassifier(Precomputed(), complexity=Empirical(n_draws=8), l1_penalty=1e-2)
    model.fit(X @ X.T, y, np.full(len(y), 1e300))
    assert model.stop_reason_ == "optimal"


def test_penalties_that_all_but_vanish_leave_coordinate_descent_an_intercept():
    """Weights of 1e300 make complexities of 1e-150: the intercept is not determined any more."""
    random = np.random.default_rng((19, 2876))
    X, y = np.column_stack([np.ones(8), random.standard_normal((8, 2))]), np.arange(8) % 3
    parameters = {"complexity_penalty": 1.0, "l1_penalty": 0.0, "fit_intercept": True}
    objectives = {}
    for solver in ("coordinate-descent", "column-generation"):
        model = VotedKernelClassifier(Polynomial((1, 2, 4)), solver=solver, **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, np.full(8, 1e300))
        objectives[solver] = model.objective_
    assert objectives["coordinate-descent"] <= objectives["column-generation"] + 1e-3
