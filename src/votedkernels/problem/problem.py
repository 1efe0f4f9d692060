"""The learning problem and its certificate.

    primal   F(a, b) = sum_i w_i max(0, 1 - y_i f(x_i)) + sum_kj L_k |a_kj|
             f(x)    = sum_kj a_kj K_k(x, c_j) + b                (b only with an intercept)
    dual     D(u)    = sum_i u_i   over   0 <= u_i <= w_i,
                       |sum_i u_i y_i K_k(x_i, c_j)| <= L_k   for all k, j,
                       sum_i u_i y_i = 0                          (only with an intercept)

D(u) <= F(a, b) for every feasible pair, so the gap F - D bounds how far a model is from the
optimum. Any u becomes feasible by three steps (`Problem.dual_value`): clip it to its box; with
an intercept shrink the heavier class until the classes balance; divide by the largest
|sum_i u_i y_i K_k| / L_k where that exceeds 1.

The hybrid norm adds rho/2 sum_k a_k^T K_k a_k to F, for positive definite kernels and centres that
are rows. For any weights v, a_k^T K_k a_k >= 2 v_k^T K_k a_k - v_k^T K_k v_k, so that a pair with

    |sum_i u_i y_i K_k(x_i, c_j) - rho sum_l v_kl K_k(c_l, c_j)| <= L_k

proves the bound sum_i u_i - rho/2 sum_k v_k^T K_k v_k. Any pair becomes feasible by the same
steps; u and v are divided by one number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray
from ..kernels.columns import Gram


@dataclass(frozen=True)
class Terms:
    """A vote: weights[t] of column (kernels[t], centers[t]), and an intercept."""

    kernels: IntArray
    centers: IntArray
    weights: FloatArray
    intercept: float = 0.0

    @staticmethod
    def none() -> Terms:
        """Return the empty vote, f = 0."""
        return Terms(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))

    def nonzero(self) -> Terms:
        """Return the terms that have a weight, in the order of (kernel, centre)."""
        order = np.lexsort((self.centers, self.kernels))
        order = order[self.weights[order] != 0]
        return Terms(self.kernels[order], self.centers[order], self.weights[order], self.intercept)


@dataclass(frozen=True)
class Continuum:
    """The penalties of a continuous family: linear in log gamma between fixed knots."""

    knots: FloatArray
    penalties: FloatArray

    def penalties_at(self, gammas: FloatArray) -> FloatArray:
        """Return L at any widths of the range."""
        return np.asarray(np.interp(np.log(gammas), np.log(self.knots), self.penalties))


@dataclass(frozen=True)
class Prices:
    """What one pass over all columns tells of a dual vector.

    ``bound`` is the lower bound that it proves, ``excess`` how far columns violate their dual
    constraint (see `Problem.excess`): those of all centres, or of ``centers``, the worst.
    """

    bound: float
    excess: FloatArray
    centers: IntArray | None


@dataclass(frozen=True)
class Problem:
    """Rows with labels +1 and -1, weights that sum to 1, kernels and their penalties."""

    gram: Gram
    y: FloatArray
    w: FloatArray
    penalties: FloatArray
    fit_intercept: bool = False
    #: Which columns (k, j) may vote; None for all.
    allowed: NDArray[np.bool_] | None = None
    #: Of the last family, where that is continuous; its columns then are a choice of many.
    continuum: Continuum | None = None
    #: Rho, and which row each centre is; these are needed where rho > 0.
    l2_penalty: float = 0.0
    center_rows: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of (distinct) samples."""
        return len(self.y)

    def decision(self, terms: Terms) -> FloatArray:
        """Return f at every row."""
        f = self.gram.vote(terms.kernels, terms.centers, terms.weights)
        return f + terms.intercept

    def objective(self, terms: Terms, decision: FloatArray) -> float:
        """Return F for a vote whose values at the rows are ``decision``."""
        loss = float(self.w @ np.maximum(0.0, 1.0 - self.y * decision))
        value = loss + float(self.penalties[terms.kernels] @ np.abs(terms.weights))
        return value + 0.5 * self.square(terms, self.pull(terms)) if self.l2_penalty else value

    def pull(self, terms: Terms) -> FloatArray:
        """Return rho sum_l a_kl K_k(c_l, c_j): the gradient of the squared norm by a_kj."""
        out = np.zeros((self.gram.n_kernels, self.gram.n_centers))
        for k in np.unique(terms.kernels):
            mine = terms.kernels == k
            chosen = terms.kernels[mine], terms.centers[mine], terms.weights[mine]
            out[k] = self.l2_penalty * self.gram.vote(*chosen, self.center_rows)
        return out

    def square(self, terms: Terms, pull: FloatArray) -> float:
        """Return rho sum_k a_k^T K_k a_k."""
        return float(pull[terms.kernels, terms.centers] @ terms.weights)

    def feasible_box(self, u: FloatArray) -> FloatArray:
        """Clip u to 0 <= u <= w and, with an intercept, balance the classes."""
        u = np.clip(u, 0.0, self.w)
        if self.fit_intercept:
            positive = self.y > 0
            mass = np.array([u[~positive].sum(), u[positive].sum()])
            if mass.min() == 0:
                return np.zeros_like(u)
            u = u * np.where(positive, mass.min() / mass[1], mass.min() / mass[0])
        return u

    def excess(self, correlation: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return ``|sum_i u_i y_i K_k(x_i, c_j)| / L_k``: above 1 the constraint is violated.

        Columns that may not vote have no constraint. The correlation is that of all centres, or
        of some.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(correlation) / self.penalties[:, None]
        ratio = np.nan_to_num(ratio, nan=0.0, posinf=np.inf)
        if self.allowed is None:
            return ratio
        return np.where(self.allowed if centers is None else self.allowed[:, centers], ratio, 0.0)

    def dual_value(self, u: FloatArray, correlation: FloatArray, square: float = 0.0) -> float:
        """Return the proved lower bound from a u in the box and its correlation.

        With the hybrid norm, the correlation less the pull of v, and the square of v.
        """
        divisor = max(1.0, float(self.excess(correlation).max(initial=0.0)))
        if square <= 0:
            return float(u.sum()) / divisor
        shrink = min(1.0 / divisor, float(u.sum()) / square)  # the best of those allowed
        return shrink * float(u.sum()) - 0.5 * shrink**2 * square

    def correlate(self, u: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i u_i y_i K_k(x_i, c_j): one pass over all columns, or some centres'."""
        return self.gram.correlate(u * self.y, centers)

    def price(self, u: FloatArray) -> Prices:
        """Return the prices of all columns for a u in the box: one pass."""
        correlation, centers = self.gram.worst_columns(u * self.y, self.penalties)
        excess = self.excess(correlation, centers)
        return Prices(float(u.sum()) / max(1.0, float(excess.max(initial=0.0))), excess, centers)

    def dual_parts(self, u: FloatArray, v: Terms) -> tuple[FloatArray, float]:
        """Return what `dual_value` takes beside u: the correlation and the square."""
        correlation = self.correlate(u)
        if not self.l2_penalty:
            return correlation, 0.0
        pull = self.pull(v)
        return correlation - pull, self.square(v, pull)

    def restricted(self, rows: IntArray, centers: IntArray) -> Problem:
        """Return the problem on some of the rows and centres, with the same penalties."""
        w = self.w[rows]
        return replace(
            self,
            gram=self.gram.restricted(rows, centers),
            y=self.y[rows],
            w=w / w.sum(),
            allowed=None if self.allowed is None else self.allowed[:, centers],
        )

    def certify(self, terms: Terms, u: FloatArray, v: Terms | None = None) -> tuple[float, float]:
        """Return (F, D), recomputed from the data; v is a part of the hybrid norm's dual."""
        u = self.feasible_box(u)
        objective = self.objective(terms, self.decision(terms))
        return objective, self.dual_value(u, *self.dual_parts(u, v or Terms.none()))

    def empty_vote(self) -> Terms:
        """Return the best vote without kernels: f = 0, or the better constant."""
        if not self.fit_intercept:
            return Terms.none()
        heavier = 1.0 if self.w @ self.y >= 0 else -1.0
        return Terms(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), heavier)
