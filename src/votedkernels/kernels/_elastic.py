"""Elastic distances between time series, by dynamic programming, compiled with numba.

A series x is an array of shape (n_times, n_channels). Each distance is the cost of the cheapest
path through a table with a cell for each pair (i, j) of times. A step to (i, j) from

    (i-1, j-1)  matches x_i with y_j,
    (i-1, j)    deletes x_i, or stretches y_j,
    (i, j-1)    deletes y_j, or stretches x_i.

Only cells with |i m - j n| <= radius are used, where n and m are the lengths. Each function keeps
two rows of the table, and returns the cost of its last cell.

References
----------
.. [1] H. Sakoe, S. Chiba (1978). Dynamic programming algorithm optimization for spoken word
   recognition. IEEE Transactions on Acoustics, Speech, and Signal Processing 26. (dtw)
.. [2] L. Chen, R. Ng (2004). On the marriage of Lp-norms and edit distance. VLDB. (erp)
.. [3] P.-F. Marteau (2009). Time warp edit distance with stiffness adjustment for time series
   matching. IEEE Transactions on Pattern Analysis and Machine Intelligence 31. (twe)
.. [4] A. Stefan, V. Athitsos, G. Das (2013). The move-split-merge metric for time series. IEEE
   Transactions on Knowledge and Data Engineering 25. (msm)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from .base import FloatArray, IntArray

DTW, ERP, MSM, TWE = 0, 1, 2, 3

#: Sums may be reordered into vector lanes, and products fused with additions. NaN and infinity keep
#: their meaning: an overflow stays visible.
FAST = {"reassoc", "contract", "nsz"}

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function, with a cache on disk if there is a directory for it."""
    options: dict[str, Any] = {"nogil": True, "fastmath": FAST}
    try:
        return cast(Function, njit(cache=True, **options)(function))
    except RuntimeError:  # no directory to write to
        return cast(Function, njit(**options)(function))


def inlined(function: Function) -> Function:
    """Let numba paste the function into the compiled functions that call it."""
    return cast(Function, njit(nogil=True, fastmath=FAST, inline="always")(function))


@inlined
def _squared(x: FloatArray, i: int, y: FloatArray, j: int) -> float:
    """Return |x_i - y_j|^2."""
    total = 0.0
    for channel in range(x.shape[1]):
        total += (x[i, channel] - y[j, channel]) ** 2
    return total


@inlined
def _first_cell(i: int, n: int, m: int, radius: float) -> int:
    """Return the first j with |i m - j n| <= radius."""
    return max(0, int(np.ceil((i * m - radius) / n)))


@inlined
def _last_cell(i: int, n: int, m: int, radius: float) -> int:
    """Return the last j with |i m - j n| <= radius."""
    return min(m - 1, int(np.floor((i * m + radius) / n)))


@compiled
def time_warping(x: FloatArray, y: FloatArray, radius: float) -> float:
    """Return the sum of squared differences along the best alignment."""
    n, m = x.shape[0], y.shape[0]
    above, row = np.full(m, np.inf), np.full(m, np.inf)
    for i in range(n):
        row[:] = np.inf
        for j in range(_first_cell(i, n, m, radius), _last_cell(i, n, m, radius) + 1):
            best = 0.0 if i == 0 and j == 0 else np.inf
            if i > 0:
                best = min(best, above[j])
                if j > 0:
                    best = min(best, above[j - 1])
            if j > 0:
                best = min(best, row[j - 1])
            row[j] = best + _squared(x, i, y, j)
        above, row = row, above
    return float(above[m - 1])


@compiled
def real_penalty(x: FloatArray, y: FloatArray, radius: float, gap: float) -> float:
    """Return the edit distance with real penalty: a deleted value costs its distance to ``gap``."""
    n, m = x.shape[0], y.shape[0]
    nothing = np.full((1, x.shape[1]), gap)
    without_y = np.empty(m + 1)
    without_y[0] = 0.0
    for j in range(m):
        without_y[j + 1] = without_y[j] + np.sqrt(_squared(y, j, nothing, 0))
    above, row = np.full(m, np.inf), np.full(m, np.inf)
    without_x = 0.0
    for i in range(n):
        row[:] = np.inf
        lost_x = np.sqrt(_squared(x, i, nothing, 0))
        for j in range(_first_cell(i, n, m, radius), _last_cell(i, n, m, radius) + 1):
            lost_y = without_y[j + 1] - without_y[j]
            if i == 0:
                diagonal, up = without_y[j], without_y[j + 1]
            else:
                diagonal, up = without_x if j == 0 else above[j - 1], above[j]
            left = without_x + lost_x if j == 0 else row[j - 1]
            match = diagonal + np.sqrt(_squared(x, i, y, j))
            row[j] = min(match, up + lost_x, left + lost_y)
        without_x += lost_x
        above, row = row, above
    return float(above[m - 1])


@inlined
def _split(new: float, a: float, b: float, cost: float) -> float:
    """Return the cost of inserting a value between or next to two others."""
    if min(a, b) <= new <= max(a, b):
        return cost
    return cost + min(abs(new - a), abs(new - b))


@compiled
def move_split_merge(x: FloatArray, y: FloatArray, radius: float, cost: float) -> float:
    """Return the cost of moves, splits and merges, summed over channels."""
    n, m = x.shape[0], y.shape[0]
    total = 0.0
    above, row = np.full(m, np.inf), np.full(m, np.inf)
    for channel in range(x.shape[1]):
        for i in range(n):
            row[:] = np.inf
            new = x[i, channel]
            for j in range(_first_cell(i, n, m, radius), _last_cell(i, n, m, radius) + 1):
                other = y[j, channel]
                best = abs(new - other) if i == 0 and j == 0 else np.inf
                if i > 0:
                    best = min(best, above[j] + _split(new, x[i - 1, channel], other, cost))
                    if j > 0:
                        best = min(best, above[j - 1] + abs(new - other))
                if j > 0:
                    best = min(best, row[j - 1] + _split(other, new, y[j - 1, channel], cost))
                row[j] = best
            above, row = row, above
        total += above[m - 1]
    return float(total)


@compiled
def time_warp_edit(
    x: FloatArray, y: FloatArray, radius: float, cost: float, stiffness: float
) -> float:
    """Return the time warp edit distance; before its first value, each series is 0."""
    n, m = x.shape[0], y.shape[0]
    zero = np.zeros((1, x.shape[1]))
    fall = stiffness + cost
    lost_y = np.empty(m)
    for j in range(m):
        before = _squared(y, j, zero, 0) if j == 0 else _squared(y, j, y, j - 1)
        lost_y[j] = np.sqrt(before) + fall
    above, row = np.full(m, np.inf), np.full(m, np.inf)
    for i in range(n):
        row[:] = np.inf
        before = _squared(x, i, zero, 0) if i == 0 else _squared(x, i, x, i - 1)
        lost_x = np.sqrt(before) + fall
        for j in range(_first_cell(i, n, m, radius), _last_cell(i, n, m, radius) + 1):
            match = np.sqrt(_squared(x, i, y, j)) + 2 * stiffness * abs(i - j)
            best = np.inf
            if i == 0 and j == 0:
                best = match
            elif i > 0 and j > 0:
                best = above[j - 1] + match + np.sqrt(_squared(x, i - 1, y, j - 1))
            if i > 0:
                best = min(best, above[j] + lost_x)
            if j > 0:
                best = min(best, row[j - 1] + lost_y[j])
            row[j] = best
        above, row = row, above
    return float(above[m - 1])


@compiled
def fill_distances(
    metric: int,
    X: FloatArray,
    X_starts: IntArray,
    Y: FloatArray,
    Y_starts: IntArray,
    windows: FloatArray,
    cost: float,
    stiffness: float,
    gap: float,
    out: FloatArray,
) -> None:
    """Compute the distances between all pairs of series, for each window.

    The series are joined along time: series i is ``X[X_starts[i]:X_starts[i + 1]]``. A window is a
    fraction of the length. Series of unequal lengths are allowed at least one more step.
    """
    for i in range(len(X_starts) - 1):
        x = X[X_starts[i] : X_starts[i + 1]]
        for j in range(len(Y_starts) - 1):
            y = Y[Y_starts[j] : Y_starts[j + 1]]
            n, m = x.shape[0], y.shape[0]
            for k in range(len(windows)):
                radius = windows[k] * n * m + (0.0 if n == m else 1.0 * max(n, m))
                if metric == DTW:
                    out[i, j, k] = time_warping(x, y, radius)
                elif metric == ERP:
                    out[i, j, k] = real_penalty(x, y, radius, gap)
                elif metric == MSM:
                    out[i, j, k] = move_split_merge(x, y, radius, cost)
                else:
                    out[i, j, k] = time_warp_edit(x, y, radius, cost, stiffness)
