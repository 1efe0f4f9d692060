"""Votes without terms: their constant, its objective and what they predict."""

import numpy as np
import pytest

from votedkernels import (
    Gaussian,
    Polynomial,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    voted_kernel_path,
)

pytestmark = pytest.mark.filterwarnings("ignore:The penalties are so large")


def sample(counts, seed=0):
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    X = random.standard_normal((len(y), 2))
    X[:, 0] += y
    order = random.permutation(len(y))
    return X[order], np.array(["a", "b", "c", "d"])[y[order]]


def class_objectives(model, X, y, weights):
    """Return F of each one-vs-rest problem, by the model's own decisions."""
    w = weights / weights.sum()
    decision = model.decision_function(X)
    if decision.ndim == 1:
        decision, classes = decision[:, None], model.classes_[1:]
    else:
        classes = model.classes_
    signs = np.where(y[:, None] == classes, 1.0, -1.0)
    price = np.abs(model.term_weights_) @ model.penalties_[model.term_kernel_indices_]
    return w @ np.maximum(0, 1 - signs * decision) + price


COUNTS = [(10, 20, 15), (20, 10, 15), (8, 30, 7), (12, 12, 12), (5, 6, 7, 9), (10, 30), (15, 15)]


@pytest.mark.parametrize("solver", ["column-generation", "lp", "coordinate-descent"])
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_the_objective_is_that_of_the_intercept(counts, solver):
    X, y = sample(counts)
    model = VotedKernelClassifier(
        Gaussian((0.3,)), l1_penalty=10.0, fit_intercept=True, solver=solver
    ).fit(X, y)
    assert len(model.support_) == 0
    expected = class_objectives(model, X, y, np.ones(len(y)))
    np.testing.assert_allclose(model.class_objectives_, expected, rtol=1e-12)
    assert model.objective_ == pytest.approx(expected.sum(), rel=1e-12)
    assert model.stop_reason_ == "optimal"
    assert model.dual_gap_ <= 1e-6 * model.objective_
    names, sizes = np.unique(y, return_counts=True)
    predicted = set(model.predict(X))
    assert len(predicted) == 1
    assert sizes[list(names).index(predicted.pop())] == max(sizes)


@pytest.mark.parametrize("class_weight", [{"a": 5.0}, {"c": 4.0}, "balanced"])
def test_weights_decide_which_class_is_the_heaviest(class_weight):
    X, y = sample((10, 20, 15))
    s = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = VotedKernelClassifier(
        Gaussian((0.3,)), l1_penalty=10.0, fit_intercept=True, class_weight=class_weight
    ).fit(X, y, s)
    mass = np.array([s[y == name].sum() for name in model.classes_])
    if class_weight == "balanced":
        factors = 1 / mass
    else:
        factors = np.array([class_weight.get(name, 1.0) for name in model.classes_])
        assert (model.predict(X) == model.classes_[np.argmax(mass * factors)]).all()
    weights = s * factors[np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(
        model.class_objectives_, class_objectives(model, X, y, weights), rtol=1e-9
    )


def test_some_problems_with_terms_and_some_without():
    # One class is far from the others, which are the same to every kernel.
    random = np.random.default_rng(0)
    X = random.standard_normal((90, 2))
    X[60:] += 8
    y = np.repeat(["a", "b", "c"], [25, 35, 30])
    model = VotedKernelClassifier(
        Gaussian((0.1,)), complexity_penalty=0.0, l1_penalty=0.1, fit_intercept=True
    ).fit(X, y)
    has_terms = (model.term_weights_ != 0).any(axis=1)
    assert has_terms.any()
    assert not has_terms.all()
    expected = class_objectives(model, X, y, np.ones(len(y)))
    np.testing.assert_allclose(model.class_objectives_, expected, rtol=1e-9)


@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_paths_report_the_same(counts):
    X, y = sample(counts)
    options = {"complexity_penalty": 1e-3, "fit_intercept": True}
    path = voted_kernel_path(
        X, y, Polynomial((1, 2)), complexity_penalties=[1e-3], l1_penalties=[10.0, 0.05],
        fit_intercept=True,
    )  # fmt: skip
    model = VotedKernelClassifier(Polynomial((1, 2)), l1_penalty=10.0, **options).fit(X, y)
    np.testing.assert_array_equal(path.intercepts[0, 0], model.intercept_)
    np.testing.assert_allclose(path.objectives[0, 0], model.class_objectives_, rtol=1e-12)


def test_searches_predict_the_heaviest_class():
    X, y = sample((10, 20, 15))
    search = VotedKernelClassifierCV(
        Gaussian((0.3,)), complexity_penalties=[10.0], l1_penalties=[10.0], fit_intercept=True, cv=3
    ).fit(X, y)
    assert set(search.predict(X)) == {"b"}
    assert search.best_score_ == pytest.approx(20 / 45, abs=0.02)


def test_without_an_intercept_the_objective_is_that_of_no_vote():
    X, y = sample((10, 20, 15))
    model = VotedKernelClassifier(Gaussian((0.3,)), l1_penalty=10.0).fit(X, y)
    np.testing.assert_allclose(model.class_objectives_, 1.0)
    np.testing.assert_allclose(model.intercept_, (2 * np.array([10, 20, 15]) - 45) / 45)
    assert set(model.predict(X)) == {"b"}
