"""The canonical form of a training sample.

Rows of weight 0 are dropped. Identical rows of the same class become one row with the sum of their
weights. The order of the rows depends only on their content. So doubling a weight and repeating
the row yield the same problem, to the last bit, and shuffling the rows changes nothing.

Rows are ordered by a hash of their content. This order is as good as random, so the first n rows
are a fair subsample for every n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.base import FloatArray, IntArray, Rows, Table, count_rows, is_sparse
from ..kernels.row_hashes import hash_rows


@dataclass(frozen=True)
class CanonicalSample:
    """The distinct rows of the data, by index.

    Attributes
    ----------
    rows : index of the first row in each group of identical rows of one class
    codes : class code of each group
    weights : sum of the weights in each group
    centers : indices of the rows that are distinct points, whatever their class
    places : the group of each row given; -1 for a row of weight 0
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
        # Shuffling the rows of a kernel matrix shuffles its columns, too, so keep their order.
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

    Groups come in their own order, or in that of their first members.
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
    return np.asarray((X[first] == X[second]).all(axis=1))


def _number_objects(X: Rows, alive: IntArray) -> tuple[IntArray, bool]:
    """Number objects, strings in alphabetical order; return also whether the order is canonical.

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
