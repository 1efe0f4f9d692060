"""Data frames as they come: kinds of columns, gaps, new values, and errors that name the column."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from votedkernels import (
    Missing,
    MixedGaussian,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    VotedKernelRegressorCV,
    load_model,
    mixed_kernels,
    save_model,
)
from votedkernels.exceptions import ExportError
from votedkernels.preparation.tables import UNKNOWN, TableCoding

N_ROWS = 120


@pytest.fixture(scope="module")
def frame():
    """Return a table with a column of each kind."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "age": rng.uniform(20, 80, N_ROWS),
        "visits": rng.integers(0, 5, N_ROWS),
        "colour": rng.choice(["red", "green", "blue"], N_ROWS),
        "size": pd.Categorical(rng.choice([36, 38, 40], N_ROWS)),
        "smoker": rng.random(N_ROWS) < 0.5,
        "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N_ROWS), unit="h"),
    })  # fmt: skip
    table.loc[::7, "age"] = np.nan
    table.loc[3::11, "colour"] = None
    return table


@pytest.fixture(scope="module")
def labels(frame):
    """Return labels that depend on a category, a number and a gap."""
    return np.where(
        (frame["colour"] == "red") | (frame["age"] > 60) | frame["age"].isna(), "y", "n"
    )


@pytest.fixture(scope="module")
def model(frame, labels):
    """Return a plain vote."""
    return VotedKernelClassifier(kernels="table").fit(frame, labels)


def test_kinds_of_columns(frame):
    coding = TableCoding.of(frame)
    assert coding.categories == (None, None, ("blue", "green", "red"), (36, 38, 40), None, None)
    matrix = coding.encode(frame)
    np.testing.assert_array_equal(matrix[:, 0], frame["age"])
    assert np.isnan(matrix[3, 2])
    np.testing.assert_array_equal(matrix[:, 4], frame["smoker"].astype(float))
    assert matrix[24, 5] - matrix[0, 5] == pytest.approx(1.0)  # in days
    assert coding.name_of(2, 1.0) == "green"
    assert coding.name_of(0, 1.0) is None


def test_polars_and_nullable_types_are_the_same_table(frame):
    expected = TableCoding.of(frame).encode(frame)
    for other in (pl.from_pandas(frame.assign(size=frame["size"].astype(int))),):
        coding = TableCoding.of(other)
        np.testing.assert_allclose(
            coding.encode(other)[:, [0, 1, 2, 4, 5]], expected[:, [0, 1, 2, 4, 5]]
        )
    nullable = frame.convert_dtypes()
    np.testing.assert_allclose(TableCoding.of(nullable).encode(nullable), expected)
    days = pl.DataFrame({
        "when": [datetime.date(1970, 1, 3), None],
        "long": [datetime.timedelta(hours=12), None],
        "kind": pl.Series(["a", None], dtype=pl.Categorical),
        "none": [None, None],
    })  # fmt: skip
    np.testing.assert_array_equal(TableCoding.of(days).encode(days)[0], [2.0, 0.5, 0.0, np.nan])


def test_objects_that_are_all_numbers_or_all_dates_are_numbers():
    table = pd.DataFrame({
        "mixed numbers": pd.Series([1, 2.5, None, True], dtype=object),
        "dates": pd.Series([datetime.date(1970, 1, 2), None, None, None], dtype=object),
        "long": pd.to_timedelta([1, 2, 3, None], unit="D"),
        "zoned": pd.to_datetime(["1970-01-02"] * 4).tz_localize("UTC"),
        "nothing": pd.Series([None] * 4, dtype=object),
    })  # fmt: skip
    coded = TableCoding.of(table).encode(table)
    np.testing.assert_array_equal(coded[0], [1.0, 1.0, 1.0, 1.0, np.nan])
    np.testing.assert_array_equal(coded[3], [1.0, np.nan, np.nan, 1.0, np.nan])


def test_a_raw_frame_is_learned_and_rules_have_names(frame, labels, model):
    assert model.score(frame, labels) > 0.95
    assert "colour = red" in model.term_rules_
    assert "age is missing" in model.term_rules_
    assert model.dual_gap_ <= 1e-6 * model.objective_


def test_new_categories_and_new_gaps_are_decided(frame, model):
    rows = frame.iloc[:2].copy()
    rows["colour"] = ["violet", None]
    rows["visits"] = [np.nan, 1]
    assert model.table_.encode(rows)[0, 2] == UNKNOWN
    assert np.isfinite(model.decision_function(rows)).all()


def test_files_keep_the_table(frame, model, tmp_path):
    save_model(model, tmp_path / "model.vk")
    again = load_model(tmp_path / "model.vk")
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    assert again.table_ == model.table_
    assert again.term_rules_ == model.term_rules_
    assert again.kernels == "table"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.drop(columns="age"), "now missing:\n- age"),
        (lambda t: t[t.columns[::-1]], "Column 'seen' is the first that is not at its place"),
        (lambda t: t.assign(age="old"), "column 'age' of X holds text, but was numeric in fit"),
        (lambda t: t.assign(colour=1.0), "column 'colour' of X holds numbers, but had categories"),
        (lambda t: t.assign(age=np.inf), "column 'age' of X has infinite values"),
        (lambda t: t.drop(columns=["colour"]).to_numpy(float), "X is not a data frame"),
    ],
)
def test_other_columns_at_prediction_are_named(frame, model, change, reason):
    with pytest.raises(ValueError, match=reason):
        model.predict(change(frame.assign(size=36.0, seen=0.0) if "frame" in reason else frame))


@pytest.mark.parametrize(
    "nothing",
    [
        pd.Series([None] * N_ROWS, dtype=object),
        pd.Series(pd.Categorical([None] * N_ROWS)),
        pl.Series([None] * N_ROWS, dtype=pl.String),
    ],
)
def test_gaps_of_any_type_are_gaps_in_every_column(frame, model, nothing):
    if isinstance(nothing, pd.Series):
        changed = frame.assign(age=nothing, size=nothing)
    else:
        changed = pl.from_pandas(frame.astype({"size": str})).with_columns(age=nothing)
    numbers = model.table_.encode(changed)
    assert np.isnan(numbers[:, list(model.table_.names).index("age")]).all()
    if isinstance(nothing, pd.Series):
        assert np.isnan(numbers[:, list(model.table_.names).index("size")]).all()


def test_a_categorical_column_without_values(frame, labels):
    empty = pd.DataFrame({"none": pd.Categorical([None] * N_ROWS), "age": frame["age"]})
    model = VotedKernelClassifier(Missing([0, 1]), l1_penalty=1e-3).fit(empty, labels)
    assert set(model.term_rules_) <= {"none is missing", "age is missing"}
    assert "none is missing" in model.term_rules_
    with pytest.raises(ValueError, match="'none' of X holds numbers, but had only gaps, as categ"):
        model.predict(empty.assign(none=1.0))


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (["a", 1] * (N_ROWS // 2), "'new' of X mixes values of the types int, str; make it text"),
        ([[1]] * N_ROWS, "'new' of X holds values of type list"),
        ([f"row {i}" for i in range(N_ROWS)], "'new' of X holds text with 120 different values"),
        ([1j] * N_ROWS, "'new' of X holds complex numbers"),
    ],
)
def test_columns_that_no_kernel_can_use_are_named(frame, labels, column, reason):
    with pytest.raises(ValueError, match=reason):
        VotedKernelClassifier(kernels="table").fit(frame.assign(new=column), labels)


@pytest.mark.parametrize(
    ("column", "what", "library"),
    [
        ("age", "has gaps", "pandas"),
        ("age", "has gaps", "polars"),
        ("colour", "holds text", "pandas"),
        ("colour", "holds text", "polars"),
        ("seen", "holds dates or durations", "pandas"),
    ],
)
def test_kernels_that_need_numbers_name_the_column_and_the_way_out(
    frame, labels, column, what, library
):
    numbers, wrong = frame[["visits", "smoker"]], frame[["visits", "smoker", column]]
    renamed = numbers.assign(**{column: 1.0})
    if library == "polars":
        wrong, renamed = pl.from_pandas(wrong), pl.from_pandas(renamed)
    with pytest.raises(
        ValueError, match=f"column '{column}' of X {what}.*, but .* use kernels='table'"
    ):
        VotedKernelClassifier().fit(wrong, labels)
    model = VotedKernelClassifier(l1_penalty=0.01).fit(renamed, labels)
    with pytest.raises(
        ValueError, match=f"column '{column}' of X {what}.*, but .* numbers, as in fit"
    ):
        model.predict(wrong)


def test_other_faults_of_frames_are_reported_as_before(frame, labels):
    numbers = frame[["visits", "smoker"]]
    with pytest.raises(ValueError, match="infinity"):
        VotedKernelClassifier().fit(numbers.assign(more=np.inf), labels)
    model = VotedKernelClassifier(l1_penalty=0.01).fit(numbers, labels)
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame[["visits", "smoker", "colour"]])


def test_negated_numbers_and_swapped_labels(frame, labels, model):
    negated = frame.assign(age=-frame["age"], visits=-frame["visits"])
    other = VotedKernelClassifier(kernels="table").fit(negated, labels)
    decisions = model.decision_function(frame)
    np.testing.assert_allclose(other.decision_function(negated), decisions, atol=1e-6)
    swapped = VotedKernelClassifier(kernels="table").fit(frame, np.where(labels == "y", 0, 1))
    np.testing.assert_allclose(swapped.decision_function(frame), -decisions, atol=1e-6)


def test_the_search_can_do_with_and_without_rules(frame, labels):
    few = {"cv": 3, "committee": 1}
    model = VotedKernelClassifierCV(kernels="table", **few).fit(frame, labels)
    assert set(model.cv_results_["param_kernels"]) == {"with rules", "without rules"}
    assert model.best_params_["kernels"] == "with rules"
    assert model.score(frame, labels) > 0.95
    noise = np.random.default_rng(1).random(N_ROWS) < 0.5
    unsure = VotedKernelClassifierCV(kernels="table", **few).fit(frame, noise)
    assert not any(family.is_coded for family in unsure.kernels_)
    chosen = model.chosen_classifier().fit(frame, labels)
    assert chosen.table_ == model.table_


def test_numbers_are_predicted_from_a_raw_frame(frame):
    target = np.where(frame["colour"] == "red", 3.0, 1.0)
    model = VotedKernelRegressorCV(kernels="table", cv=3).fit(frame, target)
    assert np.abs(model.predict(frame) - target).mean() < 0.2


def test_families_for_a_table(frame):
    kinds = [type(family).__name__ for family in mixed_kernels(frame)]
    assert kinds == ["MixedGaussian", "MixedGaussian", "Threshold", "Categories", "Missing"]
    numbers = mixed_kernels(frame[["visits"]].to_numpy())
    assert [type(family).__name__ for family in numbers] == ["MixedGaussian", "Threshold"]
    model = VotedKernelClassifier(mixed_kernels(frame)).fit(frame, np.arange(N_ROWS) % 2)
    assert model.table_.names == tuple(frame.columns)


def test_tags_and_probabilities(frame, labels):
    tags = VotedKernelClassifier(kernels="table").__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.categorical
    assert not VotedKernelClassifier().__sklearn_tags__().input_tags.categorical
    model = VotedKernelClassifier(kernels="table", probability=True).fit(frame, labels)
    assert model.predict_proba(frame).shape == (N_ROWS, 2)
    with pytest.raises(ValueError, match="while kernels is 'table'"):
        model.set_params(kernels__gammas=(1.0,))


def test_what_is_refused_says_why(frame, labels, model):
    with pytest.raises(TypeError, match="or 'table'"):
        VotedKernelClassifier(kernels="tables").fit(frame, labels)
    with pytest.raises(ValueError, match="could not convert string"):
        VotedKernelClassifier(MixedGaussian()).fit(frame[["colour"]].to_numpy(), labels)
    onnx = pytest.importorskip("votedkernels.onnx")
    with pytest.raises(ExportError, match="categories and gaps"):
        onnx.to_onnx(model)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="does not work with Dask"):
        VotedKernelClassifier(kernels="table").fit(dask.ones((9, 2), chunks=3), dask.arange(9))
