"""What a notebook shows of a model."""

import re
from html import unescape

import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from votedkernels import (
    EditDistance,
    Gaussian,
    Polynomial,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.datasets import make_waveform

LISTS_ATTRIBUTES = parse_version(sklearn.__version__) >= parse_version("1.9")
needs_listing = pytest.mark.skipif(
    not LISTS_ATTRIBUTES, reason="scikit-learn lists no fitted attributes before 1.9"
)


@pytest.fixture(scope="module")
def data():
    return make_waveform(60, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    families = [("poly", Polynomial((1, 2, 3))), ("rbf", Gaussian((1.0, 3.0)))]
    return VotedKernelClassifier(families, complexity_penalty=1e-4).fit(*data)


@pytest.fixture(scope="module")
def search(data):
    return VotedKernelClassifierCV(
        complexity_penalties=[1e-2, 1e-3], l1_penalties=[1e-2], cv=3
    ).fit(*data)


def attributes(estimator):
    """Name and value of each row of the table of fitted attributes, without tags."""
    table = estimator._repr_html_().partition("Fitted attributes")[2].partition("</table>")[0]
    rows = {}
    for row in re.findall(r"<tr class=\"default\">(.*?)</tr>", table, flags=re.DOTALL):
        cells = [
            " ".join(unescape(re.sub(r"<[^>]+>", " ", cell)).split())
            for cell in re.findall(r"<td.*?>(.*?)</td>", row, flags=re.DOTALL)
        ]
        rows[cells[0]] = cells[-1]
    return rows


def test_every_model_has_its_diagram(data, model, search):
    for estimator in (model, search, make_pipeline(StandardScaler(), model)):
        page = estimator._repr_html_()
        assert "sk-container" in page
        assert type(model).__name__ in page
    assert "VotedKernelClassifier" in VotedKernelClassifier()._repr_html_()
    strings = VotedKernelClassifier(EditDistance()).fit(["<b>", "&c", "d", "e"], [0, 1, 0, 1])
    page = strings._repr_html_()
    assert "sk-container" in page
    assert "'<b>'" not in page  # escaped


def test_text_for_terminals_stays(model):
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "kernel_names_" not in repr(model)


@needs_listing
def test_names_of_kernels_can_be_read(model):
    shown = attributes(model)["kernel_names_"]
    assert "'poly: polynomial(degree=1)'" in shown
    assert "'rbf: gaussian(gamma=3)'" in shown


@needs_listing
def test_small_penalties_are_not_shown_as_nothing(model):
    shown = attributes(model)["penalties_"]
    numbers = [float(number) for number in shown.strip("[]").split(",")]
    assert numbers == pytest.approx(model.penalties_, rel=1e-2)
    assert min(numbers) > 0


@needs_listing
def test_the_certificate_is_there(model):
    shown = attributes(model)
    assert float(shown["objective_"]) == pytest.approx(model.objective_, rel=1e-3)
    assert float(shown["dual_gap_"]) == pytest.approx(model.dual_gap_, rel=1e-3)
    assert shown["stop_reason_"] == "'optimal'"


@needs_listing
def test_the_choice_of_a_search_can_be_read(search):
    shown = attributes(search)
    assert shown["best_params_"] == repr(search.best_params_)
    assert shown["cv_results_"].startswith("2 candidates: params, param_complexity_penalty,")
    assert len(shown["cv_results_"]) < 400


@needs_listing
def test_many_names_are_shortened_to_some(data):
    page = attributes(VotedKernelClassifier(Polynomial(range(1, 41)), tol=0.5).fit(*data))
    assert "..." in page["kernel_names_"]
    assert "'polynomial(degree=40)'" in page["kernel_names_"]
    assert len(page["kernel_names_"]) < 300


@needs_listing
def test_showing_a_model_does_not_change_it(model):
    before = dict(vars(model))
    model._repr_html_()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert isinstance(model.kernel_names_, list)


def test_a_fitted_model_shows_its_summary(data, model, search):
    for estimator in (model, search):
        table = estimator.summary()._repr_html_()
        assert estimator._repr_html_().endswith(table)
        assert estimator._repr_mimebundle_()["text/html"].endswith(table)
    unfitted = VotedKernelClassifier()
    assert "support vectors" not in unfitted._repr_html_()
    unused = VotedKernelClassifierCV(Gaussian((1.0,)), cv=2, refit=False).fit(*data)
    assert "<th>support vectors</th>" not in unused._repr_mimebundle_()["text/html"]
