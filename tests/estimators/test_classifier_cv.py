import warnings

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votedkernels import (
    Gaussian,
    Local,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.datasets import load_ionosphere, make_waveform

SMALL = {"complexity_penalties": (1e-1, 1e-2, 1e-3), "l1_penalties": (1e-2, 1e-4)}
KERNELS = Polynomial((1, 2))


@pytest.fixture(scope="module")
def data():
    X, y = load_ionosphere(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_grid_search(data, scoring, weighted):
    X, y = data
    cv = StratifiedKFold(3)
    ours = VotedKernelClassifierCV(KERNELS, **SMALL, cv=cv, scoring=scoring, tol=1e-9)
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    ours.fit(X, y, weight)
    theirs = GridSearchCV(
        VotedKernelClassifier(KERNELS, tol=1e-9),
        {
            "complexity_penalty": SMALL["complexity_penalties"],
            "l1_penalty": SMALL["l1_penalties"],
        },
        cv=cv,
        scoring=scoring,
    )
    if weighted:
        # Grid search weighs scores only where metadata routing is on.
        with sklearn.config_context(enable_metadata_routing=True):
            theirs.estimator.set_fit_request(sample_weight=True)
            theirs.estimator.set_score_request(sample_weight=True)
            if scoring:
                scorer = sklearn.metrics.get_scorer(scoring)
                theirs.scoring = scorer.set_score_request(sample_weight=True)
            theirs.fit(X, y, sample_weight=weight)
    else:
        theirs.fit(X, y)
    expected = {
        (p["complexity_penalty"], p["l1_penalty"]): score
        for p, score in zip(
            theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True
        )
    }
    for p, score in zip(
        ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True
    ):
        assert score == pytest.approx(expected[p["complexity_penalty"], p["l1_penalty"]], abs=1e-9)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-9)


def test_refit_is_the_plain_classifier(data):
    X, y = data
    model = VotedKernelClassifierCV(KERNELS, **SMALL).fit(X, y)
    plain = VotedKernelClassifier(
        KERNELS, complexity_penalty=model.complexity_penalty_, l1_penalty=model.l1_penalty_
    ).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    fitted = {name for name in vars(plain) if name.endswith("_")}
    assert fitted <= set(vars(model))


def test_best_takes_the_larger_penalties_of_equal_scores(data):
    X, y = data
    model = VotedKernelClassifierCV(KERNELS, **SMALL).fit(X, y)
    results = model.cv_results_
    equal = results["mean_test_score"] >= results["mean_test_score"].max() - 1e-12
    assert equal[model.best_index_]
    largest = max(
        (p["complexity_penalty"], p["l1_penalty"])
        for p, chosen in zip(results["params"], equal, strict=True)
        if chosen
    )
    assert (model.complexity_penalty_, model.l1_penalty_) == largest


def test_sparse_takes_the_fewest_support_vectors_within_one_standard_error(data):
    X, y = data
    model = VotedKernelClassifierCV(KERNELS, prefer="sparse").fit(X, y)
    results = model.cv_results_
    top = results["mean_test_score"].argmax()
    error = results["std_test_score"][top] / np.sqrt(model.n_splits_ - 1)
    near = results["mean_test_score"] >= results["mean_test_score"][top] - error - 1e-9
    assert near[model.best_index_]
    assert results["mean_n_support"][model.best_index_] == results["mean_n_support"][near].min()


def test_alternatives_of_kernels_and_complexity_are_searched(data):
    X, y = data
    model = VotedKernelClassifierCV(
        {"lines": Polynomial((1,)), "bumps": Gaussian((0.1, 1.0))},
        complexity={"trace": "trace", "massart": "massart"},
        **SMALL,
        cv=3,
    ).fit(X, y)
    assert len(model.cv_results_["params"]) == 2 * 2 * 6
    assert model.best_params_["kernels"] == "bumps"
    assert model.kernel_names_[0].startswith("gaussian")
    alone = VotedKernelClassifierCV(
        Gaussian((0.1, 1.0)), complexity=model.best_params_["complexity"], **SMALL, cv=3
    ).fit(X, y)
    assert alone.best_score_ == pytest.approx(model.best_score_, abs=1e-12)


def test_the_radius_of_local_complexity_can_be_searched(data):
    X, y = data
    radii = {0.01: Local(0.01), 1.0: Local(1.0)}
    model = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), complexity=radii, **SMALL, cv=3)
    model.fit(X, y)
    chosen = radii[model.best_params_["complexity"]]
    alone = VotedKernelClassifier(
        Gaussian((0.1, 1.0)),
        complexity=chosen,
        complexity_penalty=model.complexity_penalty_,
        l1_penalty=model.l1_penalty_,
    ).fit(X, y)
    np.testing.assert_allclose(model.complexities_, alone.complexities_, rtol=1e-12)
    assert len(model.cv_results_["params"]) == 2 * 6


# joblib gives the results of "multiprocessing" all at once, those of the others one by one.
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_processes_give_the_same_model(data, backend):
    X, y = data
    one = VotedKernelClassifierCV(KERNELS, **SMALL).fit(X, y)
    with joblib.parallel_config(backend):
        two = VotedKernelClassifierCV(KERNELS, **SMALL, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], atol=1e-12
    )
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_strings_and_precomputed_matrices_are_cross_validated(data):
    words = [f"{'ab' if i % 3 else 'ba'}{i * 7919 % 1000}" for i in range(60)]
    y = [i % 3 > 0 for i in range(60)]

    def same_start(A, B):
        return np.array([[float(a[0] == b[0]) + 0.1 * (a < b) for b in B] for a in A])

    strings = VotedKernelClassifierCV(Similarity(same_start), **SMALL, cv=3).fit(words, y)
    assert strings.best_score_ == 1.0
    matrix = VotedKernelClassifierCV(Precomputed(), **SMALL, cv=3).fit(same_start(words, words), y)
    np.testing.assert_allclose(
        matrix.cv_results_["mean_test_score"], strings.cv_results_["mean_test_score"]
    )


def test_groups_reach_the_splitter():
    X, y = make_waveform(90, random_state=0)
    groups = np.arange(90) // 10
    model = VotedKernelClassifierCV(KERNELS, **SMALL, cv=GroupKFold(3))
    assert model.fit(X, y, groups=groups).n_splits_ == 3
    with pytest.raises(TypeError, match="unexpected arguments"):
        model.fit(X, y, group=groups)


def test_metadata_are_routed_to_splitter_and_scorer():
    X, y = make_waveform(90, random_state=0)
    groups, weight = np.arange(90) // 10, np.linspace(0.5, 2, 90)
    seen = []

    def recall(y_true, y_pred, sample_weight=None):
        seen.append(sample_weight)
        return recall_score(y_true, y_pred, sample_weight=sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(recall).set_score_request(sample_weight=True)
        model = VotedKernelClassifierCV(KERNELS, **SMALL, cv=GroupKFold(3), scoring=scorer)
        model.fit(X, y, sample_weight=weight, groups=groups)
    assert len(seen) == 3 * 6
    assert all(w is not None and len(w) == 30 for w in seen)


def test_without_refit_there_are_results_and_no_model(data):
    X, y = data
    model = VotedKernelClassifierCV(KERNELS, **SMALL, refit=False).fit(X, y)
    assert model.best_score_ > 0.8
    assert not hasattr(model, "support_")


def test_it_works_in_pipelines_and_is_cloned(data):
    X, y = data
    model = VotedKernelClassifierCV([("poly", KERNELS)], **SMALL, cv=3)
    model.set_params(kernels__poly__degrees=(1, 3))
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    assert pipeline[-1].kernel_names_ == [
        "poly: polynomial(degree=1)",
        "poly: polynomial(degree=3)",
    ]


def test_a_search_whose_fits_stop_early_says_so(data):
    X, y = data
    model = VotedKernelClassifierCV(KERNELS, **SMALL, max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="fits in the search stopped early"):
        model.fit(X, y)
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prefer": "fast"}, "prefer must be"),
        ({"complexity_penalties": [np.nan]}, "complexity_penalties must hold finite numbers"),
        ({"l1_penalties": 1.0}, "l1_penalties must be a non-empty list"),
        ({"kernels": {}}, "kernels is an empty dict"),
        ({"complexity": {}}, "complexity is an empty dict"),
        ({"tol": -1}, "tol must be"),
        ({"memory_limit": "lots"}, "memory_limit must be"),
    ],
)
def test_bad_parameters_are_refused_before_work(params, message):
    X, y = make_waveform(40, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            VotedKernelClassifierCV(**params).fit(X, y)
