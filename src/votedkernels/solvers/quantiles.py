"""Several quantiles that never cross, fitted together by column generation.

The quantile functions are sums of layers: f_q = g_1 + ... + g_q. The first layer is a vote with
weights of any sign. The others have weights >= 0 on kernels that are >= 0, and a constant >= 0. So
f_q >= f_(q-1) at every point, not only at the training rows. With pinball losses l_q,

    primal   F(a)  = sum_q sum_i w_i l_q(t_i - f_q(x_i)) + sum_rkj L_k |a_rkj|
    dual     D(v)  = sum_q sum_i t_i v_iq     over   (tau_q - 1) w_i <= v_iq <= tau_q w_i,
                     |sum_i V_i1 K_k(x_i, c_j)| <= L_k,   sum_i V_ir K_k(x_i, c_j) <= L_k for r > 1,
                     sum_i V_i1 = 0,   sum_i V_ir <= 0 for r > 1,       V_ir = sum_(q >= r) v_iq

D(v) <= F(a) for every feasible pair. Any v becomes feasible in three steps: clip it to its box;
from the last quantile to the first, shrink its positive part, and then negative parts, until the
sums hold; divide by the largest violation if that exceeds 1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import OutOfTime
from ..kernels import Columns
from ..kernels.base import FloatArray, IntArray
from ..problem import Terms
from .lp.highs import solve_highs
from .lp.linear_program import BASIC, LOWER, UPPER, Basis, LinearProgram
from .master import VIOLATION, largest_values

#: How many columns join the pool in a round, for each layer.
COLUMNS_PER_ROUND = 20
#: The longest time for one linear program, in seconds.
LP_SECONDS = 3600.0


@dataclass(frozen=True)
class QuantileProblem:
    """Rows with targets, weights that sum to 1, increasing quantiles, kernels and penalties.

    ``widening`` says which kernels are >= 0; only these may be part of the layers after the first.
    """

    columns: Columns
    targets: FloatArray
    w: FloatArray
    quantiles: FloatArray
    penalties: FloatArray
    widening: NDArray[np.bool_]

    @property
    def low(self) -> FloatArray:
        """The lower bounds of v, of shape (n_rows, n_quantiles)."""
        return self.w[:, None] * (self.quantiles - 1.0)

    def objective(self, layers: list[Terms]) -> float:
        """Return F for the votes of all layers."""
        value, f = 0.0, np.zeros(len(self.w))
        for layer, quantile in zip(layers, self.quantiles, strict=True):
            f = f + layer.intercept
            if len(layer.kernels):
                f = f + self.columns.vote(layer.kernels, layer.centers, layer.weights)
            error = self.targets - f
            value += float(self.w @ np.maximum(quantile * error, (quantile - 1.0) * error))
            value += float(self.penalties[layer.kernels] @ np.abs(layer.weights))
        return value

    def feasible(self, v: FloatArray) -> FloatArray:
        """Clip v to its box, and make its sums feasible."""
        v = np.clip(v, self.low, self.low + self.w[:, None])
        tail = 0.0
        for layer in range(len(self.quantiles) - 1, 0, -1):
            v[:, layer] = _with_sum_below(v[:, layer], -tail)
            tail += float(v[:, layer].sum())
        v[:, 0] = _with_sum_below(v[:, 0], -tail)
        missing = -(tail + float(v[:, 0].sum()))
        for layer in range(len(self.quantiles)):  # shrink negative parts until the sum is 0
            if missing > 0:
                before = float(v[:, layer].sum())
                v[:, layer] = -_with_sum_below(-v[:, layer], -(before + missing))
                missing -= float(v[:, layer].sum()) - before
        return v

    def excess(self, v: FloatArray) -> FloatArray:
        """Return each column's sum, in each layer, as a ratio to the limit of its constraint.

        The shape is (n_layers, n_kernels, n_centers); a ratio above 1 is a violation.
        """
        tails = np.cumsum(v[:, ::-1], axis=1)[:, ::-1]
        ratios = np.stack([self.columns.correlate(tails[:, r]) for r in range(tails.shape[1])])
        ratios[0] = np.abs(ratios[0])
        ratios[1:, ~self.widening] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.maximum(ratios, 0.0) / self.penalties[:, None]
        return np.nan_to_num(found, nan=0.0, posinf=np.inf)

    def bound(self, v: FloatArray, excess: FloatArray) -> float:
        """Return the lower bound that a feasible v proves, given its excess."""
        value = float(self.targets @ v.sum(axis=1))
        return max(0.0, value / max(1.0, float(excess.max(initial=0.0))))


def _with_sum_below(v: FloatArray, most: float) -> FloatArray:
    """Return v, with its positive part shrunk until its sum is at most ``most``, if that helps."""
    positive = float(v[v > 0].sum())
    too_much = float(v.sum()) - most
    if too_much <= 0 or positive == 0:
        return v
    return np.where(v > 0, v * max(0.0, 1.0 - too_much / positive), v)


@dataclass(frozen=True)
class QuantileSolution:
    """The layers of all quantiles, with their certificate."""

    layers: list[Terms]
    dual: FloatArray
    objective: float
    dual_bound: float
    n_iter: int
    stop_reason: str


def solve_quantiles(
    problem: QuantileProblem, *, tol: float, max_iter: int | None = None
) -> QuantileSolution:
    """Minimise F to a relative gap of ``tol``, within the budget of the columns."""
    pool = _Pool(problem)
    layers = pool.constants()
    best = QuantileSolution(
        layers, np.zeros_like(problem.low), problem.objective(layers), 0.0, 0, ""
    )
    reason, n_iter = "precision", 0
    try:
        while True:
            n_iter += 1
            problem.columns.budget.check_time()
            found = pool.solve()
            if found is None:
                problem.columns.budget.check_time()
                break
            layers, v = found
            v = problem.feasible(v)
            excess = problem.excess(v)
            value, bound = problem.objective(layers), problem.bound(v, excess)
            if value < best.objective:
                best = QuantileSolution(
                    layers, best.dual, value, best.dual_bound, n_iter, best.stop_reason
                )
            if bound > best.dual_bound:
                best = QuantileSolution(
                    best.layers, v, best.objective, bound, n_iter, best.stop_reason
                )
            if best.objective - best.dual_bound <= tol * best.objective:
                reason = "optimal"
                break
            if max_iter is not None and n_iter >= max_iter:
                reason = "max-iter"
                break
            if not pool.add_worst(excess, tol):
                break
    except OutOfTime:
        reason = "time-limit"
    layers = [layer.nonzero() for layer in best.layers]
    return QuantileSolution(layers, best.dual, best.objective, best.dual_bound, n_iter, reason)


class _Pool:
    """The columns in use, and their linear program in v - low, one block per quantile."""

    def __init__(self, problem: QuantileProblem) -> None:
        self.problem = problem
        n_quantiles = len(problem.quantiles)
        self.layers = np.empty(0, np.intp)
        self.kernels = np.empty(0, np.intp)
        self.centers = np.empty(0, np.intp)
        self.scale = np.empty(0)
        self.values = np.empty((0, len(problem.w)))
        above = problem.targets[:, None] > self.quantiles_of_targets()
        self.column_status = np.where(above, UPPER, LOWER).astype(np.int8).T.ravel()
        self.row_status = np.full(n_quantiles, BASIC, np.int8)

    def quantiles_of_targets(self) -> FloatArray:
        """Return the quantiles of the targets themselves."""
        order = np.argsort(self.problem.targets, kind="stable")
        places = np.searchsorted(np.cumsum(self.problem.w[order]), self.problem.quantiles)
        chosen = order[np.minimum(places, len(order) - 1)]
        return np.asarray(self.problem.targets[chosen])

    def constants(self) -> list[Terms]:
        """Return layers without kernels."""
        steps = np.diff(self.quantiles_of_targets(), prepend=0.0)
        empty = np.empty(0, np.intp)
        return [Terms(empty, empty, np.empty(0), float(step)) for step in steps]

    def add_worst(self, excess: FloatArray, tol: float) -> bool:
        """Add the most violated columns of each layer; return whether there are any."""
        excess[self.layers, self.kernels, self.centers] = -np.inf
        before = len(self.kernels)
        for layer, ratios in enumerate(excess):
            kernels = ratios.argmax(axis=0)
            worst = ratios[kernels, np.arange(len(kernels))]
            order = np.argsort(-worst, kind="stable")[:COLUMNS_PER_ROUND]
            order = order[worst[order] > 1.0 + VIOLATION * tol]
            self._add(layer, kernels[order], order)
        return len(self.kernels) > before

    def _add(self, layer: int, kernels: IntArray, centers: IntArray) -> None:
        if len(kernels) == 0:
            return
        values = self.problem.columns.take(kernels, centers).T
        self.layers = np.concatenate([self.layers, np.full(len(kernels), layer)])
        self.kernels = np.concatenate([self.kernels, kernels])
        self.centers = np.concatenate([self.centers, centers])
        self.values = np.concatenate([self.values, values])
        self.scale = np.concatenate([self.scale, largest_values(values, axis=1)])
        n_quantiles = len(self.problem.quantiles)
        constants, own = self.row_status[-n_quantiles:], self.row_status[:-n_quantiles]
        fresh = np.full(len(kernels), BASIC, np.int8)
        self.row_status = np.concatenate([own, fresh, constants])

    def solve(self) -> tuple[list[Terms], FloatArray] | None:
        """Return the layers and v that are optimal on the pool; None if the LP failed."""
        problem = self.problem
        lp, unit = self._program()
        end = min(problem.columns.budget.deadline, time.perf_counter() + LP_SECONDS)
        result = solve_highs(lp, basis=Basis(self.column_status, self.row_status), end=end)
        if result is None:
            result = solve_highs(lp, end=end, rescale=True)
        if result is None:
            return None
        self.column_status, self.row_status = result.basis.columns, result.basis.rows
        n_quantiles = len(problem.quantiles)
        v = problem.low + unit * result.x.reshape(n_quantiles, -1).T
        weights = result.row_dual[:-n_quantiles] / self.scale
        constants = result.row_dual[-n_quantiles:]
        layers = []
        for layer in range(n_quantiles):
            mine = self.layers == layer
            own, constant = weights[mine], float(constants[layer])
            if layer:  # rounding must not make layers negative
                own, constant = np.maximum(own, 0.0), max(constant, 0.0)
            layers.append(Terms(self.kernels[mine], self.centers[mine], own, constant))
        return layers, v

    def _program(self) -> tuple[LinearProgram, float]:
        """Return the LP in x = (v - low) / unit, quantile by quantile, and the unit."""
        problem = self.problem
        n_quantiles, n_rows = len(problem.quantiles), len(problem.w)
        unit = float(problem.w.mean())
        scaled = np.vstack([self.values / self.scale[:, None], np.ones((n_quantiles, n_rows))])
        layers = np.concatenate([self.layers, np.arange(n_quantiles)])
        blocks = [scaled * (layers <= q)[:, None] for q in range(n_quantiles)]
        matrix = np.hstack(blocks)
        offset = matrix @ problem.low.T.ravel() / unit
        prices = problem.penalties[self.kernels] / self.scale / unit
        upper = np.concatenate([prices, np.zeros(n_quantiles)])
        lower = np.where(layers == 0, -upper, -np.inf)
        lp = LinearProgram(
            cost=np.tile(problem.targets, n_quantiles),
            upper=np.tile(problem.w / unit, n_quantiles),
            matrix=matrix,
            row_lower=lower - offset,
            row_upper=upper - offset,
        )
        return lp, unit
