"""Pricing all Gaussian widths in a range, by branch and bound.

With t = log gamma and the base d_ij = unit ||x_i - c_j||^2, the correlation of a dual vector u
with the column of width gamma and centre c_j is

    v_j(t) = sum_i u_i y_i exp(-e^t d_ij),     |v_j''(t)| <= C = 0.309 sum_i u_i,

for any data, because (z^2 - z) e^-z is largest at z = (3 + sqrt 5) / 2. So on a cell [a, b]

    |v_j(t)| <= max(|v_j(a)|, |v_j(b)|) + C (b - a)^2 / 8.

The penalty L is linear in t between knots, and no cell contains a knot in its interior, so the
smallest L on a cell is at one of its ends. Cells whose bound on |v| / L exceeds the target are
halved until the bound no longer does, or until a value itself exceeds the target. Violations are
then refined by golden-section search (Kiefer, Sequential minimax search for a maximum, Proceedings
of the American Mathematical Society 4, 1953).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..kernels import continuous_family
from ..kernels.base import FloatArray, IntArray, take_rows
from ..kernels.columns import blocks
from ..problem import Problem

_Z = (3 + math.sqrt(5)) / 2
CURVATURE = (_Z * _Z - _Z) * math.exp(-_Z) * (1 + 1e-12)
FIRST_CELL = 0.25
#: Once a violation is known, cells are still halved this many times to find others.
FEWEST_LEVELS = 3
MAX_LEVELS = 40
PAIRS_AT_ONCE = 1024
#: Widths priced in one pass; the deadline is checked between passes.
NODES_AT_ONCE = 128
GOLDEN = (math.sqrt(5) - 1) / 2
GOLDEN_STEPS = 30
#: Rounding error of a sum, in units in the last place.
ULPS = 100


@dataclass(frozen=True)
class WidthPrices:
    """A proved bound on |v| / L over all widths and centres, and where |v| / L exceeds 1.

    ``gammas`` and ``centers`` locate the largest violations found, at most one per centre, in
    descending order.
    """

    excess: float
    gammas: FloatArray
    centers: IntArray


def price_widths(problem: Problem, u: FloatArray, target: float, most: int) -> WidthPrices:
    """Bound |v| / L over all widths, closely enough to tell whether ``target`` is a bound."""
    pricer = _Pricer(problem, u)
    cells = pricer.first_cells()
    settled, found = 0.0, [pricer.best_ends(cells)]
    for level in range(MAX_LEVELS):
        bounds = pricer.bounds(cells)
        open_cells = bounds > target
        settled = max(settled, float(bounds[~open_cells].max(initial=0.0)))
        remaining = float(bounds[open_cells].max(initial=0.0))
        cells = cells.take(open_cells)
        violated = max(float(part.values.max(initial=0.0)) for part in found) > target
        if len(cells.centers) == 0 or (violated and level >= FEWEST_LEVELS):
            break
        cells = pricer.halved(cells)
        found.append(pricer.best_ends(cells))
    excess = max(settled, remaining) * (1 + ULPS * float(np.finfo(np.float64).eps))
    samples = _Samples.joined(found)
    best = samples.best(most, above=1.0)
    return WidthPrices(excess, np.exp(pricer.refined(best, FIRST_CELL / 2**level)), best.centers)


@dataclass(frozen=True)
class _Cells:
    """Cells [a, b] of t, each for one centre, with |v| at both ends."""

    centers: IntArray
    a: FloatArray
    b: FloatArray
    at_a: FloatArray
    at_b: FloatArray

    def take(self, chosen: np.ndarray) -> _Cells:
        return _Cells(*(part[chosen] for part in vars(self).values()))


@dataclass(frozen=True)
class _Samples:
    """Values |v| / L at some t and centres."""

    centers: IntArray
    t: FloatArray
    values: FloatArray

    @staticmethod
    def joined(parts: list[_Samples]) -> _Samples:
        return _Samples(
            np.concatenate([part.centers for part in parts]),
            np.concatenate([part.t for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    def best(self, most: int, above: float) -> _Samples:
        """Return the ``most`` largest values above a limit, at most one per centre."""
        order = np.argsort(-self.values, kind="stable")
        order = order[self.values[order] > above]
        _, first = np.unique(self.centers[order], return_index=True)
        chosen = order[np.sort(first)[:most]]
        return _Samples(self.centers[chosen], self.t[chosen], self.values[chosen])


class _Pricer:
    """Computes v for any t and centre, for one dual vector."""

    def __init__(self, problem: Problem, u: FloatArray) -> None:
        family = continuous_family(problem.columns.families)
        assert family is not None
        assert problem.continuum is not None
        self.problem, self.family, self.continuum = problem, family, problem.continuum
        self.signed = problem.signed(u)
        self.active = np.flatnonzero(self.signed)
        self.curvature = CURVATURE * float(np.abs(self.signed).sum())
        self.ends = math.log(family.low), math.log(family.high)

    def first_cells(self) -> _Cells:
        """Return cells of moderate width over the whole range, for all centres."""
        knots = np.log(self.continuum.knots)
        parts = [
            np.linspace(a, b, max(1, math.ceil((b - a) / FIRST_CELL)), endpoint=False)
            for a, b in pairwise(knots)
        ]
        nodes = np.concatenate([*parts, knots[-1:]])
        values = np.concatenate(
            [self._correlation(nodes[some]) for some in blocks(len(nodes), NODES_AT_ONCE)]
        )
        if len(nodes) == 1:  # low = high
            nodes, values = np.repeat(nodes, 2), np.repeat(values, 2, axis=0)
        n_cells, n_centers = len(nodes) - 1, values.shape[1]
        return _Cells(
            np.tile(np.arange(n_centers), n_cells),
            np.repeat(nodes[:-1], n_centers),
            np.repeat(nodes[1:], n_centers),
            values[:-1].ravel(),
            values[1:].ravel(),
        )

    def _correlation(self, t: FloatArray) -> FloatArray:
        """Return |v| of all centres at some t, shape (n_t, n_centers), in one pass."""
        family = self.family.with_widths(np.exp(t))
        columns = self.problem.columns.at_hand().with_last(family, alone=True)
        return np.abs(columns.correlate(self.signed))

    def bounds(self, cells: _Cells) -> FloatArray:
        """Return the bound on |v| / L for each cell."""
        largest = np.maximum(cells.at_a, cells.at_b)
        largest = largest + self.curvature * (cells.b - cells.a) ** 2 / 8
        return np.asarray(largest / np.minimum(self.penalties(cells.a), self.penalties(cells.b)))

    def halved(self, cells: _Cells) -> _Cells:
        """Return both halves of each cell."""
        middle = 0.5 * (cells.a + cells.b)
        at_middle = np.abs(self.values(cells.centers, middle))
        both = np.concatenate([cells.centers, cells.centers])
        return _Cells(
            both,
            np.concatenate([cells.a, middle]),
            np.concatenate([middle, cells.b]),
            np.concatenate([cells.at_a, at_middle]),
            np.concatenate([at_middle, cells.at_b]),
        )

    def best_ends(self, cells: _Cells) -> _Samples:
        """Return the better end of each cell, if |v| / L exceeds 1 there."""
        at_a, at_b = cells.at_a / self.penalties(cells.a), cells.at_b / self.penalties(cells.b)
        left = at_a >= at_b
        values = np.where(left, at_a, at_b)
        above = values > 1
        return _Samples(
            cells.centers[above], np.where(left, cells.a, cells.b)[above], values[above]
        )

    def penalties(self, t: FloatArray) -> FloatArray:
        """Return the penalties L at some t."""
        return self.continuum.penalties_at(np.exp(t))

    def values(self, centers: IntArray, t: FloatArray) -> FloatArray:
        """Return v for some pairs of a centre and a t."""
        out = np.empty(len(t))
        columns = self.problem.columns.at_hand()
        rows = take_rows(columns.X, self.active)
        for part in blocks(len(t), PAIRS_AT_ONCE):
            columns.budget.check_time()
            used, positions = np.unique(centers[part], return_inverse=True)
            base = self.family.base(rows, take_rows(columns.centers, used))
            exponents = np.take(base, positions, axis=1)
            with np.errstate(over="ignore"):
                exponents *= -np.exp(t[part])
            out[part] = self.signed[self.active] @ np.exp(exponents, out=exponents)
        return out

    def refined(self, samples: _Samples, radius: float) -> FloatArray:
        """Return the t near each sample where |v| / L is largest, by golden-section search."""

        def ratio(t: FloatArray) -> FloatArray:
            return np.asarray(np.abs(self.values(samples.centers, t)) / self.penalties(t))

        a = np.maximum(samples.t - radius, self.ends[0])
        b = np.minimum(samples.t + radius, self.ends[1])
        left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        at_left, at_right = ratio(left), ratio(right)
        for _ in range(GOLDEN_STEPS if len(a) else 0):
            up = at_left < at_right  # the maximum is in [left, b]
            a, b = np.where(up, left, a), np.where(up, b, right)
            new_left, new_right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
            at_new = ratio(np.where(up, new_right, new_left))
            at_left, at_right = np.where(up, at_right, at_new), np.where(up, at_new, at_left)
            left, right = new_left, new_right
        middle = 0.5 * (a + b)
        # Keep the sample itself if the search has ended at a lower peak.
        return np.where(ratio(middle) >= samples.values, middle, samples.t)
