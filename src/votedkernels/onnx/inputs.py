"""The inputs of a graph: one table of doubles, or one input per column if there is text."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline

from ..exceptions import ExportError

REFUSED_TEXT = (
    "a TfidfVectorizer or CountVectorizer cannot be exported in double precision, and ONNX splits "
    "text into words differently; use it in Python, from a file written by save_model."
)
#: What a pipeline accepts as a step that does nothing.
NO_STEPS = (None, "passthrough", "drop")


def inputs_of(model: Any, name: str) -> list[tuple[str, Any]]:
    """Return the names and types of the inputs.

    With a `ColumnTransformer` that selects columns by name, or contains text, each column is an
    input. Its name is that of the column or, if columns have no names, ``name`` and the number of
    the column.
    """
    first = first_step(model)
    if isinstance(first, CountVectorizer):
        raise ExportError(REFUSED_TEXT)
    if not isinstance(first, ColumnTransformer):
        if any(text_columns(first, getattr(first, "n_features_in_", 0))):
            return [(name, StringTensorType([None, first.n_features_in_]))]
        return [(name, DoubleTensorType([None, getattr(model, "n_features_in_", None)]))]
    is_text = text_columns(first, first.n_features_in_)
    names = getattr(first, "feature_names_in_", None)
    if names is None and not any(is_text):
        return [(name, DoubleTensorType([None, first.n_features_in_]))]
    used = list(range(first.n_features_in_))
    if names is None:
        names = [f"{name}{number}" for number in used]
    else:
        places = first._transformer_to_input_indices  # noqa: SLF001
        used = sorted({
            number
            for part_name, part, _ in first.transformers_
            for number in places[part_name]
            if not (isinstance(part, str) and part == "drop")
        })  # fmt: skip
    types = {True: StringTensorType, False: DoubleTensorType}
    return [(str(names[number]), types[is_text[number]]([None, 1])) for number in used]


def as_skl2onnx_needs_it(model: Any) -> Any:
    """Return a model without steps that do nothing, whose first step selects columns by name.

    skl2onnx does not support steps that do nothing. If a `ColumnTransformer` uses names, it needs
    no inputs for columns that are not used. The model itself is not changed.
    """
    if isinstance(model, Pipeline):
        steps = [(name, step) for name, step in model.steps if not _is_nothing(step)]
        steps[0] = (steps[0][0], as_skl2onnx_needs_it(steps[0][1]))
        model = copy(model)
        model.steps = steps
    elif isinstance(model, ColumnTransformer) and hasattr(model, "feature_names_in_"):
        names, places = model.feature_names_in_, model._transformer_to_input_indices  # noqa: SLF001
        model = copy(model)
        model.transformers_ = [
            (name, part, columns if isinstance(columns, str) else [names[i] for i in places[name]])
            for name, part, columns in model.transformers_
            if len(places[name])
        ]
    return model


def first_step(model: Any) -> Any:
    """Return the step that receives the rows."""
    while True:
        if isinstance(model, Pipeline):
            model = next(step for _, step in model.steps if not _is_nothing(step))
        elif hasattr(model, "calibrated_classifiers_"):
            model = model.calibrated_classifiers_[0].estimator
        else:
            return model


def text_columns(step: Any, n: int) -> list[bool]:
    """Return which of the columns that a step receives are text."""
    step = step if _is_nothing(step) else first_step(step)
    if isinstance(step, ColumnTransformer):
        result = [False] * n
        for name, part, _ in step.transformers_:
            places = step._transformer_to_input_indices[name]  # noqa: SLF001
            for place, is_text in zip(places, text_columns(part, len(places)), strict=True):
                result[place] |= is_text
        return result
    if isinstance(step, CountVectorizer):
        raise ExportError(REFUSED_TEXT)
    values = getattr(step, "categories_", None)
    if values is None:
        values = [[value] for value in getattr(step, "statistics_", [])]
    return [_is_text(value) for value in values] if len(values) == n else [False] * n


def _is_text(values: Any) -> bool:
    return any(isinstance(value, str) for value in np.asarray(values, dtype=object))


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step in NO_STEPS)
