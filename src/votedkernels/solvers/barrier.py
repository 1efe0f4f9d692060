"""Joint steps over a pool of columns, by Newton's method on a smoothed problem.

    min  sum_i w_i xi_i + sum_c l_c (b+_c + b-_c)     s.t.  xi - s + Z (b+ - b-) = 1,   all >= 0

is the learning problem on the pool, with columns Z_ic = y_i K_c(x_i) / max |K_c|. Its hinges and
absolute values are smoothed by logarithms of size mu, all weights of the pool take one Newton
step together, and mu goes to zero. The dual vector u stays strictly inside 0 < u < w,
|Z^T u| < l all the time, so that sum_i u_i is a lower bound of the pool's optimum at every step.

With t = w - u, p = l - Z^T u, q = l + Z^T u, a step solves

    (D + Z E Z^T) du = r,     D = xi / t + s / u,     E = b+ / p + b- / q

by way of a matrix not much larger than the pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    best, weights, intercept, n_steps = np.inf, np.zeros(Z.shape[1]), 0.0, 0
    while n_steps < MAX_STEPS:
        n_steps += 1
        objective = state.objective()
        if objective < best:
            best, weights, intercept = objective, state.weights(), state.intercept
        if best - state.u.sum() <= tol * best or not state.step():
            break
    return PoolSolution(weights, intercept, state.u, n_steps)


class _State:
    """An interior point of the pool's problem and of its dual."""

    def __init__(
        self, Z: FloatArray, w: FloatArray, penalties: FloatArray, balance: FloatArray | None
    ) -> None:
        self.Z, self.w, self.penalties, self.balance = Z, w, penalties, balance
        self.intercept = 0.0
        u = 0.5 * w
        if balance is not None:  # sum_i u_i y_i = 0 from the start
            mass = np.array([u[balance < 0].sum(), u[balance > 0].sum()])
            u = u * np.where(balance > 0, mass.min() / mass[1], mass.min() / mass[0])
        excess = float((np.abs(u @ Z) / penalties).max(initial=0.0))
        self.u = u / max(1.0, excess / 0.9)
        self._slacks()
        mu = 0.1 * float(w.mean())
        self.xi, self.s = mu / self.t, mu / self.u
        self.b_up, self.b_down = mu / self.p, mu / self.q

    def _slacks(self) -> None:
        correlation = self.u @ self.Z
        self.t = self.w - self.u
        self.p, self.q = self.penalties - correlation, self.penalties + correlation

    def weights(self) -> FloatArray:
        """Return b, with 0 where the slack says that a column has no part in the optimum."""
        b = self.b_up - self.b_down
        slack = np.minimum(self.p, self.q) / self.penalties
        return np.where(np.abs(b) * self.penalties > slack * self.w.mean(), b, 0.0)

    def objective(self) -> float:
        """Return F on the pool."""
        b = self.weights()
        margins = self.Z @ b
        if self.balance is not None:
            margins = margins + self.balance * self.intercept
        loss = self.w @ np.maximum(0.0, 1.0 - margins)
        return float(loss + self.penalties @ np.abs(b))

    def step(self) -> bool:
        """Take a predictor and a corrector step; False where the numbers break down."""
        pairs = (self.xi * self.t, self.s * self.u, self.b_up * self.p, self.b_down * self.q)
        n = sum(map(len, pairs))
        mu = float(sum(pair.sum() for pair in pairs)) / n
        D = self.xi / self.t + self.s / self.u
        E = self.b_up / self.p + self.b_down / self.q
        try:
            solve = self._factor(D, E)
            zero = tuple(np.zeros_like(pair) for pair in pairs)
            affine = self._direction(solve, 0.0, zero)
            primal, dual = self._step_lengths(affine)
            after = self._complementarity(affine, primal, dual) / n
            target = mu * min(1.0, (after / mu) ** 3)
            move = self._direction(solve, target, self._second_order(affine))
        except (linalg.LinAlgError, ValueError):
            return False
        if not all(np.isfinite(part).all() for part in move[:5]):
            return False
        primal, dual = self._step_lengths(move)
        primal, dual = TO_BOUNDARY * primal, TO_BOUNDARY * dual
        du, dxi, ds, d_up, d_down, d_intercept = move
        self.u = self.u + dual * du
        self.xi, self.s = self.xi + primal * dxi, self.s + primal * ds
        self.b_up, self.b_down = self.b_up + primal * d_up, self.b_down + primal * d_down
        self.intercept += primal * d_intercept
        self._slacks()
        inside = min(self.u.min(), self.t.min(), self.p.min(), self.q.min()) > 0
        return bool(inside and max(primal, dual) > 1e-10)

    def _factor(self, D: FloatArray, E: FloatArray) -> Any:
        """Return a function that solves (D + Z E Z^T) x = r.

        Rows on the margin have D near 0, and must not be divided by it: they stay in a system
        of their own, beside one unknown v_c = root(E_c) Z_c.x for each column.
        """
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
            return solve
        y = self.balance
        y_solved = solve(y)
        curvature = float(y @ y_solved)

        def solve_balanced(r: FloatArray) -> FloatArray:
            x = solve(r)
            return np.asarray(x - y_solved * (float(y @ x) / curvature))

        solve_balanced.plain = solve  # type: ignore[attr-defined]
        return solve_balanced

    def _direction(self, solve: Any, mu: float, second: Any) -> Any:
        """Return (du, dxi, ds, db+, db-, d intercept) towards complementarity ``mu``."""
        c_xi, c_s, c_up, c_down = second
        to_xi = (mu - c_xi) / self.t - self.xi
        to_s = (mu - c_s) / self.u - self.s
        to_up = (mu - c_up) / self.p - self.b_up
        to_down = (mu - c_down) / self.q - self.b_down
        margins = self.Z @ (self.b_up - self.b_down)
        if self.balance is not None:
            margins = margins + self.balance * self.intercept
        missing = 1.0 - (self.xi - self.s + margins)
        right = missing - to_xi + to_s - self.Z @ (to_up - to_down)
        du = solve(right)
        d_intercept = 0.0
        if self.balance is not None:
            y, x = self.balance, solve.plain(right)
            d_intercept = float(y @ x) / float(y @ solve.plain(y))
        moved = du @ self.Z
        return (
            du,
            to_xi + self.xi / self.t * du,
            to_s - self.s / self.u * du,
            to_up + self.b_up / self.p * moved,
            to_down - self.b_down / self.q * moved,
            d_intercept,
        )

    def _second_order(self, affine: Any) -> Any:
        du, dxi, ds, d_up, d_down, _ = affine
        moved = du @ self.Z
        return -dxi * du, ds * du, -d_up * moved, d_down * moved

    def _step_lengths(self, move: Any) -> tuple[float, float]:
        du, dxi, ds, d_up, d_down, _ = move
        moved = du @ self.Z
        primal = min(
            _longest(self.xi, dxi), _longest(self.s, ds),
            _longest(self.b_up, d_up), _longest(self.b_down, d_down),
        )  # fmt: skip
        dual = min(
            _longest(self.u, du), _longest(self.t, -du),
            _longest(self.p, -moved), _longest(self.q, moved),
        )  # fmt: skip
        return primal, dual

    def _complementarity(self, move: Any, primal: float, dual: float) -> float:
        du, dxi, ds, d_up, d_down, _ = move
        moved = du @ self.Z
        return float(
            (self.xi + primal * dxi) @ (self.t - dual * du)
            + (self.s + primal * ds) @ (self.u + dual * du)
            + (self.b_up + primal * d_up) @ (self.p - dual * moved)
            + (self.b_down + primal * d_down) @ (self.q + dual * moved)
        )


def _longest(x: FloatArray, dx: FloatArray) -> float:
    """Return the longest step in [0, 1] that keeps x + step dx >= 0."""
    down = dx < 0
    return min(1.0, float((-x[down] / dx[down]).min(initial=np.inf))) if down.any() else 1.0
