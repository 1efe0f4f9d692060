import math
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votedkernels import (
    ElasticDistance,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    load_model,
    save_model,
)
from votedkernels.exceptions import ExportError

METRICS = ("dtw", "ddtw", "erp", "msm", "twe")
COST, STIFFNESS, GAP = 0.5, 0.05, 0.2


def distances(metric, A, B, window=1.0):
    family = ElasticDistance(
        metric, windows=(window,), unit=1.0, cost=COST, stiffness=STIFFNESS, gap=GAP
    )
    return family.fit(A, None).base(A, B)[:, :, 0]


def walks(n, seed=0, lengths=(5, 14)):
    random = np.random.default_rng(seed)
    return [random.standard_normal(int(random.integers(*lengths))).cumsum() for _ in range(n)]


def by_recursion(metric, x, y, window):  # noqa: C901 - four short definitions
    """The definition of each distance, step by step from its last pair of times."""
    if metric == "ddtw":
        x, y = (((s[1:-1] - s[:-2]) + (s[2:] - s[:-2]) / 2) / 2 for s in (x, y))
        metric = "dtw"
    n, m = len(x), len(y)
    radius = window * n * m + (0 if n == m else max(n, m))

    def split(new, a, b):
        inside = min(a, b) <= new <= max(a, b)
        return COST + (0 if inside else min(abs(new - a), abs(new - b)))

    @cache
    def dtw(i, j):
        if min(i, j) < 0 or abs(i * m - j * n) > radius:
            return math.inf
        before = min(dtw(i - 1, j), dtw(i, j - 1), dtw(i - 1, j - 1)) if i + j else 0.0
        return before + (x[i] - y[j]) ** 2

    @cache
    def msm(i, j):
        if min(i, j) < 0 or abs(i * m - j * n) > radius:
            return math.inf
        if i + j == 0:
            return abs(x[0] - y[0])
        return min(
            msm(i - 1, j - 1) + abs(x[i] - y[j]),
            msm(i - 1, j) + split(x[i], x[i - 1], y[j]) if i else math.inf,
            msm(i, j - 1) + split(y[j], x[i], y[j - 1]) if j else math.inf,
        )

    @cache
    def erp(i, j):
        if i < 0 or j < 0:
            return sum(abs(v - GAP) for s, k in ((x, i), (y, j)) for v in s[: k + 1])
        if abs(i * m - j * n) > radius:
            return math.inf
        return min(
            erp(i - 1, j - 1) + abs(x[i] - y[j]),
            erp(i - 1, j) + abs(x[i] - GAP),
            erp(i, j - 1) + abs(y[j] - GAP),
        )

    @cache
    def twe(i, j):
        if i < 0 and j < 0:
            return 0.0
        if min(i, j) < 0 or abs(i * m - j * n) > radius:
            return math.inf
        before_x, before_y = (s[k - 1] if k else 0.0 for s, k in ((x, i), (y, j)))
        both = abs(x[i] - y[j]) + abs(before_x - before_y) + 2 * STIFFNESS * abs(i - j)
        return min(
            twe(i - 1, j - 1) + both,
            twe(i - 1, j) + abs(x[i] - before_x) + STIFFNESS + COST,
            twe(i, j - 1) + abs(y[j] - before_y) + STIFFNESS + COST,
        )

    return {"dtw": dtw, "erp": erp, "msm": msm, "twe": twe}[metric](n - 1, m - 1)


@pytest.mark.parametrize("window", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_their_definitions(metric, window):
    for lengths in ((5, 14), (12, 13)):
        series = walks(5, lengths=lengths)
        expected = [[by_recursion(metric, a, b, window) for b in series] for a in series]
        found = distances(metric, series, series, window)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        assert np.isfinite(found).all()


def test_distances_by_hand():
    x, y = np.array([0.0, 1.0, 2.0, 2.0]), np.array([0.0, 0.0, 1.0, 2.0])
    assert distances("dtw", [x], [y])[0, 0] == 0  # the same shape, later
    assert distances("dtw", [x], [y], window=0.0)[0, 0] == pytest.approx(1 + 1)
    assert distances("msm", [x], [y])[0, 0] == pytest.approx(2 * COST)  # one split, one merge
    assert distances("erp", [x], [x[:3]])[0, 0] == pytest.approx(2.0 - GAP)  # one value deleted
    assert distances("twe", [x], [x[:3]])[0, 0] == pytest.approx(COST + STIFFNESS)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_three_of_them_are_metrics(seed):
    series = walks(3, seed)
    for metric in ("erp", "msm", "twe"):
        d = distances(metric, series, series)
        np.testing.assert_allclose(d, d.T, rtol=1e-12)
        np.testing.assert_array_equal(np.diagonal(d), 0.0)
        assert d[0, 2] <= d[0, 1] + d[1, 2] + 1e-9


def test_channels_are_warped_together_or_added():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 3, 8))
    assert distances("dtw", [a], [b], 0.0)[0, 0] == pytest.approx(((a - b) ** 2).sum())
    apart = sum(distances("msm", [a[c]], [b[c]])[0, 0] for c in range(3))
    assert distances("msm", [a], [b])[0, 0] == pytest.approx(apart)
    for metric in METRICS:  # a channel of zeros adds nothing
        more = [np.vstack([row, np.zeros(8)]) for row in (a, b)]
        expected = distances(metric, [a], [b])[0, 0]
        if metric != "erp":  # whose gap is compared with the zeros, too
            assert distances(metric, more[:1], more[1:])[0, 0] == pytest.approx(expected)


def waves(n=40, seed=0):
    random = np.random.default_rng(seed)
    times, y = np.linspace(0, 1, 30), np.arange(n) % 2
    starts = random.uniform(0, 0.3, n)
    X = np.array(
        [np.sin(2 * np.pi * (1 + k) * (times - s)) for k, s in zip(y, starts, strict=True)]
    )
    return X + 0.1 * random.standard_normal(X.shape), y


@pytest.mark.parametrize("metric", METRICS)
def test_it_learns_from_tables_cubes_and_lists(metric):
    X, y = waves()
    family = ElasticDistance(metric, windows=(0.1, 0.3), scales=(0.3, 1.0))
    table = VotedKernelClassifier(family).fit(X[:30], y[:30])
    assert table.score(X[30:], y[30:]) >= 0.9
    assert len(table.kernel_names_) == 4
    assert table.kernel_names_[1] == f"{metric}(window=0.1, scale=1)"
    cube = VotedKernelClassifier(family).fit(X[:30, None], y[:30])
    series = VotedKernelClassifier(family).fit(list(X[:30]), y[:30])
    for other, rows in ((cube, X[30:, None]), (series, [row.tolist() for row in X[30:]])):
        assert other.objective_ == pytest.approx(table.objective_, rel=1e-5)
        np.testing.assert_array_equal(other.predict(rows), table.predict(X[30:]))


def test_metrics_vote_together_on_series_of_unequal_lengths():
    X, y = waves()
    lengths = np.random.default_rng(1).integers(20, 31, len(X))
    series = [row[:n] for row, n in zip(X, lengths, strict=True)]
    kernels = [ElasticDistance(metric, scales=(0.3, 1.0)) for metric in ("dtw", "msm", "twe")]
    model = VotedKernelClassifierCV(kernels, cv=3).fit(series[:30], y[:30])
    assert model.score(series[30:], y[30:]) >= 0.9
    assert len(model.kernel_names_) == 6
    assert model.dual_gap_ <= 1e-6 * model.objective_


def test_distances_of_training_series_are_computed_once(monkeypatch):
    X, y = waves(60)
    pairs = []
    base = ElasticDistance.base

    def counted(self, rows, centers):
        pairs.append(len(rows) * len(centers))
        return base(self, rows, centers)

    monkeypatch.setattr(ElasticDistance, "base", counted)
    model = VotedKernelClassifierCV(ElasticDistance(unit=1.0), cv=3).fit(X, y)
    assert sum(pairs) < 0.7 * 60**2  # half of all pairs, in blocks, for all folds and scales
    pairs.clear()
    model.predict(X[:5])
    assert sum(pairs) == 5 * len(model.support_)


def test_the_unit_is_the_median_distance():
    X, _ = waves(30)
    family = ElasticDistance("dtw", windows=(0.0, 0.2), scales=(2.0,)).fit(X, None)
    base = family.base(X, X)
    medians = np.median(base[np.triu_indices(30, 1)], axis=0)
    np.testing.assert_allclose(family.units_, medians)
    np.testing.assert_allclose(family.member(base, 1), np.exp(-base[..., 1] / (2 * medians[1])))
    assert family.set_by_sample == ("unit",)
    assert ElasticDistance(unit=2.0).fit(X, None).set_by_sample == ()
    same = ElasticDistance().fit(np.ones((4, 5)), None)  # no distance at all
    np.testing.assert_array_equal(same.units_, 1.0)


def test_models_are_stored_and_not_exported(tmp_path):
    X, y = waves()
    model = VotedKernelClassifier(ElasticDistance("twe", cost=0.3)).fit(X, y)
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    to_onnx = pytest.importorskip("votedkernels.onnx").to_onnx
    with pytest.raises(ExportError, match="time series"):
        to_onnx(model)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("abc", r"X has 'abc' at row 2 .*needs series of numbers"),
        (None, r"X has None at row 2 .*needs series of numbers"),
        ([1.0, "x"], r"at row 2 .*needs series of numbers"),
        ([], r"at row 2 .*at least one value"),
        (np.ones((2, 2, 2)), r"at row 2 .*its shape is \(2, 2, 2\)"),
        ([1.0, np.nan, 2.0], r"NaN or infinity in the series at row 2"),
        (np.ones((3, 4)), r"3 channels at row 2 .*row 0 has 1"),
    ],
)
def test_what_is_no_series_is_named(row, message):
    X, y = waves()
    bad = list(X)
    bad[2] = row
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(ElasticDistance()).fit(bad, y)
    model = VotedKernelClassifier(ElasticDistance()).fit(list(X), y)
    with pytest.raises(ValueError, match=message):
        model.predict(bad)


def test_slopes_need_three_values():
    X, y = waves()
    with pytest.raises(ValueError, match=r"a series of 2 values at row 1 .*slopes need 3"):
        VotedKernelClassifier(ElasticDistance("ddtw")).fit([X[0], X[1, :2], *X[2:]], y)
    with pytest.raises(ValueError, match="slopes need 3"):
        VotedKernelClassifier(ElasticDistance("ddtw")).fit(X[:, :2], y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "dwt"}, "metric of ElasticDistance must be one of 'dtw'"),
        ({"windows": (0.1, 1.5)}, "windows of ElasticDistance must be numbers between 0 and 1"),
        ({"windows": (0.1, 0.1)}, "repeated"),
        ({"scales": (0.0,)}, "scales of ElasticDistance must be numbers that are positive"),
        ({"scales": ()}, "empty"),
        ({"unit": "mean"}, "unit of ElasticDistance must be 'median' or a positive number"),
        ({"cost": -1.0}, "cost of ElasticDistance must be a number >= 0"),
        ({"gap": np.nan}, "gap of ElasticDistance must be a number"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(ElasticDistance(**parameters)).fit(*waves())


def test_without_numba_the_error_tells_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "votedkernels.kernels._elastic", None)
    with pytest.raises(ImportError, match=r"pip install 'votedkernels\[series\]'"):
        VotedKernelClassifier(ElasticDistance()).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
