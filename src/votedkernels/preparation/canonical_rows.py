"""The canonical form of a training sample.

Rows of weight 0 do not exist. Identical rows of one class are one row with the sum of their
weights, and rows come in an order that depends on their content only. So a weight of 2 and the
row twice are the same problem, to the last bit, and shuffling the rows changes nothing.

The order is that of a hash of the row, which is as good as random: any first part of the rows
is a fair subsample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.base import FloatArray, IntArray, count_rows


@dataclass(frozen=True)
class CanonicalSample:
    """Distinct rows, by number.

    Attributes
    ----------
    rows : the number, in the data given, of the first row of each group of identical ones
    codes : their class codes
    weights : their summed weights
    centers : numbers of the rows that are distinct as points, whatever their class
    """

    rows: IntArray
    codes: IntArray
    weights: FloatArray
    centers: IntArray


def canonical_sample(
    X: Any, codes: IntArray, weights: FloatArray, *, precomputed: bool = False
) -> CanonicalSample:
    """Merge identical rows of X (array, sparse matrix, kernel matrix or list) and order them."""
    alive = np.flatnonzero(weights > 0)
    ordered = True
    if precomputed:
        # Shuffling a kernel matrix shuffles its columns too: keep the order given.
        living, everyone = X[np.ix_(alive, alive)], np.arange(len(alive))
        points, ordered = _number_by_hash(living, everyone), False
        columns = _number_by_hash(living.T, everyone)
    elif sparse.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        points = columns = _number_by_hash(X, alive)
    else:
        points, ordered = _number_objects(X, alive)
        columns = points
    groups = points * (int(codes.max(initial=0)) + 1) + codes[alive]
    first, merged = _merge(groups, weights[alive], ordered)
    distinct, _ = _merge(columns, weights[alive], ordered)
    rows = alive[first]
    return CanonicalSample(rows, codes[rows], merged, alive[distinct])


def _merge(groups: IntArray, weights: FloatArray, ordered: bool) -> tuple[IntArray, FloatArray]:
    """Return the first member of each group and the group's weight, by group or by appearance."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    merged = np.bincount(inverse, weights=weights, minlength=len(first))
    if not ordered:
        order = np.argsort(first)
        first, merged = first[order], merged[order]
    return first, merged.astype(np.float64)


def hash_rows(X: Any) -> NDArray[np.uint64]:
    """Hash each row of a dense or sparse matrix by its non-zero entries and their columns."""
    if sparse.issparse(X):
        csr = X.tocsr().copy()
        csr.sum_duplicates()
        mixed = _mix(csr.data.astype(np.float64), csr.indices)
        mixed[csr.data == 0] = 0
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        return np.asarray(total[csr.indptr[1:]] - total[csr.indptr[:-1]])
    out = np.zeros(X.shape[0], np.uint64)
    for column in range(X.shape[1]):
        values = np.ascontiguousarray(X[:, column], dtype=np.float64)
        out += np.where(values != 0, _mix(values, np.array(column)), np.uint64(0))
    return out


def _mix(values: FloatArray, columns: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """Spread the bits of a value and its column number over 64 bits (splitmix64's finaliser)."""
    with np.errstate(over="ignore"):
        z = values.view(np.uint64) + (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def _number_by_hash(X: Any, alive: IntArray) -> IntArray:
    """Number the living rows of a matrix by hash: equal rows alike, different rows apart."""
    hashes = hash_rows(X)[alive]
    order = np.argsort(hashes, kind="stable")
    # Equal hashes are believed only where the rows are equal.
    twins = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]) + 1
    new = np.ones(len(order), bool)
    new[twins] = ~_equal_rows(X, alive[order[twins - 1]], alive[order[twins]])
    numbers = np.empty(len(order), np.intp)
    numbers[order] = np.cumsum(new) - 1
    return numbers


def _equal_rows(X: Any, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
    if sparse.issparse(X):
        different = sparse.csr_matrix(X[first] != X[second])
        return np.asarray(np.diff(different.indptr) == 0)
    return np.asarray((X[first] == X[second]).all(axis=1))


def _number_objects(X: Any, alive: IntArray) -> tuple[IntArray, bool]:
    """Number objects; equal hashable objects alike, strings in alphabetical order.

    Objects without a hash are all taken to be different.
    """
    objects = [X[i] for i in alive]
    keys: dict[Any, int] = {}
    try:
        if all(isinstance(thing, str) for thing in objects):
            keys = {thing: number for number, thing in enumerate(sorted(set(objects)))}
            return np.array([keys[thing] for thing in objects], dtype=np.intp), True
        numbers = [keys.setdefault((type(thing), thing), len(keys)) for thing in objects]
    except TypeError:
        return np.arange(count_rows(objects)), False
    return np.array(numbers, dtype=np.intp), False
