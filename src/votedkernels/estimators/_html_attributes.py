"""What a notebook shows for an estimator: scikit-learn's HTML, made readable, and the summary.

Since version 1.9, scikit-learn lists the fitted attributes of an estimator in a notebook. It calls
a private method of the estimator to collect them. It cuts strings to nine characters, so that the
names of kernels and parameters look alike, and prints arrays with two decimals, so that a penalty
of 0.001 is shown as 0. There is no public way to change that. The mixin here overrides the private
method to replace the values in the list; scikit-learn versions without that method are unaffected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

DIGITS = 3


class ReadableAttributesMixin(BaseEstimator):
    """An estimator that shows readable fitted attributes and its summary in notebooks."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._summary_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        """Return the summary of a fitted model; an empty string if there is none."""
        try:
            summary = self.summary()
        except NotFittedError:
            return ""
        return str(summary._repr_html_())

    if hasattr(BaseEstimator, "_get_fitted_attr_html"):

        def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
            shown = super()._get_fitted_attr_html(doc_link)
            for name, entry in shown.items():
                if isinstance(entry, dict) and "value" in entry:
                    entry["value"] = readable(name, entry["value"])
            return shown


def readable(name: str, value: Any) -> Any:
    """Return what to show in place of a value; most values stay as they are.

    The replacements are arrays of objects: scikit-learn prints the `repr` of each entry in full.
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
    """Return a list as a one-dimensional array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_object(value: Any) -> Any:
    """Return an object as a zero-dimensional array."""
    array = np.empty((), dtype=object)
    array[()] = value
    return array


class Summary:
    """A short text in place of ``cv_results_``: the number of candidates and the columns."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = results

    def __repr__(self) -> str:
        n_candidates = len(self.results["params"])
        return f"{n_candidates} candidates: {', '.join(self.results)}"
