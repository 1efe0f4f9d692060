"""A summary of a model file, without its arrays."""

from __future__ import annotations

import math
import sys
from os import PathLike
from pathlib import Path
from typing import Any

from ..estimators._fitted_attributes import CROSS_VALIDATION, N_SAMPLES, TOTALS, TRAINING_ERROR
from ..exceptions import ModelFileError
from .building import CLASSIFIERS, REGRESSORS, open_header
from .container import Container, read_container, with_name
from .reading import Record
from .trees import MAX_DEPTH
from .votes import SUPPORT, WEIGHTS


def read_summary(path: str | PathLike[str]) -> dict[str, Any]:
    """Return a summary of a model file.

    The arrays are read to check the digest, but not kept, so this takes little memory even for
    large files. Functions that the model needs are not required for its summary.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict of plain values, ready for JSON
        ``format_version``, ``sha256``, ``versions``, ``classifier``, ``n_votes``,
        ``classes``, ``n_features``, ``feature_names``, ``scaling`` (the kinds of all steps before
        the classifier, and around it), ``kernels`` (one dict per kernel:
        ``name``, ``family``, ``complexity``, ``penalty`` and ``mass``), ``n_support``, ``n_terms``,
        ``complexity_penalty``, ``l1_penalty``, ``l2_penalty``, ``objective``, ``dual_bound``,
        ``dual_gap``, ``n_rows``, ``training_error``, ``cross_validation`` (the score of the search,
        as text), ``n_iter``, ``stop_reason``. The first two penalties may be ``"auto"``. Numbers
        that are not finite are None, and so are the classes of a regressor and whatever an older
        file does not contain. If there are several votes, all numbers are those of the first one.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or has a newer format.
    """
    return with_name(path, lambda: _summarise(read_container(Path(path), with_arrays=False)))


def _summarise(container: Container) -> dict[str, Any]:
    header = whole = open_header(container)
    prefix, n_votes = "", 1
    kinds: list[str] = []
    is_tree = "tree" in whole.value
    if is_tree:
        header, prefix, kinds, n_votes = _first_vote(whole.record("tree"))
    parameters = header.record("parameters")
    totals = header.record("totals")
    versions = whole.record("versions")
    named = header
    if not is_tree and not header.is_none("scaling"):
        named = header.record("scaling")
        kinds = [named.text("kind")]
    weights = container.places.get(prefix + WEIGHTS)
    support = container.places.get(prefix + SUPPORT)
    if weights is None or len(weights.shape) != 2 or support is None or len(support.shape) != 1:
        raise ModelFileError("the file has no terms.")
    turned = prefix + WEIGHTS in whole.texts("transposed")
    return {
        "format_version": 2 if is_tree else 1,
        "sha256": container.digest,
        "versions": {key: versions.text(key) for key in versions.value},
        "classifier": header.text("kind" if is_tree else "classifier"),
        "n_votes": n_votes,
        "classes": None if header.is_none("classes") else _labels(header.record("classes")),
        "n_features": None if header.is_none("n_features") else header.count("n_features"),
        "feature_names": None if named.is_none("feature_names") else named.texts("feature_names"),
        "scaling": ", ".join(kinds) or None,
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
        **_read_training(totals),
        "n_iter": header.count("n_iter"),
        "stop_reason": header.text("stop_reason"),
    }


def _read_training(totals: Record) -> dict[str, Any]:
    """Return what the file says about the training rows and the search; None for older files."""
    known = totals.value
    return {
        "n_rows": totals.count(N_SAMPLES) if N_SAMPLES in known else None,
        "training_error": (
            _finite(totals.number(TRAINING_ERROR)) if TRAINING_ERROR in known else None
        ),
        "cross_validation": totals.text(CROSS_VALIDATION) if CROSS_VALIDATION in known else None,
    }


def _first_vote(node: Record) -> tuple[Record, str, list[str], int]:
    """Return the first vote of a tree, the prefix of its arrays, its steps, and the vote count.

    A `CalibratedClassifierCV` has several votes.
    """
    prefix, n_votes = "", 1
    kinds: list[str] = []
    for _ in range(MAX_DEPTH + 1):
        kind = node.text("kind")
        if kind in (*CLASSIFIERS, *REGRESSORS):
            return node, prefix, kinds, n_votes
        if kind == "Pipeline":
            steps = node.records("steps")
            inner = [step.value.get("step") for step in steps[:-1]]
            kinds += [Record(step, "a step").text("kind") for step in inner if type(step) is dict]
            part, key = len(steps) - 1, "step"
        else:
            kinds.append(kind)
            steps, part, key = node.records("members"), 0, "model"
            n_votes *= len(steps)
        if not steps:
            break
        node, prefix = steps[part].record(key), f"{prefix}{part}."
    raise ModelFileError("the file has no vote.")


_PENALTIES = ("complexity_penalty", "l1_penalty", "l2_penalty")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _penalty(parameters: Record, key: str) -> float | str:
    value: Any = parameters.value.get(key)
    if value == "auto" and key != "l2_penalty":
        return "auto"
    # An integer in JSON may be larger than any float.
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise parameters.wrong(key, "a finite number")
    return float(value)


def _labels(record: Record) -> list[Any]:
    values = record.value.get("values")
    if type(values) is not list or any(type(v) not in (str, int, bool, float) for v in values):
        raise record.wrong("values", "a list of labels")
    return list(values)
