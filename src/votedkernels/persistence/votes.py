"""A vote as arrays, which are named like the fitted attributes of a classifier.

The intercepts and the kernel families are in the header; everything else is an array.
"""

from __future__ import annotations

import numpy as np

from ..estimators._fitted_attributes import ATTRIBUTE_OF
from ..kernels import KernelFamily, are_precomputed
from ..kernels.base import FloatArray, count_rows, is_sparse
from ..problem import Vote
from .container import Array, Json
from .reading import Arrays, Record
from .rows import rows_from_json, rows_to_json

WEIGHTS, SUPPORT, POINTS = (ATTRIBUTE_OF[field] for field in ("weights", "support", "points"))
#: Only files of models with rules, such as thresholds, have this array.
LEVELS = ATTRIBUTE_OF["levels"]
INTERCEPTS = ATTRIBUTE_OF["intercepts"]
#: The fields of a vote that are stored as they are, by the names of their arrays.
TERMS = {ATTRIBUTE_OF[field]: field for field in ("weights", "kernels", "places", "support")}


def vote_to_json(vote: Vote, arrays: dict[str, Array]) -> dict[str, Json]:
    """Return the kind of the voting points as JSON; terms and points are added to ``arrays``."""
    arrays.update({name: getattr(vote, field) for name, field in TERMS.items()})
    if not np.isnan(vote.levels).all():
        arrays[LEVELS] = np.nan_to_num(vote.levels)
    return rows_to_json(vote.points, POINTS, arrays)


def vote_from_json(
    header: Record,
    arrays: Arrays,
    families: list[KernelFamily],
    intercepts: FloatArray,
    n_features: int | None,
) -> Vote:
    """Return the vote of a file, if its terms and points agree with the rest of the file."""
    weights = arrays.doubles(WEIGHTS, (len(intercepts), None))
    n_terms = weights.shape[1]
    n_kernels = sum(len(family.names_) for family in families)
    precomputed = are_precomputed(families)
    n_support = len(arrays.arrays.get(SUPPORT, ()))
    kernels = arrays.indices(ATTRIBUTE_OF["kernels"], n_terms, n_kernels)
    are_rules = np.array([family.is_coded for family in families for _ in family.names_], bool)
    levels = np.full(n_terms, np.nan)
    if (LEVELS in arrays.arrays) != are_rules[kernels].any():
        raise header.wrong("families", f"consistent with the array {LEVELS}")
    if LEVELS in arrays.arrays:
        levels = np.where(are_rules[kernels], arrays.doubles(LEVELS, (n_terms,)), np.nan)
    places = arrays.indices(ATTRIBUTE_OF["places"], n_terms, n_support, least=-1)
    if not np.array_equal(places < 0, are_rules[kernels]):
        raise header.wrong("families", f"consistent with the array {ATTRIBUTE_OF['places']}")
    vote = Vote(
        families=families,
        support=arrays.indices(SUPPORT, n_support, (n_features or 0) if precomputed else 2**48),
        points=rows_from_json(
            header.record("support_vectors"),
            POINTS,
            arrays,
            gaps=all(family.accepts_gaps for family in families),
        ),
        kernels=kernels,
        places=places,
        levels=levels,
        weights=weights,
        intercepts=intercepts,
    )
    if count_rows(vote.points) != (0 if precomputed else n_support):
        raise header.wrong("support_vectors", f"a table or list of {n_support} rows")
    if not precomputed:
        _check_points(header, vote, n_features)
    return vote


def _check_points(header: Record, vote: Vote, n_features: int | None) -> None:
    """Raise unless voting points, families and the number of features agree."""
    points, families = vote.points, vote.families
    if is_sparse(points) or (isinstance(points, np.ndarray) and points.ndim == 2):
        is_table, agree = True, points.shape[1] == n_features and points.dtype == float
    else:
        is_table, agree = False, n_features is None
    if not agree:
        raise header.wrong("n_features", "the number of columns of the support vectors")
    accepted = not is_sparse(points) or all(family.accepts_sparse for family in families)
    if not is_table:
        accepted = all(family.accepts_objects for family in families)
    if not accepted:
        raise header.wrong("support_vectors", "rows that all families accept")
    for family in families:
        origin = getattr(family, "origin_", None)
        if getattr(family, "n_features_", n_features) != n_features or (
            origin is not None and len(origin) != n_features
        ):
            raise header.wrong("n_features", "the number of features of its families")
