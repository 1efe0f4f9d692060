import time

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from votedkernels import Gaussian, Polynomial, Similarity, VotedKernelClassifier
from votedkernels.exceptions import FitLimitError


def dot(A, B):
    return A @ B.T


def letters(A, B):
    return np.array([[len(set(a) & set(b)) / len(set(b)) for b in B] for a in A])


@pytest.fixture
def table():
    X = np.random.default_rng(0).standard_normal((40, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, 0)


WORDS = ["stone", "rock", "pebble", "cliff", "river", "brook", "creek", "stream"]
KINDS = np.array(["solid"] * 4 + ["liquid"] * 4)


def test_equals_the_family_of_the_same_kernel(table):
    X, y = table
    function = Similarity(lambda A, B: rbf_kernel(A, B, gamma=0.5), positive_definite=True)
    first = VotedKernelClassifier(function, tol=1e-10).fit(X, y)
    second = VotedKernelClassifier(Gaussian((0.5,), unit=1.0), tol=1e-10).fit(X, y)
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-9)
    np.testing.assert_array_equal(first.support_, second.support_)


def test_first_argument_is_the_rows_and_second_the_centres(table):
    X, y = table
    shapes = set()

    def remembering(A, B):
        shapes.add((len(A), len(B)))
        return dot(A, B)

    model = VotedKernelClassifier(Similarity(remembering), centers=X[:7]).fit(X, y)
    assert {b for _, b in shapes} == {7}
    assert sum(a for a, _ in shapes) >= 40
    shapes.clear()
    model.predict(X[:3])
    # Only centres that have a weight are evaluated.
    assert shapes == {(3, len(model.support_))}


def test_learns_from_a_list_of_strings():
    model = VotedKernelClassifier(Similarity(letters)).fit(WORDS, KINDS)
    assert model.score(WORDS, KINDS) == 1
    assert set(model.support_vectors_) <= set(WORDS)
    assert model.predict(["rocks"]) == ["solid"]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda w: np.array(w, dtype=object)])
def test_forms_of_lists_give_the_same_model(form):
    expected = VotedKernelClassifier(Similarity(letters)).fit(WORDS, KINDS)
    model = VotedKernelClassifier(Similarity(letters)).fit(form(WORDS), KINDS)
    np.testing.assert_array_equal(
        model.decision_function(form(WORDS)), expected.decision_function(WORDS)
    )


def test_asymmetric_functions_keep_their_direction():
    samples = ["a", "ab", "abc", "b", "bc", "c"]
    assert letters(["a"], ["abc"]) != letters(["abc"], ["a"])
    y = np.array([1, 1, 1, 0, 0, 0])
    model = VotedKernelClassifier(Similarity(letters)).fit(samples, y)
    terms = [samples[i] for i in model.support_[model.term_support_indices_]]
    by_hand = letters(samples, terms) @ model.term_weights_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(samples), by_hand, rtol=1e-12)


def test_several_functions_vote_together():
    def length(A, B):
        return np.array([[float(len(a) == len(b)) for b in B] for a in A])

    model = VotedKernelClassifier([Similarity(letters), Similarity(length)]).fit(WORDS, KINDS)
    assert model.kernel_names_ == ["letters", "length"]
    assert model.score(WORDS, KINDS) == 1


def test_stands_beside_other_families_on_tables(table):
    X, y = table
    model = VotedKernelClassifier([Polynomial((2,)), Similarity(dot)]).fit(X, y)
    assert model.kernel_names_ == ["polynomial(degree=2)", "dot"]
    assert model.n_features_in_ == 3


def test_strings_beside_a_kernel_of_tables_are_an_error():
    with pytest.raises(ValueError, match="Gaussian needs a table of numbers"):
        VotedKernelClassifier([Similarity(letters), Gaussian()]).fit(WORDS, KINDS)


def test_names(table):
    X, y = table
    assert VotedKernelClassifier(Similarity(dot)).fit(X, y).kernel_names_ == ["dot"]
    named = VotedKernelClassifier(Similarity(dot, name="inner")).fit(X, y)
    assert named.kernel_names_ == ["inner"]


def test_a_value_above_the_declared_bound_is_an_error(table):
    X, y = table
    with pytest.raises(ValueError, match=r"kernel dot returned .* above its declared bound=0.5"):
        VotedKernelClassifier(Similarity(dot, bound=0.5)).fit(X, y)
    VotedKernelClassifier(Similarity(dot, bound=1e3)).fit(X, y)


@pytest.mark.parametrize("value", [np.nan, np.inf, None, "much"])
def test_a_pair_without_a_similarity_is_named(value):
    def by_length(a, b):
        return value if "orange" in (a, b) else float(len(a) == len(b))

    words = ["orange", *WORDS[1:]]
    expected = r"(?s)by_length returned .* for the sample '.*' and the centre '.*'"
    with pytest.raises(ValueError, match=expected) as caught:
        VotedKernelClassifier(Similarity(by_length, pairwise=True)).fit(words, KINDS)
    assert "orange" in str(caught.value)


def test_an_error_in_the_function_comes_with_the_pair():
    model = VotedKernelClassifier(Similarity(lambda a, b: len(a) / len(b), pairwise=True))
    with pytest.raises(ZeroDivisionError) as caught:
        model.fit([*WORDS[:-1], ""], KINDS)
    assert "and the centre ''" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("family", "error", "message"),
    [
        (Similarity("rbf"), TypeError, "function of Similarity must be callable"),
        (Similarity(dot, bound=0.0), ValueError, "bound of Similarity must be a positive"),
        (Similarity(lambda A, B: dot(A, B) * 1j, name="odd"), ValueError, "kernel odd.*complex"),
        (Similarity(lambda A, B: dot(A, B).astype(str), name="odd"), ValueError, "kernel odd"),
    ],
)
def test_impossible_parameters_are_named(table, family, error, message):
    X, y = table
    with pytest.raises(error, match=message):
        VotedKernelClassifier(family).fit(X, y)


def test_a_single_string_is_not_a_sample():
    with pytest.raises(ValueError, match="single string"):
        VotedKernelClassifier(Similarity(letters)).fit("stone", KINDS[:5])


def test_error_of_the_function_reaches_the_user():
    def failing(A, B):
        raise RuntimeError("no such word")

    with pytest.raises(RuntimeError, match="no such word"):
        VotedKernelClassifier(Similarity(failing)).fit(WORDS, KINDS)


@pytest.mark.parametrize("memory_limit", [None, "40MB"], ids=["kept", "in blocks"])
@pytest.mark.parametrize("form", [np.copy, lambda X: [row.copy() for row in X]])
def test_a_function_that_writes_into_its_input_does_no_harm(table, form, memory_limit):
    X, y = table

    def careful(A, B):
        return (np.array(A) - 1) @ (np.array(B) - 1).T

    def careless(A, B):
        for rows in (A, B):
            for row in rows:
                row -= 1
        return np.array(A) @ np.array(B).T

    mine, centers = form(X), form(X[:20])
    parameters = {"centers": centers, "memory_limit": memory_limit}
    expected = VotedKernelClassifier(Similarity(careful), **parameters).fit(mine, y)
    model = VotedKernelClassifier(Similarity(careless), **parameters).fit(mine, y)
    np.testing.assert_allclose(
        model.decision_function(mine), expected.decision_function(form(X)), rtol=1e-9
    )
    np.testing.assert_array_equal(np.array(mine), X)
    np.testing.assert_array_equal(np.array(centers), X[:20])


@pytest.mark.parametrize("solver", ["column-generation", "coordinate-descent", "lp"])
def test_a_limit_of_time_is_kept_between_calls_of_a_slow_function(table, solver, monkeypatch):
    X, y = table
    calls = []

    def slow(A, B):
        calls.append(len(A))
        time.sleep(0.05)
        return dot(A, B)

    monkeypatch.setattr(Similarity, "rows_at_once", 4)
    model = VotedKernelClassifier(Similarity(slow), time_limit=0.12, solver=solver)
    with pytest.raises(FitLimitError, match="time_limit"):
        model.fit(X, y)
    assert len(calls) <= 4


def jaccard(a, b):
    return len(set(a) & set(b)) / len(set(a) | set(b))


def jaccard_matrix(A, B):
    return np.array([[jaccard(a, b) for b in B] for a in A])


def many_words(n=70):
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcdefgh"), random.integers(2, 9))) for _ in range(n)]
    return words, np.array(["a" in word for word in words])


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_function_of_two_samples_is_the_function_of_two_lists(symmetric):
    X, y = many_words()
    y = y.copy()
    X[1], y[1] = X[0], not y[0]  # the same word with both labels: two rows, one centre
    pairs = Similarity(jaccard, pairwise=True, symmetric=symmetric)
    lists = Similarity(jaccard_matrix)
    first, second = (VotedKernelClassifier(f, tol=1e-9).fit(X, y) for f in (pairs, lists))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    assert first.kernel_names_ == ["jaccard"]


def test_symmetry_halves_the_work():
    X, y = many_words(200)
    X = list(dict.fromkeys(X))
    y = y[: len(X)]
    calls = []

    def counted(a, b):
        calls.append(a)
        return jaccard(a, b)

    for symmetric, most in ((True, 0.6), (False, 1.1)):
        calls.clear()
        family = Similarity(counted, pairwise=True, symmetric=symmetric)
        VotedKernelClassifier(family).fit(X, y)
        assert 0.5 * len(X) ** 2 < len(calls) < most * len(X) ** 2


@pytest.mark.parametrize("pairwise", [True, False])
def test_a_false_promise_of_symmetry_is_noticed(pairwise):
    X, y = many_words()

    def skewed(a, b):
        return len(set(a) & set(b)) / len(set(b))

    function = skewed if pairwise else lambda A, B: np.array([[skewed(a, b) for b in B] for a in A])
    family = Similarity(function, name="skewed", pairwise=pairwise, symmetric=True)
    with pytest.raises(ValueError, match=r"kernel skewed is declared symmetric.*symmetric=False"):
        VotedKernelClassifier(family).fit(X, y)


def test_a_function_of_two_samples_is_told_about_pairwise(table):
    X, y = table
    with pytest.raises(ValueError, match=r"Similarity\(function, pairwise=True\)"):
        VotedKernelClassifier(Similarity(lambda a, b: float(np.vdot(a[0], b[0])))).fit(X, y)
    with pytest.raises(ValueError, match=r"must return a number.*use Similarity\(function\)"):
        VotedKernelClassifier(Similarity(lambda a, b: np.ones(2), pairwise=True)).fit(X, y)
    with pytest.raises(ValueError, match="pairwise of Similarity must be True or False"):
        VotedKernelClassifier(Similarity(dot, pairwise="yes")).fit(X, y)


def test_progress_of_a_slow_function_is_logged(caplog):
    X, y = many_words()
    with caplog.at_level("DEBUG", "votedkernels"):
        VotedKernelClassifier(Similarity(jaccard, pairwise=True)).fit(X, y)
    assert any("jaccard: 32 of" in record.getMessage() for record in caplog.records)


def test_a_function_gets_few_rows_at_a_time_so_that_ctrl_c_and_limits_need_not_wait_long():
    most = []

    def recorded(A, B):
        most.append(len(A))
        return A @ B.T

    X = np.random.default_rng(0).standard_normal((200, 2))
    VotedKernelClassifier(Similarity(recorded)).fit(X, X[:, 0] > 0)
    assert max(most) <= 32
