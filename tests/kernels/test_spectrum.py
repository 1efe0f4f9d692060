"""Spectrum kernels: cosines of counted pieces, by definition."""

import pickle
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from support.words import words

from votedkernels import (
    EditDistance,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    load_model,
    save_model,
    voted_kernel_path,
)
from votedkernels.kernels import LocalColumns

STRINGS = ["", "a", "ab", "abab", "banana", "ananas", "naïve  text", "ANANAS", "xyz"]


def naive(x, c, n):
    left, right = (Counter(s[i : i + n] for i in range(len(s) - n + 1)) for s in (x, c))
    product = sum(count * right[piece] for piece, count in left.items())
    norms = [sum(count**2 for count in counts.values()) ** 0.5 for counts in (left, right)]
    return product / (norms[0] * norms[1]) if product else 0.0


def naive_values(X, centers, lengths):
    return np.array([[[naive(x, c, n) for c in centers] for x in X] for n in lengths])


def fitted(lengths=(1, 2, 3), X=STRINGS):
    return Spectrum(lengths).fit(X, np.ones(len(X)))


@pytest.mark.parametrize("lengths", [(1, 2, 3), (3, 1), (2,), 2])
def test_values_are_those_of_the_definition(lengths):
    family = fitted(lengths)
    base = family.base(STRINGS, STRINGS)
    values = np.stack([family.member(base, k) for k in range(family.n_kernels)])
    expected = naive_values(STRINGS, STRINGS, np.atleast_1d(lengths))
    np.testing.assert_allclose(values, expected, atol=1e-13)
    assert family.names_ == [f"spectrum(length={n})" for n in np.atleast_1d(lengths)]


def pieces(text, n, *, blended, positions, ends):
    text = f"\0{text}\1" if ends else text
    lengths = range(1, n + 1) if blended else [n]
    return Counter(
        (start if positions else 0, text[start : start + length])
        for length in lengths
        for start in range(len(text) - length + 1)
    )


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("blended", [False, True])
def test_options_are_those_of_the_definition(blended, positions, ends):
    options = {"blended": blended, "positions": positions, "ends": ends}
    family = Spectrum((1, 3), **options).fit(STRINGS, np.ones(len(STRINGS)))
    new = ["bandana", "", "an", "xyz"]
    for rows in (STRINGS, new):
        base = family.base(rows, STRINGS)
        for k, n in enumerate((1, 3)):
            left, right = ([pieces(s, n, **options) for s in part] for part in (rows, STRINGS))
            products = np.array([[sum(a[p] * b[p] for p in a) for b in right] for a in left])
            norms = [np.array([sum(c**2 for c in a.values()) for a in p]) for p in (left, right)]
            scale = np.sqrt(np.outer(*norms))
            expected = products / np.where(scale > 0, scale, 1)
            np.testing.assert_allclose(family.member(base, k), expected, atol=1e-13)
    own = family.base(STRINGS, STRINGS)
    diagonals = np.stack([np.diagonal(family.member(own, k)) for k in range(2)])
    np.testing.assert_allclose(family.diagonal(STRINGS, STRINGS), diagonals, atol=1e-13)
    assert np.linalg.eigvalsh(family.member(own, 1)).min() > -1e-12


def test_names_tell_the_options():
    family = Spectrum((2, 30), blended=True, ends=True).fit(STRINGS, np.ones(len(STRINGS)))
    assert family.names_ == [
        "spectrum(length=2, blended, ends)",
        "spectrum(length=30, blended, ends)",
    ]


def test_is_positive_definite_and_bounded():
    X, _ = words(60)
    family = fitted(X=[*X, "", "a"])
    base = family.base([*X, "", "a"], [*X, "", "a"])
    for k in range(3):
        assert np.linalg.eigvalsh(family.member(base, k)).min() > -1e-12
    assert base.max() <= 1
    assert family.is_positive_definite


def test_new_strings_do_not_depend_on_the_training_strings():
    new = ["bandana", "zzz", "", "ab", "§"]
    expected = naive_values(new, STRINGS, (1, 2, 3))
    for training in (STRINGS, ["other"]):
        base = fitted(X=training).base(new, STRINGS)
        np.testing.assert_allclose(np.moveaxis(base, 2, 0), expected, atol=1e-13)
        turned = fitted(X=training).base(STRINGS, new)
        np.testing.assert_allclose(turned, base.transpose(1, 0, 2), atol=1e-13)


def test_strings_too_short_have_no_similarity_even_to_themselves():
    family = fitted()
    assert not family.base([""], STRINGS).any()
    np.testing.assert_array_equal(family.base(["a"], ["a"])[0, 0], [1, 0, 0])
    np.testing.assert_array_equal(family.diagonal(["", "ab"], None), [[0, 1], [0, 1], [0, 0]])


@pytest.mark.parametrize("lengths", [(1, 2, 3), (2,)])
def test_questions_of_the_gram_agree(lengths):
    X, _ = words(50)
    family = fitted(lengths, X)
    base = family.base(X, X)
    values = np.stack([family.member(base, k) for k in range(family.n_kernels)])
    parts = [family.base(X[:20], X), family.base(X[20:], X)]
    np.testing.assert_allclose(np.concatenate(parts), base, atol=1e-13)
    v = np.random.default_rng(0).standard_normal(50)
    np.testing.assert_allclose(family.correlate(base, v), v @ values, atol=1e-12)
    kernels, centers = np.array([0, family.n_kernels - 1, 0]), np.array([3, 3, 11])
    rows, some = np.array([4, 2, 9]), np.array([1, 3, 5, 11])
    for limit in (0, 2**20):
        gram = LocalColumns([family], X, X, for_bases=limit)
        np.testing.assert_allclose(gram.correlate(v), v @ values, atol=1e-12)
        expected = values[kernels, :, centers].T
        np.testing.assert_allclose(gram.take(kernels, centers), expected, atol=1e-13)
        np.testing.assert_allclose(gram.vote(kernels, centers, v[:3]), expected @ v[:3], atol=1e-13)
        np.testing.assert_allclose(gram.squares(np.abs(v), 0), np.abs(v) @ values**2, atol=1e-12)
        diagonal = np.diagonal(values, axis1=1, axis2=2)
        np.testing.assert_allclose(gram.diagonal(0), diagonal, atol=1e-13)
        part = gram.restricted(rows, some)
        expected = v[:3] @ values[:, rows][:, :, some]
        np.testing.assert_allclose(part.correlate(v[:3]), expected, atol=1e-12)


def test_memory_is_counted_for_every_length():
    X, _ = words(50)
    n_values = len(X) ** 2
    assert LocalColumns([fitted(X=X)], X, X, for_bases=8 * 3 * n_values)._bases[0] is not None
    assert LocalColumns([fitted(X=X)], X, X, for_bases=8 * 3 * n_values - 1)._bases[0] is None
    X, y = words(30)
    message = "memory_limit='20MB' is too small"
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(Spectrum(), memory_limit="20MB").fit(X, y)
    VotedKernelClassifier(Spectrum((2,)), memory_limit="20MB").fit(X, y)


@pytest.mark.parametrize("solver", ["column-generation", "coordinate-descent", "lp"])
def test_solvers_agree(solver):
    X, y = words(50)
    kernels = [Spectrum(), EditDistance()]
    model = VotedKernelClassifier(kernels, solver=solver, tol=1e-5).fit(X, y)
    expected = VotedKernelClassifier(kernels, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    assert model.dual_gap_ <= 1e-5 * model.objective_


@pytest.mark.parametrize("complexity", ["trace", "local", "empirical", "massart"])
def test_complexities(complexity):
    X, y = words(40)
    model = VotedKernelClassifier(Spectrum(), complexity=complexity).fit(X, y)
    assert (model.complexities_ > 0).all()


def test_limited_memory_gives_the_same_model():
    X, y = words(60)
    first = VotedKernelClassifier(Spectrum(), tol=1e-9).fit(X, y)
    training = VotedKernelClassifier(Spectrum(), tol=1e-9, memory_limit=50_331_648 + 1)
    assert training.fit(X, y).objective_ == pytest.approx(first.objective_, rel=1e-9)


def test_stored_models_leave_the_training_strings_behind():
    X, y = words(60)
    new, _ = words(20, seed=3)
    model = VotedKernelClassifier(Spectrum(), l1_penalty=1e-2).fit(X, y)
    stored = pickle.dumps(model)
    silent = [text for text in X if text not in model.support_vectors_]
    assert silent
    assert not any(text.encode() in stored for text in silent)
    again = pickle.loads(stored)
    np.testing.assert_allclose(
        again.decision_function(new), model.decision_function(new), atol=1e-13
    )
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-13)


def test_model_files_keep_the_options(tmp_path):
    X, y = words(20)
    family = [Spectrum((2, 50), blended=True, ends=True), Spectrum((1, 2), positions=True)]
    model = VotedKernelClassifier(family).fit(X, y)
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert loaded.kernel_names_ == model.kernel_names_
    new = ["", "stone", *X]
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))


def test_scikit_learn_manners():
    X, y = words(60)
    flags = {"blended": False, "positions": True, "ends": False}
    assert clone(Spectrum((2, 4), positions=True)).get_params() == {"lengths": (2, 4)} | flags
    search = GridSearchCV(
        VotedKernelClassifier(Spectrum()), {"kernels__lengths": [(1,), (2, 3)]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.8
    grid = {"complexity_penalties": (1e-2, 1e-3), "l1_penalties": (1e-3,)}
    model = VotedKernelClassifierCV(Spectrum(), cv=3, **grid).fit(np.array(X), y)
    assert model.best_score_ > 0.8
    path = voted_kernel_path(X, y, Spectrum(), **grid)
    assert (path.dual_gaps <= 1e-6 * path.objectives).all()


def test_hybrid_norm():
    X, y = words(40)
    model = VotedKernelClassifier(
        Spectrum(), l2_penalty=1e-3, solver="coordinate-descent", tol=1e-4
    ).fit(X, y)
    assert model.dual_gap_ <= 1e-4 * model.objective_


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Spectrum(()), "lengths of Spectrum is empty"),
        (Spectrum((0,)), "lengths of Spectrum must be integers >= 1"),
        (Spectrum((1.5,)), "lengths of Spectrum must be integers >= 1"),
        (Spectrum("two"), "lengths of Spectrum must be integers >= 1"),
        (Spectrum((2, 2)), "repeated"),
        (Spectrum(positions="start"), "positions of Spectrum must be True or False, got 'start'"),
        (Spectrum((1, 50)), r"spectrum\(length=50\) is 0 everywhere.*6 characters"),
    ],
)
def test_impossible_parameters_are_named(family, message):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(family).fit(*words(10))
