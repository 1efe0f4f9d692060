"""The learning problem and its certificate.

    primal   F(a, b) = sum_i w_i max(0, 1 - y_i f(x_i)) + sum_kj L_k |a_kj|
             f(x)    = sum_kj a_kj K_k(x, c_j) + b                (b only with an intercept)
    dual     D(u)    = sum_i u_i   over   0 <= u_i <= w_i,
                       |sum_i u_i y_i K_k(x_i, c_j)| <= L_k   for all k, j,
                       sum_i u_i y_i = 0                          (only with an intercept)

Other losses are also sums of hinges (`losses`). Then i numbers the hinges instead of the rows, y_i
is the sign of a hinge, and its goal g_i replaces 1: D(u) = sum_i g_i u_i.

D(u) <= F(a, b) for every feasible pair, so the gap F - D bounds how far a model is from the
optimum. Three steps make any u feasible (`Problem.into_box`, `Problem.dual_value`): clip it to its
box; with an intercept, shrink the heavier class until the classes balance; if the largest
|sum_i u_i y_i K_k| / L_k exceeds 1, divide by it.

The hybrid norm adds rho/2 sum_k a_k^T K_k a_k to F, for positive definite kernels and centres that
are rows. For any weights v, a_k^T K_k a_k >= 2 v_k^T K_k a_k - v_k^T K_k v_k, so a pair (u, v) with

    |sum_i u_i y_i K_k(x_i, c_j) - rho sum_l v_kl K_k(c_l, c_j)| <= L_k

proves the bound sum_i u_i - rho/2 sum_k v_k^T K_k v_k. The same steps make any pair feasible; both
u and v are divided by the same number.

The elastic net adds rho/2 sum_kj s_kj^2 a_kj^2 instead, with s_kj^2 = sum_i w_i K_k(x_i, c_j)^2,
for any kernels and centres. Its dual has no constraints beyond those on u alone: with the
correlation q_kj = sum_i u_i y_i K_k(x_i, c_j), any u proves

    sum_i u_i - sum_kj max(0, |q_kj| - L_k)^2 / (2 rho s_kj^2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from .._system.budget import Budget
from ..kernels.base import FloatArray, IntArray
from ..kernels.columns import Columns
from .losses import Hinges, best_constant

#: Numbers in double or in extended precision.
Reals = TypeVar("Reals", FloatArray, NDArray[np.longdouble])


@dataclass(frozen=True)
class Terms:
    """A vote: column (kernels[t], centers[t]) has weight weights[t], and there is an intercept."""

    kernels: IntArray
    centers: IntArray
    weights: FloatArray
    intercept: float = 0.0

    @staticmethod
    def none() -> Terms:
        """Return the empty vote, f = 0."""
        return Terms(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))

    def nonzero(self) -> Terms:
        """Return the terms with a non-zero weight, ordered by kernel and centre."""
        order = np.lexsort((self.centers, self.kernels))
        order = order[self.weights[order] != 0]
        return Terms(self.kernels[order], self.centers[order], self.weights[order], self.intercept)


@dataclass(frozen=True)
class Continuum:
    """The penalties of a continuous family: linear in log gamma between fixed knots."""

    knots: FloatArray
    penalties: FloatArray

    def penalties_at(self, gammas: FloatArray) -> FloatArray:
        """Return L for any widths within the range."""
        return np.asarray(np.interp(np.log(gammas), np.log(self.knots), self.penalties))


@dataclass(frozen=True)
class Prices:
    """What one pass over all columns reveals about a dual vector.

    ``bound`` is the lower bound that the vector proves. ``excess`` says how far columns violate
    their dual constraints (see `Problem.excess`), for the worst centres, listed in ``centers``, or
    for all centres if ``centers`` is None.
    """

    bound: float
    excess: FloatArray
    centers: IntArray | None


class Others(TypedDict, total=False):
    """The fields of a `Problem` that have defaults, except those of the loss."""

    fit_intercept: bool
    allowed: NDArray[np.bool_] | None
    continuum: Continuum | None
    l2_penalty: float
    center_rows: IntArray | None
    squares: FloatArray | None


@dataclass(frozen=True)
class Problem:
    """Rows with labels +1 and -1, weights that sum to 1, kernels and their penalties.

    For losses with several hinges per row, ``y`` and ``w`` are the signs and weights of all hinges.
    """

    columns: Columns
    y: FloatArray
    w: FloatArray
    penalties: FloatArray
    fit_intercept: bool = False
    #: Which columns (k, j) may vote; None for all.
    allowed: NDArray[np.bool_] | None = None
    #: The penalties of the last family if it is continuous; ``columns`` has some of its widths.
    continuum: Continuum | None = None
    #: Rho; for the hybrid norm, the row of each centre; for the elastic net, s_kj^2.
    l2_penalty: float = 0.0
    center_rows: IntArray | None = None
    squares: FloatArray | None = None
    #: The goal of each hinge and its row; None if all goals are 1, and if hinge i belongs to row i.
    goals: FloatArray | None = None
    hinge_rows: IntArray | None = None

    @classmethod
    def of_hinges(
        cls, columns: Columns, hinges: Hinges, penalties: FloatArray, **others: Unpack[Others]
    ) -> Problem:
        """Return the problem for a loss, given as hinges."""
        return cls(
            columns, hinges.signs, hinges.weights, penalties,
            goals=hinges.goals, hinge_rows=hinges.rows, **others,
        )  # fmt: skip

    @property
    def budget(self) -> Budget:
        """The time, memory and threads that solving this problem may use."""
        return self.columns.budget

    def within(self, budget: Budget) -> Problem:
        """Return the same problem with another budget."""
        return replace(self, columns=self.columns.within(budget))

    @property
    def n_rows(self) -> int:
        """Number of (distinct) rows."""
        return len(self.y) if self.hinge_rows is None else self.columns.n_rows

    def at_hinges(self, values: Reals) -> Reals:
        """Return row values, such as f, at the row of each hinge."""
        return values if self.hinge_rows is None else values[self.hinge_rows]

    def signed(self, u: FloatArray) -> FloatArray:
        """Return v: for each row, the sum of y_i u_i over its hinges."""
        if self.hinge_rows is None:
            return u * self.y
        sums = np.bincount(self.hinge_rows, u * self.y, self.columns.n_rows)
        return sums.astype(np.float64, copy=False)

    def shortfalls(self, decision: Reals) -> Reals:
        """Return by how much f misses the goal of each hinge: 1 - y f or, with goals, g - y f."""
        goals = 1.0 if self.goals is None else self.goals
        return goals - self.y * self.at_hinges(decision)

    def margins(self, decision: FloatArray) -> FloatArray:
        """Return y f, shifted so that every goal is 1."""
        return self.y * decision if self.goals is None else 1.0 - self.shortfalls(decision)

    def reward(self, u: FloatArray) -> float:
        """Return the dual objective, sum_i u_i or, with goals, sum_i g_i u_i."""
        return float(u.sum() if self.goals is None else self.goals @ u)

    def decision(self, terms: Terms) -> FloatArray:
        """Return f at every row."""
        f = self.columns.vote(terms.kernels, terms.centers, terms.weights)
        return f + terms.intercept

    def objective(self, terms: Terms, decision: FloatArray) -> float:
        """Return F for a vote whose values at the rows are ``decision``."""
        loss = float(self.w @ np.maximum(0.0, self.shortfalls(decision)))
        value = loss + float(self.penalties[terms.kernels] @ np.abs(terms.weights))
        if self.l2_penalty:
            value += 0.5 * self.square(terms, self.norm_gradient(terms))
        return value

    def norm_gradient(self, terms: Terms) -> FloatArray:
        """Return the derivative of the squared norm with respect to each a_kj.

        This is rho sum_l a_kl K_k(c_l, c_j) or, for the elastic net, rho s_kj^2 a_kj.
        """
        out = np.zeros((self.columns.n_kernels, self.columns.n_centers))
        if self.squares is not None:
            np.add.at(out, (terms.kernels, terms.centers), terms.weights)
            return self.l2_penalty * self.squares * out
        for k in np.unique(terms.kernels):
            mine = terms.kernels == k
            chosen = terms.kernels[mine], terms.centers[mine], terms.weights[mine]
            out[k] = self.l2_penalty * self.columns.vote(*chosen, self.center_rows)
        return out

    def square(self, terms: Terms, gradient: FloatArray) -> float:
        """Return twice the squared norm, computed from its gradient."""
        return float(gradient[terms.kernels, terms.centers] @ terms.weights)

    def into_box(self, u: FloatArray) -> FloatArray:
        """Clip u to 0 <= u <= w and, with an intercept, balance the classes."""
        u = np.clip(u, 0.0, self.w)
        if self.fit_intercept:
            positive = self.y > 0
            mass = np.array([u[~positive].sum(), u[positive].sum()])
            if mass.min() == 0:
                return np.zeros_like(u)
            u = u * np.where(positive, mass.min() / mass[1], mass.min() / mass[0])
        return u

    def excess(self, correlation: Reals, centers: IntArray | None = None) -> Reals:
        """Return ``|sum_i u_i y_i K_k(x_i, c_j)| / L_k``; above 1, the constraint is violated.

        It is 0 for columns that may not vote, since they have no constraint. ``correlation`` has a
        column for every centre, or for each of ``centers``.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(correlation) / self.penalties[:, None]
        ratio = np.nan_to_num(ratio, nan=0.0, posinf=np.inf)
        if self.allowed is None:
            return ratio  # type: ignore[return-value] # NumPy's types lose extended precision
        return np.where(self.allowed if centers is None else self.allowed[:, centers], ratio, 0.0)

    def dual_value(self, u: FloatArray, correlation: FloatArray, square: float = 0.0) -> float:
        """Return the lower bound that a u in the box proves, given its correlation.

        With a squared norm, ``correlation`` and ``square`` are the `dual_parts`.
        """
        divisor = 1.0
        if self.squares is None:
            divisor = max(1.0, float(self.excess(correlation).max(initial=0.0)))
        if square <= 0:
            return self.reward(u) / divisor
        shrink = min(1.0 / divisor, max(0.0, self.reward(u)) / square)  # the best allowed factor
        return shrink * self.reward(u) - 0.5 * shrink**2 * square

    def correlate(self, u: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i u_i y_i K_k(x_i, c_j) for all centres or for some, in one pass."""
        return self.columns.correlate(self.signed(u), centers)

    def price(self, u: FloatArray, of_kernels: FloatArray | None = None) -> Prices:
        """Return the prices of all columns for a u in the box, in one pass.

        ``of_kernels`` is the result of `Columns.sum_kernels`, if it is known.
        """
        correlation, centers = self.columns.worst_columns(
            self.signed(u), self.penalties, of_kernels
        )
        excess = self.excess(correlation, centers)
        return Prices(self.reward(u) / max(1.0, float(excess.max(initial=0.0))), excess, centers)

    def dual_parts(self, u: FloatArray, v: Terms) -> tuple[FloatArray, float]:
        """Return the correlation and the square that `dual_value` needs in addition to u.

        For the hybrid norm, these are the correlation minus the `norm_gradient` of v, and the
        square of v. The elastic net does not use v; its square is the cost of the
        excess of correlations over their penalties.
        """
        correlation = self.correlate(u)
        if not self.l2_penalty:
            return correlation, 0.0
        if self.squares is not None:
            return correlation, float(self.cost_of_excess(correlation))
        gradient = self.norm_gradient(v)
        return correlation - gradient, self.square(v, gradient)

    def cost_of_excess(self, correlation: Reals) -> np.floating:
        """Return ``sum_kj max(0, |q_kj| - L_k)^2 / (rho s_kj^2)`` over columns that may vote."""
        assert self.squares is not None
        over = np.maximum(0.0, np.abs(correlation) - self.penalties[:, None])
        if self.allowed is not None:
            over = np.where(self.allowed, over, 0.0)
        used = over > 0  # a column of zeros has no correlation
        total: np.floating = (over[used] ** 2 / (self.l2_penalty * self.squares[used])).sum()
        return total

    def restricted(
        self, rows: IntArray, centers: IntArray, columns: Columns | None = None
    ) -> Problem:
        """Return the problem on some of the rows and centres, with the same penalties.

        ``columns`` are the restricted columns, if they are known.
        """
        hinges, hinge_rows = rows, None
        if self.hinge_rows is not None:
            place = np.full(self.n_rows, -1)
            place[rows] = np.arange(len(rows))
            hinges = np.flatnonzero(place[self.hinge_rows] >= 0)
            hinge_rows = place[self.hinge_rows[hinges]]
        w = self.w[hinges]
        return replace(
            self,
            columns=columns or self.columns.restricted(rows, centers),
            y=self.y[hinges],
            w=w / (w.sum() / self.w.sum()),
            allowed=None if self.allowed is None else self.allowed[:, centers],
            squares=None if self.squares is None else self.squares[:, centers],
            goals=None if self.goals is None else self.goals[hinges],
            hinge_rows=hinge_rows,
        )

    def certify(self, terms: Terms, u: FloatArray, v: Terms | None = None) -> tuple[float, float]:
        """Return (F, D), recomputed from the data; v belongs to the dual of the hybrid norm."""
        u = self.into_box(u)
        objective = self.objective(terms, self.decision(terms))
        return objective, self.dual_value(u, *self.dual_parts(u, v or Terms.none()))

    def empty_vote(self) -> Terms:
        """Return the best vote without kernels: f = 0 or, with an intercept, the best constant."""
        if not self.fit_intercept:
            return Terms.none()
        if self.goals is None:
            constant = 1.0 if self.w @ self.y >= 0 else -1.0
        else:
            constant = best_constant(self.y, self.w, self.goals)
        return replace(Terms.none(), intercept=constant)

    def empty_dual(self) -> FloatArray:
        """Return a feasible u that is optimal for the empty vote, if no column constrains it.

        With an intercept, hinges at their corners balance the others.
        """
        h = self.shortfalls(np.full(self.n_rows, self.empty_vote().intercept))
        u = np.where(h > 0, self.w, 0.0)
        if self.fit_intercept:
            excess = float(self.y @ u)
            corner = (h == 0) & (self.y * excess < 0)
            mass = float(self.w[corner].sum())
            if mass > 0:
                u[corner] = self.w[corner] * min(1.0, abs(excess) / mass)
        return self.into_box(u)
