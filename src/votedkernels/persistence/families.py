"""Kernel families: which of their attributes a file holds.

A fitted family is made again from its parameters by its own ``fit``, on a row that stands for
the sample, which also checks them; what ``fit`` takes from the sample is then put in its place.
So an entry of `STORED` names just that. Files have all parameters of a family; one that is added
to a family later needs a new version of the format, or a default here for the files without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import ModelFileError
from ..kernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    KernelFamily,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
)
from .reading import Arrays, Record, number_to_json
from .values import parameters_from_json, value_to_json

MAX_DEGREE = 10_000  # powers are taken one by one
LONGEST = 10_000  # n-grams of a model that is read


@dataclass(frozen=True)
class Kind:
    """How a fitted attribute is written and read.

    ``read(record, key, arrays, name)`` gives the attribute from the header or from the array
    ``name``; ``write(value, arrays, name)`` its entry in the header.
    """

    write: Callable[[Any, dict[str, Any], str], Any]
    read: Callable[[Record, str, Arrays, str], Any]


def _write_array(value: Any, arrays: dict[str, Any], name: str) -> Any:
    if value is None:
        return None
    arrays[name] = value
    return True


def _read_array(record: Record, key: str, arrays: Arrays, name: str) -> Any:
    if record.is_none(key):
        return None
    record.flag(key)
    return arrays.doubles(name, (None,))


def _read_widths(record: Record, key: str, arrays: Arrays, name: str) -> Any:
    widths = _read_array(record, key, arrays, name)
    if widths is None or not len(widths) or not (widths > 0).all():
        raise record.wrong(key, "positive numbers")
    return widths


POSITIVE = Kind(
    lambda value, arrays, name: number_to_json(value),
    lambda record, key, arrays, name: record.positive(key),
)
COUNT = Kind(
    lambda value, arrays, name: int(value),
    lambda record, key, arrays, name: record.count(key),
)
#: Doubles, or None.
VECTOR = Kind(_write_array, _read_array)
WIDTHS = Kind(_write_array, _read_widths)


@dataclass(frozen=True)
class Stored:
    """What is stored of a family.

    Attributes
    ----------
    family : class
    fitted : the attributes that ``fit`` takes from the sample, and of which kind they are
    sample : a row of data on which ``fit`` can run
    function : the parameter that is a function of the user's, if one is
    """

    family: type[KernelFamily]
    fitted: Mapping[str, Kind] = field(default_factory=dict)
    sample: Callable[[], Any] = lambda: np.zeros((1, 1))
    function: str | None = None


#: The families that can be saved, by the name that a file has for them.
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
    "Spectrum": Stored(Spectrum, sample=lambda: ["x" * LONGEST]),
}


def family_to_json(family: KernelFamily, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return a fitted family as JSON; its arrays go to ``arrays``."""
    known = type(family).__name__
    if known not in STORED or STORED[known].family is not type(family):
        raise ValueError(
            f"{known} is a kernel family of your own, and a model file holds no code; wrap its "
            "function in Similarity(function), and give it to load_model again."
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
    """Return the name by which a function is asked for again."""
    function = family.function
    return str(family.name or getattr(function, "__name__", type(function).__name__))


def family_from_json(
    record: Record, names: list[str], name: str, arrays: Arrays, functions: Mapping[str, Any]
) -> KernelFamily:
    """Return the fitted family, with these names of its members."""
    stored = STORED[record.choice("family", STORED)]
    given = record.record("parameters")
    parameters = parameters_from_json(given, stored.family, arrays)
    if stored.function is not None:
        parameters[stored.function] = _find_function(record.text("function"), functions)
    elif not record.is_none("function"):
        raise record.wrong("function", "null")
    due = stored.family._get_param_names()
    if set(parameters) != set(due):
        raise given.wrong("the keys", "the parameters of the family")
    family = stored.family(**parameters)
    if any(degree > MAX_DEGREE for degree in np.atleast_1d(getattr(family, "degrees", 1))):
        raise given.wrong("degrees", f"at most {MAX_DEGREE}")
    family.fit(stored.sample(), np.ones(1))
    fitted = record.record("fitted")
    fitted.expect(*stored.fitted)
    for key, kind in stored.fitted.items():
        setattr(family, key, kind.read(fitted, key, arrays, f"{name}.{key}"))
    if len(getattr(family, "gammas_", family.names_)) != len(names):
        raise record.wrong("members", "as many as the family has kernels")
    if stored.function is None and not family.is_continuous:
        # Names tell parameters, after what the user calls the family.
        for member, own in zip(names, family.names_, strict=True):
            if not member.endswith(own):
                raise record.wrong("members", f"the kernels of its parameters, such as {own}")
    family.names_ = names
    return family


def _find_function(name: str, functions: Mapping[str, Any]) -> Any:
    if name not in functions:
        raise ModelFileError(
            f"the model votes by a function of the user's, {name[:80]!r}, and a file holds no "
            f"code; load it with load_model(path, functions={{{name[:80]!r}: ...}})."
        )
    return functions[name]
