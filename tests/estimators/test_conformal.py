"""Conformal shifts: by hand, in order, and honest on new rows."""

import numpy as np
import pytest

from votedkernels import Gaussian, VotedKernelRegressor, load_model, save_model
from votedkernels.estimators._conformal import count_folds, shift_of, shifted

LEVELS = np.array([0.1, 0.3, 0.5, 0.9])


def noisy(n, seed):
    random = np.random.default_rng(seed)
    X = random.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + (0.1 + 0.1 * np.abs(X[:, 0])) * random.normal(size=n)


def bands(**parameters):
    penalties = {"complexity_penalty": 0.0, "l1_penalty": 3e-3, "tol": 1e-3}
    quantiles = {"loss": "quantile", "quantiles": (0.1, 0.5, 0.9)}
    return VotedKernelRegressor(Gaussian((0.3, 3.0)), **penalties | quantiles | parameters)


def test_shifts_by_hand():
    errors, ones = np.arange(1.0, 10.0), np.ones(9)  # n + 1 = 10
    assert shift_of(errors, ones, 0.9) == 9.0
    assert shift_of(errors, ones, 0.8) == 8.0
    assert shift_of(errors, ones, 0.1) == 1.0
    assert shift_of(errors, ones, 0.5) == 0.0
    assert shift_of(errors, ones, 0.99) == 9.0  # too few rows
    twice = np.repeat(errors, 2)
    # A weight of 2 counts a row twice, up to the one row that n + 1 adds.
    assert abs(shift_of(errors, 2 * ones, 0.7) - shift_of(twice, np.ones(18), 0.7)) <= 1.0


def test_with_few_rows_each_model_leaves_out_few():
    assert [count_folds(n) for n in (5, 19, 21, 1000, 1001)] == [5, 19, 20, 20, 5]


def test_moved_quantiles_stay_in_order_and_contain_the_shifted_interval():
    random = np.random.default_rng(0)
    values = np.sort(random.normal(size=(200, 4)), axis=1)
    for _ in range(20):
        shifts = random.normal(size=4)
        shifts[2] = 0.0
        moved = shifted(values, shifts, LEVELS)
        assert (np.diff(moved, axis=1) >= 0).all()
        np.testing.assert_array_equal(moved[:, 2], values[:, 2])
        assert (moved[:, :2] <= values[:, :2] + shifts[:2]).all()
        assert (moved[:, 3] >= values[:, 3] + shifts[3]).all()
    apart = shifted(values[:, [0, 3]], np.array([5.0, -5.0]), np.array([0.1, 0.9]))
    np.testing.assert_allclose(apart[:, 0], apart[:, 1])
    high = shifted(values[:, 2:], np.array([0.5, -9.0]), np.array([0.8, 0.9]))
    assert (np.diff(high, axis=1) >= 0).all()


def test_coverage_of_new_rows_is_honest():
    unseen, truth = noisy(2000, 100)
    covered, plain = [], []
    for seed in range(2):
        X, y = noisy(80, seed)
        for found, conformal in ((plain, False), (covered, True)):
            low, high = bands(conformal=conformal).fit(X, y).predict_interval(unseen).T
            found.append(np.mean((low <= truth) & (truth <= high)))
    assert abs(np.mean(covered) - 0.8) < 0.06
    assert np.mean(plain) < np.mean(covered)  # quantiles of a fit are too close to its rows


def test_files_and_weights(tmp_path):
    X, y = noisy(60, 0)
    model = bands(conformal=True).fit(X, y, np.where(np.arange(60) < 30, 2.0, 1.0))
    assert model.conformal_shifts_.shape == (3,)
    assert model.conformal_shifts_[1] == 0.0
    path = tmp_path / "bands.safetensors"
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict_quantiles(X), model.predict_quantiles(X))
    again = model.set_params(conformal=False).fit(X, y)
    assert not hasattr(again, "conformal_shifts_")


@pytest.mark.filterwarnings("error")
def test_a_target_that_is_constant_in_most_folds_is_no_obstacle():
    X, _ = noisy(20, 0)
    y = np.where(np.arange(20) == 7, 9.0, 2.5)
    found = bands(conformal=True).fit(X, y).predict_quantiles(X)
    np.testing.assert_allclose(np.delete(found, 7, axis=0)[:, :2], 2.5, atol=0.5)
    assert (np.diff(found, axis=1) >= 0).all()


def test_what_it_needs_is_named():
    X, y = noisy(30, 0)
    with pytest.raises(ValueError, match="conformal=True needs several quantiles"):
        VotedKernelRegressor(conformal=True).fit(X, y)
    with pytest.raises(ValueError, match="conformal must be True or False"):
        bands(conformal="yes").fit(X, y)
    with pytest.raises(ValueError, match="needs at least 5 rows"):
        bands(conformal=True).fit(X[:4], y[:4])
