"""Pipelines in ONNX: the graph decides as the pipeline does, in double precision."""

import warnings

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from support.saved_pipelines import FRAME, GAPS, PIPELINES, THREE, X, Y, decide, fitted, vote

import votedkernels
from votedkernels.onnx import ExportError, to_onnx

EXPORTED = (
    "robust-pca",
    "whitened",
    "gaps",
    "column-numbers",
    "calibrated",
    "isotonic",
    "searched",
)


def run(model, rows):
    """Return the outputs of a graph by name."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    if isinstance(rows, pd.DataFrame):
        types = {entry.name: entry.type for entry in session.get_inputs()}
        assert set(types) <= set(rows.columns)
        feed = {
            name: rows[[name]].to_numpy(dtype=float if "double" in kind else object)
            for name, kind in types.items()
        }
    else:
        feed = {"X": rows}
    names = [entry.name for entry in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def assert_same(model, rows):
    found = run(model, rows)
    name = "scores" if hasattr(model, "decision_function") else "probabilities"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict(rows)
    np.testing.assert_allclose(found[name], decide(model, rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found["label"], expected)
    return found


@pytest.mark.parametrize("name", EXPORTED)
def test_decisions_are_those_of_the_pipeline(name):
    make, rows = PIPELINES[name]
    found = assert_same(make(), rows)
    if name in ("calibrated", "isotonic"):
        assert list(found) == ["label", "probabilities"]


def test_columns_of_numbers_and_text():
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["length", "width"]),
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        (OrdinalEncoder(categories=[["S", "M", "L"]]), ["size"]),
        ("drop", ["note"]),
        remainder="passthrough",
    )
    frame = FRAME.assign(length=FRAME["length"].where(FRAME.index % 7 > 0))
    model = fitted(columns, vote(), X=frame, y=THREE)
    new = frame.assign(colour=frame["colour"].where(frame.index % 5 > 0, "pink"))
    assert_same(model, new)


def test_calibrated_after_an_imputer_with_far_votes():
    """Isotonic curves are flat beyond the votes that they were fitted to."""
    model = fitted(SimpleImputer(), CalibratedClassifierCV(vote(), method="isotonic", cv=2), X=GAPS)
    assert_same(model, 3.0 * GAPS)


def test_a_search_is_exported_as_its_best_estimator():
    search = GridSearchCV(make_pipeline(RobustScaler(), vote()), {"robustscaler": ["passthrough"]})
    assert_same(search.fit(X, Y), X)


def test_to_onnx_is_importable_from_the_top():
    from votedkernels import to_onnx as from_the_top

    assert from_the_top is to_onnx
    with pytest.raises(AttributeError, match="no attribute 'to_nowhere'"):
        _ = votedkernels.to_nowhere


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (PIPELINES["text"][0], "cannot be exported in double precision.*save_model"),
        (PIPELINES["columns"][0], "cannot be exported in double precision.*save_model"),
        (
            lambda: fitted(SimpleImputer(missing_values=0.5), vote()),
            "only if it replaces NaN by numbers",
        ),
    ],
)
def test_what_cannot_be_exported_is_told(make, words):
    with pytest.raises(ExportError, match=words):
        to_onnx(make())
