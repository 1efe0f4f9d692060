"""A primal-dual interior point method for all weights of a pool of columns.

The learning problem on the pool, and its dual, are

    min  sum_i w_i xi_i + sum_c l_c (b+_c + b-_c) + 1/2 b^T H b,     b = b+ - b-
         s.t.  xi - s + Z b = g,     all but b >= 0
    max  sum_i g_i u_i - 1/2 b^T H b
         s.t.  u + t = w,     Z^T u - H b + p = l,     -Z^T u + H b + q = l,     all but b >= 0

with columns Z_ic = y_i K_c(x_i) / max |K_c|. All goals g are 1 for the hinge loss. H is 0 except
for the hybrid norm. A logarithmic barrier of size mu keeps all variables positive. At the optimum
of the problem with the barrier,

    xi t = s u = b+ p = b- q = mu.

Each iteration is a Newton step in all variables, and mu tends to zero. The first point need not
satisfy the equations; its residuals shrink with each step (an infeasible method). A step solves

    D du + Z db = r,             D = xi / t + s / u
    (E^-1 + H) db - Z^T du = E^-1 f,     E = b+ / p + b- / q

with a matrix that is not much larger than the pool. Its factors are used several times:

1. the predictor, a step to mu = 0, shows how far mu can fall,
2. the corrector aims at that mu, with Mehrotra's second-order term [1]_,
3. Gondzio's centrality corrections [2]_ bring products that are too small or too large back to
   mu, as long as that lengthens the step.

References
----------
.. [1] S. Mehrotra (1992). On the implementation of a primal-dual interior point method. SIAM
   Journal on Optimization 2.
.. [2] J. Gondzio (1996). Multiple centrality corrections in a primal-dual method for linear
   programming. Computational Optimization and Applications 6.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..kernels.base import FloatArray
from ..kernels.columns import blocks
from ..kernels.local_columns import BLOCK_ROWS
from .lp.linear_program import lu_factors

MAX_STEPS = 100
#: How far a step goes, as a fraction of the way to the boundary.
TO_BOUNDARY = 0.99
#: Double precision does not allow smaller relative gaps.
SMALLEST_GAP = 1e-11
#: A row is on the margin if D is smaller than this times its diagonal entry in Z E Z^T.
MARGIN_ROW = 1e-4
#: First mu, in units of the mean weight; first slacks, in units of the largest correlation.
FIRST_MU = 10.0
FIRST_SLACK = 0.1
#: The largest number of corrections per step. Products outside this range, in units of mu, are
#: corrected.
MAX_CORRECTIONS = 3
TOO_SMALL, TOO_LARGE = 0.1, 10.0
#: Longer steps need no correction. A correction must lengthen the step by this much to be kept.
LONG_STEP = 0.9
GAIN_OF_CORRECTION = 0.02

#: Parts of a point or a step: one for each of the four products, in that order.
Four = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Solve = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, float]]


@dataclass(frozen=True)
class PoolSolution:
    """Weights of the pool's (scaled) columns, the intercept, and a dual vector.

    ``dual_weights`` is the b of the dual problem. It matters only if H is not 0.
    """

    weights: FloatArray
    intercept: float
    dual: FloatArray
    dual_weights: FloatArray
    n_steps: int


def solve_pool(
    Z: FloatArray,
    w: FloatArray,
    penalties: FloatArray,
    tol: float,
    balance: FloatArray | None,
    squared: FloatArray | None = None,
    *,
    goals: FloatArray | None = None,
    most_kept: int | None = None,
    deadline: float | None = None,
) -> PoolSolution:
    """Minimise the hinge loss plus penalties over the columns Z to a relative gap of ``tol``.

    ``balance`` holds the labels if there is an intercept, which is a column without a penalty.
    ``squared`` is H, or None for 0; ``goals`` is g, or None for 1. At most ``most_kept`` rows near
    the margin stay in the linear system: more of them need more memory, fewer lose digits.
    """
    state = _State(Z, w, penalties, balance, squared, most_kept, goals)
    tol = max(tol, SMALLEST_GAP)
    objective, weights, intercept = np.inf, np.zeros(Z.shape[1]), 0.0
    bound, dual, dual_weights, n_steps = -np.inf, state.u, state.b, 0
    while n_steps < MAX_STEPS:
        n_steps += 1
        value, candidate = state.vote()
        if value < objective:
            objective, weights, intercept = value, candidate, state.intercept
        value, shrink = state.dual_value()
        if value > bound:
            bound, dual, dual_weights = value, shrink * state.u, shrink * state.b
        if objective - bound <= tol * objective:
            break
        if deadline is not None and time.perf_counter() >= deadline:
            break
        if not state.step():
            break
    return PoolSolution(weights, intercept, dual, dual_weights, n_steps)


@dataclass(frozen=True)
class _Step:
    """A direction: the changes in (xi, s, b+, b-), in (t, u, p, q), and in the intercept."""

    primal: Four
    dual: Four
    intercept: float


class _State:
    """The current point, with positive (xi, s, b+, b-) and (t, u, p, q)."""

    def __init__(
        self,
        Z: FloatArray,
        w: FloatArray,
        penalties: FloatArray,
        balance: FloatArray | None,
        squared: FloatArray | None,
        most_kept: int | None = None,
        goals: FloatArray | None = None,
    ) -> None:
        self.Z, self.w, self.penalties = Z, w, penalties
        self.most_kept = len(w) if most_kept is None else most_kept
        self.balance, self.squared = balance, squared
        self.goals = np.ones(len(w)) if goals is None else goals
        self.intercept = 0.0
        u = 0.5 * w
        if balance is not None:  # sum_i u_i y_i = 0 from the start
            mass = np.array([u[balance < 0].sum(), u[balance > 0].sum()])
            u = u * np.where(balance > 0, mass.min() / mass[1], mass.min() / mass[0])
        correlation = u @ Z
        least = penalties + FIRST_SLACK * np.abs(correlation).max(initial=0.0)
        p = np.maximum(penalties - correlation, least)
        q = np.maximum(penalties + correlation, least)
        self.dual: Four = (w - u, u, p, q)
        mu = FIRST_MU * float(w.mean())
        self.primal: Four = (mu / self.dual[0], mu / u, mu / p, mu / q)

    @property
    def u(self) -> FloatArray:
        """The dual vector."""
        return self.dual[1]

    @property
    def b(self) -> FloatArray:
        """The weights of all columns."""
        return self.primal[2] - self.primal[3]

    def dual_value(self) -> tuple[float, float]:
        """Return the lower bound that (u, b) proves, and the factor that makes both feasible."""
        pull = self._pull(self.b)
        excess = np.abs(self.u @ self.Z - pull) / self.penalties
        shrink = 1.0 / max(1.0, float(excess.max(initial=0.0)))
        square = float(self.b @ pull)
        return shrink * float(self.goals @ self.u) - 0.5 * shrink**2 * square, shrink

    def vote(self) -> tuple[float, FloatArray]:
        """Return F on the pool, and weights that are 0 for columns the optimum does not use.

        These are the columns whose constraints have large slacks compared with their share of F.
        """
        b = self.b
        _, _, p, q = self.dual
        slack = np.minimum(p, q) / self.penalties
        price = np.abs(b) * (self.penalties + np.abs(self._pull(b)))
        weights = np.where(price > slack * self._objective(b) / len(self.w), b, 0.0)
        return self._objective(weights), weights

    def _objective(self, b: FloatArray) -> float:
        loss = self.w @ np.maximum(0.0, self.goals - self._margins(b))
        return float(loss + self.penalties @ np.abs(b) + 0.5 * b @ self._pull(b))

    def _pull(self, b: FloatArray) -> FloatArray:
        """Return H b."""
        return np.zeros_like(b) if self.squared is None else self.squared @ b

    def _margins(self, b: FloatArray) -> FloatArray:
        margins = self.Z @ b
        return margins if self.balance is None else margins + self.balance * self.intercept

    def step(self) -> bool:
        """Take a step; return False if the numbers break down or nothing moves."""
        products = [x * z for x, z in zip(self.primal, self.dual, strict=True)]
        n = sum(map(len, products))
        mu = float(sum(product.sum() for product in products)) / n
        try:
            solve = self._factor()
            affine = self._direction(solve, _filled(products, 0.0))
            after = sum(float(product.sum()) for product in self._products_after(affine)) / n
            target = mu * min(1.0, (after / mu) ** 3)
            aim: Four = tuple(  # type: ignore[assignment]
                target - dx * dz for dx, dz in zip(affine.primal, affine.dual, strict=True)
            )
            move = self._direction(solve, aim)
            move = self._corrected(solve, aim, move, target)
        except (linalg.LinAlgError, ValueError):
            return False
        if not all(np.isfinite(part).all() for part in (*move.primal, *move.dual)):
            return False
        primal, dual = (TO_BOUNDARY * length for length in self._step_lengths(move))
        self.primal = _moved(self.primal, move.primal, primal)
        self.dual = _moved(self.dual, move.dual, dual)
        self.intercept += primal * move.intercept
        inside = min(part.min() for part in (*self.primal, *self.dual) if len(part)) > 0
        return bool(inside and max(primal, dual) > 1e-10)

    def _corrected(self, solve: Solve, aim: Four, move: _Step, target: float) -> _Step:
        """Correct products that would leave [0.1, 10] * target, while that lengthens the step."""
        reach = sum(self._step_lengths(move))
        for _ in range(MAX_CORRECTIONS):
            if min(self._step_lengths(move)) > LONG_STEP:
                break
            aim = tuple(  # type: ignore[assignment]
                old
                + np.maximum(
                    np.clip(product, TOO_SMALL * target, TOO_LARGE * target) - product,
                    -TOO_LARGE * target,
                )
                for old, product in zip(aim, self._products_after(move, 1.08, 0.08), strict=True)
            )
            corrected = self._direction(solve, aim)
            longer = sum(self._step_lengths(corrected))
            if not longer > reach + GAIN_OF_CORRECTION:
                break
            move, reach = corrected, longer
        return move

    def _factor(self) -> Solve:
        """Return a function that solves for (du, db, change in the intercept).

        For rows on the margin, D is near 0, so we must not divide by it. These rows stay in the
        linear system, which has one unknown per such row and one, db_c / sqrt(E_c), per column.
        """
        ratios = [x / z for x, z in zip(self.primal, self.dual, strict=True)]
        D, E = ratios[0] + ratios[1], ratios[2] + ratios[3]
        Z, root = self.Z, np.sqrt(E)
        nearness = MARGIN_ROW * np.einsum("ij,ij,j->i", Z, Z, E, optimize=False) / D
        kept = nearness > 1
        if kept.sum() > self.most_kept:
            kept = np.zeros(len(D), bool)
            kept[np.argpartition(-nearness, self.most_kept)[: self.most_kept]] = True
        n_kept, n_pool = int(kept.sum()), len(E)
        inverse = np.where(kept, 0.0, 1.0 / D)
        system = np.zeros((n_kept + n_pool, n_kept + n_pool))
        system[:n_kept, :n_kept][np.diag_indices(n_kept)] = D[kept]
        system[:n_kept, n_kept:] = Z[kept] * root
        system[n_kept:, :n_kept] = system[:n_kept, n_kept:].T
        pool = system[n_kept:, n_kept:]
        for rows in blocks(len(D), BLOCK_ROWS):
            part = Z[rows] * root
            pool -= part.T @ (part * inverse[rows, None])
        if self.squared is not None:
            pool -= root[:, None] * self.squared * root
        pool[np.diag_indices(n_pool)] -= 1.0
        factors = lu_factors(system)

        def solve(r: FloatArray, freely: FloatArray) -> tuple[FloatArray, FloatArray, float]:
            right = np.concatenate([r[kept], -root * ((r * inverse) @ Z) - freely / root])
            found = linalg.lu_solve(factors, right, check_finite=False)
            du = inverse * (r - Z @ (root * found[n_kept:]))
            du[kept] = found[:n_kept]
            return du, root * found[n_kept:], 0.0

        if self.balance is None:
            return solve
        y = self.balance
        y_du, y_db, _ = solve(y, np.zeros(n_pool))
        curvature = float(y @ y_du)
        if curvature == 0:  # a column equals the labels, and acts like the intercept
            raise linalg.LinAlgError("the intercept is not unique")

        def solve_balanced(
            r: FloatArray, freely: FloatArray
        ) -> tuple[FloatArray, FloatArray, float]:
            du, db, _ = solve(r, freely)
            constant = float(y @ du) / curvature  # so that y.du = 0
            return du - constant * y_du, db - constant * y_db, constant

        return solve_balanced

    def _direction(self, solve: Solve, aim: Four) -> _Step:
        """Return the step after which the four products are ``aim``, to first order."""
        (xi, s, up, down), (_, u, p, q) = self.primal, self.dual
        towards = [a / z - x for a, x, z in zip(aim, self.primal, self.dual, strict=True)]
        missing = self.goals - (xi - s + self._margins(self.b))
        correlation = u @ self.Z - self._pull(self.b)
        lacks_p, lacks_q = self.penalties - correlation - p, self.penalties + correlation - q
        E = up / p + down / q
        freely = towards[2] - up / p * lacks_p - towards[3] + down / q * lacks_q
        du, db, intercept = solve(missing - towards[0] + towards[1], freely)
        # Z^T du - H db = (db - f) / E. Use the side that loses fewer digits.
        gained, given = du @ self.Z, self._pull(db)
        rather = (np.abs(db) + np.abs(freely)) / E < np.abs(gained) + np.abs(given)
        change = np.where(rather, (db - freely) / E, gained - given)
        dual: Four = (-du, du, lacks_p - change, lacks_q + change)
        primal: Four = tuple(  # type: ignore[assignment]
            to - x / z * dz
            for to, x, z, dz in zip(towards, self.primal, self.dual, dual, strict=True)
        )
        return _Step(primal, dual, intercept)

    def _products_after(
        self, move: _Step, stretch: float = 1.0, more: float = 0.0
    ) -> list[FloatArray]:
        """Return the four products after the longest possible step, or a somewhat longer one."""
        primal, dual = (min(1.0, stretch * x + more) for x in self._step_lengths(move))
        return [
            (x + primal * dx) * (z + dual * dz)
            for x, dx, z, dz in zip(self.primal, move.primal, self.dual, move.dual, strict=True)
        ]

    def _step_lengths(self, move: _Step) -> tuple[float, float]:
        primal = min(map(_longest, self.primal, move.primal))
        dual = min(map(_longest, self.dual, move.dual))
        if self.squared is not None:  # p and q depend on primal and dual variables
            primal = dual = min(primal, dual)
        return primal, dual


def _filled(like: list[FloatArray], value: float) -> Four:
    return tuple(np.full_like(part, value) for part in like)  # type: ignore[return-value]


def _moved(point: Four, step: Four, length: float) -> Four:
    return tuple(x + length * dx for x, dx in zip(point, step, strict=True))  # type: ignore[return-value]


def _longest(x: FloatArray, dx: FloatArray) -> float:
    """Return the longest step in [0, 1] that keeps x + step dx >= 0."""
    down = dx < 0
    return min(1.0, float((-x[down] / dx[down]).min(initial=np.inf))) if down.any() else 1.0
