"""`model_report`: what the page says is true, complete and safe to open."""

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.browser import CHROMIUM, HOSTILE, check_width
from support.saved_models import WORD_LABELS, WORDS

from votedkernels import (
    Gaussian,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    model_report,
)
from votedkernels.datasets import make_waveform

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def data():
    return make_waveform(90, random_state=0)


@pytest.fixture(scope="module")
def searched(data):
    model = make_pipeline(StandardScaler(), VotedKernelClassifierCV(Gaussian((0.1, 1.0)), cv=2))
    model.fit(*data)
    return model, model_report(model, *data, n_folds=3)


def numbers_after(heading, html):
    """The numbers in the table under a caption."""
    table = html.partition(f"<figcaption>{heading}</figcaption>")[2].partition("</table>")[0]
    rows = re.findall(r"<tr>.*?</tr>", table.partition("<tbody>")[2], re.DOTALL)
    return [re.findall(r">([^<>]+)</t[dh]>", row) for row in rows]


def test_errors_are_those_of_cross_validation(data, searched):
    X, y = data
    model, report = searched
    predictions = cross_val_predict(model, X, y, cv=FOLDS)
    assert report.held_out_error == np.mean(predictions != y)
    rows = numbers_after("Held-out rows by class", report.html)
    np.testing.assert_array_equal(
        [[int(cell) for cell in row[1:3]] for row in rows], confusion_matrix(y, predictions)
    )
    assert f"{report.held_out_error:.1%}" in report.html


def test_probabilities_are_those_of_cross_validation(data, searched):
    X, y = data
    model, report = searched
    probabilities = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")
    assert f"Log loss {log_loss(y, probabilities):.3f}" in report.html
    brier = brier_score_loss(y, probabilities[:, 1], pos_label=1)
    assert f"Brier score {2 * brier:.3f}" in report.html


def test_the_sections_of_a_search(data, searched):
    model, report = searched
    for name in ("data", "model", "search", "votes", "held-out", "certificate", "next"):
        assert f'<section id="{name}"' in report.html
        assert f'href="#{name}"' in report.html
    for value in model[-1].summary().facts.values():
        assert value in report.html
    assert report.html.count("<svg viewBox") == 4
    examples = numbers_after("Examples that vote most", report.html)
    assert {int(row[0].removeprefix("row ")) for row in examples} <= set(model[-1].support_)
    labels = np.asarray(data[1])
    assert all(str(labels[int(row[0].removeprefix("row "))]) == row[2] for row in examples)


def test_the_page_needs_nothing_else(searched):
    html = searched[1].html
    assert not re.search(r'(src|href)="(?!#)', html)
    assert "@import" not in html
    assert "url(http" not in html


def test_files_and_notebooks(searched, tmp_path):
    report = searched[1]
    report.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html
    assert report._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert len(repr(report)) < 100


def test_a_plain_fit_with_three_classes_and_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = VotedKernelClassifier(Gaussian((1.0,))).fit(X, y)
    html = model_report(model, X, y, n_folds=2, title="Iris & others").html
    assert "<h1>Iris &amp; others</h1>" in html
    assert [row[0] for row in numbers_after("Features", html)] == list(X.columns)
    assert "penalties were not chosen for these data" in html
    assert "The model has no probabilities" in html
    assert 'id="search"' not in html
    assert "150, of which 1 repeats another row" in html


def test_a_grid_whose_end_was_chosen(data):
    grid = {"complexity_penalties": [10.0, 1e-3], "l1_penalties": [1e-3], "cv": 2}
    model = VotedKernelClassifierCV(Gaussian((1.0,)), **grid).fit(*data)
    html = model_report(model, *data, n_folds=0).html
    assert "at l1 penalty 0.001" in html
    assert "at the end of the grid. Add smaller ones" in html
    assert 'id="held-out"' not in html


def test_what_to_try(data):
    X, y = data
    wide = np.column_stack([X[:, :3], np.full(len(X), 7.0)]) * [1, 1, 1000, 1]
    rare = np.where((np.arange(len(X)) % 9 == 0) & (y > 0), "rare", "usual")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = VotedKernelClassifier(Gaussian((1.0,)), max_iter=1, complexity_penalty=1e-6)
        stopped.fit(wide, rare)
    html = model_report(stopped, wide, rare, n_folds=2).html
    assert "The fit stopped early (max-iter)" in html
    assert "very different spreads" in html
    assert "single value and can be left out: feature 3" in html
    assert "Class rare is rare" in html
    with pytest.warns(UserWarning, match="no kernel gets a weight"):
        empty = VotedKernelClassifier(l1_penalty=100.0).fit(X, y)
    html = model_report(empty, X, y, n_folds=0).html
    assert "No example votes: the model predicts the same class" in html


def test_strings_and_single_rows():
    model = VotedKernelClassifier(Spectrum((1, 2))).fit(WORDS, WORD_LABELS)
    html = model_report(model, WORDS, WORD_LABELS, n_folds=2).html
    assert "Features</figcaption>" not in html
    labels = np.where(np.arange(len(WORDS)) == 0, "one", "other")
    model = VotedKernelClassifier(Spectrum((1, 2))).fit(WORDS, labels)
    assert model_report(model, WORDS, labels).held_out_error is None


def test_progress(data, capsys):
    model = VotedKernelClassifier(Gaussian((1.0,)), verbose=0).fit(*data)
    model_report(model, *data, n_folds=2)
    assert capsys.readouterr().err == ""
    model_report(model, *data, n_folds=2, verbose=1)
    assert re.findall(r"held-out fold (\d) of 2", capsys.readouterr().err) == ["1", "2"]


def test_refusals(data):
    model = VotedKernelClassifier(Gaussian((1.0,))).fit(*data)
    with pytest.raises(ValueError, match="n_folds must be 0 or an integer from 2"):
        model_report(model, *data, n_folds=1)
    with pytest.raises(TypeError, match="model_report needs a fitted VotedKernelClassifier"):
        model_report(StandardScaler(), *data)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_in_a_browser(data, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data
    labels = np.array(HOSTILE)[np.where(y > 0, 0, np.arange(len(y)) % 2 + 1)]
    frame = pandas.DataFrame(X[:, :3], columns=HOSTILE)
    model = VotedKernelClassifier(Gaussian((1.0,)), probability=True).fit(frame, labels)
    page = tmp_path / "r.html"
    model_report(model, frame, labels, n_folds=2, title=HOSTILE[0]).save(page)
    for width in (320, 1280):
        check_width(page, tmp_path, width)
