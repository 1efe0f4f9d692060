"""The rule behind ``complexity_penalty="auto"`` and ``l1_penalty="auto"``."""

import math
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from votedkernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
    load_model,
    read_summary,
    save_model,
)
from votedkernels.datasets import make_waveform
from votedkernels.kernels import LocalColumns
from votedkernels.preparation.training import (
    MOST_ROWS,
    SHARE,
    SHARE_IF_RELAXED,
    effective_rows,
    resolve_penalties,
)

#: The kernels 2 x c and 8 x c at x, c = -1 and 1: their largest values are 2 and 8.
POINTS = np.array([[-1.0], [1.0]])


def two_columns(*factors):
    families = [
        Similarity(lambda A, B, factor=factor: factor * A @ B.T, name=f"times {factor}")
        for factor in factors
    ]
    return LocalColumns([family.fit(POINTS, np.ones(2)) for family in families], POINTS, POINTS)


def level(n_columns, m):
    return SHARE * math.sqrt(math.log(n_columns) / m)


@pytest.fixture(scope="module")
def data():
    return make_waveform(80, random_state=0)


# -- facts ---------------------------------------------------------------------------------------


def test_the_only_kernel_costs_the_level_times_its_largest_value():
    lam, beta = resolve_penalties("auto", "auto", two_columns(2.0), np.array([0.5]), 100.0)
    assert lam * 0.5 == pytest.approx(2.0 * level(2, 100))
    assert beta == 0


def test_the_cheapest_of_two_kernels_costs_the_level():
    columns, complexities = two_columns(2.0, 8.0), np.array([0.5, 4.0])  # ratios 1/4 and 1/2
    lam, beta = resolve_penalties("auto", "auto", columns, complexities, 100.0)
    assert lam == pytest.approx(4 * level(4, 100))
    assert beta == 0
    lam, _ = resolve_penalties("auto", "auto", columns, np.array([0.5, 1.0]), 100.0)
    assert lam == pytest.approx(8 * level(4, 100))


def test_numbers_stay_as_they_are():
    assert resolve_penalties(3, 0, two_columns(2.0), np.array([0.5]), 100.0) == (3.0, 0.0)
    assert resolve_penalties(0.25, "auto", two_columns(2.0), np.array([0.5]), 9.0) == (0.25, 0.0)
    lam, beta = resolve_penalties("auto", 7.0, two_columns(2.0), np.array([0.5]), 100.0)
    assert lam == pytest.approx(4 * level(2, 100))
    assert beta == 7.0


def test_without_lambda_beta_is_the_level_times_the_median_of_the_largest_values():
    columns = two_columns(2.0, 8.0, 0.0, 3.0)
    lam, beta = resolve_penalties(0.0, "auto", columns, np.ones(4), 100.0)
    assert (lam, beta) == (0.0, pytest.approx(3.0 * level(8, 100)))


def test_without_complexities_beta_replaces_lambda():
    lam, beta = resolve_penalties("auto", "auto", two_columns(2.0, 8.0), np.zeros(2), 100.0)
    assert (lam, beta) == (0.0, pytest.approx(5.0 * level(4, 100)))


def test_no_kernel_is_free():
    columns, complexities = two_columns(2.0, 8.0), np.array([0.0, 4.0])
    lam, beta = resolve_penalties("auto", "auto", columns, complexities, 100.0)
    assert lam == pytest.approx(2 * level(4, 100))
    assert beta == pytest.approx(5.0 * level(4, 100))


def test_kernels_without_values_need_no_penalty():
    lam, beta = resolve_penalties("auto", "auto", two_columns(0.0), np.zeros(1), 100.0)
    assert (lam, beta) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("weights", "m"), [([1, 1, 0.5], 2.5), ([1e-300], 1.0), ([1e300, 1e300], MOST_ROWS)]
)
def test_rows_count_as_often_as_their_weights_say(weights, m):
    assert effective_rows(np.array(weights, float)) == m


# -- fits ----------------------------------------------------------------------------------------


def test_a_fit_publishes_both_penalties(data):
    X, y = data
    model = VotedKernelClassifier().fit(X, y)
    prices = model.complexity_penalty_ * model.complexities_ + model.l1_penalty_
    np.testing.assert_array_equal(model.penalties_, prices)
    assert model.l1_penalty_ == 0
    assert model.complexity_penalty == model.l1_penalty == "auto"
    again = VotedKernelClassifier(complexity_penalty=model.complexity_penalty_, l1_penalty=0.0)
    np.testing.assert_array_equal(again.fit(X, y).decision_function(X), model.decision_function(X))
    given = VotedKernelClassifier(complexity_penalty=0, l1_penalty=0.015625).fit(X, y)
    assert (given.complexity_penalty_, given.l1_penalty_) == (0.0, 0.015625)


def test_all_gaussians_cost_at_least_the_level(data):
    X, y = data
    model = VotedKernelClassifier(Gaussian((0.1, 1.0, 10.0))).fit(X, y)
    assert model.penalties_[0] == pytest.approx(level(3 * 80, 80))
    assert (np.diff(model.penalties_) > 0).all()  # gamma grows, so the Gaussians get narrower


@pytest.mark.parametrize("factor", [1e-6, 0.25, 1e6])
def test_the_scale_of_a_kernel_does_not_matter(factor, data):
    X, y = data

    def scaled(A, B):
        return factor * (A @ B.T)

    def plain(A, B):
        return A @ B.T

    families = [
        [Similarity(function, name="linear", positive_definite=True), Gaussian((1.0,))]
        for function in (plain, scaled)
    ]
    one, other = (VotedKernelClassifier(kernels).fit(X, y) for kernels in families)
    assert other.complexity_penalty_ == pytest.approx(one.complexity_penalty_, rel=1e-12)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-5)
    np.testing.assert_allclose(
        other.decision_function(X), one.decision_function(X), rtol=1e-3, atol=1e-4
    )


def test_doubling_all_weights_equals_doubling_the_rows(data):
    X, y = data
    twice = VotedKernelClassifier().fit(np.vstack([X, X]), np.hstack([y, y]))
    heavy = VotedKernelClassifier().fit(X, y, np.full(len(y), 2.0))
    assert twice.complexity_penalty_ == heavy.complexity_penalty_
    np.testing.assert_array_equal(twice.penalties_, heavy.penalties_)
    np.testing.assert_array_equal(twice.decision_function(X), heavy.decision_function(X))
    once = VotedKernelClassifier().fit(X, y)
    np.testing.assert_allclose(heavy.penalties_, once.penalties_ / np.sqrt(2), rtol=1e-12)


def test_relaxed_votes_pay_less(data):
    plain, relaxed = (
        VotedKernelClassifier(relaxation=relaxation).fit(*data) for relaxation in (None, 1e-3)
    )
    ratio = relaxed.complexity_penalty_ / plain.complexity_penalty_
    assert ratio == pytest.approx(SHARE_IF_RELAXED / SHARE)
    assert relaxed.objective_ < plain.objective_


def test_rho_of_the_relaxation_falls_with_the_rows(data):
    X, y = data
    auto = VotedKernelClassifier(relaxation="auto").fit(X, y, np.full(len(y), 2.0))
    same = VotedKernelClassifier(relaxation=0.1 / 160).fit(X, y, np.full(len(y), 2.0))
    np.testing.assert_array_equal(auto.decision_function(X), same.decision_function(X))


def letters():
    words = [f"{prefix}{i:02d}" for prefix in ("a", "bc") for i in range(15)]
    return words, np.repeat([0, 1], 15)


def matrix(X):
    return np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize(
    ("kernels", "options"),
    [
        (Precomputed(), {}),
        (Precomputed(positive_definite=True), {}),
        (Precomputed(), {"centers": 10, "random_state": 0}),
        (ContinuousGaussian(0.1, 10.0), {}),
        (Gaussian((1.0,)), {"centers": 5, "random_state": 0}),
        (Polynomial((1, 2)), {"complexity_penalty": 0.0}),
        (Polynomial((1, 2)), {"solver": "coordinate-descent", "l2_penalty": 1e-3}),
        (Polynomial((1, 2)), {"complexity": "dimension"}),
        (Polynomial((1, 2)), {"complexity": "massart"}),
        (Polynomial((1, 2)), {"complexity": [0.0, 1.0]}),
    ],
)
def test_the_rule_suits_every_kind_of_fit(kernels, options, data):
    X, y = data
    if isinstance(kernels, Precomputed):
        X = matrix(X)
    model = VotedKernelClassifier(kernels, **options).fit(X, y)
    assert (model.penalties_ > 0).all()
    assert model.stop_reason_ == "optimal"
    assert model.score(X, y) > 0.7


def test_the_rule_suits_strings():
    words, kinds = letters()
    model = VotedKernelClassifier(EditDistance()).fit(words, kinds)
    assert (model.penalties_ > 0).all()
    assert model.score(words, kinds) == 1


def test_centres_may_be_other_objects_than_rows():
    """A function that takes patterns as centres is never called with two rows."""
    words, kinds = letters()
    patterns = [re.compile(pattern) for pattern in ("^a", "^b", "0$", "9")]

    def matches(rows, centers):
        return [[float(bool(pattern.search(row))) for pattern in centers] for row in rows]

    model = VotedKernelClassifier(Similarity(matches), centers=patterns).fit(words, kinds)
    assert model.score(words, kinds) == 1
    assert model.complexity_penalty_ * model.complexities_[0] == pytest.approx(level(4, 30))


def test_sparse_rows_get_the_same_penalties(data):
    X, y = data
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense = VotedKernelClassifier().fit(X, y)
    other = VotedKernelClassifier().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(other.penalties_, dense.penalties_, rtol=1e-12)


def test_a_late_fit_computes_no_penalties():
    """With time up, a costly kernel is not evaluated again to find its largest value."""
    columns = two_columns(2.0)
    late = columns.within(columns.budget.until(0.0))
    lam, beta = resolve_penalties("auto", 0.5, late, np.array([np.nan]), 100.0)
    assert math.isnan(lam)
    assert beta == 0.5


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["complexity_penalty", "l1_penalty"])
@pytest.mark.parametrize("value", ["Auto", "scale", "", None, True, -1.0, math.nan])
def test_other_words_are_an_error_that_lists_what_is_allowed(name, value, data):
    message = rf"{name} must be a finite number >= 0 or 'auto', got"
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(**{name: value}).fit(*data)


def test_l2_penalty_has_no_auto(data):
    with pytest.raises(ValueError, match=r"l2_penalty must be a finite number >= 0, got 'auto'"):
        VotedKernelClassifier(l2_penalty="auto").fit(*data)


def test_clones_keep_the_word(data):
    model = clone(VotedKernelClassifier().fit(*data))
    parameters = model.get_params()
    assert parameters["complexity_penalty"] == parameters["l1_penalty"] == "auto"
    assert not hasattr(model, "complexity_penalty_")


@pytest.mark.parametrize("relaxation", [None, "auto"])
def test_model_files_keep_the_word_and_the_numbers(relaxation, data, tmp_path):
    X, y = data
    model = VotedKernelClassifier(relaxation=relaxation).fit(X, y)
    path = tmp_path / "model.safetensors"
    save_model(model, path)
    loaded = load_model(path)
    assert loaded.get_params()["complexity_penalty"] == "auto"
    assert (loaded.complexity_penalty_, loaded.l1_penalty_) == (model.complexity_penalty_, 0.0)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    summary = read_summary(path)
    assert summary["complexity_penalty"] == summary["l1_penalty"] == "auto"
    assert summary["l2_penalty"] == 0.0
