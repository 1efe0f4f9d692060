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


class SeveralWeights(NamedTuple):
    """Several vectors v of weights on the same rows, most of which are 0, row by row.

    Vector ``which[e]`` has weight ``weights[e]`` on row r for each e from ``starts[r]`` to
    ``starts[r + 1] - 1``.
    """

    starts: IntArray
    which: IntArray
    weights: FloatArray
    n_vectors: int

    def on(self, rows: slice) -> SeveralWeights:
        """Return the weights on some consecutive rows."""
        starts = self.starts[rows.start : rows.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        return SeveralWeights(
            starts - starts[0], self.which[entries], self.weights[entries], self.n_vectors
        )

    def dense(self) -> FloatArray:
        """Return the weights as an array of shape (n_vectors, n_rows)."""
        out = np.zeros((self.n_vectors, len(self.starts) - 1))
        out[self.which, np.repeat(np.arange(out.shape[1]), np.diff(self.starts))] = self.weights
        return out


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


def sum_several_gaussians(
    base: FloatArray, several: SeveralWeights, gammas: FloatArray
) -> FloatArray:
    """Return sum_i v_i exp(-gamma_k b_ij) for several v, shape (n_gammas, n_vectors, n_centers).

    Each value is computed once. A row of the base belongs to a row of the data.
    """
    assert _native.loops is not None
    out = np.zeros((len(gammas) * several.n_vectors, base.shape[1]))
    _native.loops.add_gaussians_to_several(base, *several[:3], out, several.n_vectors, gammas)
    return out.reshape(len(gammas), several.n_vectors, -1)


def sum_several_powers(base: FloatArray, several: SeveralWeights, degrees: IntArray) -> FloatArray:
    """Return sum_i v_i b_ij^d for several v, shape (n_degrees, n_vectors, n_centers)."""
    assert _native.loops is not None
    highest = int(degrees.max())
    out = np.zeros((highest * several.n_vectors, base.shape[1]))
    _native.loops.add_powers_to_several(base, *several[:3], out, several.n_vectors)
    return np.asarray(out.reshape(highest, several.n_vectors, -1)[degrees - 1])
