"""Pipelines in model files: every step that can be stored, and what is said of the others."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from support.saved_pipelines import DOCUMENTS, FRAME, PIPELINES, X, Y, decide, fitted, vote

from votedkernels import VotedKernelClassifier, load_model, read_summary, save_model
from votedkernels.persistence.container import read_container
from votedkernels.persistence.steps import STORED
from votedkernels.persistence.trees import NODES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("name", PIPELINES)
def test_a_loaded_pipeline_decides_as_the_saved_one(name, path):
    make, new = PIPELINES[name]
    model = make()
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(decide(loaded, new), decide(model, new))
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    header = read_container(path).header
    save_model(loaded, path)
    assert without_search(read_container(path).header) == without_search(header)
    summary = read_summary(path)
    assert summary["classifier"] == "VotedKernelClassifier"
    assert summary["n_votes"] == {"calibrated": 2, "isotonic": 3}.get(name, 1)


def without_search(header):
    """Return a header, in which a search and the classifier that it chose are the same."""
    return eval(repr(header).replace("VotedKernelClassifierCV", "VotedKernelClassifier"))


def test_every_kind_of_step_is_tested(path):
    text = ""
    for make, _ in PIPELINES.values():
        save_model(make(), path)
        text += repr(read_container(path).header)
    for kind in (*STORED, *NODES):
        assert f"'kind': '{kind}'" in text


def test_parameters_and_steps_are_those_of_the_saved_pipeline(path):
    save_model(PIPELINES["columns"][0](), path)
    columns = load_model(path)[0]
    assert columns.remainder == "passthrough"
    assert [name for name, *_ in columns.transformers] == [
        "numbers", "colours", "sizes", "words", "none",
    ]  # fmt: skip
    assert columns.transformers[0][1][0].strategy == "median"
    sizes = columns.named_transformers_["sizes"]
    assert sizes.categories_[0].tolist() == ["S", "M", "L"]
    assert sizes.categories == [["S", "M", "L"]]
    assert columns.get_feature_names_out()[0] == "numbers__length"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: fitted(StandardScaler(), PolynomialFeatures(2), vote()),
            r"step 'polynomialfeatures', is a PolynomialFeatures.*skops\.io\.dump.*to_onnx",
        ),
        (
            lambda: fitted(HashingVectorizer(), vote(), X=DOCUMENTS, y=[1, 0] * 3),
            "step 'hashingvectorizer', is a HashingVectorizer",
        ),
        (
            lambda: fitted(TfidfVectorizer(tokenizer=str.split), vote(), X=DOCUMENTS, y=[1, 0] * 3),
            "step 'tfidfvectorizer',.*cannot be stored: parameters.tokenizer is",
        ),
        (
            lambda: fitted(OneHotEncoder(min_frequency=9), vote(), X=FRAME[["colour"]]),
            "step 'onehotencoder',.*min_frequency or max_categories",
        ),
    ],
)
def test_what_cannot_be_stored_is_named(make, words, path):
    with pytest.raises(ValueError, match=words):
        save_model(make(), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (
            lambda: fitted(StandardScaler(), LogisticRegression()),
            "Pipeline with LogisticRegression",
        ),
        (
            lambda: GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2).fit(X, Y),
            "got LogisticRegression",
        ),
    ],
)
def test_other_classifiers_are_refused(make, found, path):
    with pytest.raises(TypeError, match=found):
        save_model(make(), path)


def test_own_subclasses_are_not_taken_for_their_bases(path):
    class OwnScaler(RobustScaler):
        pass

    with pytest.raises(ValueError, match="is an OwnScaler"):
        save_model(fitted(OwnScaler(), vote()), path)


def test_nested_pipelines(path):
    inner = make_pipeline(RobustScaler(), VotedKernelClassifier())
    model = Pipeline([("first", StandardScaler()), ("rest", inner)]).fit(X, Y)
    save_model(model, path)
    loaded = load_model(path)
    assert [name for name, _ in loaded["rest"].steps] == ["robustscaler", "votedkernelclassifier"]
    np.testing.assert_array_equal(decide(loaded, X), decide(model, X))
