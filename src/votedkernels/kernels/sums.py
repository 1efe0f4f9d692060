"""Sums over rows of functions of a base, by compiled loops.

The sums are sum_i v_i exp(-gamma b_ij) and sum_i v_i b_ij^d, for all widths or degrees at once. A
base comes in one of two forms: a block with one row per centre, small enough for the cache, or a
stored matrix with one row per row of the data, of which only some rows and some consecutive centres
are read. Sums over a stored matrix are added up in parts, like the blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _native
from .base import FloatArray, IntArray

#: Sums of this many rows are added to the total at a time, to keep rounding errors small.
ROWS_AT_ONCE = 256


class StoredBase(NamedTuple):
    """Some rows and consecutive centres of a stored base, shape (n_rows, n_centers)."""

    entries: FloatArray
    rows: IntArray
    first: int
    n_centers: int


def has_loops() -> bool:
    """Whether there are compiled loops."""
    return _native.loops is not None


def sum_gaussians(base: FloatArray | StoredBase, v: FloatArray, gammas: FloatArray) -> FloatArray:
    """Return sum_i v_i exp(-gamma_k b_ij), shape (n_gammas, n_centers)."""
    assert _native.loops is not None
    if not isinstance(base, StoredBase):
        out = np.zeros((len(gammas), len(base)))
        _native.loops.add_gaussians(base, v, gammas, out)
        return out
    total = np.zeros((len(gammas), base.n_centers))
    for start in range(0, len(v), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        out = np.zeros_like(total)
        _native.loops.add_stored_gaussians(
            base.entries, base.rows[rows], v[rows], base.first, out, gammas
        )
        total += out
    return total


def sum_powers(base: FloatArray | StoredBase, v: FloatArray, degrees: IntArray) -> FloatArray:
    """Return sum_i v_i b_ij^d for degrees d up to 10, shape (n_degrees, n_centers)."""
    assert _native.loops is not None
    highest = int(degrees.max())
    if not isinstance(base, StoredBase):
        out = np.zeros((5 if highest <= 5 else 10, len(base)))
        _native.loops.add_powers(base, v, out)
        return np.asarray(out[degrees - 1])
    total = np.zeros((3 if highest <= 3 else 5 if highest <= 5 else 10, base.n_centers))
    for start in range(0, len(v), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        out = np.zeros_like(total)
        _native.loops.add_stored_powers(base.entries, base.rows[rows], v[rows], base.first, out)
        total += out
    return np.asarray(total[degrees - 1])
