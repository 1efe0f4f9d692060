"""Edit distances: values by definition, and strings wherever scikit-learn takes samples."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.words import words

from votedkernels import (
    EditDistance,
    Gaussian,
    Similarity,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    voted_kernel_path,
)
from votedkernels.kernels import LocalColumns
from votedkernels.kernels.edit_distance import METRICS

STRINGS = ["", "a", "ab", "ba", "abc", "kitten", "sitting", "ca", "Kitten", "naïve", "a b", "aaaa"]


def naive_edits(x, c, *, substitutions=True, swaps=False):
    """The textbook table of Levenshtein, indel and optimal string alignment distances."""
    d = np.zeros((len(x) + 1, len(c) + 1))
    d[:, 0], d[0, :] = np.arange(len(x) + 1), np.arange(len(c) + 1)
    for i in range(1, len(x) + 1):
        for j in range(1, len(c) + 1):
            replaced = d[i - 1, j - 1] + (0 if x[i - 1] == c[j - 1] else 1 if substitutions else 2)
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, replaced)
            if swaps and i > 1 and j > 1 and x[i - 1] == c[j - 2] and x[i - 2] == c[j - 1]:
                d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)
    return d[-1, -1]


def naive_hamming(x, c):
    return sum(a != b for a, b in zip(x, c, strict=False)) + abs(len(x) - len(c))


NAIVE = {
    "levenshtein": naive_edits,
    "indel": lambda x, c: naive_edits(x, c, substitutions=False),
    "osa": lambda x, c: naive_edits(x, c, swaps=True),
    "hamming": naive_hamming,
}


def fitted(*args, **kwargs):
    return EditDistance(*args, **kwargs).fit(STRINGS, np.ones(len(STRINGS)))


@pytest.mark.parametrize("metric", NAIVE)
def test_values_are_those_of_the_definition(metric):
    distances = np.array([[NAIVE[metric](x, c) for c in STRINGS] for x in STRINGS])
    family = fitted((0.5, 2.0), metric=metric)
    base = family.base(STRINGS, STRINGS)
    assert base.dtype == np.float64
    np.testing.assert_array_equal(base, distances)
    for k, scale in enumerate((0.5, 2.0)):
        np.testing.assert_allclose(family.member(base, k), np.exp(-distances / scale), rtol=1e-13)


@pytest.mark.parametrize("metric", ["levenshtein", "indel", "hamming"])
def test_normalised_distances_are_divided_by_their_largest_value(metric):
    def normalised(x, c):
        largest = len(x) + len(c) if metric == "indel" else max(len(x), len(c))
        return NAIVE[metric](x, c) / max(1, largest)

    expected = np.array([[normalised(x, c) for c in STRINGS] for x in STRINGS])
    family = fitted((0.1,), metric=metric, normalised=True)
    np.testing.assert_allclose(family.base(STRINGS, STRINGS), expected, atol=1e-13)
    similarity = fitted(None, metric=metric)
    base = similarity.base(STRINGS, STRINGS)
    np.testing.assert_allclose(similarity.member(base, 0), 1 - expected, atol=1e-13)
    assert similarity.names_ == [f"1 - normalised {metric}"]


def test_a_swap_with_an_edit_between_tells_the_two_distances_of_damerau_apart():
    for metric, distance in (("damerau-levenshtein", 2), ("osa", 3), ("levenshtein", 3)):
        assert fitted(metric=metric).base(["ca"], ["abc"])[0, 0] == distance


def test_jaro_winkler_by_hand():
    # martha, marhta: 6 matches, one transposition, 3 letters of common prefix.
    jaro = (1 + 1 + 5 / 6) / 3
    family = fitted(None, metric="jaro-winkler")
    value = family.member(family.base(["martha"], ["marhta"]), 0)[0, 0]
    assert value == pytest.approx(jaro + 3 * 0.1 * (1 - jaro), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scales", [(1.0, 3.0), None])
def test_questions_of_the_gram_agree(metric, scales):
    X, _ = words(50)
    family = EditDistance(scales, metric=metric).fit(X, np.ones(50))
    base = family.base(X, X)
    np.testing.assert_array_equal(base, base.T)
    values = np.stack([family.member(base, k) for k in range(family.n_kernels)])
    assert values.min() >= 0
    assert values.max() <= 1
    blocks = np.block([[family.base(X[:20], X[:7]), family.base(X[:20], X[7:])],
                       [family.base(X[20:], X[:7]), family.base(X[20:], X[7:])]])  # fmt: skip
    np.testing.assert_array_equal(blocks, base)
    v = np.random.default_rng(0).standard_normal(50)
    for limit in (0, 2**20):
        gram = LocalColumns([family], X, X, for_bases=limit)
        np.testing.assert_allclose(gram.correlate(v), v @ values, atol=1e-12)
        kernels, centers = np.array([0, family.n_kernels - 1, 0]), np.array([3, 3, 11])
        expected = values[kernels, :, centers].T
        np.testing.assert_array_equal(gram.take(kernels, centers), expected)
        np.testing.assert_allclose(gram.vote(kernels, centers, v[:3]), expected @ v[:3], atol=1e-13)
        np.testing.assert_array_equal(gram.diagonal(0), np.diagonal(values, axis1=1, axis2=2))
    if family.has_fused:
        np.testing.assert_allclose(family.correlate_fused(base.T.copy(), v), v @ values, atol=1e-12)


def test_threads_change_nothing():
    X, y = words(300)
    one, two = (VotedKernelClassifier(EditDistance(), n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_fit_is_certified_and_predicts_new_strings():
    X, y = words(120)
    new, y_new = words(60, seed=1)
    model = VotedKernelClassifier(EditDistance(), tol=1e-8).fit(X, y)
    assert model.dual_gap_ <= 1e-8 * model.objective_
    assert model.score(new, y_new) > 0.9
    assert set(model.support_vectors_) <= set(X)
    assert not hasattr(model, "n_features_in_")


FORMS = {
    "tuple": tuple,
    "array": np.array,
    "array of objects": lambda w: np.array(w, dtype=object),
    "one column": lambda w: np.array(w, dtype=object)[:, None],
    "pandas": pd.Series,
    "pandas, odd index": lambda w: pd.Series(w, index=np.arange(len(w))[::-1] * 3),
    "pandas string": lambda w: pd.Series(w, dtype="string"),
    "pandas category": lambda w: pd.Series(w, dtype="category"),
    "pandas frame": lambda w: pd.DataFrame({"word": w}),
    "polars": lambda w: pl.Series("word", w),
    "polars frame": lambda w: pl.DataFrame({"word": w}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("family", [EditDistance(), Spectrum(), Similarity(lambda A, B: np.array(
    [[float(a[-1] == b[-1]) for b in B] for a in A]))], ids=lambda f: type(f).__name__)  # fmt: skip
def test_forms_of_strings_give_the_same_model(form, family):
    X, y = words(24)
    expected = VotedKernelClassifier(family).fit(X, y).decision_function(X)
    given = FORMS[form](X)
    model = VotedKernelClassifier(family).fit(given, y)
    np.testing.assert_array_equal(model.decision_function(given), expected)


@pytest.mark.parametrize("form", ["array", "pandas", "pandas frame", "polars", "polars frame"])
def test_cross_validation_takes_columns(form):
    X, y = words(40)
    model = VotedKernelClassifier(EditDistance((1.0,)))
    scores = cross_val_score(model, FORMS[form](X), y, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(model, X, y, cv=3))


# -- bad input -----------------------------------------------------------------------------------

BAD = {
    "bytes": ([b"a", b"b"], "bytes at row 0.*decode"),
    "array of bytes": (np.array([b"a", b"b"]), "bytes at row 0.*decode"),
    "number": (["a", 3], "3 of type int at row 1"),
    "list": (["a", ["b"]], "of type list at row 1"),
    "none": (["a", None], "missing value.*at row 1"),
    "nan": (["a", float("nan")], "missing value.*at row 1"),
    "pandas": (pd.Series(["a", None]), "missing value.*at row 1"),
    "pandas string": (pd.Series(["a", None], dtype="string"), "missing value.*at row 1"),
    "polars": (pl.Series(["a", None]), "missing value.*at row 1"),
    "table": (np.zeros((2, 3)), r"table of shape \(2, 3\).*needs one string per row"),
    "numbers": (np.zeros(2), "0.0 of type float at row 0"),
    "column of numbers": (pd.DataFrame({"a": [1.0, 2.0]}), r"table of shape \(2, 1\)"),
    "two columns": (pd.DataFrame({"a": ["x", "y"], "b": ["z", "w"]}), r"table of shape \(2, 2\)"),
    "two columns, polars": (pl.DataFrame({"a": ["x", "y"], "b": ["z", "w"]}), r"shape \(2, 2\)"),
    "one string": ("ab", "single string"),
    "nothing": ([], "0 sample"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("family", [EditDistance(), Spectrum()], ids=["edit", "spectrum"])
def test_what_is_no_string_is_named_with_its_row(family, case):
    X, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(family).fit(X, [0, 1])
    model = VotedKernelClassifier(family).fit(["abcd", "bcda"], [0, 1])
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_empty_strings_are_strings():
    X, y = ["", "ab", "abc", ""], [0, 1, 1, 0]
    model = VotedKernelClassifier(EditDistance((1.0,)), l1_penalty=1e-4).fit(X, y)
    assert model.predict(["", "abcd"]).tolist() == [0, 1]


def test_a_kernel_of_tables_cannot_stand_beside():
    with pytest.raises(ValueError, match="Gaussian needs a table of numbers"):
        VotedKernelClassifier([EditDistance(), Gaussian()]).fit(*words(10))


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (EditDistance(()), "scales of EditDistance is empty"),
        (EditDistance((1.0, 0.0)), "scales of EditDistance must be positive"),
        (EditDistance((1.0, np.nan)), "scales of EditDistance must be positive"),
        (EditDistance("wide"), "scales of EditDistance must be positive"),
        (EditDistance((1.0, 1.0)), "repeated"),
        (EditDistance(metric="cosine"), "metric of EditDistance must be one of 'levenshtein'"),
    ],
)
def test_impossible_parameters_are_named(family, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(family).fit(*words(10))


def test_without_rapidfuzz_the_error_tells_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises(ImportError, match=r"pip install 'votedkernels\[strings\]'"):
        VotedKernelClassifier(EditDistance()).fit(*words(10))


# -- scikit-learn --------------------------------------------------------------------------------


def test_clone_and_pickle():
    X, y = words(40)
    family = clone(EditDistance((2.0,), metric="osa", normalised=True))
    assert family.get_params() == {"scales": (2.0,), "metric": "osa", "normalised": True}
    model = VotedKernelClassifier(family).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_grid_search_and_pipeline():
    X, y = words(60)
    lower = FunctionTransformer(lambda strings: [text.lower() for text in strings])
    pipeline = make_pipeline(lower, VotedKernelClassifier(EditDistance()))
    grid = {"votedkernelclassifier__kernels__scales": [(1.0,), (1.0, 3.0), None]}
    search = GridSearchCV(pipeline, grid, cv=3).fit([text.upper() for text in X], y)
    assert search.best_score_ > 0.8
    named = VotedKernelClassifier([("edit", EditDistance()), ("spectrum", Spectrum())])
    search = GridSearchCV(named, {"kernels__edit__metric": ["indel", "osa"]}, cv=3).fit(X, y)
    assert search.best_estimator_.kernel_names_[0].startswith("edit: ")


def test_probabilities_by_calibration():
    X, y = words(90)
    model = CalibratedClassifierCV(VotedKernelClassifier(EditDistance()), cv=3).fit(X, y)
    p = model.predict_proba(["belia", "belo"])[:, 1]
    assert p[0] > 0.5 > p[1]


def test_cross_validated_penalties_and_path():
    X, y = words(60)
    grid = {"complexity_penalties": (1e-2, 1e-3), "l1_penalties": (1e-2, 1e-3)}
    model = VotedKernelClassifierCV(EditDistance(), cv=3, **grid).fit(pd.Series(X), y)
    assert model.best_score_ > 0.8
    path = voted_kernel_path(X, y, EditDistance(), **grid)
    assert (path.dual_gaps <= 1e-6 * path.objectives).all()
    alone = VotedKernelClassifier(EditDistance(), complexity_penalty=1e-2, l1_penalty=1e-3)
    assert path.objectives[0, 1, 0] == pytest.approx(alone.fit(X, y).objective_, rel=1e-6)


@pytest.mark.parametrize("family", [EditDistance(), Spectrum()], ids=["edit", "spectrum"])
def test_repeated_strings_are_weights(family):
    X, y = words(30)
    weights = np.arange(30) % 3
    repeated = [text for text, w in zip(X, weights, strict=True) for _ in range(w)]
    first = VotedKernelClassifier(family).fit(X, y, weights)
    second = VotedKernelClassifier(family).fit(repeated, np.repeat(y, weights))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_three_classes():
    X, y = words(60)
    y = np.where([text[0] < "l" for text in X], "early", np.where(y == 1, "ia", "o"))
    model = VotedKernelClassifier(EditDistance(metric="hamming")).fit(X, y)
    assert model.decision_function(X).shape == (60, 3)
    assert model.score(X, y) > 0.9


def test_bound_with_centres_of_our_own():
    X, y = words(80)
    centers, _ = words(20, seed=5)
    model = VotedKernelClassifier(EditDistance(), centers=centers).fit(X, y)
    assert model.generalization_bound(X, y).is_guarantee


@pytest.mark.parametrize("normalised", [1, 1e308, None, "no", []])
def test_normalised_is_true_or_false(normalised):
    with pytest.raises(ValueError, match="normalised of EditDistance must be True or False"):
        EditDistance((1.0,), normalised=normalised).fit(["a"], np.ones(1))
