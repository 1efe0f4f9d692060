"""Cases whose behaviour was decided beforehand, one section each."""

import warnings

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from sklearn.exceptions import ConvergenceWarning
from support.oracles import PlainProblem, by_linprog

from votedkernels import Gaussian, Polynomial, Precomputed, Similarity, VotedKernelClassifier
from votedkernels.datasets import load_breastcancer


def linear(A, B):
    return A @ B.T


def family_name(family):
    return type(family).__name__


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(60) > 0.4, "up", "down")
    return X, y


def quiet_fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def assert_same_model(first, second, X):
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    np.testing.assert_array_equal(first.term_weights_, second.term_weights_)
    np.testing.assert_array_equal(first.term_kernel_indices_, second.term_kernel_indices_)
    np.testing.assert_array_equal(first.penalties_, second.penalties_)
    assert first.objective_ == second.objective_


# -- penalties so large that a = 0 -------------------------------------------------------


def test_large_penalties_give_the_constant_of_the_heavier_class(table):
    X, y = table
    heavier = "up" if np.mean(y == "up") > 0.5 else "down"
    with pytest.warns(UserWarning, match="no kernel gets a weight"):
        model = VotedKernelClassifier(l1_penalty=1e9).fit(X, y)
    assert len(model.support_) == 0
    assert model.objective_ == pytest.approx(1.0, rel=1e-13)
    assert model.dual_gap_ == pytest.approx(0.0, abs=1e-13)
    assert np.ptp(model.decision_function(X)) == 0
    assert set(model.predict(X)) == {heavier}
    np.testing.assert_array_equal(model.predict(X) == "up", model.decision_function(X) > 0)


def test_large_penalties_with_an_intercept_cost_twice_the_lighter_class(table):
    X, y = table
    lighter = min(np.mean(y == "up"), np.mean(y == "down"))
    with pytest.warns(UserWarning, match="no kernel gets a weight"):
        model = VotedKernelClassifier(l1_penalty=1e9, fit_intercept=True).fit(X, y)
    assert model.objective_ == pytest.approx(2 * lighter, rel=1e-12)
    assert model.dual_gap_ <= 1e-6 * model.objective_
    assert len(set(model.predict(X))) == 1


def test_large_penalties_with_three_classes_predict_the_heaviest():
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.repeat([0, 1, 2], [5, 9, 6])
    with pytest.warns(UserWarning, match="no kernel gets a weight"):
        model = VotedKernelClassifier(l1_penalty=1e9).fit(X, y)
    assert set(model.predict(X)) == {1}


def test_threshold_of_the_empty_vote_is_exact(table):
    X, y = table
    signs = np.where(y == "up", 1.0, -1.0)
    K = (X @ X.T + 1) ** 2
    threshold = np.abs(signs @ K).max() / len(y)
    model = VotedKernelClassifier(Polynomial((2,), gamma=1.0), complexity_penalty=0.0, tol=1e-10)
    # The sum has rounding errors of its own, so the threshold is met to a few ulps.
    above = quiet_fit(model.set_params(l1_penalty=threshold * (1 + 1e-14)), X, y)
    assert (len(above.support_), above.objective_) == (0, pytest.approx(1.0, rel=1e-13))
    below = quiet_fit(model.set_params(l1_penalty=threshold * 0.999), X, y)
    assert len(below.support_) >= 1
    assert below.objective_ < 1


# -- lambda = beta = 0 -------------------------------------------------------------------


def test_no_penalty_warns_that_the_solution_is_not_unique(table):
    X, y = table
    with pytest.warns(UserWarning, match="not unique, and nothing is proved"):
        VotedKernelClassifier(Polynomial((1, 2)), complexity_penalty=0.0, l1_penalty=0.0).fit(X, y)


def test_no_penalty_on_separable_data_proves_that_nothing_is_lost():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    model = VotedKernelClassifier(Polynomial((1,)), complexity_penalty=0.0, l1_penalty=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y)
    assert model.objective_ == 0
    assert model.dual_gap_ == 0
    np.testing.assert_array_equal(model.predict(X), y)


def test_no_penalty_on_overlapping_data_solves_and_proves_nothing():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [3.0]])
    y = np.array([-1, 1, -1, 1, 1])
    model = VotedKernelClassifier(
        Polynomial((1,), gamma=1.0), complexity_penalty=0.0, l1_penalty=0.0
    )
    with (
        pytest.warns(ConvergenceWarning, match="gap of 1,.*nothing can be proved"),
        pytest.warns(UserWarning, match="not unique"),
    ):
        model.fit(X, y)
    plain = PlainProblem([X @ X.T + 1], y, np.full(5, 0.2), np.zeros(1))
    assert model.objective_ == pytest.approx(by_linprog(plain), rel=1e-9)
    assert model.dual_bound_ == 0


def test_no_penalty_on_samples_that_contradict_each_other_is_proved():
    # u = w on the pair cancels in every column, so the dual value is its weight.
    X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    model = VotedKernelClassifier(Polynomial((1,)), complexity_penalty=0.0, l1_penalty=0.0)
    quiet_fit(model, X, [0, 1, 1, 1])
    assert model.objective_ == pytest.approx(0.5, rel=1e-12)
    assert model.dual_bound_ == pytest.approx(0.5, rel=1e-12)


# -- weights summing below 1 -------------------------------------------------------------


def test_weights_that_sum_below_one_warn(table):
    X, y = table
    weights = np.full(len(y), 1 / (2 * len(y)))
    with pytest.warns(UserWarning, match="weights count repetitions"):
        VotedKernelClassifier().fit(X, y, sample_weight=weights)


def test_weights_that_sum_to_more_do_not_warn(table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VotedKernelClassifier().fit(X, y, sample_weight=np.full(len(y), 0.5))


# -- equal-length lists of tokens, sets, tuples as samples -------------------------------


def overlap(A, B):
    assert isinstance(A, list)
    assert isinstance(B, list)
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_equal_length_collections_stay_objects(kind):
    texts = ["red big", "red old", "blue big", "blue old", "red new", "blue new"]
    samples = [kind(text.split()) for text in texts]
    y = np.array([1, 1, 0, 0, 1, 0])
    seen = set()

    def remembering(A, B):
        seen.update(type(thing) for thing in [*A, *B])
        return overlap(A, B)

    model = VotedKernelClassifier(Similarity(remembering), l1_penalty=1e-3).fit(samples, y)
    assert seen == {kind}
    assert not hasattr(model, "n_features_in_")
    assert isinstance(model.support_vectors_, list)
    assert all(type(thing) is kind for thing in model.support_vectors_)
    np.testing.assert_array_equal(model.predict(samples), y)
    assert model.predict([kind(["red", "odd"])]) == [1]


def test_strings_stay_strings_with_their_trailing_nulls():
    samples = ["a\0", "a\0\0", "b", "b\0"] * 2
    seen = set()

    def remembering(A, B):
        seen.update(A)
        return np.array([[1.0 if a[0] == b[0] else 0.0 for b in B] for a in A])

    y = np.array([1, 1, 0, 0] * 2)
    VotedKernelClassifier(Similarity(remembering)).fit(samples, y)
    assert seen == set(samples)


def test_equal_length_numeric_lists_of_a_table_kernel_are_a_table():
    model = VotedKernelClassifier(Polynomial((1,))).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert model.n_features_in_ == 2


# -- one class, no samples, NaN or inf in X ----------------------------------------------


@pytest.mark.parametrize("kernels", [None, Gaussian(), Similarity(linear)], ids=family_name)
def test_one_class_is_an_error(kernels):
    with pytest.raises(ValueError, match="contains only one class"):
        VotedKernelClassifier(kernels).fit(np.eye(3), [1, 1, 1])


def test_one_class_left_by_the_weights_is_an_error():
    with pytest.raises(ValueError, match="only one class"):
        VotedKernelClassifier().fit(np.eye(3), [0, 1, 1], sample_weight=[0, 1, 1])


def test_no_samples_is_an_error():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        VotedKernelClassifier().fit(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        VotedKernelClassifier(Similarity(overlap)).fit([], [])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "kernels", [None, Gaussian(), Precomputed(), Similarity(linear)], ids=family_name
)
def test_nan_and_inf_in_the_table_are_errors(kernels, value):
    X = np.eye(4)
    model = VotedKernelClassifier(kernels).fit(X, [0, 0, 1, 1])
    X[1, 2] = value
    word = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        VotedKernelClassifier(kernels).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        model.predict(X)


# -- kernel returns NaN, inf, wrong shape, an integer dtype ------------------------------


def broken(value):
    def crooked(A, B):
        K = linear(A, B)
        K[0, -1] = value
        return K

    return crooked


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_kernel_that_returns_nan_or_inf_is_named(table, value):
    X, y = table
    with pytest.raises(ValueError, match=r"kernel crooked returned -?(nan|inf)"):
        VotedKernelClassifier(Similarity(broken(value))).fit(X, y)


@pytest.mark.parametrize(
    "function",
    [lambda A, B: linear(A, B).T[:-1], lambda A, B: linear(A, B)[0], lambda A, B: 1.0],
    ids=["transposed", "one row", "a number"],
)
def test_kernel_of_wrong_shape_is_named(table, function):
    X, y = table
    with pytest.raises(ValueError, match=r"kernel bent returned an array of shape"):
        VotedKernelClassifier(Similarity(function, name="bent")).fit(X, y)


def test_kernel_that_breaks_at_prediction_is_named(table):
    X, y = table
    broken_now = []

    def moody(A, B):
        return linear(A, B) * (np.nan if broken_now else 1.0)

    model = VotedKernelClassifier(Similarity(moody)).fit(X, y)
    broken_now.append(True)
    with pytest.raises(ValueError, match=r"kernel moody returned nan"):
        model.predict(X)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int64, bool, np.float32])
def test_kernel_of_integers_equals_that_of_floats(table, dtype):
    X, y = table
    floats = Similarity(lambda A, B: (np.abs(linear(A, B)) > 1).astype(float))
    integers = Similarity(lambda A, B: (np.abs(linear(A, B)) > 1).astype(dtype))
    first = VotedKernelClassifier(floats).fit(X, y)
    second = VotedKernelClassifier(integers).fit(X, y)
    assert_same_model(first, second, X)
    assert second.term_weights_.dtype == np.float64


def test_unsigned_distances_of_rapidfuzz_do_not_wrap():
    words = ["kitten", "mitten", "bitten", "sitting", "apple", "ample", "maple", "pale"]
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0])

    def distance(A, B):
        return cdist(A, B, scorer=Levenshtein.distance, dtype=np.uint32)

    def minus_distance(A, B):
        return -distance(A, B).astype(float)

    assert distance(words, words).dtype == np.uint32
    # A negated distance is the same kernel with weights of the other sign.
    first = VotedKernelClassifier(Similarity(distance)).fit(words, y)
    second = VotedKernelClassifier(Similarity(minus_distance)).fit(words, y)
    np.testing.assert_allclose(
        first.decision_function(words), second.decision_function(words), rtol=1e-9
    )
    assert np.abs(first.decision_function(words)).max() < 100


# -- overflow of a high degree -----------------------------------------------------------


def test_overflow_names_the_degree_and_the_largest_base_value():
    X = np.array([[1e30], [-1e30], [2e30], [3e30]])
    expected = r"polynomial\(degree=5\) overflows.*9e\+60.*scale X.*leave out degrees above 4"
    with pytest.raises(ValueError, match=expected):
        VotedKernelClassifier(Polynomial((1, 4, 5, 9), gamma=1.0)).fit(X, [0, 1, 0, 1])


def test_overflow_at_prediction_is_an_error_too():
    X = np.array([[-1.0], [1.0], [2.0], [3.0]])
    model = VotedKernelClassifier(Polynomial((9,), gamma=1.0)).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"polynomial\(degree=9\) overflows.*scale X"):
        model.predict(1e200 * X)


def test_the_cure_that_an_overflow_names_works():
    X = 1e30 * np.random.default_rng(0).standard_normal((30, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    model = VotedKernelClassifier(Polynomial((1, 5))).fit(X, y)
    assert model.score(X, y) == 1


# -- duplicate rows ----------------------------------------------------------------------


def test_duplicate_rows_are_one_column():
    X, y = load_breastcancer(return_X_y=True)
    distinct = len(np.unique(X, axis=0))
    assert len(X) - distinct > 200
    model = VotedKernelClassifier(Polynomial((1, 2, 3)), complexity_penalty=1e-2).fit(X, y)
    assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_)
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)


def test_duplicate_rows_give_the_same_support_in_every_run_and_order():
    X, y = load_breastcancer(return_X_y=True)
    model = VotedKernelClassifier(Polynomial((1, 2, 3)), complexity_penalty=1e-2)
    first = quiet_fit(model, X, y)
    support, vectors = first.support_, {tuple(row) for row in first.support_vectors_}
    decision = first.decision_function(X)
    again = quiet_fit(model, X, y)
    np.testing.assert_array_equal(again.support_, support)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = quiet_fit(model, X[order], y[order])
    assert {tuple(row) for row in shuffled.support_vectors_} == vectors
    np.testing.assert_allclose(shuffled.decision_function(X), decision, rtol=1e-10)


def test_duplicate_rows_of_both_classes_are_one_column():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
    model = VotedKernelClassifier(Gaussian((1.0,))).fit(X, [0, 1, 0, 0, 1])
    assert len(np.unique(model.support_vectors_)) == len(model.support_)


# -- sample_weight -----------------------------------------------------------------------

FAMILIES = {
    "polynomial": Polynomial((1, 2, 3)),
    "gaussian": Gaussian((0.3, 3.0)),
    "similarity": Similarity(linear),
}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("complexity", ["auto", "massart"])
@pytest.mark.parametrize("family", FAMILIES)
def test_weight_two_equals_the_row_twice(table, family, complexity, fit_intercept):
    X, y = table
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    model = VotedKernelClassifier(
        FAMILIES[family], complexity=complexity, fit_intercept=fit_intercept
    )
    weighted = quiet_fit(model, X, y, sample_weight=counts)
    attributes = vars(weighted).copy()
    repeated = quiet_fit(
        VotedKernelClassifier(**model.get_params(deep=False)),
        np.repeat(X, counts, axis=0),
        np.repeat(y, counts),
    )
    assert attributes["n_iter_"] == repeated.n_iter_
    assert_same_model(weighted, repeated, X)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("complexity", ["auto", "massart"])
@pytest.mark.parametrize("family", FAMILIES)
def test_weight_zero_equals_the_row_removed(table, family, complexity, fit_intercept):
    X, y = table
    X = X.copy()
    alive = np.random.default_rng(1).random(len(y)) < 0.6
    X[~alive] *= 50  # would change scale, complexity and centres if it took part
    model = VotedKernelClassifier(
        FAMILIES[family], complexity=complexity, fit_intercept=fit_intercept
    )
    weighted = quiet_fit(model, X, y, sample_weight=alive.astype(float))
    removed = quiet_fit(VotedKernelClassifier(**model.get_params(deep=False)), X[alive], y[alive])
    assert_same_model(weighted, removed, X[alive])
    assert alive[weighted.support_].all()


def test_weight_two_equals_the_row_twice_in_a_precomputed_kernel(table):
    X, y = table
    K = np.tanh(linear(X, X) - 0.2)
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    # New rows at the end, so that the first of each group keep their places.
    rows = np.concatenate([np.arange(len(y)), *[np.flatnonzero(counts > c) for c in (1, 2)]])
    weighted = quiet_fit(VotedKernelClassifier(Precomputed()), K, y, sample_weight=counts)
    repeated = quiet_fit(VotedKernelClassifier(Precomputed()), K[np.ix_(rows, rows)], y[rows])
    np.testing.assert_array_equal(
        weighted.decision_function(K), repeated.decision_function(K[:, rows])
    )
    np.testing.assert_array_equal(weighted.penalties_, repeated.penalties_)


@pytest.mark.parametrize("seed", range(5))
def test_weight_zero_equals_the_row_removed_in_a_precomputed_kernel(seed):
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], 10)
    # Few distinct values, so that living rows and columns are equal but for their dead entries.
    points = rng.integers(0, 4, 20)
    K = rng.standard_normal((4, 4))[np.ix_(points, points)]
    alive = np.ones(20, bool)
    alive[rng.choice(20, 6, replace=False)] = False
    alive[:2] = True
    K[~alive] = rng.standard_normal((np.sum(~alive), 20))
    K[:, ~alive] = rng.standard_normal((20, np.sum(~alive)))
    weighted = quiet_fit(VotedKernelClassifier(Precomputed()), K, y, alive.astype(float))
    removed = quiet_fit(VotedKernelClassifier(Precomputed()), K[np.ix_(alive, alive)], y[alive])
    np.testing.assert_allclose(weighted.penalties_, removed.penalties_, rtol=1e-13)
    np.testing.assert_array_equal(
        weighted.decision_function(K), removed.decision_function(K[:, alive])
    )


def test_weights_scale_the_complexity_as_repetitions_do(table):
    X, y = table
    model = VotedKernelClassifier(Gaussian((1.0,)))
    once = quiet_fit(model, X, y).complexities_
    four_times = quiet_fit(model, X, y, sample_weight=np.full(len(y), 4.0)).complexities_
    np.testing.assert_allclose(four_times, once / 2, rtol=1e-13)


@pytest.mark.parametrize("weights", [-1.0, np.nan, np.inf])
def test_impossible_weights_are_errors(table, weights):
    X, y = table
    s = np.ones(len(y))
    s[3] = weights
    with pytest.raises(ValueError, match=r"sample_weight|Negative|NaN|infinity"):
        VotedKernelClassifier().fit(X, y, sample_weight=s)


# -- float32 input -----------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_float32_is_computed_in_float64(table, family):
    X, y = table
    X32 = X.astype(np.float32)
    first = quiet_fit(VotedKernelClassifier(FAMILIES[family]), X32, y)
    second = quiet_fit(VotedKernelClassifier(FAMILIES[family]), X32.astype(np.float64), y)
    assert_same_model(first, second, X32)
    assert first.decision_function(X32).dtype == np.float64
    assert first.support_vectors_.dtype == np.float64


# -- constant features -------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.1, 0.7, 1e-8, 1e8, 1 / 3])
@pytest.mark.parametrize("kernels", [Polynomial(), Gaussian()], ids=family_name)
def test_constant_table_has_scale_one(kernels, value):
    # The variance of a constant is zero, not what rounding leaves of it.
    X = np.full((7, 3), value)
    weights = np.array([1.0, 1.3, 0.9, 1.1, 1.7, 1.0, 0.6])
    family = kernels.fit(X, weights)
    assert (family.gamma_ if isinstance(family, Polynomial) else family.unit_) == 1


def test_constant_table_predicts_the_heavier_class():
    X, y = np.full((7, 3), 0.7), np.array([0, 1, 1, 0, 1, 1, 0])
    weights = np.array([1.0, 1.3, 0.9, 1.1, 1.7, 1.0, 0.6])
    model = quiet_fit(VotedKernelClassifier(), X, y, sample_weight=weights)
    assert set(model.predict(X)) == {1}
