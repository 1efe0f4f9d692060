"""Joint steps over a pool of columns whose weights also pay a squared term.

    min  sum_i w_i xi_i + sum_c l_c |b_c| + 1/2 b^T H b     s.t.  xi - s + Z b = 1,   xi, s >= 0

with columns Z_ic = y_i K_c(x_i) / max |K_c| and H positive semidefinite: the pool's problem of
`barrier` and a quadratic form. With b = b+ - b- it is solved by Newton's method on

    u_i s_i = t_i xi_i = p_c b+_c = q_c b-_c = mu -> 0
    t = w - u,     p = l - Z^T u + H b,     q = l + Z^T u - H b

A pair (u, b) with |Z^T u - H b| <= l proves the lower bound sum_i u_i - 1/2 b^T H b. The slacks p
and q depend on both sides of the problem, so that both take steps of one length, and are
variables of their own that meet their equations only as mu goes to zero: where l is small
against Z^T u, few points meet them from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..kernels.base import FloatArray
from .barrier import MARGIN_ROW, MAX_STEPS, SMALLEST_GAP, TO_BOUNDARY, _longest
from .refinement import lu_factors

Solve = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class SquaredPoolSolution:
    """Weights of the pool's columns, the intercept, and the two parts of a dual vector."""

    weights: FloatArray
    intercept: float
    dual: FloatArray
    dual_weights: FloatArray
    n_steps: int


def solve_squared_pool(
    Z: FloatArray,
    w: FloatArray,
    penalties: FloatArray,
    squared: FloatArray,
    tol: float,
    balance: FloatArray | None,
) -> SquaredPoolSolution:
    """Minimise over the columns Z to a relative gap of ``tol``; ``squared`` is H.

    ``balance`` holds the labels when there is an intercept: a column without a penalty.
    """
    pool = _Pool(Z, w, penalties, squared, balance)
    point = pool.start()
    tol = max(tol, SMALLEST_GAP)
    best, weights, intercept = np.inf, np.zeros(Z.shape[1]), 0.0
    bound, dual, dual_weights, n_steps = -np.inf, point.z[1], point.b, 0
    while n_steps < MAX_STEPS:
        n_steps += 1
        b = pool.clean_weights(point)
        objective = pool.objective(b, point.intercept)
        if objective < best:
            best, weights, intercept = objective, b, point.intercept
        value = pool.dual_value(point)
        if value > bound:
            bound, dual, dual_weights = value, point.z[1], point.b
        if best - bound <= tol * best or not pool.step(point):
            break
    return SquaredPoolSolution(weights, intercept, np.minimum(dual, w), dual_weights, n_steps)


@dataclass
class _Point:
    """Positive pairs, x = (xi, s, b+, b-) and z = (t, u, p, q), and the intercept."""

    x: list[FloatArray]
    z: list[FloatArray]
    intercept: float = 0.0

    @property
    def b(self) -> FloatArray:
        return self.x[2] - self.x[3]

    def complementarity(self) -> float:
        return sum(float(x @ z) for x, z in zip(self.x, self.z, strict=True))


@dataclass(frozen=True)
class _Pool:
    Z: FloatArray
    w: FloatArray
    penalties: FloatArray
    squared: FloatArray
    balance: FloatArray | None

    def start(self) -> _Point:
        u = 0.5 * self.w
        if self.balance is not None:  # sum_i u_i y_i = 0 from the start
            mass = np.array([u[self.balance < 0].sum(), u[self.balance > 0].sum()])
            u = u * np.where(self.balance > 0, mass.min() / mass[1], mass.min() / mass[0])
        correlation = u @ self.Z
        room = 0.1 * (self.penalties + np.abs(correlation))
        z = [
            self.w - u,
            u,
            np.maximum(self.penalties - correlation, room),
            np.maximum(self.penalties + correlation, room),
        ]
        mu = 0.1 * float(self.w.mean())
        return _Point([mu / slack for slack in z], z)

    def clean_weights(self, point: _Point) -> FloatArray:
        """Return b, with 0 where the slack says that a column has no part in the optimum."""
        b = point.b
        slack = np.minimum(point.z[2], point.z[3]) / self.penalties
        price = np.abs(b) * (self.penalties + np.abs(self.squared @ b))
        return np.where(price > slack * self.w.mean(), b, 0.0)

    def objective(self, b: FloatArray, intercept: float) -> float:
        loss = self.w @ np.maximum(0.0, 1.0 - self._margins(b, intercept))
        return float(loss + self.penalties @ np.abs(b) + 0.5 * b @ self.squared @ b)

    def _margins(self, b: FloatArray, intercept: float) -> FloatArray:
        margins = self.Z @ b
        return margins if self.balance is None else margins + self.balance * intercept

    def dual_value(self, point: _Point) -> float:
        """Return the bound that (u, b), made smaller as far as they must be, proves."""
        u, b = point.z[1], point.b
        pull = self.squared @ b
        excess = np.abs(u @ self.Z - pull) / self.penalties
        shrink = 1.0 / max(1.0, float(excess.max(initial=0.0)))
        return shrink * float(u.sum()) - 0.5 * shrink**2 * float(b @ pull)

    def step(self, point: _Point) -> bool:
        """Take a predictor and a corrector step; False where the numbers break down."""
        n = sum(map(len, point.x))
        mu = point.complementarity() / n
        try:
            solve = self._factor(point)
            affine, _ = self._direction(point, solve, 0.0, None)
            after = _moved(point, affine, _step_length(point, affine)).complementarity() / n
            target = mu * min(1.0, (after / mu) ** 3)
            move, d_intercept = self._direction(point, solve, target, affine)
        except (linalg.LinAlgError, ValueError):
            return False
        if not all(np.isfinite(part).all() for part in (*move.x, *move.z)):
            return False
        length = TO_BOUNDARY * _step_length(point, move)
        there = _moved(point, move, length)
        point.x, point.z = there.x, there.z
        point.intercept += length * d_intercept
        return length > 1e-10 and min(float(part.min()) for part in (*point.x, *point.z)) > 0

    def _direction(
        self, point: _Point, solve: Solve, mu: float, affine: _Point | None
    ) -> tuple[_Point, float]:
        """Return how pairs and intercept move towards complementarity ``mu``."""
        # x_j z_j + x_j dz_j + z_j dx_j = mu - (second-order term), divided by z_j
        towards = []
        for j, (x, z) in enumerate(zip(point.x, point.z, strict=True)):
            second = 0.0 if affine is None else affine.x[j] * affine.z[j]
            towards.append((mu - second) / z - x)
        (xi, s, up, down), (_, u, p, q) = point.x, point.z
        missing = 1.0 - (xi - s + self._margins(up - down, point.intercept))
        correlation = u @ self.Z - self.squared @ (up - down)
        p_missing, q_missing = self.penalties - correlation - p, self.penalties + correlation - q
        E = up / p + down / q
        freely = towards[2] - up / p * p_missing - towards[3] + down / q * q_missing
        right = missing - towards[0] + towards[1]
        du, db = solve(right, freely)
        d_intercept = 0.0
        if self.balance is not None:
            y = self.balance
            y_du, y_db = solve(y, np.zeros(len(E)))
            d_intercept = float(y @ du) / float(y @ y_du)
            du, db = du - d_intercept * y_du, db - d_intercept * y_db
        # Z^T du - H db, which is also (db - freely) / E: each where it loses fewer digits
        gained, given = du @ self.Z, self.squared @ db
        rather = (np.abs(db) + np.abs(freely)) / E < np.abs(gained) + np.abs(given)
        change = np.where(rather, (db - freely) / E, gained - given)
        dp, dq = p_missing - change, q_missing + change
        dz = [-du, du, dp, dq]
        dx = [to - x / z * d for to, x, z, d in zip(towards, point.x, point.z, dz, strict=True)]
        return _Point(dx, dz), d_intercept

    def _factor(self, point: _Point) -> Solve:
        """Return a function that solves for (du, db).

            D du + Z db = r,     (E^-1 + H) db - Z^T du = E^-1 freely

        Rows on the margin have D near 0, and must not be divided by it: they stay in a system
        of their own, beside one unknown db_c / root(E_c) for each column.
        """
        (xi, s, up, down), (t, u, p, q) = point.x, point.z
        D, E = xi / t + s / u, up / p + down / q
        root = np.sqrt(E)
        columns = self.Z * root
        kept = MARGIN_ROW * np.einsum("ij,ij->i", columns, columns) > D
        n_kept = int(kept.sum())
        inverse = np.where(kept, 0.0, 1.0 / D)
        system = np.empty((n_kept + len(E), n_kept + len(E)))
        system[:n_kept, :n_kept] = np.diag(D[kept])
        system[:n_kept, n_kept:] = columns[kept]
        system[n_kept:, :n_kept] = columns[kept].T
        system[n_kept:, n_kept:] = -(columns.T @ (columns * inverse[:, None]))
        system[n_kept:, n_kept:] -= root[:, None] * self.squared * root
        system[n_kept:, n_kept:][np.diag_indices(len(E))] -= 1.0
        factors = lu_factors(system)

        def solve(r: FloatArray, freely: FloatArray) -> tuple[FloatArray, FloatArray]:
            right = np.concatenate([r[kept], -((r * inverse) @ columns) - freely / root])
            found = linalg.lu_solve(factors, right, check_finite=False)
            du = inverse * (r - columns @ found[n_kept:])
            du[kept] = found[:n_kept]
            return du, root * found[n_kept:]

        return solve


def _moved(point: _Point, move: _Point, length: float) -> _Point:
    return _Point(
        [x + length * dx for x, dx in zip(point.x, move.x, strict=True)],
        [z + length * dz for z, dz in zip(point.z, move.z, strict=True)],
        point.intercept,
    )


def _step_length(point: _Point, move: _Point) -> float:
    """Return the longest step that keeps all pairs positive."""
    pairs = zip((*point.x, *point.z), (*move.x, *move.z), strict=True)
    return min(_longest(part, change) for part, change in pairs)
