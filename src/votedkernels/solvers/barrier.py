"""Joint steps over a pool of columns, by Newton's method on a smoothed problem.

    min  sum_i w_i xi_i + sum_c l_c (b+_c + b-_c)     s.t.  xi - s + Z (b+ - b-) = 1,   all >= 0
    max  sum_i u_i     s.t.  u + t = w,   Z^T u + p = l,   -Z^T u + q = l,              all >= 0

is the learning problem on the pool and its dual, with columns Z_ic = y_i K_c(x_i) / max |K_c|.
Its hinges and absolute values are smoothed by logarithms of size mu, which makes

    xi t = s u = b+ p = b- q = mu

at the optimum; all weights of the pool take one Newton step together, and mu goes to zero. The
point need not satisfy the equations at first, and does so ever better. A step solves

    (D + Z E Z^T) du = r,     D = xi / t + s / u,     E = b+ / p + b- / q

by way of a matrix not much larger than the pool, several times: once to see how far mu can fall,
once for the step, and as often as correcting the products that lag behind or run ahead makes
the step longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..kernels.base import FloatArray
from ..kernels.gram import BLOCK_ROWS, blocks
from .refinement import lu_factors

MAX_STEPS = 100
TO_BOUNDARY = 0.99
#: Nothing is gained below this relative gap in double precision.
SMALLEST_GAP = 1e-11
#: D against the row of Z E Z^T below which a row counts as on the margin.
MARGIN_ROW = 1e-4
#: The start: mu in units of the mean weight, and slacks in units of the largest correlation.
FIRST_MU = 10.0
FIRST_SLACK = 0.1
#: Corrections of one step, and the products, in units of their target, that need one.
MAX_CORRECTIONS = 3
TOO_SMALL, TOO_LARGE = 0.1, 10.0
LONG_STEP = 0.9
GAIN_OF_CORRECTION = 0.02

#: Parts of a point or a step that belong to one of the four products, in their order.
Four = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Solve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class PoolSolution:
    """Weights of the pool's (scaled) columns, the intercept, and a dual vector."""

    weights: FloatArray
    intercept: float
    dual: FloatArray
    n_steps: int


def solve_pool(
    Z: FloatArray, w: FloatArray, penalties: FloatArray, tol: float, balance: FloatArray | None
) -> PoolSolution:
    """Minimise the hinge loss plus penalties over the columns Z to a relative gap of ``tol``.

    ``balance`` holds the labels when there is an intercept: a column without a penalty.
    """
    state = _State(Z, w, penalties, balance)
    tol = max(tol, SMALLEST_GAP)
    objective, weights, intercept = np.inf, np.zeros(Z.shape[1]), 0.0
    bound, dual, n_steps = -np.inf, state.u, 0
    while n_steps < MAX_STEPS:
        n_steps += 1
        value = state.objective()
        if value < objective:
            objective, weights, intercept = value, state.weights(), state.intercept
        feasible = state.feasible_dual()
        if feasible.sum() > bound:
            bound, dual = float(feasible.sum()), feasible
        if objective - bound <= tol * objective or not state.step():
            break
    return PoolSolution(weights, intercept, dual, n_steps)


@dataclass(frozen=True)
class _Step:
    """A direction: the changes of (xi, s, b+, b-), of (t, u, p, q), and of the intercept."""

    primal: Four
    dual: Four
    intercept: float


class _State:
    """A point with positive (xi, s, b+, b-) and (t, u, p, q)."""

    def __init__(
        self, Z: FloatArray, w: FloatArray, penalties: FloatArray, balance: FloatArray | None
    ) -> None:
        self.Z, self.w, self.penalties, self.balance = Z, w, penalties, balance
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

    def feasible_dual(self) -> FloatArray:
        """Return u, scaled down to where |Z^T u| <= l."""
        excess = float((np.abs(self.u @ self.Z) / self.penalties).max(initial=0.0))
        return self.u / max(1.0, excess)

    def weights(self) -> FloatArray:
        """Return b, with 0 where the slack says that a column has no part in the optimum."""
        _, _, p, q = self.dual
        b = self.primal[2] - self.primal[3]
        slack = np.minimum(p, q) / self.penalties
        return np.where(np.abs(b) * self.penalties > slack * self.w.mean(), b, 0.0)

    def objective(self) -> float:
        """Return F on the pool."""
        b = self.weights()
        loss = self.w @ np.maximum(0.0, 1.0 - self._margins(b))
        return float(loss + self.penalties @ np.abs(b))

    def _margins(self, b: FloatArray) -> FloatArray:
        margins = self.Z @ b
        return margins if self.balance is None else margins + self.balance * self.intercept

    def step(self) -> bool:
        """Take a step; False where the numbers break down or nothing moves."""
        products = [x * z for x, z in zip(self.primal, self.dual, strict=True)]
        n = sum(map(len, products))
        mu = float(sum(product.sum() for product in products)) / n
        try:
            solve, plain = self._factor()
            affine = self._direction(solve, plain, _filled(products, 0.0))
            after = sum(float(product.sum()) for product in self._products_after(affine)) / n
            target = mu * min(1.0, (after / mu) ** 3)
            aim: Four = tuple(  # type: ignore[assignment]
                target - dx * dz for dx, dz in zip(affine.primal, affine.dual, strict=True)
            )
            move = self._direction(solve, plain, aim)
            move = self._corrected(solve, plain, aim, move, target)
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

    def _corrected(
        self, solve: Solve, plain: Solve, aim: Four, move: _Step, target: float
    ) -> _Step:
        """Aim anew where products would leave [0.1, 10] target, while that makes longer steps."""
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
            corrected = self._direction(solve, plain, aim)
            longer = sum(self._step_lengths(corrected))
            if not longer > reach + GAIN_OF_CORRECTION:
                break
            move, reach = corrected, longer
        return move

    def _factor(self) -> tuple[Solve, Solve]:
        """Return functions that solve (D + Z E Z^T) x = r, with and without y.x = 0.

        Rows on the margin have D near 0, and must not be divided by it: they stay in a system
        of their own, beside one unknown v_c = root(E_c) Z_c.x for each column.
        """
        ratios = [x / z for x, z in zip(self.primal, self.dual, strict=True)]
        D, E = ratios[0] + ratios[1], ratios[2] + ratios[3]
        Z, root = self.Z, np.sqrt(E)
        kept = MARGIN_ROW * np.einsum("ij,ij,j->i", Z, Z, E, optimize=False) > D
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
        pool[np.diag_indices(n_pool)] -= 1.0
        factors = lu_factors(system)

        def solve(r: FloatArray) -> FloatArray:
            right = np.concatenate([r[kept], -root * ((r * inverse) @ Z)])
            found = linalg.lu_solve(factors, right, check_finite=False)
            x = inverse * (r - Z @ (root * found[n_kept:]))
            x[kept] = found[:n_kept]
            return np.asarray(x)

        if self.balance is None:
            return solve, solve
        y = self.balance
        y_solved = solve(y)
        curvature = float(y @ y_solved)

        def solve_balanced(r: FloatArray) -> FloatArray:
            x = solve(r)
            return np.asarray(x - y_solved * (float(y @ x) / curvature))

        return solve_balanced, solve

    def _direction(self, solve: Solve, plain: Solve, aim: Four) -> _Step:
        """Return the step on which the four products become ``aim``, to first order."""
        xi, s, up, down = self.primal
        t, u, p, q = self.dual
        correlation = u @ self.Z
        lacks_p, lacks_q = self.penalties - correlation - p, self.penalties + correlation - q
        to_xi, to_s = aim[0] / t - xi, aim[1] / u - s
        to_up = aim[2] / p - up - up / p * lacks_p
        to_down = aim[3] / q - down - down / q * lacks_q
        missing = 1.0 - (xi - s + self._margins(up - down))
        right = missing - to_xi + to_s - self.Z @ (to_up - to_down)
        du = solve(right)
        intercept = 0.0
        if self.balance is not None:
            y = self.balance
            intercept = float(y @ plain(right)) / float(y @ plain(y))
        moved = du @ self.Z
        return _Step(
            (to_xi + xi / t * du, to_s - s / u * du, to_up + up / p * moved,
             to_down - down / q * moved),
            (-du, du, lacks_p - moved, lacks_q + moved),
            intercept,
        )  # fmt: skip

    def _products_after(
        self, move: _Step, stretch: float = 1.0, more: float = 0.0
    ) -> list[FloatArray]:
        """Return the four products after a step as long as it may be, or somewhat longer."""
        primal, dual = (min(1.0, stretch * x + more) for x in self._step_lengths(move))
        return [
            (x + primal * dx) * (z + dual * dz)
            for x, dx, z, dz in zip(self.primal, move.primal, self.dual, move.dual, strict=True)
        ]

    def _step_lengths(self, move: _Step) -> tuple[float, float]:
        primal = min(map(_longest, self.primal, move.primal))
        dual = min(map(_longest, self.dual, move.dual))
        return primal, dual


def _filled(like: list[FloatArray], value: float) -> Four:
    return tuple(np.full_like(part, value) for part in like)  # type: ignore[return-value]


def _moved(point: Four, step: Four, length: float) -> Four:
    return tuple(x + length * dx for x, dx in zip(point, step, strict=True))  # type: ignore[return-value]


def _longest(x: FloatArray, dx: FloatArray) -> float:
    """Return the longest step in [0, 1] that keeps x + step dx >= 0."""
    down = dx < 0
    return min(1.0, float((-x[down] / dx[down]).min(initial=np.inf))) if down.any() else 1.0
