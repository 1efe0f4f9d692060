"""Losses, each written as a sum of hinges.

A convex, piecewise linear loss of a row is a sum of hinges with signs s = +-1 and goals g:

    loss(f) = sum_p w_p max(0, g_p - s_p f)

Problems and solvers know a loss only as such a sum. Each hinge has one dual variable,
0 <= u_p <= w_p, which is 0 if s_p f is above its goal and w_p if it is below. The dual objective is
sum_p g_p u_p, and the dual constraints contain the signed sums v_i = sum_p s_p u_p over the hinges
of each row i. With labels y or targets t:

    hinge                 max(0, 1 - y f)               sign y, goal 1
    epsilon-insensitive   max(0, |t - f| - epsilon)     signs +-1, goals +-t - epsilon
    pinball at tau        max(tau e, (tau - 1) e),      signs +-1, goals +-t,
                          e = t - f                     weights tau w and (1 - tau) w

To add a loss, write a class with a ``hinges`` method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..kernels.base import FloatArray, IntArray


@dataclass(frozen=True)
class Hinges:
    """The hinges of all rows.

    Attributes
    ----------
    signs, weights : arrays of shape (n_hinges,)
    goals : array of shape (n_hinges,); None if all goals are 1
    rows : the row of each hinge; None if hinge i belongs to row i
    """

    signs: FloatArray
    weights: FloatArray
    goals: FloatArray | None = None
    rows: IntArray | None = None


class Loss(Protocol):
    """A loss that can be split into hinges."""

    def hinges(self, targets: FloatArray, w: FloatArray) -> Hinges:
        """Return the hinges for rows with these targets (or labels +-1) and weights."""


@dataclass(frozen=True)
class Hinge:
    """The classification loss, for labels +-1."""

    def hinges(self, targets: FloatArray, w: FloatArray) -> Hinges:
        """Return one hinge per row."""
        return Hinges(targets, w)


@dataclass(frozen=True)
class EpsilonInsensitive:
    """The distance to the target beyond epsilon; for epsilon = 0, the absolute error."""

    epsilon: float = 0.0

    def hinges(self, targets: FloatArray, w: FloatArray) -> Hinges:
        """Return two hinges per row: first all for f below the target, then all for f above it."""
        return _two_sided(targets, self.epsilon, w, w)


@dataclass(frozen=True)
class Pinball:
    """The loss whose best constant is a quantile."""

    quantile: float = 0.5

    def hinges(self, targets: FloatArray, w: FloatArray) -> Hinges:
        """Return two hinges per row: first all for f below the target, then all for f above it."""
        return _two_sided(targets, 0.0, self.quantile * w, (1.0 - self.quantile) * w)


def _two_sided(targets: FloatArray, epsilon: float, below: FloatArray, above: FloatArray) -> Hinges:
    rows = np.arange(len(targets))
    return Hinges(
        signs=np.repeat([1.0, -1.0], len(targets)),
        weights=np.concatenate([below, above]),
        goals=np.concatenate([targets - epsilon, -targets - epsilon]),
        rows=np.concatenate([rows, rows]),
    )


def best_constant(signs: FloatArray, weights: FloatArray, goals: FloatArray) -> float:
    """Return the b that minimises sum_p w_p max(0, g_p - s_p b), or the middle of all such b.

    On the far left, the slope is minus the total weight of the positive signs. It grows by w_p as b
    passes s_p g_p.
    """
    corners = signs * goals
    order = np.argsort(corners, kind="stable")
    slopes = np.cumsum(weights[order]) - float(weights[signs > 0].sum())
    rounding = len(weights) * float(np.finfo(np.float64).eps) * float(weights.sum())
    ends = [np.flatnonzero(slopes >= -rounding), np.flatnonzero(slopes > rounding)]
    low, high = (corners[order[places[0] if len(places) else -1]] for places in ends)
    return float(low + 0.5 * (high - low))


def best_factor(margins: FloatArray, goals: FloatArray, w: FloatArray, price: float) -> float:
    """Return the smallest c >= 0 that minimises sum_p w_p max(0, g_p - c margins_p) + c price.

    The slope just above c = 0 is price - sum_p w_p margins_p over the hinges that are not 0 there.
    It grows by w_p |margins_p| as c passes the corner g_p / margins_p.
    """
    active = (goals > 0) | ((goals == 0) & (margins < 0))
    slope = price - float(w[active] @ margins[active])
    if slope >= 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        corners = goals / margins
    places = np.flatnonzero((corners > 0) & np.isfinite(corners))
    if len(places) == 0:
        return 0.0
    order = places[np.argsort(corners[places], kind="stable")]
    slopes = slope + np.cumsum(w[order] * np.abs(margins[order]))
    last = min(int(np.searchsorted(slopes >= 0, True)), len(order) - 1)
    return float(corners[order[last]])
