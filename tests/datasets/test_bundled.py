import numpy as np
import pytest

from votedkernels.datasets import load_breastcancer, load_ionosphere, make_waveform


@pytest.mark.parametrize(
    ("load", "shape", "n_positive"),
    [
        (load_ionosphere, (351, 34), 225),
        (load_breastcancer, (683, 9), 239),
        (lambda **kw: load_breastcancer(drop_incomplete=False, **kw), (699, 9), 241),
    ],
    ids=["ionosphere", "breastcancer", "breastcancer, all rows"],
)
def test_shape_and_labels(load, shape, n_positive):
    X, y = load(return_X_y=True)
    assert X.shape == shape
    assert X.dtype == np.float64
    assert set(y) == {-1, 1}
    assert np.count_nonzero(y == 1) == n_positive


@pytest.mark.parametrize("load", [load_ionosphere, load_breastcancer])
def test_bunch_agrees_with_tuple(load):
    bunch = load()
    X, y = load(return_X_y=True)
    np.testing.assert_array_equal(bunch.data, X)
    np.testing.assert_array_equal(bunch.target, y)
    assert len(bunch.feature_names) == len(set(bunch.feature_names)) == X.shape[1]
    assert "CC BY 4.0" in bunch.DESCR


def test_target_names_are_in_the_order_of_the_labels():
    assert load_ionosphere().target_names.tolist() == ["bad", "good"]
    assert load_breastcancer().target_names.tolist() == ["benign", "malignant"]


def test_each_call_loads_its_own_arrays():
    load_ionosphere().data[:] = 0
    assert load_ionosphere().data.any()


def test_ionosphere_is_the_original():
    X, y = load_ionosphere(return_X_y=True)
    assert not X[:, 1].any()
    assert np.abs(X).max() == 1
    np.testing.assert_array_equal(X[0, 2:5], [0.99539, -0.05889, 0.85243])
    assert (y[0], y[1]) == (1, -1)


def test_breastcancer_is_the_original():
    X, y = load_breastcancer(return_X_y=True, drop_incomplete=False)
    np.testing.assert_array_equal(X[0], [5, 1, 1, 1, 2, 1, 3, 1, 1])
    assert y[0] == -1
    missing = np.isnan(X)
    assert missing.sum() == missing[:, 5].sum() == 16
    assert np.nanmin(X) == 1
    assert np.nanmax(X) == 10


def test_dropping_incomplete_rows_keeps_the_order_of_the_others():
    X, y = load_breastcancer(return_X_y=True, drop_incomplete=False)
    complete = ~np.isnan(X).any(axis=1)
    X_complete, y_complete = load_breastcancer(return_X_y=True)
    np.testing.assert_array_equal(X_complete, X[complete])
    np.testing.assert_array_equal(y_complete, y[complete])


def test_waveform_shape_and_labels():
    X, y = make_waveform(50, random_state=0)
    assert X.shape == (50, 21)
    assert y.shape == (50,)
    assert set(y) == {-1, 1}


def test_waveform_repeats_with_its_seed():
    first, second, other = (make_waveform(20, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[0], other[0])


def test_waveform_has_the_means_and_variances_of_its_definition():
    # The mean of u * first + (1 - u) * second is half the sum of the two waves; its variance
    # is that of u, 1/12, times the squared difference of the waves, plus 1 for the noise.
    X, y = make_waveform(40_000, random_state=0)
    assert abs(y.mean()) < 0.02
    positions = np.arange(1, 22)
    wave = {peak: np.maximum(6 - np.abs(positions - peak), 0) for peak in (7, 11, 15)}
    for label, (first, second) in {-1: (7, 15), 1: (7, 11)}.items():
        rows = X[y == label]
        mean = (wave[first] + wave[second]) / 2
        variance = (wave[first] - wave[second]) ** 2 / 12 + 1
        np.testing.assert_allclose(rows.mean(axis=0), mean, atol=0.06)
        np.testing.assert_allclose(rows.var(axis=0), variance, rtol=0.06)
