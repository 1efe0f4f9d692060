"""Fitted attributes as scikit-learn's HTML shows them, made readable.

Since version 1.9 scikit-learn lists the fitted attributes of an estimator, which it collects by a
method of the estimator. It cuts strings to nine characters, so that names of kernels and of
parameters cannot be told apart, and prints arrays with two decimals, so that a penalty of 0.001
is shown as 0. There is no public way to choose what is shown; what is done here only replaces the
values in that list. Older versions, and newer ones that collect otherwise, show what they show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

DIGITS = 3


class ReadableAttributesMixin(BaseEstimator):
    """An estimator whose fitted attributes can be read in a notebook."""

    if hasattr(BaseEstimator, "_get_fitted_attr_html"):

        def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
            shown = super()._get_fitted_attr_html(doc_link)
            for name, entry in shown.items():
                if isinstance(entry, dict) and "value" in entry:
                    entry["value"] = readable(name, entry["value"])
            return shown


def readable(name: str, value: Any) -> Any:
    """Return what to show in place of a value; most stay as they are.

    Arrays of objects are printed entry by entry as `repr` has them, and not cut.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
        return as_objects([float(f"{number:.{DIGITS}g}") for number in value])
    if name in ("kernel_names_", "kernels_") and isinstance(value, list):
        return as_objects(value)
    if name == "best_params_" and isinstance(value, Mapping):
        return as_object(dict(value))
    if name == "cv_results_" and isinstance(value, Mapping):
        return as_object(Summary(value))
    return value


def as_objects(values: list[Any]) -> Any:
    """Return a list as an array of objects, whatever the objects are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_object(value: Any) -> Any:
    """Return one object as an array without dimensions."""
    array = np.empty((), dtype=object)
    array[()] = value
    return array


class Summary:
    """What a table of candidates holds, in words."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = results

    def __repr__(self) -> str:
        n_candidates = len(self.results["params"])
        return f"{n_candidates} candidates: {', '.join(self.results)}"
