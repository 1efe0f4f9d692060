"""scikit-learn steps before the classifier: which of their attributes a file contains.

Each entry of `STORED` says how a fitted step becomes JSON and arrays, and how it is restored. Where
possible, the step's own ``fit`` is called on an example row, which sets whatever this version of
scikit-learn needs; then the fitted attributes in the file replace those of the example.
scikit-learn checks the parameters. To store another step, add it to `STORED`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ..exceptions import ModelFileError
from .container import Array, Json
from .reading import Arrays, Record, number_to_json
from .rows import rows_from_json, rows_to_json
from .step_values import is_missing, objects_from_json, objects_to_json

#: One row that a step accepts, or a text.
Example = list[Any] | str
Writer = Callable[[Any, dict[str, Array]], dict[str, Json]]
Reader = Callable[[Any, Record, Arrays, int], None]


@dataclass(frozen=True)
class StoredStep:
    """How a step is stored.

    Attributes
    ----------
    kind : its class
    decisive : parameters that affect its results; every file has them
    write : turns a fitted step into JSON, and adds its arrays
    read : sets the fitted attributes of a step, from JSON, arrays and the number of features
    example : returns a row that a fitted step accepts
    not_stored : parameters whose values are restored from the fitted attributes
    """

    kind: Any
    decisive: Sequence[str]
    write: Writer
    read: Reader
    example: Callable[[Any], Example] = field(default=lambda step: [0.0] * step.n_features_in_)
    not_stored: Sequence[str] = ()


def _numeric(shapes: Mapping[str, str], counts: Sequence[str] = ()) -> tuple[Writer, Reader]:
    """Return functions that write and read arrays of numbers.

    ``shapes`` has letters for the lengths of the axes, where n is the number of features. A
    question mark means that the attribute may be None.
    """

    def write(step: Any, arrays: dict[str, Array]) -> dict[str, Json]:
        present = [key for key in shapes if getattr(step, key) is not None]
        arrays.update({key: np.asarray(getattr(step, key)) for key in present})
        numbers = {key: number_to_json(np.max(getattr(step, key))) for key in counts}
        return {"arrays": present, **numbers}

    def read(step: Any, record: Record, arrays: Arrays, n: int) -> None:
        record.expect("arrays", *counts)
        present, lengths = record.texts("arrays"), {"n": n}
        if set(present) - set(shapes) or len(set(present)) < len(present):
            raise record.wrong("arrays", f"some of {', '.join(shapes)}")
        for key, shape in shapes.items():
            if key not in present and "?" not in shape:
                raise record.wrong("arrays", f"a list with {key}")
            value = None
            if key in present:
                letters = shape.rstrip("?")
                value = arrays.take(key, "f", tuple(lengths.get(letter) for letter in letters))
                lengths |= dict(zip(letters, value.shape, strict=True))
            setattr(step, key, value)
        if getattr(step, "scale_", None) is not None and not (step.scale_ != 0).all():
            raise ModelFileError(f"the {type(step).__name__} divides by 0.")
        for key in counts:
            number = record.number(key)
            setattr(step, key, int(number) if number == int(number) else number)

    return write, read


def _read_pca(step: Any, record: Record, arrays: Arrays, n: int) -> None:
    READ_PCA(step, record, arrays, n)
    step.n_components_ = len(step.components_)
    step.n_features_in_ = n


# -- gaps and categories ------------------------------------------------------------------


def _write_imputer(step: Any, arrays: dict[str, Array]) -> dict[str, Json]:
    if step.indicator_ is not None:
        arrays["indicated"] = np.asarray(step.indicator_.features_, dtype=np.int64)
    return {
        "missing": is_missing(step.missing_values),
        "indicator": step.indicator_ is not None,
        "statistics": objects_to_json(step.statistics_, "statistics", arrays),
    }


def _read_imputer(step: Any, record: Record, arrays: Arrays, n: int) -> None:
    record.expect("missing", "indicator", "statistics")
    if record.text("missing") != is_missing(step.missing_values):
        raise record.wrong("missing", "the kind of missing_values")
    statistics = objects_from_json(record.record("statistics"), "statistics", arrays)
    if len(statistics) != n:
        raise record.wrong("statistics", f"{n} values")
    if step.strategy in ("mean", "median") and statistics.dtype.kind != "f":
        raise record.wrong("statistics", "numbers")
    fit_on_example(step, statistics.tolist())
    step.statistics_ = statistics
    if record.flag("indicator") != bool(step.add_indicator):
        raise record.wrong("indicator", "true if add_indicator is")
    if step.indicator_ is not None:
        n_indicated = len(arrays.arrays.get("indicated", ()))
        step.indicator_.features_ = arrays.indices("indicated", n_indicated, n)


def _write_encoder(step: Any, arrays: dict[str, Array]) -> dict[str, Json]:
    if getattr(step, "_infrequent_enabled", False):
        raise ValueError(
            f"a {type(step).__name__} with min_frequency or max_categories cannot be stored in a "
            "model file; group rare categories before the pipeline"
        )
    categories = [
        objects_to_json(values, f"categories.{number}", arrays)
        for number, values in enumerate(step.categories_)
    ]
    drop = getattr(step, "drop", None)
    if drop is not None and not isinstance(drop, str):
        drop = objects_to_json(np.asarray(drop, dtype=object), "drop", arrays)
    return {"automatic": isinstance(step.categories, str), "categories": categories, "drop": drop}


def _read_encoder(step: Any, record: Record, arrays: Arrays, n: int) -> None:
    record.expect("automatic", "categories", "drop")
    categories = [
        objects_from_json(values, f"categories.{number}", arrays)
        for number, values in enumerate(record.records("categories"))
    ]
    if len(categories) != n or not all(map(len, categories)):
        raise record.wrong("categories", f"{n} lists of categories")
    automatic = record.flag("automatic")
    if isinstance(step, OneHotEncoder):
        step.drop = record.value["drop"]
        if type(step.drop) is dict:
            step.drop = objects_from_json(record.record("drop"), "drop", arrays)
    elif not record.is_none("drop"):
        raise record.wrong("drop", "null")
    step.categories = [list(values) for values in categories]
    fit_on_example(step, [values[0] for values in categories])
    step.categories_ = categories
    if automatic:
        step.categories = "auto"


# -- text ---------------------------------------------------------------------------------


def _write_words(step: Any, arrays: dict[str, Array]) -> dict[str, Json]:
    if step.input != "content":
        raise ValueError(
            f"it reads files (input={step.input!r}); only input='content' can be stored"
        )
    words = sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)
    if [step.vocabulary_[word] for word in words] != list(range(len(words))):
        raise ValueError("the vocabulary does not number its words from 0")
    has_idf = isinstance(step, TfidfVectorizer) and step.use_idf
    if has_idf:
        arrays["idf"] = np.asarray(step.idf_)
    return {
        "fixed": bool(step.fixed_vocabulary_),
        "norm": str(getattr(step, "norm", None)),
        "idf": has_idf,
        "words": rows_to_json(words, "words", arrays),
    }


def _read_words(step: Any, record: Record, arrays: Arrays, _n: int) -> None:
    record.expect("fixed", "norm", "idf", "words")
    if record.text("norm") != str(getattr(step, "norm", None)):
        raise record.wrong("norm", "the norm of the parameters")
    if step.input != "content":
        raise ModelFileError("a step reads files, which a model file must not ask for.")
    words = rows_from_json(record.record("words"), "words", arrays)
    if not isinstance(words, list) or len(set(words)) < len(words) or not words:
        raise record.wrong("words", "distinct words")
    numbers = {word: number for number, word in enumerate(words)}
    step.vocabulary = numbers
    with np.errstate(divide="ignore"):
        step.fit(["example"])
    if record.flag("idf") != (isinstance(step, TfidfVectorizer) and step.use_idf):
        raise record.wrong("idf", "true if the step has use_idf")
    if record.flag("idf"):
        step.idf_ = arrays.take("idf", "f", (len(words),))
    if not record.flag("fixed"):
        step.vocabulary, step.fixed_vocabulary_ = None, False
    step.vocabulary_ = numbers


def fit_on_example(step: Any, row: list[Any]) -> None:
    """Fit a step on one row."""
    step.fit(rows_of(row, None))


def rows_of(example: Example, names: Sequence[str] | None) -> Any:
    """Return an example as a table of one row: a data frame if the features have names."""
    if isinstance(example, str):
        return [example]
    if names is not None:
        import pandas as pd

        return pd.DataFrame({name: [value] for name, value in zip(names, example, strict=True)})
    numbers = all(isinstance(value, int | float | np.number) for value in example)
    rows = np.empty((1, len(example)), dtype=float if numbers else object)
    rows[0, :] = example
    return rows


WRITE_PCA, READ_PCA = _numeric(
    {
        "components_": "kn", "mean_": "n", "explained_variance_": "k",
        "explained_variance_ratio_": "k", "singular_values_": "k",
    },
    ("noise_variance_", "n_samples_"),
)  # fmt: skip
SEEN = ("n_samples_seen_",)
CATEGORIES = (
    _write_encoder,
    _read_encoder,
    lambda step: [values[0] for values in step.categories_],
)
WORDS = (
    "analyzer", "binary", "decode_error", "encoding", "input", "lowercase", "ngram_range",
    "strip_accents", "stop_words", "token_pattern", "dtype",
)  # fmt: skip

STORED: dict[str, StoredStep] = {
    entry.kind.__name__: entry
    for entry in (
        StoredStep(
            StandardScaler, ("with_mean", "with_std"),
            *_numeric({"mean_": "n?", "var_": "n?", "scale_": "n?"}, SEEN),
        ),
        StoredStep(
            MinMaxScaler, ("feature_range", "clip"),
            *_numeric(
                dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), "n"),
                SEEN,
            ),
        ),
        StoredStep(MaxAbsScaler, (), *_numeric({"scale_": "n", "max_abs_": "n"}, SEEN)),
        StoredStep(
            RobustScaler, ("with_centering", "with_scaling"),
            *_numeric({"center_": "n?", "scale_": "n?"}),
        ),
        StoredStep(PCA, ("whiten",), WRITE_PCA, _read_pca),
        StoredStep(
            SimpleImputer, ("missing_values", "strategy", "add_indicator", "keep_empty_features"),
            _write_imputer, _read_imputer, lambda step: list(step.statistics_),
        ),
        StoredStep(
            OneHotEncoder, ("sparse_output", "dtype", "handle_unknown"), *CATEGORIES,
            not_stored=("categories", "drop"),
        ),
        StoredStep(
            OrdinalEncoder, ("dtype", "handle_unknown", "unknown_value", "encoded_missing_value"),
            *CATEGORIES, not_stored=("categories",),
        ),
        StoredStep(
            CountVectorizer, WORDS, _write_words, _read_words, lambda _step: "example",
            ("vocabulary",),
        ),
        StoredStep(
            TfidfVectorizer, (*WORDS, "norm", "use_idf", "sublinear_tf"), _write_words,
            _read_words, lambda _step: "example", ("vocabulary",),
        ),
    )
}  # fmt: skip
