import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votedkernels import Gaussian, Polynomial, Precomputed, Similarity, VotedKernelClassifier
from votedkernels.datasets import load_ionosphere, make_waveform
from votedkernels.solvers import CONVERGENT_SOLVERS


@pytest.fixture(scope="module")
def data():
    return make_waveform(150, random_state=0)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2 + 0.2 * rng.standard_normal(120), [-0.3, 0.7])
    return X, np.array(["low", "middle", "top"])[y]


def quiet_fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


# -- what is learned ---------------------------------------------------------------------


def test_ionosphere_is_learned_with_a_proof():
    X, y = load_ionosphere(return_X_y=True)
    model = make_pipeline(StandardScaler(), VotedKernelClassifier(complexity_penalty=1e-2))
    assert cross_val_score(model, X, y, cv=5).mean() > 0.88
    vote = model.fit(X, y)[-1]
    assert vote.stop_reason_ == "optimal"
    assert vote.dual_gap_ <= 1e-6 * vote.objective_
    assert len(vote.support_) < 100


def test_decision_is_the_vote_of_the_terms(data):
    X, y = data
    model = VotedKernelClassifier(Polynomial((1, 2, 3), gamma=0.1), fit_intercept=True).fit(X, y)
    by_hand = np.full(len(X), model.intercept_[0])
    for weight, kernel, row in zip(
        model.term_weights_[0],
        model.term_kernel_indices_,
        model.term_support_indices_,
        strict=True,
    ):
        by_hand += weight * (0.1 * X @ model.support_vectors_[row] + 1) ** (kernel + 1)
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-9, atol=1e-9)


def test_objective_is_that_of_the_model(data):
    X, y = data
    model = VotedKernelClassifier().fit(X, y)
    loss = np.maximum(0, 1 - y * model.decision_function(X)).mean()
    assert model.objective_ == pytest.approx(loss + model.penalties_ @ model.kernel_mass_, rel=1e-9)
    assert model.dual_gap_ == pytest.approx(max(0, model.objective_ - model.dual_bound_), abs=1e-13)


def test_attributes_fit_together(data):
    X, y = data
    model = VotedKernelClassifier([Polynomial((1, 2)), Gaussian((1.0,))]).fit(X, y)
    n_terms = model.term_weights_.shape[1]
    assert model.term_weights_.shape == (1, n_terms)
    assert model.term_kernel_indices_.shape == model.term_support_indices_.shape == (n_terms,)
    assert (model.term_weights_ != 0).all()
    np.testing.assert_array_equal(
        np.unique(model.term_support_indices_), range(len(model.support_))
    )
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert (np.diff(model.support_) > 0).all()
    mass = np.bincount(model.term_kernel_indices_, np.abs(model.term_weights_[0]), minlength=3)
    np.testing.assert_allclose(model.kernel_mass_, mass, rtol=1e-13)
    assert len(model.kernel_names_) == len(model.complexities_) == len(model.penalties_) == 3
    assert model.intercept_.shape == (1,)
    assert model.n_features_in_ == 21
    assert model.n_iter_ >= 1


def test_feature_selection_finds_no_coefficients(data):
    X, y = data
    # SelectFromModel would read coef_ as weights of the features.
    assert not hasattr(VotedKernelClassifier().fit(X, y), "coef_")


def test_fitting_again_forgets_the_first_fit(data, three):
    model = VotedKernelClassifier(Gaussian((1.0,)))
    first = clone(model).fit(*data)
    again = model.fit(*three).fit(*data)
    np.testing.assert_array_equal(again.term_weights_, first.term_weights_)
    np.testing.assert_array_equal(again.classes_, first.classes_)


# -- prediction --------------------------------------------------------------------------


def test_predict_is_the_sign_of_the_decision(data):
    X, y = data
    labels = np.where(y > 0, "yes", "no")
    model = VotedKernelClassifier().fit(X, labels)
    expected = np.where(model.decision_function(X) > 0, "yes", "no")
    np.testing.assert_array_equal(model.predict(X), expected)


def test_predict_is_the_largest_decision(three):
    X, y = three
    model = VotedKernelClassifier().fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (len(X), 3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])
    assert model.score(X, y) > 0.8


def test_predictions_do_not_depend_on_the_block(data):
    X, y = data
    model = VotedKernelClassifier().fit(X, y)
    many = np.tile(X, (40, 1))
    np.testing.assert_allclose(
        model.decision_function(many)[-150:], model.decision_function(X), rtol=1e-10, atol=1e-11
    )


def test_prediction_needs_a_fit(data):
    with pytest.raises(NotFittedError):
        VotedKernelClassifier().predict(data[0])


# -- more than two classes ---------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", list(CONVERGENT_SOLVERS))
def test_one_vs_rest_equals_separate_binary_fits(three, fit_intercept, solver):
    X, y = three
    model = VotedKernelClassifier(
        Polynomial((1, 2, 3)), fit_intercept=fit_intercept, solver=solver, tol=1e-9
    ).fit(X, y)
    for number, label in enumerate(model.classes_):
        binary = clone(model).fit(X, y == label)
        np.testing.assert_allclose(
            model.decision_function(X)[:, number],
            binary.decision_function(X),
            rtol=1e-8,
            atol=1e-10,
        )
        assert model.class_objectives_[number] == pytest.approx(binary.objective_, rel=1e-12)
        assert model.class_dual_bounds_[number] == pytest.approx(binary.dual_bound_, rel=1e-8)


def test_sums_over_the_classes(three):
    model = VotedKernelClassifier().fit(*three)
    assert model.objective_ == pytest.approx(model.class_objectives_.sum(), rel=1e-13)
    assert model.dual_bound_ == pytest.approx(model.class_dual_bounds_.sum(), rel=1e-13)
    assert model.dual_gap_ == pytest.approx(model.class_dual_gaps_.sum(), abs=1e-13)
    assert model.term_weights_.shape[0] == model.intercept_.shape[0] == 3


# -- tables of many kinds ----------------------------------------------------------------


def test_pandas_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(21)])
    model = VotedKernelClassifier().fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(
        model.predict(frame), VotedKernelClassifier().fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


def test_polars_names(data):
    X, y = data
    frame = pl.DataFrame(X, schema=[f"t{i}" for i in range(21)])
    model = VotedKernelClassifier().fit(frame, y)
    assert model.feature_names_in_.tolist() == frame.columns
    # A frame is turned into an array of another memory layout, which rounds differently.
    np.testing.assert_allclose(
        model.decision_function(frame),
        VotedKernelClassifier().fit(X, y).decision_function(X),
        rtol=1e-12,
    )


def test_frames_of_a_similarity_keep_their_names(data):
    X, y = data
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    model = VotedKernelClassifier(Similarity(lambda A, B: A @ B.T)).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("kernels", [Polynomial((1, 2, 3)), Gaussian((0.3, 3.0))])
def test_sparse_input_equals_dense(form, kernels):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 30)) * (rng.random((100, 30)) < 0.2)
    X[50:60] = X[:10]
    y = np.where(X @ rng.standard_normal(30) > 0, 1, 0)
    dense = VotedKernelClassifier(kernels, tol=1e-9).fit(X, y)
    model = VotedKernelClassifier(kernels, tol=1e-9).fit(form(X), y)
    assert model.objective_ == pytest.approx(dense.objective_, rel=2e-9)
    np.testing.assert_array_equal(model.support_, dense.support_)
    np.testing.assert_allclose(
        model.decision_function(form(X)), dense.decision_function(X), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(
        model.decision_function(X), dense.decision_function(X), rtol=1e-6, atol=1e-8
    )
    assert sparse.issparse(model.support_vectors_)


def test_sparse_input_is_refused_where_a_family_takes_none(data):
    X, y = data
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        VotedKernelClassifier(Similarity(lambda A, B: A @ B.T)).fit(sparse.csr_matrix(X), y)


def test_labels_of_any_kind(data):
    X, y = data
    expected = VotedKernelClassifier().fit(X, y).decision_function(X)
    for labels in (y > 0, np.where(y > 0, 7, 3), np.where(y > 0, "b", "a"), (y > 0).tolist()):
        model = VotedKernelClassifier().fit(X, labels)
        np.testing.assert_array_equal(model.decision_function(X), expected)
        assert set(model.predict(X)) <= set(np.unique(labels))


# -- weights of classes ------------------------------------------------------------------


def test_class_weight_multiplies_the_loss_and_not_the_complexity(data):
    X, y = data
    weighted = VotedKernelClassifier(class_weight={1: 3.0}, complexity_penalty=0.01).fit(X, y)
    plain = VotedKernelClassifier(complexity_penalty=0.01).fit(X, y)
    np.testing.assert_array_equal(weighted.complexities_, plain.complexities_)
    f = weighted.decision_function(X)
    w = np.where(y > 0, 3.0, 1.0)
    loss = w @ np.maximum(0, 1 - y * f) / w.sum()
    expected = loss + weighted.penalties_ @ weighted.kernel_mass_
    assert weighted.objective_ == pytest.approx(expected, rel=1e-9)


def test_class_weight_equals_sample_weight_where_complexity_has_no_price(data):
    X, y = data
    parameters = {"complexity_penalty": 0.0, "l1_penalty": 0.1, "tol": 1e-9}
    kernels = Polynomial((1, 2), gamma=0.05)
    first = VotedKernelClassifier(kernels, class_weight={1: 3.0}, **parameters).fit(X, y)
    second = VotedKernelClassifier(kernels, **parameters).fit(
        X, y, sample_weight=np.where(y > 0, 3.0, 1.0)
    )
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-8)


def test_balanced_classes_weigh_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.repeat([0, 1], [50, 10])
    X[y == 1] += 1.0
    balanced = VotedKernelClassifier(Gaussian(), class_weight="balanced", l1_penalty=0.05).fit(X, y)
    given = clone(balanced).set_params(class_weight={0: 60 / 100, 1: 60 / 20}).fit(X, y)
    np.testing.assert_allclose(
        balanced.decision_function(X), given.decision_function(X), rtol=1e-6, atol=1e-8
    )
    plain = clone(balanced).set_params(class_weight=None).fit(X, y)
    assert plain.predict(X).sum() < balanced.predict(X).sum()


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "class_weight must be a dict, 'balanced' or None"),
        ({5: 1.0}, r"The classes, \[5\], in class_weight are not in the data"),
        ({1: -1.0}, "class_weight must hold positive numbers"),
        ({1: np.nan}, "class_weight must hold positive numbers"),
    ],
)
def test_impossible_class_weights(data, class_weight, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(class_weight=class_weight).fit(*data)


# -- centres -----------------------------------------------------------------------------


def test_a_number_of_centers_is_drawn(data):
    X, y = data
    models = [
        quiet_fit(VotedKernelClassifier(centers=10, random_state=seed), X, y) for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(models[0].support_, models[1].support_)
    assert set(models[0].support_) != set(models[2].support_)
    assert all(len(model.support_) <= 10 for model in models)
    np.testing.assert_array_equal(models[0].support_vectors_, X[models[0].support_])


def test_more_centers_than_rows_are_all_rows(data):
    X, y = data
    all_rows = VotedKernelClassifier().fit(X, y)
    model = VotedKernelClassifier(centers=1000, random_state=0).fit(X, y)
    assert model.objective_ == pytest.approx(all_rows.objective_, rel=1e-6)


def test_given_centers(data):
    X, y = data
    centers = np.random.default_rng(0).standard_normal((15, 21))
    model = quiet_fit(VotedKernelClassifier(centers=centers), X, y)
    np.testing.assert_array_equal(model.support_vectors_, centers[model.support_])
    assert model.predict(X[:4]).shape == (4,)


def test_training_rows_given_as_centers_change_nothing(data):
    X, y = data
    model = VotedKernelClassifier(centers=X, tol=1e-9).fit(X, y)
    plain = VotedKernelClassifier(tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-9)
    np.testing.assert_array_equal(model.support_, plain.support_)


def test_centers_of_objects():
    words = ["stone", "rock", "river", "brook"]

    def letters(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A])

    model = VotedKernelClassifier(Similarity(letters), centers=["rock", "creek"])
    quiet_fit(model, words, [1, 1, 0, 0])
    assert set(model.support_vectors_) <= {"rock", "creek"}


@pytest.mark.parametrize(
    ("centers", "message"),
    [(0, "at least 1"), (-3, "at least 1"), (np.ones((2, 5)), "5 features"), (np.ones(21), "2D")],
)
def test_impossible_centers(data, centers, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(centers=centers).fit(*data)


# -- parameters --------------------------------------------------------------------------


def test_grid_search_over_a_family(data):
    X, y = data
    search = GridSearchCV(
        VotedKernelClassifier(Polynomial(gamma=0.05)),
        {"kernels__degrees": [(1,), (1, 2)], "l1_penalty": [1e-1, 1e-3]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.best_estimator_.kernels.degrees == search.best_params_["kernels__degrees"]
    assert len(search.cv_results_["params"]) == 4


def test_grid_search_over_a_named_list(data):
    X, y = data
    kernels = [("poly", Polynomial((1,))), ("gauss", Gaussian((1.0,)))]
    search = GridSearchCV(
        VotedKernelClassifier(kernels),
        {"kernels__poly__degrees": [(1,), (1, 2, 3)], "kernels__gauss": [Gaussian((0.1,))]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    best = search.best_estimator_
    assert best.get_params()["kernels__gauss__gammas"] == (0.1,)
    degrees = search.best_params_["kernels__poly__degrees"]
    assert best.get_params()["kernels__poly__degrees"] == degrees
    assert len(best.kernel_names_) == len(degrees) + 1
    # What the search changes are copies.
    assert kernels[0][1].degrees == (1,)
    assert kernels[1][1].gammas == (1.0,)


def test_grid_search_over_families(data):
    X, y = data
    search = GridSearchCV(
        VotedKernelClassifier(), {"kernels": [None, Gaussian(), [Polynomial((1,)), Gaussian()]]}
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_over_a_precomputed_kernel(data):
    X, y = data
    # The pairwise tag makes the search cut columns too.
    search = GridSearchCV(
        VotedKernelClassifier(Precomputed()), {"l1_penalty": [1.0, 1e-3]}, cv=3
    ).fit(X @ X.T, y)
    assert search.best_score_ > 0.7


@pytest.mark.parametrize(
    ("kernels", "parameters", "message"),
    [
        (None, {"kernels__degrees": (1,)}, "kernels is None; pass a family"),
        (Polynomial(), {"kernels__gammas": (1,)}, "Invalid parameter 'gammas'"),
        (Polynomial(), {"degrees": (1,)}, "Invalid parameter 'degrees'"),
        ([("poly", Polynomial())], {"kernels__gauss__gammas": (1,)}, r"families \['poly'\]"),
        ([("poly", Polynomial())], {"kernels__poly__gammas": (1,)}, "Invalid parameter 'gammas'"),
    ],
)
def test_set_params_names_what_it_cannot_set(kernels, parameters, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(kernels).set_params(**parameters)


def test_parameters_of_a_plain_list_cannot_be_set():
    with pytest.raises((ValueError, AttributeError)):
        VotedKernelClassifier([Polynomial()]).set_params(kernels__degrees=(1,))


def test_set_params_takes_a_family_and_its_parameters_together():
    model = VotedKernelClassifier().set_params(kernels__degrees=(2,), kernels=Polynomial())
    assert model.kernels.degrees == (2,)


def test_clones_share_nothing():
    model = VotedKernelClassifier([("poly", Polynomial((1,)))])
    copy = clone(model).set_params(kernels__poly__degrees=(5,))
    assert model.get_params()["kernels__poly__degrees"] == (1,)
    assert copy.get_params()["kernels__poly__degrees"] == (5,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"complexity_penalty": -1.0},
            "complexity_penalty must be a finite number >= 0 or .auto., got -1.0",
        ),
        ({"l1_penalty": np.nan}, "l1_penalty must be a finite number >= 0"),
        ({"l1_penalty": "small"}, "l1_penalty must be a finite number"),
        ({"tol": -1e-3}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1 or None"),
        ({"max_iter": 2.5}, "max_iter must be"),
        ({"time_limit": -1}, "time_limit must be a number of seconds"),
        ({"time_limit": np.nan}, "time_limit must be"),
        ({"solver": "simplex"}, "solver must be one of 'column-generation', 'lp'"),
        ({"memory_limit": "lots"}, "memory_limit must be a number of bytes or a string such as"),
    ],
)
def test_impossible_parameters_are_named(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(**parameters).fit(*data)


def test_pickled_model_predicts_the_same(data):
    X, y = data
    for kernels in (None, Gaussian(), [("a", Polynomial((1,))), ("b", Gaussian((1.0,)))]):
        model = VotedKernelClassifier(kernels).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        # Kernel values, LPs and training rows stay behind.
        assert len(pickle.dumps(model)) < 20_000 + 2 * model.support_vectors_.nbytes


# -- what is said ------------------------------------------------------------------------


def test_max_iter_warns_with_the_gap(data):
    X, y = data
    model = VotedKernelClassifier(complexity_penalty=1e-5, l1_penalty=1e-6, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"max-iter.*gap of .*above tol=1e-06.*max_iter"):
        model.fit(X, y)
    assert model.stop_reason_ == "max-iter"
    assert model.n_iter_ == 2


def test_a_proved_fit_says_nothing(data, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VotedKernelClassifier().fit(*data)
        VotedKernelClassifier(Polynomial((1, 2)), solver="lp").fit(*data)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("parameters", [{"max_iter": 1}, {"l1_penalty": 1e9}])
def test_warnings_point_at_the_line_that_fits(data, parameters):
    with pytest.warns() as caught:
        VotedKernelClassifier(**parameters).fit(*data)
    assert {w.filename for w in caught} == {__file__}


def test_weights_warning_points_at_the_line_that_fits(data):
    X, y = data
    with pytest.warns(UserWarning, match="count repetitions") as caught:
        VotedKernelClassifier().fit(X, y, sample_weight=np.full(len(y), 1e-3))
    assert {w.filename for w in caught} == {__file__}


def test_rounds_are_logged(data, caplog):
    with caplog.at_level("DEBUG", logger="votedkernels"):
        model = VotedKernelClassifier().fit(*data)
    rounds = [record for record in caplog.records if "round" in record.getMessage()]
    assert len(rounds) == model.n_iter_
    said = [record.progress for record in rounds]
    assert [progress.n_iter for progress in said] == list(range(1, model.n_iter_ + 1))
    assert said[-1].task == "problem 0"
    assert said[-1].relative_gap <= model.tol
    assert caplog.records[-1].progress.n_iter is None
