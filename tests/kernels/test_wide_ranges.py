"""Ranges of widths that leave nothing out of double precision."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from votedkernels import ContinuousGaussian, Gaussian, VotedKernelClassifier


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 2))
    return X, (X[:, 0] + 0.5 * random.standard_normal(60) > 0).astype(int)


@pytest.mark.parametrize(("low", "high"), [(1e10, 1e300), (1e-300, 1e300)])
def test_the_time_limit_holds_over_hundreds_of_decades(low, high, data):
    model = VotedKernelClassifier(ContinuousGaussian(low, high, unit=1.0), time_limit=1)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*data)
    assert time.perf_counter() - started < 5  # it was minutes
    assert model.stop_reason_ in ("time-limit", "optimal")
    assert model.dual_bound_ <= model.objective_


@pytest.mark.parametrize("low", [5e-324, 1e-310])
def test_numbers_without_all_their_digits_are_refused(low, data):
    with pytest.raises(ValueError, match=r"low of ContinuousGaussian must be at least 2\.2e-308"):
        VotedKernelClassifier(ContinuousGaussian(low, 1.0)).fit(*data)


def test_knots_of_the_widest_range(data):
    X, _ = data
    family = ContinuousGaussian(2.3e-308, 1.7e308, unit=1.0).fit(X, np.ones(len(X)))
    assert np.isfinite(family.knots_).all()
    assert (np.diff(family.knots_) > 0).all()
    assert family.knots_[[0, -1]].tolist() == [2.3e-308, 1.7e308]
    ratios = np.diff(np.log10(family.knots_))
    np.testing.assert_allclose(ratios, 0.5, atol=0.01)


def test_exponents_that_overflow_are_silent(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = VotedKernelClassifier(Gaussian((1.0, 1e308), unit=1.0), l1_penalty=1e-2)
        model.fit(10 * X, y)
        model.predict(10 * X)
    assert model.stop_reason_ == "optimal"
