"""Kernel families: which of their attributes a file contains.

To restore a fitted family, its own ``fit`` is called on a dummy row, which also checks the
parameters. Then the attributes that ``fit`` computes from the sample are set; an entry of `STORED`
lists these. A file contains all parameters of a family. So a parameter that is added to a family
later needs a new version of the format, or a default here for older files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import ModelFileError
from ..kernels import (
    Categories,
    ContinuousGaussian,
    EditDistance,
    ElasticDistance,
    Gaussian,
    KernelFamily,
    Missing,
    MixedGaussian,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
    Threshold,
)
from ..kernels.base import FloatArray
from .container import Array, Json
from .reading import Arrays, Record, number_to_json
from .values import parameters_from_json, value_to_json

#: The functions of `Similarity` families, by name.
Functions = Mapping[str, Callable[..., object]]

#: Parameters that older files lack; they get their defaults.
ADDED_LATER = {"pairwise", "symmetric", "feature_scales", "blended", "positions", "ends"}
MAX_DEGREE = 10_000  # powers are computed one by one
MAX_FEATURES = 10**6  # of a family of rules, which has a member for each feature
LONGEST = 10_000  # the longest n-grams that a loaded model can have


@dataclass(frozen=True)
class Kind:
    """How a fitted attribute is written and read.

    ``write(value, arrays, name)`` returns the entry in the header and may add an array ``name``;
    ``read(record, key, arrays, name)`` returns the attribute from these.
    """

    write: Callable[[Any, dict[str, Array], str], Json]
    read: Callable[[Record, str, Arrays, str], object]


def _write_array(value: Array | None, arrays: dict[str, Array], name: str) -> Json:
    if value is None:
        return None
    arrays[name] = value
    return True


def _read_array(record: Record, key: str, arrays: Arrays, name: str) -> FloatArray | None:
    if record.is_none(key):
        return None
    record.flag(key)
    return arrays.doubles(name, (None,))


def _read_widths(record: Record, key: str, arrays: Arrays, name: str) -> FloatArray:
    widths = _read_array(record, key, arrays, name)
    if widths is None or not len(widths) or not (widths > 0).all():
        raise record.wrong(key, "positive numbers")
    return widths


POSITIVE = Kind(
    lambda value, _arrays, _name: number_to_json(value),
    lambda record, key, _arrays, _name: record.positive(key),
)
COUNT = Kind(
    lambda value, _arrays, _name: int(value),
    lambda record, key, _arrays, _name: record.count(key),
)
#: Doubles, or None.
VECTOR = Kind(_write_array, _read_array)
WIDTHS = Kind(_write_array, _read_widths)


@dataclass(frozen=True)
class Stored:
    """How a family is stored.

    Attributes
    ----------
    family : its class
    fitted : the attributes that ``fit`` computes from the sample, and their kinds
    sample : returns a dummy row that ``fit`` accepts
    function : the parameter that is a Python function, which is not stored; None if there is none
    """

    family: type[KernelFamily]
    fitted: Mapping[str, Kind] = field(default_factory=dict)
    sample: Callable[[], Any] = lambda: np.zeros((1, 1))
    function: str | None = None


#: The families that can be saved, by their names in a file.
STORED = {
    "Polynomial": Stored(Polynomial, {"gamma_": POSITIVE, "n_features_": COUNT}),
    "Gaussian": Stored(Gaussian, {"unit_": POSITIVE, "n_features_": COUNT, "origin_": VECTOR}),
    "ContinuousGaussian": Stored(
        ContinuousGaussian,
        {
            "unit_": POSITIVE,
            "n_features_": COUNT,
            "origin_": VECTOR,
            "knots_": WIDTHS,
            "gammas_": WIDTHS,
        },
    ),
    "Precomputed": Stored(Precomputed),
    "Similarity": Stored(Similarity, function="function"),
    "EditDistance": Stored(EditDistance, sample=lambda: [""]),
    "ElasticDistance": Stored(ElasticDistance, {"units_": WIDTHS}, lambda: np.ones((1, 3))),
    "Threshold": Stored(Threshold, {"n_features_": COUNT}),
    "Categories": Stored(Categories, {"n_features_": COUNT, "n_values_": COUNT}),
    "Missing": Stored(Missing, {"n_features_": COUNT}),
    "MixedGaussian": Stored(
        MixedGaussian,
        {
            "unit_": POSITIVE,
            "n_features_": COUNT,
            "means_": VECTOR,
            "factors_": VECTOR,
            "category_values_": VECTOR,
            "category_counts_": VECTOR,
            "category_gaps_": VECTOR,
        },
    ),
    "Spectrum": Stored(Spectrum, sample=lambda: ["x" * LONGEST]),
}


def family_to_json(family: KernelFamily, name: str, arrays: dict[str, Array]) -> dict[str, Json]:
    """Return a fitted family as JSON; its arrays are added to ``arrays``."""
    known = type(family).__name__
    if known not in STORED or STORED[known].family is not type(family):
        raise ValueError(
            f"{known} is your own kernel family, and a model file contains no code; use "
            "Similarity(function) instead, and pass the function to load_model."
        )
    stored = STORED[known]
    parameters = {
        key: value_to_json(value, f"{name}.{key}", arrays)
        for key, value in family.get_params(deep=False).items()
        if key != stored.function
    }
    fitted = {
        key: kind.write(getattr(family, key), arrays, f"{name}.{key}")
        for key, kind in stored.fitted.items()
    }
    return {
        "family": known,
        "function": None if stored.function is None else function_name(family),
        "parameters": parameters,
        "fitted": fitted,
    }


def function_name(family: Any) -> str:
    """Return the name under which a function must be passed to `load_model`."""
    function = family.function
    return str(family.name or getattr(function, "__name__", type(function).__name__))


def family_from_json(
    record: Record,
    names: list[str],
    name: str,
    arrays: Arrays,
    functions: Functions,
) -> KernelFamily:
    """Return the fitted family, whose members get the given names."""
    stored = STORED[record.choice("family", STORED)]
    given = record.record("parameters")
    parameters = parameters_from_json(given, stored.family, arrays)
    if stored.function is not None:
        parameters[stored.function] = _find_function(record.text("function"), functions)
    elif not record.is_none("function"):
        raise record.wrong("function", "null")
    family = stored.family(**parameters)
    if (set(family.get_params(deep=False)) ^ set(parameters)) - ADDED_LATER:
        raise given.wrong("the keys", "the parameters of the family")
    if any(degree > MAX_DEGREE for degree in np.ravel(getattr(family, "degrees", 1))):
        raise given.wrong("degrees", f"at most {MAX_DEGREE}")
    fitted = record.record("fitted")
    fitted.expect(*stored.fitted)
    family.fit(_sample_row(stored, family, fitted), np.ones(1))
    for key, kind in stored.fitted.items():
        setattr(family, key, kind.read(fitted, key, arrays, f"{name}.{key}"))
    if isinstance(family, MixedGaussian):
        _check_embedding(record, family)
    if len(getattr(family, "units_", ())) not in (0, len(getattr(family, "windows_", ()))):
        raise record.wrong("units_", "one unit per window")
    if len(getattr(family, "gammas_", family.names_)) != len(names):
        raise record.wrong("members", "one per kernel of the family")
    if stored.function is None and not family.is_continuous:
        # The name of a member ends in its parameters, after the user's name for the family.
        for member, own in zip(names, family.names_, strict=True):
            if not member.endswith(own):
                raise record.wrong("members", f"the kernels of its parameters, such as {own}")
    family.names_ = names
    return family


def _sample_row(stored: Stored, family: KernelFamily, fitted: Record) -> Any:
    """Return a dummy row that the family accepts."""
    if family.accepts_gaps or getattr(family, "feature_scales", None) is not None:
        return _sample_table(fitted)
    return stored.sample()


def _check_embedding(record: Record, family: MixedGaussian) -> None:
    """Raise unless a family has means and categories for each of its columns."""
    learned = family.embedding
    per_column = (
        (learned.means, learned.numeric),
        (learned.factors, learned.numeric),
        (learned.counts, learned.categorical),
        (learned.gaps, learned.categorical),
    )
    fine = all(
        values is not None and len(values) == len(columns) and np.isfinite(values).all()
        for values, columns in per_column
    )
    if (
        not fine
        or learned.values is None
        or not np.isin(learned.gaps, (0, 1)).all()
        or (learned.counts < 0).any()
        or (learned.counts != np.round(learned.counts)).any()
        or learned.counts.sum() != len(learned.values)
    ):
        raise record.wrong("fitted", "means and categories for each column of the family")


def _sample_table(fitted: Record) -> FloatArray:
    """Return a dummy row for a family whose parameters are feature indices."""
    n_features = fitted.count("n_features_", at_least=1)
    if n_features > MAX_FEATURES:
        raise fitted.wrong("n_features_", f"at most {MAX_FEATURES}")
    return np.zeros((1, n_features))


def _find_function(name: str, functions: Functions) -> Callable[..., object]:
    if name not in functions:
        raise ModelFileError(
            f"the model needs the function {name[:80]!r}, and a file contains no code; load it "
            f"with load_model(path, functions={{{name[:80]!r}: ...}})."
        )
    return functions[name]
