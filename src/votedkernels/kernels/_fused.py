"""Loops compiled with numba, which are imported only for large problems and for time series.

The loops release the GIL, so that our own threads can share the blocks. `_native` has the loops
that every fit needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .base import FloatArray

Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be reordered into vector lanes, and products fused with additions. NaN and infinity keep
# their meaning: an overflow stays visible.
_FAST = {"reassoc", "contract", "nsz"}


def compiled(function: Function) -> Function:
    """Compile a function, with a cache on disk if there is a directory for it."""
    options: dict[str, Any] = {"nogil": True, "fastmath": _FAST}
    try:
        return cast(Function, njit(cache=True, **options)(function))
    except RuntimeError:  # no directory to write to
        return cast(Function, njit(**options)(function))


def inlined(function: Function) -> Function:
    """Let numba paste the function into the compiled functions that call it."""
    return cast(Function, njit(nogil=True, fastmath=_FAST, inline="always")(function))


@compiled
def price_thresholds(
    codes: NDArray[np.int32],
    v: FloatArray,
    places: NDArray[np.unsignedinteger],
    centers: NDArray[np.int32],
    first: NDArray[np.bool_],
    out: FloatArray,
) -> None:
    """Write to ``out`` the sum of v over codes above that of each centre, minus all others.

    ``codes`` are sorted. ``places`` has one entry per code, which is set to the number of ``codes``
    up to it. Small integers stay in cache when centres read them in any order. Where ``first`` is
    False, the result is 0.
    """
    total = 0.0
    for i in range(len(v)):
        total += v[i]
    sums = np.empty(len(codes) + 1)
    sums[0] = total
    below, start = 0.0, 0
    for i in range(len(codes)):
        places[start : codes[i]] = i
        start = codes[i]
        below += v[i]
        sums[i + 1] = total - 2.0 * below
    places[start:] = len(codes)
    for j in range(len(centers)):
        out[j] = sums[places[centers[j]]] if first[j] else 0.0
