"""What a model file holds, told without its arrays."""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import Any

from ..exceptions import ModelFileError
from .building import open_header
from .container import FORMAT_VERSION, Container, read_container, with_name
from .describing import TOTALS
from .reading import Record


def read_summary(path: str | PathLike[str]) -> dict[str, Any]:
    """Tell what a model file holds.

    The arrays are run over to check the digest, but not kept, so that this takes little memory
    whatever the size of the file. What needs a function can be summarised without it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict of plain values, which JSON can hold
        ``format_version``, ``sha256``, ``versions``, ``classifier``, ``classes``,
        ``n_features``, ``feature_names``, ``scaling``, ``kernels`` (a dict of ``name``,
        ``family``, ``complexity``, ``penalty`` and ``mass`` for each), ``n_support``, ``n_terms``,
        ``complexity_penalty``, ``l1_penalty``, ``l2_penalty``, ``objective``, ``dual_bound``,
        ``dual_gap``, ``n_iter``, ``stop_reason``. A number that is not finite is None.

    Raises
    ------
    ModelFileError
        As `load_model` does.
    """
    summary: dict[str, Any] = with_name(
        path, lambda: _summarise(read_container(Path(path), with_arrays=False))
    )
    return summary


def _summarise(container: Container) -> dict[str, Any]:
    header = open_header(container)
    parameters = header.record("parameters")
    totals = header.record("totals")
    versions = header.record("versions")
    scaling = None if header.is_none("scaling") else header.record("scaling")
    named = header if scaling is None else scaling
    weights = container.places.get("term_weights_")
    support = container.places.get("support_")
    if weights is None or len(weights.shape) != 2 or support is None or len(support.shape) != 1:
        raise ModelFileError("there are no terms.")
    turned = "term_weights_" in header.texts("transposed")
    return {
        "format_version": FORMAT_VERSION,
        "sha256": container.digest,
        "versions": {key: versions.text(key) for key in versions.value},
        "classifier": header.text("classifier"),
        "classes": _labels(header.record("classes")),
        "n_features": None if header.is_none("n_features") else header.count("n_features"),
        "feature_names": None if named.is_none("feature_names") else named.texts("feature_names"),
        "scaling": None if scaling is None else scaling.text("kind"),
        "kernels": [
            {
                "name": member.text("name"),
                "family": family.text("family"),
                "complexity": _finite(member.number("complexities_")),
                "penalty": _finite(member.number("penalties_")),
                "mass": _finite(member.number("kernel_mass_")),
            }
            for family in header.records("families")
            for member in family.records("members")
        ],
        "n_support": support.shape[0],
        "n_terms": weights.shape[0 if turned else 1],
        **{key: _penalty(parameters, key) for key in _PENALTIES},
        **{key.rstrip("_"): _finite(totals.number(key)) for key in TOTALS},
        "n_iter": header.count("n_iter"),
        "stop_reason": header.text("stop_reason"),
    }


_PENALTIES = ("complexity_penalty", "l1_penalty", "l2_penalty")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _penalty(parameters: Record, key: str) -> float:
    value: Any = parameters.value.get(key)
    if type(value) not in (int, float):
        raise parameters.wrong(key, "a number")
    return float(value)


def _labels(record: Record) -> list[Any]:
    values = record.value.get("values")
    if type(values) is not list or any(type(v) not in (str, int, bool, float) for v in values):
        raise record.wrong("values", "labels")
    return list(values)
