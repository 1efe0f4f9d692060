"""Feature scales are large for features along which the target changes fast."""

import numpy as np

from votedkernels import VotedKernelRegressorCV
from votedkernels.estimators._relevance import learn_feature_scales


def one_of_four():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 4))
    return X, np.sin(2 * X[:, 1]) + random.normal(0, 0.05, 120)


def test_the_feature_that_matters_has_the_largest_scale():
    X, y = one_of_four()
    scales = np.array(learn_feature_scales(X, y, np.ones(120)))
    assert scales.argmax() == 1
    assert scales[1] > 3 * np.delete(scales, 1).max()


def test_units_do_not_matter():
    X, y = one_of_four()
    units = np.array([1.0, 1000.0, 0.01, 5.0])
    plain = np.array(learn_feature_scales(X, y, np.ones(120)))
    other = np.array(learn_feature_scales(X * units + 3.0, 1e6 * y - 2.0, np.full(120, 4.0)))
    np.testing.assert_allclose(other * units, plain, rtol=1e-4)


def test_nothing_to_learn_means_equal_scales():
    X, _ = one_of_four()
    constant = learn_feature_scales(X, np.full(120, 7.0), np.ones(120))
    np.testing.assert_allclose(np.array(constant) * X.std(axis=0), 1.0)
    assert learn_feature_scales(X * 1e200, X[:, 0], np.ones(120)) == (1.0,) * 4


def test_rows_of_weight_zero_are_left_out():
    X, y = one_of_four()
    w = np.where(np.arange(120) < 80, 1.0, 0.0)
    expected = learn_feature_scales(X[:80], y[:80], np.ones(80))
    np.testing.assert_allclose(learn_feature_scales(X, y, w), expected, rtol=1e-9)


def test_the_search_scales_features_unless_told_not_to():
    X, y = one_of_four()
    model = VotedKernelRegressorCV(cv=2).fit(X, y)
    plain = VotedKernelRegressorCV(cv=2, scale_features=False).fit(X, y)
    assert model.best_params_["features"] == "scaled"
    assert np.argmax(model.kernels_[0].feature_scales) == 1
    assert model.chosen_regressor().kernels.feature_scales == model.kernels_[0].feature_scales
    assert "features" not in plain.best_params_
    assert plain.kernels_[0].feature_scales is None
    assert model.best_score_ > plain.best_score_
