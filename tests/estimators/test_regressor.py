import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_absolute_error, mean_pinball_loss
from sklearn.svm import SVR
from support.regressions import by_linprog_of_residuals, make_regression_problem

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelRegressor,
    VotedKernelRegressorCV,
    load_model,
    save_model,
)
from votedkernels.problem.losses import EpsilonInsensitive, Pinball

LOSSES = ("epsilon-insensitive", "absolute", "quantile")


@pytest.fixture(scope="module")
def waves():
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, (80, 1))
    return X, 100 + 20 * np.sin(X[:, 0]) + random.normal(0, 3, 80)


@pytest.mark.parametrize("loss", LOSSES)
def test_objective_in_the_unit_of_the_target_is_that_of_a_full_lp(waves, loss):
    X, y = waves
    family = Gaussian((0.3, 3.0), unit=1.0)
    model = VotedKernelRegressor(
        family, loss=loss, epsilon=2.0, quantile=0.8 if loss == "quantile" else 0.5,
        complexity=[1.0, 2.0], complexity_penalty=0.01, l1_penalty=0.0,
    ).fit(X, y)  # fmt: skip
    by_hand = {
        "epsilon-insensitive": EpsilonInsensitive(2.0),
        "absolute": EpsilonInsensitive(0.0),
        "quantile": Pinball(0.8),
    }[loss]
    w, prices = np.full(len(y), 1 / len(y)), np.array([0.01, 0.02])
    problem = make_regression_problem(
        X, y, w, by_hand, prices, fit_intercept=True, families=[family]
    )
    optimum = by_linprog_of_residuals(problem, y, w, by_hand)
    assert model.objective_ == pytest.approx(optimum, rel=2e-6)
    assert model.dual_bound_ <= optimum * (1 + 1e-9)
    errors = y - model.predict(X)
    lost = np.maximum(0.8 * errors, -0.2 * errors)
    if loss != "quantile":
        lost = np.maximum(0.0, np.abs(errors) - model.epsilon_)
    price = model.penalties_[model.term_kernel_indices_] @ np.abs(model.term_weights_[0])
    assert lost.mean() + price == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_unit_and_origin_of_the_target_do_not_matter(waves, loss):
    X, y = waves[0][:50], waves[1][:50]
    model = VotedKernelRegressor(Gaussian((0.3,)), loss=loss).fit(X, y)
    moved = VotedKernelRegressor(Gaussian((0.3,)), loss=loss).fit(X, 1000 * y - 7)
    np.testing.assert_allclose(moved.predict(X), 1000 * model.predict(X) - 7, rtol=1e-4)
    np.testing.assert_allclose(moved.objective_, 1000 * model.objective_, rtol=1e-4)
    np.testing.assert_allclose(moved.penalties_, model.penalties_)


@pytest.mark.parametrize("estimator", [VotedKernelRegressor(), VotedKernelRegressorCV()])
def test_a_constant_target_is_predicted(estimator):
    X = np.random.default_rng(1).standard_normal((30, 2))
    model = estimator.fit(X, np.full(30, 3.5))
    np.testing.assert_allclose(model.predict(X), 3.5)
    assert model.objective_ == 0.0
    assert model.stop_reason_ == "optimal"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", LOSSES)
def test_a_target_that_is_constant_in_a_fold_is_no_obstacle(loss):
    X = np.random.default_rng(1).standard_normal((30, 2))
    y = np.where(np.arange(30) == 7, 9.0, 2.5)
    model = VotedKernelRegressorCV(Gaussian(1.0), loss=loss, cv=3).fit(X, y)
    np.testing.assert_allclose(np.delete(model.predict(X), 7), 2.5, atol=0.5)


def test_without_terms_predictions_are_weighted_medians_and_quantiles():
    X, y = np.arange(5.0)[:, None], np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    weights = [1.0, 1.0, 1.0, 1.0, 6.0]
    huge = {"complexity_penalty": 1e6, "l1_penalty": 1e6}
    with pytest.warns(UserWarning, match="predicts a constant"):
        model = VotedKernelRegressor(loss="absolute", **huge).fit(X, y, weights)
    assert model.predict(X) == pytest.approx(100.0)
    with pytest.warns(UserWarning, match="predicts a constant"):
        model = VotedKernelRegressor(loss="quantile", quantile=0.25, **huge).fit(X, y, weights)
    assert model.predict(X) == pytest.approx(3.0)


def test_quantiles_have_about_their_share_of_rows_below():
    random = np.random.default_rng(2)
    X = random.uniform(-1, 1, (300, 1))
    y = X[:, 0] + random.normal(0, 0.5 + 0.4 * X[:, 0], 300)
    for quantile in (0.2, 0.8):
        model = VotedKernelRegressor(Polynomial((1,)), loss="quantile", quantile=quantile)
        below = y <= model.fit(X, y).predict(X) + 1e-9
        assert below.mean() == pytest.approx(quantile, abs=0.02)


def test_relaxed_weights_are_certified_and_close_to_svr():
    X, y = make_friedman1(300, noise=0.5, random_state=0)
    unseen, truth = make_friedman1(500, noise=0.0, random_state=1)
    model = VotedKernelRegressor(Gaussian((0.1, 0.3)), relaxation="auto").fit(X, y)
    assert model.relaxed_dual_gap_ <= 1e-6 * model.relaxed_objective_
    assert len(model.selection_.support) == len(model.support_)
    assert model.dual_gap_ <= 1e-6 * model.objective_
    svr = SVR(C=10.0).fit(X, y)
    ours = mean_absolute_error(truth, model.predict(unseen))
    assert ours <= 1.3 * mean_absolute_error(truth, svr.predict(unseen))


def test_weights_and_kinds_of_rows(waves):
    X, y = waves
    X, y = X[:40], y[:40]
    twice = VotedKernelRegressor().fit(np.vstack([X, X[:5]]), np.append(y, y[:5]))
    weighted = VotedKernelRegressor().fit(X, y, np.where(np.arange(40) < 5, 2.0, 1.0))
    np.testing.assert_array_equal(twice.predict(X), weighted.predict(X))
    K = np.exp(-((X - X.T) ** 2))
    matrix = VotedKernelRegressor(Precomputed(), l1_penalty=1e-3).fit(K, y)
    function = Similarity(lambda A, B: np.exp(-((A - B.T) ** 2)), positive_definite=True)
    called = VotedKernelRegressor(function, l1_penalty=1e-3).fit(X, y)
    np.testing.assert_allclose(matrix.predict(K), called.predict(X), rtol=1e-4)
    plain = VotedKernelRegressor(Polynomial((1,))).fit(sparse.csr_array(X), y)
    assert plain.predict(sparse.csr_array(X)).shape == (40,)


def test_explanations_and_summaries(waves):
    X, y = waves
    model = VotedKernelRegressor().fit(X, y)
    explanation = model.explain(X[:3])
    np.testing.assert_allclose(explanation.predictions(), model.predict(X[:3]))
    assert "vote for the target" in str(explanation)
    text = str(model.summary(X, y))
    assert "epsilon-insensitive" in text
    assert f"{np.abs(model.predict(X) - y).mean():.4g}" in text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "squared"}, "loss must be one of"),
        ({"epsilon": -0.1}, "epsilon must be a finite number >= 0"),
        ({"quantile": 1.0}, "quantile must be above 0 and below 1"),
        ({"quantile": np.nan}, "quantile must be above 0 and below 1"),
        ({"quantile": 0.9}, "quantile=0.9 needs loss='quantile'"),
    ],
)
def test_wrong_parameters_are_named(waves, parameters, message):
    for estimator in (VotedKernelRegressor, VotedKernelRegressorCV):
        with pytest.raises(ValueError, match=message):
            estimator(**parameters).fit(*waves)


@pytest.mark.filterwarnings("error")
def test_wrong_targets_are_named(waves):
    X, y = waves
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"y contains .* row 3; leave"):
            VotedKernelRegressor().fit(X, np.where(np.arange(len(y)) == 3, bad, y))
        with pytest.raises(ValueError, match=r"y contains .* row 4 and 75 other rows"):
            VotedKernelRegressor().fit(X, np.where(np.arange(len(y)) > 3, bad, y))
    with pytest.raises(ValueError, match="use VotedKernelClassifier for classes"):
        VotedKernelRegressor().fit(X, np.where(y > 100, "high", "low"))
    with pytest.raises(ValueError, match="dates or durations"):
        VotedKernelRegressor().fit(X, np.arange(len(y)).astype("datetime64[D]"))
    with pytest.raises(ValueError, match="too large for double precision"):
        VotedKernelRegressor().fit(X, np.where(y > 100, 1.7e308, -1.7e308))
    with pytest.raises(ValueError, match="weight"):
        VotedKernelRegressor().fit(X, y, np.zeros(len(y)))


def test_the_search_finds_a_sparse_and_certified_model():
    X, y = make_friedman1(150, noise=0.5, random_state=0)
    unseen, truth = make_friedman1(500, noise=0.0, random_state=1)
    model = VotedKernelRegressorCV(Gaussian((0.03, 0.1, 0.3)), cv=3).fit(X, y)
    assert mean_absolute_error(truth, model.predict(unseen)) < 2.0  # a constant: 4.0
    assert model.dual_gap_ <= 1e-6 * model.objective_
    assert model.relaxed_dual_gap_ <= 1e-3 * model.relaxed_objective_
    assert len(model.members_) == 5
    errors = -model.cv_results_["mean_test_score"][model.best_index_]
    assert model.best_score_ == pytest.approx(-errors)
    assert 0.3 < errors < 2.5  # in the unit of the target
    assert "minus the mean loss" in str(model.summary())
    again = model.chosen_regressor().fit(X, y)
    assert again.complexity_penalty_ == pytest.approx(model.complexity_penalty_)
    sparse_model = VotedKernelRegressorCV(Gaussian((0.1,)), cv=3, prefer="sparse").fit(X, y)
    assert len(sparse_model.members_) == 1


def test_the_search_obeys_scorers_and_limits(waves):
    X, y = waves
    model = VotedKernelRegressorCV(Gaussian((0.3,)), cv=2, scoring="r2", refit=False).fit(X, y)
    assert 0.5 < model.best_score_ <= 1.0
    assert not hasattr(model, "term_weights_")
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        limited = VotedKernelRegressorCV(Gaussian((0.3,)), time_limit=0.2).fit(
            np.repeat(X, 8, axis=0) + np.linspace(0, 0.1, 640)[:, None], np.repeat(y, 8)
        )
    assert np.abs(limited.predict(X) - y).mean() < 10


def test_several_quantiles_never_cross(tmp_path):
    random = np.random.default_rng(3)
    X = random.uniform(-2, 2, (120, 2))
    y = 30 + 5 * X[:, 0] + random.normal(0, 1 + np.abs(X[:, 1]))
    levels = (0.1, 0.5, 0.9)
    model = VotedKernelRegressor(
        [Gaussian((0.3, 3.0)), Polynomial((1,))], loss="quantile", quantiles=levels,
        complexity_penalty=0.01,
    ).fit(X, y)  # fmt: skip
    assert model.dual_gap_ <= 1e-6 * model.objective_
    found = model.predict_quantiles(X)
    lost = sum(mean_pinball_loss(y, f, alpha=q) for f, q in zip(found.T, levels, strict=True))
    prices = model.penalties_[model.term_kernel_indices_] * np.abs(model.term_weights_)
    assert lost + prices.sum() == pytest.approx(model.objective_, rel=1e-9)
    linear = sum(
        mean_pinball_loss(y, QuantileRegressor(quantile=q, alpha=0.0).fit(X, y).predict(X), alpha=q)
        for q in levels
    )
    assert lost <= 1.05 * linear
    anywhere = random.standard_normal((100_000, 2)) * 10.0 ** random.uniform(-3, 3, (100_000, 1))
    assert (np.diff(model.predict_quantiles(anywhere), axis=1) >= 0).all()
    np.testing.assert_array_equal(model.predict(X), found[:, 1])
    np.testing.assert_array_equal(model.predict_interval(X, alpha=0.2), found[:, [0, 2]])
    assert "quantiles 0.1, 0.5, 0.9" in str(model.summary())
    save_model(model, tmp_path / "bands")
    np.testing.assert_array_equal(load_model(tmp_path / "bands").predict_quantiles(X), found)
    with pytest.raises(ValueError, match="was not fitted"):
        model.predict_interval(X, alpha=0.5)
    with pytest.raises(ValueError, match="one quantile"):
        model.explain(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"quantiles": (0.5, 0.1)}, "must increase"),
        ({"quantiles": (0.1, 1.5)}, "above 0 and below 1"),
        ({"quantiles": 0.5}, "list of numbers"),
        ({"quantiles": (0.1, 0.9), "loss": "absolute"}, "needs loss='quantile'"),
        ({"quantiles": (0.1, 0.9), "relaxation": "auto"}, "needs relaxation=None"),
        ({"quantiles": (0.1, 0.9), "kernels": Polynomial((1,))}, "never negative"),
    ],
)
def test_wrong_quantiles_are_named(waves, parameters, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelRegressor(**{"loss": "quantile"} | parameters).fit(*waves)


def test_without_the_median_predict_says_so(waves):
    X, y = waves
    model = VotedKernelRegressor(Gaussian((0.3,)), loss="quantile", quantiles=(0.2, 0.8))
    model.set_params(complexity_penalty=0.1).fit(X, y)
    with pytest.raises(ValueError, match="predict returns the median"):
        model.predict(X)
    for alpha in (0, 1, np.nan, None):
        with pytest.raises(ValueError, match="alpha must be above 0"):
            model.predict_interval(X, alpha=alpha)
    assert not hasattr(VotedKernelRegressor(), "predict_quantiles")
    with pytest.raises(AttributeError, match="no attribute") as error:
        VotedKernelRegressor().predict_interval  # noqa: B018
    assert "quantiles=(0.1, 0.5, 0.9)" in str(error.value.__cause__)
