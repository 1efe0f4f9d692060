"""Hashes of the content of rows, for an order that is as good as random and always the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .base import FloatArray, Table, is_sparse


def hash_rows(X: Table) -> NDArray[np.uint64]:
    """Hash each row of a dense or sparse matrix by its non-zero entries and their columns."""
    if is_sparse(X):
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


def _mix(values: FloatArray, columns: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Spread the bits of a value and its column number over 64 bits (splitmix64's finaliser)."""
    with np.errstate(over="ignore"):
        z = values.view(np.uint64) + (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
