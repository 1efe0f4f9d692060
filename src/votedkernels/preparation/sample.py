"""The training sample: its distinct rows in canonical order, and their weights in the loss.

Rows of weight 0 are dropped. Identical rows of the same class become one row with the sum of their
weights. The order of the rows depends only on their content. So doubling a weight and repeating
the row yield the same problem, to the last bit, and shuffling the rows changes nothing.

Rows are ordered by a hash of their content. This order is as good as random, so the first n rows
are a fair subsample for every n. A row's weight in the loss is its sample weight times the weight
of its class; the weights sum to 1. `Placement` is the sample with its kernels, in this process or
on a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import Columns
from ..kernels.base import (
    FloatArray,
    IntArray,
    Rows,
    Table,
    count_rows,
    hash_rows,
    in_moderate_units,
    is_sparse,
)
from ..problem import Centers
from .numbers import NumberTargets

#: Class labels, of any type.
Labels = NDArray[np.generic]


@dataclass(frozen=True)
class Placement:
    """The data as prepared by `local` or `remote`.

    Attributes
    ----------
    classes : the class labels or, for regression, the distinct targets
    columns : the kernels over distinct rows and centres
    codes : index of the class, or of the target, of each row of ``columns``
    weights : sample weight of each row, summed over identical rows
    w : weight of each row in the loss; they sum to 1
    centers : where the centres are in the user's data
    n_samples : number of rows passed to fit
    center_rows : the row of ``columns`` for each centre; None without a hybrid norm
    places : the row of ``columns`` for each row passed to fit, -1 for weight 0; None on a cluster
    center_of : the centre at each row of ``columns``; None unless all rows are centres
    numbers : the targets of regression; None for classes
    """

    classes: Labels
    columns: Columns
    codes: IntArray
    weights: FloatArray
    w: FloatArray
    centers: Centers
    n_samples: int
    center_rows: IntArray | None = None
    places: IntArray | None = None
    center_of: IntArray | None = None
    numbers: NumberTargets | None = None


@dataclass(frozen=True)
class CanonicalSample:
    """The distinct rows of the data, by index.

    Attributes
    ----------
    rows : index of the first row in each group of identical rows of one class
    codes : class code of each group
    weights : sum of the weights in each group
    centers : indices of the rows that are distinct points, regardless of their class
    places : the group of each row; -1 for a row of weight 0
    center_of : which of ``centers`` is the point of each group
    """

    rows: IntArray
    codes: IntArray
    weights: FloatArray
    centers: IntArray
    places: IntArray
    center_of: IntArray


def canonical_sample(
    X: Rows, codes: IntArray, weights: FloatArray, *, precomputed: bool = False
) -> CanonicalSample:
    """Merge identical rows of X (array, sparse matrix, kernel matrix or list) and order them."""
    alive = np.flatnonzero(weights > 0)
    ordered = True
    if precomputed:
        # Shuffling the rows of a kernel matrix also shuffles its columns, so keep their order.
        living, everyone = np.asarray(X)[np.ix_(alive, alive)], np.arange(len(alive))
        points, ordered = _number_by_hash(living, everyone), False
        columns = _number_by_hash(living.T, everyone)
    elif is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        points = columns = _number_by_hash(X, alive)
    else:
        points, ordered = _number_objects(X, alive)
        columns = points
    groups = points * (int(codes.max(initial=0)) + 1) + codes[alive]
    first, merged, place = _merge(groups, weights[alive], ordered)
    distinct, _, center = _merge(columns, weights[alive], ordered)
    rows = alive[first]
    places = np.full(len(weights), -1, np.intp)
    places[alive] = place
    return CanonicalSample(rows, codes[rows], merged, alive[distinct], places, center[first])


def _merge(
    groups: IntArray, weights: FloatArray, ordered: bool
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the first member of each group, the group's weight, and the group of each member.

    Groups are sorted by their number if ``ordered``, otherwise by their first members.
    """
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    merged = np.bincount(inverse, weights=weights, minlength=len(first))
    if not ordered:
        order = np.argsort(first)
        first, merged = first[order], merged[order]
        inverse = np.argsort(order)[inverse]
    return first, merged.astype(np.float64), inverse


def _number_by_hash(X: Table, alive: IntArray) -> IntArray:
    """Number rows in the order of their hashes; equal rows get the same number."""
    hashes = hash_rows(X)[alive]
    order = np.argsort(hashes, kind="stable")
    # Rows with equal hashes are compared, in case they differ.
    twins = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]) + 1
    new = np.ones(len(order), bool)
    new[twins] = ~_equal_rows(X, alive[order[twins - 1]], alive[order[twins]])
    numbers = np.empty(len(order), np.intp)
    numbers[order] = np.cumsum(new) - 1
    return numbers


def _equal_rows(X: Table, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
    if is_sparse(X):
        different = sparse.csr_matrix(X[first] != X[second])
        return np.asarray(np.diff(different.indptr) == 0)
    left, right = X[first], X[second]
    equal = left == right
    if not equal.all():
        equal |= np.isnan(left) & np.isnan(right)
    return np.asarray(equal.all(axis=1))


def _number_objects(X: Rows, alive: IntArray) -> tuple[IntArray, bool]:
    """Number objects, strings in alphabetical order; also return whether the order is canonical.

    Equal objects get the same number. Objects that cannot be hashed all count as different.
    """
    objects = [X[i] for i in alive]
    keys: dict[object, int] = {}
    try:
        if all(isinstance(thing, str) for thing in objects):
            keys = {thing: number for number, thing in enumerate(sorted(set(objects)))}
            return np.array([keys[thing] for thing in objects], dtype=np.intp), True
        numbers = [keys.setdefault((type(thing), thing), len(keys)) for thing in objects]
    except TypeError:
        return np.arange(count_rows(objects)), False
    return np.array(numbers, dtype=np.intp), False


def class_factors(
    class_weight: Mapping[object, float] | str | None,
    classes: Labels,
    codes: IntArray,
    weights: FloatArray,
) -> FloatArray:
    """Return the factor of each class in the loss."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}."
            )
        weights, _ = in_moderate_units(weights)
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        return np.asarray(mass.sum() / (len(classes) * mass))
    unknown = [label for label in class_weight if label not in set(np.asarray(classes).tolist())]
    if unknown and len(unknown) == len(class_weight):
        raise ValueError(
            f"The classes, {unknown}, in class_weight are not in the data, which has "
            f"{list(classes)}."
        )
    factors = np.array(
        [float(class_weight.get(label, 1.0)) for label in np.asarray(classes).tolist()]
    )
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ValueError(f"class_weight must hold positive numbers, got {class_weight!r}.")
    return factors


def weighted_classes(weights: FloatArray, factors: FloatArray, codes: IntArray) -> FloatArray:
    """Return sample weights times class factors, up to a common factor that avoids overflow."""
    products = in_moderate_units(weights)[0] * in_moderate_units(factors)[0][codes]
    return np.asarray(products)


def loss_weights(
    class_weight: Mapping[object, float] | str | None,
    classes: Labels,
    codes: IntArray,
    weights: FloatArray,
) -> FloatArray:
    """Return the weights w_i, which sum to 1; raise if one is negligible next to the others."""
    factors = class_factors(class_weight, classes, codes, weights)
    w = weighted_classes(weights, factors, codes)
    w /= w.sum()
    if w.min() < np.finfo(np.float64).tiny:
        raise ValueError(
            "sample_weight, multiplied by class_weight, spans more orders of magnitude than double "
            "precision can hold: the smallest weight vanishes next to the largest. Use weights of "
            "similar size, or a weight of 0 for rows that should not count."
        )
    return w
