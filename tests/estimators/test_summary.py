"""Summaries: true, aligned, and safe to show."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_absolute_error, mean_pinball_loss
from support.paths import ROOT
from support.saved_models import SIGNS, THREE, WORD_LABELS, WORDS, X, fit

from votedkernels import (
    Gaussian,
    Polynomial,
    Spectrum,
    Threshold,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotedKernelRegressor,
    load_model,
    read_summary,
    save_model,
)


def test_rules_are_listed_with_the_names_of_their_features(tmp_path):
    frame = pd.DataFrame({"age": X[:, 0], "weight": X[:, 1]})
    kernels = [("wide", Gaussian(0.1)), ("cut", Threshold())]
    model = VotedKernelClassifier(kernels, l1_penalty=0.01)
    model.fit(frame, frame["weight"] > np.median(frame["weight"]))
    save_model(model, tmp_path / "m.safetensors")
    for summary in (model.summary(), load_model(tmp_path / "m.safetensors").summary()):
        assert "cut: threshold(weight)" in [name for name, *_ in summary.kernels]
    assert "cut: threshold(x1)" in model.kernel_names_
    model.fit(frame.to_numpy(), frame["weight"] > np.median(frame["weight"]))
    assert "cut: threshold(x1)" in [name for name, *_ in model.summary().kernels]


def test_it_says_what_the_model_has():
    model = fit([Polynomial((1, 2)), Gaussian()], y=THREE)
    summary = model.summary(X, THREE)
    facts = summary.facts
    assert facts["model"] == "VotedKernelClassifier"
    assert facts["classes"] == "high, low, middle"
    assert facts["features"] == "3"
    assert facts["rows"] == str(len(X))
    assert facts["support vectors"] == str(len(model.support_))
    assert facts["terms"] == str(model.term_weights_.shape[1])
    assert "default for this number of rows" in facts["penalties"]
    assert facts["objective"].endswith("of it above the optimum (optimal)")
    assert facts["probabilities"] == "no"
    n_wrong = int((model.predict(X) != THREE).sum())
    assert facts["training error"] == f"{n_wrong / len(X):.4g}"
    assert facts["error on given rows"] == f"{n_wrong / len(X):.4f} ({n_wrong} of {len(X)})"
    shares = [float(share.rstrip("%")) for _, share, _, _ in summary.kernels]
    assert sum(shares) == pytest.approx(100.0, abs=0.5)
    assert shares == sorted(shares, reverse=True)
    assert sum(int(terms) for _, _, terms, _ in summary.kernels) == model.term_weights_.shape[1]
    assert {name for name, *_ in summary.kernels} <= set(model.kernel_names_)


def test_where_the_penalties_come_from():
    given = fit(Gaussian(), complexity_penalty=0.1, l1_penalty=0.01).summary().facts
    assert given["penalties"] == "complexity 0.1, l1 0.01 (given)"
    grid = {"complexity_penalties": [0.1], "l1_penalties": [0.01], "cv": 2}
    searched = VotedKernelClassifierCV(Gaussian(), **grid).fit(X, SIGNS).summary().facts
    assert searched["penalties"] == "complexity 0.1, l1 0.01 (chosen by cross-validation)"
    assert searched["cross-validation"].startswith("accuracy 0.")
    assert searched["cross-validation"].endswith("in 2 folds")


def test_a_search_tells_its_setting():
    model = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=2, committee=3).fit(X, SIGNS)
    facts = model.summary().facts
    assert "committee of 3" in facts["cross-validation"]
    assert model.best_params_["kernel"] in facts["cross-validation"]
    assert facts["probabilities"] == "yes"
    assert "above the optimum" in facts["relaxed"]


@pytest.mark.parametrize("y", [SIGNS, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize(
    "options", [{}, {"relaxation": "auto"}, {"fit_intercept": True, "l1_penalty": 10.0}]
)
def test_the_training_error_is_that_of_the_model(y, options):
    repeated = np.r_[np.arange(len(X)), 3, 3, 5]
    weights = np.linspace(1.0, 2.0, len(repeated))
    rows, labels = X[repeated], y[repeated]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the largest penalty leaves a constant
        model = VotedKernelClassifier(Gaussian(), **options).fit(rows, labels, weights)
    assert model.n_samples_fit_ == len(repeated)
    wrong = np.average(model.predict(rows) != labels, weights=weights)
    assert model.training_error_ == pytest.approx(wrong, abs=1e-12)


def test_the_training_error_of_searches_and_regressors():
    search = VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=2).fit(X, THREE)
    assert search.training_error_ == pytest.approx(np.mean(search.predict(X) != THREE))
    target = X[:, 0] * X[:, 1]
    for relaxation in (None, "auto"):
        model = VotedKernelRegressor(Gaussian(), relaxation=relaxation).fit(X, target)
        expected = mean_absolute_error(target, model.predict(X))
        assert model.training_error_ == pytest.approx(expected, rel=1e-9)
        assert "(mean absolute error)" in model.summary().facts["training error"]
    model = VotedKernelRegressor(Gaussian(), loss="quantile", quantiles=[0.2, 0.5]).fit(X, target)
    losses = [
        mean_pinball_loss(target, votes, alpha=quantile)
        for quantile, votes in zip(model.quantiles, model.predict_quantiles(X).T, strict=True)
    ]
    assert model.training_error_ == pytest.approx(np.mean(losses), rel=1e-9)
    assert model.summary().facts["training error"].endswith("(pinball loss)")


def test_older_files_say_what_they_know():
    folder = ROOT / "tests" / "persistence" / "models"
    for name in ("v1-gaussian", "v1-search"):
        facts = load_model(folder / f"{name}.safetensors").summary().facts
        assert not {"rows", "training error", "cross-validation"} & facts.keys()
        assert "support vectors" in facts


def test_it_is_the_same_from_a_file(tmp_path):
    model = fit(Spectrum((1, 2)), WORDS, WORD_LABELS)
    save_model(model, tmp_path / "m.safetensors")
    assert str(load_model(tmp_path / "m.safetensors").summary()) == str(model.summary())
    assert "features" not in model.summary().facts


def test_a_search_from_a_file_still_says_how_its_penalties_were_chosen(tmp_path):
    grid = {"complexity_penalties": [0.1], "l1_penalties": [0.01], "cv": 2}
    model = VotedKernelClassifierCV(Gaussian(), **grid).fit(X, SIGNS)
    save_model(model, tmp_path / "m.safetensors")
    facts = load_model(tmp_path / "m.safetensors").summary().facts
    expected = model.summary().facts
    for name in ("penalties", "rows", "training error", "cross-validation"):
        assert facts[name] == expected[name]
    header = read_summary(tmp_path / "m.safetensors")
    assert header["n_rows"] == len(X)
    assert header["training_error"] == model.training_error_
    assert header["cross_validation"] == expected["cross-validation"]
    save_model(load_model(tmp_path / "m.safetensors"), tmp_path / "again.safetensors")
    assert load_model(tmp_path / "again.safetensors").summary().facts == facts


def test_lines_are_aligned_and_html_is_escaped():
    model = fit(Gaussian((1.0,)), y=np.where(SIGNS > 0, "<i>", "b"))
    lines = str(model.summary()).splitlines()
    start = lines[0].index("Voted")
    facts = lines[: lines.index("")]
    assert all(line[start - 1] == " " and line[start] != " " for line in facts)
    html = model.summary()._repr_html_()
    assert "<i>" not in html
    assert "&lt;i&gt;" in html


def test_many_classes_are_shortened_and_an_empty_model_has_no_kernels():
    y = np.arange(40) % 10
    model = fit(Gaussian(), y=y, l1_penalty=10.0)
    assert model.summary().facts["classes"].endswith(", ... (10 classes)")
    assert model.summary().kernels == []
    assert "kernel" not in str(model.summary())
    with pytest.raises(NotFittedError):
        VotedKernelClassifier().summary()
