"""Thresholds: pricing, prediction, invariances, complexity, and every place a vote goes to."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.utils.estimator_checks import check_estimator

from votedkernels import (
    Categories,
    Gaussian,
    Missing,
    MixedGaussian,
    Similarity,
    Threshold,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    load_model,
    save_model,
    voted_kernel_path,
)
from votedkernels.exceptions import ExportError
from votedkernels.kernels import LocalColumns
from votedkernels.kernels.coded import Codes
from votedkernels.kernels.stacked_columns import stack_columns
from votedkernels.kernels.threshold import between


def table(n, seed, *, gaps=0.0):
    """Return rows with ties, a constant column and, if asked for, gaps."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = 3.0
    X[:, 3] = rng.integers(0, 2, n)
    X[rng.random(X.shape) < gaps] = np.nan
    return X


def labels(X):
    return np.where((np.nan_to_num(X[:, 0]) > 0.3) | (np.nan_to_num(X[:, 1]) < -0.5), 1, -1)


def brute(X, feature):
    """Return a function for `Similarity` that evaluates the thresholds of one feature."""
    known = np.unique(X[:, feature][~np.isnan(X[:, feature])])

    def similarity(A, B):
        out = np.zeros((len(A), len(B)))
        for i, x in enumerate(A[:, feature]):
            for j, c in enumerate(B[:, feature]):
                above = known[known > c]
                if not (math.isnan(x) or math.isnan(c)) and len(above):
                    out[i, j] = 1.0 if x > (c + above[0]) / 2 else -1.0
        return out

    return Similarity(similarity, name=f"brute(x{feature})")


def columns_of(family, X, centers):
    return LocalColumns([family.fit(X, np.ones(len(X)))], X, centers)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_pricing_equals_the_brute_force_sums(seed, gaps):
    X = table(60, seed, gaps=gaps)
    v = np.random.default_rng(seed).standard_normal(60)
    v[::3] = 0.0
    columns = columns_of(Threshold(), X, X)
    priced = columns.correlate(v)
    for feature in range(5):
        expected = columns_of(brute(X, feature), X, X).correlate(v)[0]
        repeated = np.ones(60, bool)
        values = X[:, feature]
        repeated[np.unique(values, return_index=True)[1]] = False
        np.testing.assert_allclose(
            priced[feature], np.where(repeated, 0.0, expected), rtol=0, atol=1e-12
        )
        assert np.abs(priced[feature]).max() == pytest.approx(np.abs(expected).max(), abs=1e-12)
    assert np.abs(priced[5]).max() == pytest.approx(abs(v.sum()), abs=1e-12)


def test_columns_votes_sizes_and_parts_agree_with_the_matrix():
    X = table(50, 0, gaps=0.1)
    v = np.random.default_rng(1).random(50)
    columns = columns_of(Threshold(), X, X)
    family = columns.families[0]
    base = family.base(X, X)
    kernels, centers = np.repeat(np.arange(6), 50), np.tile(np.arange(50), 6)
    matrix = np.concatenate([family.member(base, k) for k in range(6)], axis=1)
    np.testing.assert_array_equal(columns.take(kernels, centers), matrix)
    weights = np.random.default_rng(2).standard_normal(len(kernels))
    np.testing.assert_allclose(
        columns.vote(kernels, centers, weights), matrix @ weights, atol=1e-11
    )
    sizes = columns.correlate_sizes(v).max(axis=1)
    expected = (v @ np.abs(matrix)).reshape(6, 50).max(axis=1)
    np.testing.assert_allclose(sizes, expected, atol=1e-12)
    np.testing.assert_allclose(columns.squares(v, 0).max(axis=1), expected, atol=1e-12)
    rows, chosen = np.arange(0, 50, 2), np.arange(5, 30)
    part = columns.restricted(rows, chosen)
    stacked = stack_columns(columns).part(rows, chosen)
    np.testing.assert_allclose(part.correlate(v[rows]), stacked.correlate(v[rows]), atol=1e-12)
    largest = np.abs(v[rows] @ matrix.reshape(50, 6, 50)[np.ix_(rows, range(6), chosen)].reshape(
        len(rows), -1)).reshape(6, -1).max(axis=1)  # fmt: skip
    np.testing.assert_allclose(np.abs(part.correlate(v[rows])).max(axis=1), largest, atol=1e-12)


def worst_by_kernel(columns, v):
    """Return the worst columns with an entry for each centre, 0 if it was left out."""
    values, centers = columns.worst_columns(v, np.ones(columns.n_kernels))
    if centers is None:
        return values
    everywhere = np.zeros((columns.n_kernels, columns.n_centers))
    everywhere[:, centers] = values
    return everywhere


def test_worst_columns_are_distinct_on_the_active_rows_and_keep_the_worst():
    X = np.random.default_rng(0).standard_normal((200, 3))
    v = np.zeros(200)
    v[[3, 50, 120]] = [1.0, -2.0, 0.5]
    columns = columns_of(Threshold(), X, X)
    worst = worst_by_kernel(columns, v)
    everything = columns.correlate(v)
    np.testing.assert_allclose(np.abs(worst).max(axis=1), np.abs(everything).max(axis=1))
    for k in range(3):
        assert np.count_nonzero(worst[k]) <= 4
    assert len(columns.worst_columns(v, np.ones(4))[1]) <= 4 * 3 + 1, "other centres are left out"


@pytest.mark.parametrize("with_kernels", [False, True])
@pytest.mark.parametrize("n_active", [0, 1, 7, 60])
def test_worst_columns_contain_every_sum_that_active_rows_can_tell_apart(n_active, with_kernels):
    X = table(80, n_active, gaps=0.2)
    X[0, 4], X[1, 4] = -np.inf, np.inf  # values at the ends, far from all others
    rules = [Threshold(), Categories([1, 3]), Missing([0, 4])]
    families = [family.fit(X, np.ones(80)) for family in rules]
    if with_kernels:
        families.insert(1, MixedGaussian((0.1, 1.0), numeric=[0, 1]).fit(X, np.ones(80)))
    v = np.zeros(80)
    v[np.random.default_rng(2).permutation(80)[:n_active]] = np.arange(n_active) - 2.5
    columns = LocalColumns(families, X, X)
    part = columns.restricted(np.arange(80), np.arange(5, 70))  # not all values are centres
    for some in (columns, part):
        everything, worst = some.correlate(v), worst_by_kernel(some, v)
        is_kept = (worst == 0) | np.isclose(worst, everything, rtol=0, atol=1e-12)
        assert is_kept.all(), "a sum is that of its centre"
        for found, known in zip(worst, everything, strict=True):
            missing = np.abs(known[known != 0][:, None] - found).min(axis=1, initial=np.inf)
            assert (missing <= 1e-12).all(), "no sum is lost"


def test_midpoints_lie_between_even_neighbouring_floats_and_huge_values():
    lower = np.array([1.0, 0.0, -1.7e308, 5e-324, -1.0])
    upper = np.array([np.nextafter(1.0, 2), 5e-324, 1.7e308, 1e-323, -0.5])
    t = between(lower, upper)
    assert ((lower <= t) & (t < upper)).all()
    assert t[4] == -0.75


def test_the_optimum_is_that_of_a_linear_program_over_all_stumps():
    X = table(40, 3)
    y = labels(X)
    model = VotedKernelClassifier(
        Threshold(), complexity_penalty=0.0, l1_penalty=0.02, tol=1e-9
    ).fit(X, y)
    columns = [np.ones(40)]
    for x in X.T:
        known = np.unique(x)
        columns += [np.where(x > t, 1.0, -1.0) for t in (known[:-1] + known[1:]) / 2]
    A = np.array(columns).T * y[:, None]
    n = A.shape[1]
    cost = np.concatenate([np.full(2 * n, 0.02), np.full(40, 1 / 40)])
    lp = linprog(cost, A_ub=-np.hstack([A, -A, np.eye(40)]), b_ub=-np.ones(40))
    assert model.objective_ == pytest.approx(lp.fun, rel=1e-7)
    assert model.dual_gap_ <= 1e-9 * model.objective_


def test_rules_are_named_and_have_no_support_vector():
    X = pd.DataFrame(table(120, 0)[:, :2], columns=["glucose", "age"])
    y = np.where(X["glucose"] > 0.4, "ill", "well")
    model = VotedKernelClassifier(Threshold(), complexity_penalty=0, l1_penalty=0.1).fit(X, y)
    assert len(model.support_) == 0
    assert (model.term_support_indices_ == -1).all()
    assert any(rule.startswith("glucose > 0.") for rule in model.term_rules_)
    assert model.kernel_names_ == ["threshold(x0)", "threshold(x1)", "constant"]
    explanation = model.explain(X[:3])
    np.testing.assert_allclose(explanation.decisions, model.decision_function(X[:3]), atol=1e-12)
    assert "glucose > 0." in str(explanation)
    assert explanation.by_example().shape == (3, 1, 0)
    assert "threshold(glucose)" in str(model.summary())


def test_mixed_families_share_one_certificate_and_predict_as_their_terms_say():
    X = table(150, 4)
    y = labels(X)
    model = VotedKernelClassifier([Threshold((0, 1)), Gaussian((0.1, 1.0))], tol=1e-8).fit(X, y)
    assert model.dual_gap_ <= 1e-8 * model.objective_
    rules = model.term_support_indices_ < 0
    assert rules.sum() > 0
    np.testing.assert_array_equal([bool(text) for text in model.term_rules_], rules)
    np.testing.assert_array_equal(np.isnan(model.term_levels_), ~rules)
    f = np.zeros(150)
    for k, j, t, a in zip(
        model.term_kernel_indices_,
        model.term_support_indices_,
        model.term_levels_,
        model.term_weights_[0],
        strict=True,
    ):
        if k < 2:
            f += a * np.where(X[:, k] > t, 1.0, -1.0)
        elif k == 2:
            f += a
        else:
            distances = ((X - model.support_vectors_[j]) ** 2).sum(axis=1)
            gamma = model.kernels_[1].unit_ * (0.1, 1.0)[k - 3]
            f += a * np.exp(-gamma * distances)
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-9)


def same_votes(y, first, second):
    """Compare margins up to 1; beyond, several thresholds cost the same, and any may be chosen."""
    np.testing.assert_array_equal(first > 0, second > 0)
    np.testing.assert_allclose(np.minimum(1, y * first), np.minimum(1, y * second), atol=1e-6)


def settings():
    return {"complexity_penalty": 0.0, "l1_penalty": 0.03, "tol": 1e-9}


@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_negated_features_and_swapped_labels(gaps):
    X = table(120, 7, gaps=gaps)
    y = labels(X) * np.where(np.random.default_rng(0).random(120) < 0.1, -1, 1)
    # Weights of random size, so that the optimum is unique.
    weight = np.random.default_rng(1).uniform(0.5, 2, 120)
    model = VotedKernelClassifier(Threshold(), **settings()).fit(X, y, weight)
    f = model.decision_function(X)
    negated = VotedKernelClassifier(Threshold(), **settings()).fit(-X, y, weight)
    swapped = VotedKernelClassifier(Threshold(), **settings()).fit(X, -y, weight)
    assert negated.objective_ == pytest.approx(model.objective_, rel=1e-8)
    same_votes(y, negated.decision_function(-X), f)
    same_votes(y, -swapped.decision_function(X), f)


def test_monotone_transformations_keep_the_votes_on_the_training_rows():
    X = table(120, 8)
    y = labels(X) * np.where(np.random.default_rng(0).random(120) < 0.1, -1, 1)
    weight = np.random.default_rng(1).uniform(0.5, 2, 120)
    model = VotedKernelClassifier(Threshold(), **settings()).fit(X, y, weight)
    warped = VotedKernelClassifier(Threshold(), **settings()).fit(np.exp(X), y, weight)
    same_votes(y, warped.decision_function(np.exp(X)), model.decision_function(X))


def test_a_weight_of_two_equals_the_row_twice_even_with_gaps():
    X = table(60, 9, gaps=0.2)
    y = labels(X)
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(60), weight.astype(int))
    one = VotedKernelClassifier(Threshold(), **settings()).fit(X, y, weight)
    two = VotedKernelClassifier(Threshold(), **settings()).fit(X[twice], y[twice])
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)


def test_growth_bounds_the_rademacher_complexity():
    m, d = 80, 6
    family = Threshold().fit(np.zeros((1, d)), np.ones(1))
    bound = math.sqrt(2 * family.log_growth(m)[0] / m)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, d))
    suprema = []
    for _ in range(300):
        signs = rng.choice([-1.0, 1.0], m)
        best = abs(signs.sum())
        for x in X.T:
            prefix = np.cumsum(signs[np.argsort(x)])
            best = max(best, np.abs(signs.sum() - 2 * prefix).max())
        suprema.append(best / m)
    assert np.mean(suprema) + 4 * np.std(suprema) / math.sqrt(300) < bound
    assert np.mean(suprema) > bound / 3  # the bound says something


@pytest.mark.parametrize("measure", ["auto", "massart", "empirical"])
def test_every_measure_prices_thresholds(measure):
    X = table(80, 0)
    model = VotedKernelClassifier(
        [Gaussian((0.1,)), Threshold()], complexity=measure, tol=1e-3
    ).fit(X, labels(X))
    assert (model.complexities_[[0, 1, 2, 4, 5]] > 0).all()
    bound = math.sqrt(2 * math.log(2 * 5 * 81) / 80)
    if measure == "auto":
        np.testing.assert_allclose(model.complexities_[1:-1], bound)
        assert model.complexities_[-1] == pytest.approx(math.sqrt(2 * math.log(2) / 80))
    if measure == "empirical":
        assert (model.complexities_[1:] <= bound).all()


def test_the_search_finds_a_rule_of_three_thresholds():
    def rule(n, seed):
        X = np.random.default_rng(seed).standard_normal((n, 8))
        return X, ((X[:, 0] > 0.3) & (X[:, 1] > -0.5)) | (X[:, 2] > 1.2)

    X, y = rule(300, 0)
    X_new, y_new = rule(2000, 1)
    search = VotedKernelClassifierCV([Gaussian((0.1, 1.0)), Threshold()], cv=3).fit(X, y)
    assert (search.predict(X_new) != y_new).mean() < 0.03
    assert search.dual_gap_ <= 1e-6 * search.objective_
    np.testing.assert_array_equal(
        search.predict(X_new[:5]), search.explain(X_new[:5]).predictions()
    )
    assert {"rules only", "gaussian(gamma=1)"} <= set(search.cv_results_["param_kernel"])


def test_paths_have_the_votes_of_single_fits():
    X = table(80, 2)
    y = labels(X)
    path = voted_kernel_path(
        X, y, kernels=Threshold(), complexity_penalties=[0.0], l1_penalties=[0.2, 0.05]
    )
    for place, l1_penalty in enumerate([0.2, 0.05]):
        model = VotedKernelClassifier(Threshold(), complexity_penalty=0, l1_penalty=l1_penalty)
        objective = model.fit(X, y).objective_
        assert path.objectives[0, place, 0] == pytest.approx(objective, rel=1e-5)
    assert (path.n_support == 0).all()
    assert np.isfinite(path.term_levels).all()


def test_model_files_keep_rules(tmp_path):
    X = table(100, 5)
    y = labels(X)
    for kernels in (Threshold((0, 1)), [("rules", Threshold()), ("wide", Gaussian((0.1,)))]):
        model = VotedKernelClassifier(kernels, tol=1e-4).fit(X, y)
        path = tmp_path / "model.vk"
        save_model(model, path)
        again = load_model(path)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert again.term_rules_ == model.term_rules_
        assert again.kernel_names_ == model.kernel_names_


def test_what_is_refused_says_why():
    X = table(60, 1)
    y = labels(X)
    with pytest.raises(
        ValueError, match="features of Threshold must be column numbers from 0 to 4"
    ):
        VotedKernelClassifier(Threshold((5,))).fit(X, y)
    with pytest.raises(ValueError, match="distinct"):
        VotedKernelClassifier(Threshold((1, 1))).fit(X, y)
    with pytest.raises(ValueError, match="does not work with rules"):
        VotedKernelClassifier(Threshold(), l2_penalty=0.1).fit(X, y)
    model = VotedKernelClassifier(Threshold(), complexity_penalty=0, l1_penalty=0.1).fit(X, y)
    with pytest.raises(ValueError, match="also "):
        model.generalization_bound(X, y, method="compression")
    bound = model.generalization_bound(X, y)
    assert bound.is_guarantee
    assert model.generalization_bound(X, y, method="best").value == bound.value
    onnx = pytest.importorskip("votedkernels.onnx")
    with pytest.raises(ExportError, match="rules about single features"):
        onnx.to_onnx(model)


@pytest.mark.parametrize("n_active", [0, 1, 40, 200])
def test_compiled_pricing_equals_the_sums_over_codes(n_active):
    X = table(200, 3)
    X[:, 0] = X[:, 0].round(1)  # ties
    X[::9, 1] = np.nan
    X[:, 2] = 4.0
    codes = Codes.of(Threshold().fit(X, np.ones(200)), X, X)
    v = np.zeros(200)
    v[:n_active] = np.random.default_rng(0).standard_normal(n_active)
    expected = codes.correlate(v)
    np.testing.assert_allclose(codes.correlate(v, compiled=True), expected, atol=1e-12)
    some = np.arange(0, 200, 3)
    np.testing.assert_allclose(
        codes.correlate(v, some, compiled=True), codes.correlate(v, some), atol=1e-12
    )


def test_the_estimator_checks_pass_and_gaps_are_allowed():
    estimator = VotedKernelClassifier(Threshold(), l1_penalty=1e-3, tol=1e-3)
    assert estimator.__sklearn_tags__().input_tags.allow_nan
    assert not VotedKernelClassifier().__sklearn_tags__().input_tags.allow_nan
    check_estimator(estimator)
