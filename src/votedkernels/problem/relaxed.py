"""The problem of relaxing a vote: new weights for chosen terms, under a squared norm.

The l1 norm chooses few terms, but it also shrinks their weights. Once the terms are chosen, their
weights can be fitted again without that shrinkage (as in the relaxed lasso, Meinshausen 2007):

    primal   P(z, b) = sum_i w_i phi(1 - y_i f(x_i)) + rho/2 |z|^2
             f(x)    = sum_t a_t K_t(x) + b,     a = W z
    dual     D(u)    = sum_i (u_i - u_i^2 / (2 w_i)) - |sum_i u_i y_i B_i|^2 / (2 rho)
                       over  0 <= u_i <= w_i,  sum_i u_i y_i = 0,        B = K W

phi(h) is 0 for h <= 0, h^2 / 2 for 0 < h <= 1, and h - 1/2 for h > 1: a hinge with a rounded corner
(Rennie and Srebro 2005). It is quadratic for rows within the margin, and linear for rows on the
wrong side, so a few wrong labels do not distort the vote.

K has a column for each term. W makes |z| the norm of the vote in the kernels' own spaces. For the
terms of a positive definite kernel, W W^T is the inverse of M, their kernel matrix times its mean
diagonal entry (so that rescaling a kernel changes nothing), with a small ridge added to the
diagonal. For other kernels, W is diagonal with entries 1 / s_t, where s_t^2 = sum_i w_i K_t(x_i)^2.
The ridge is part of the problem, so the problem has a solution even if the kernel matrix is
singular: P is strongly convex in z, and D(u) <= P(z, b) for every feasible u. At the optimum,
u_i = w_i phi'(1 - y_i f(x_i)). With this formula, any (z, b) yields a u, so the gap P - D is exact
and cheap to compute.

Other losses are sums of hinges (`losses`), whose corners are rounded in the same way. With goals g
and a width d, phi(h) becomes d phi(h / d) with h_i = g_i - y_i f(x_i), and in the dual u_i becomes
g_i u_i and u_i^2 / (2 w_i) becomes d u_i^2 / (2 w_i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..kernels.base import FloatArray, IntArray
from ..kernels.design import Design, RepeatedDesign
from .losses import Hinges

#: Ridges to add to a kernel matrix, as fractions of its trace; tried in this order.
RIDGES = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


@dataclass(frozen=True)
class RelaxedVote:
    """The weights of given terms, with their certificate."""

    weights: FloatArray
    intercept: float
    objective: float
    dual_bound: float

    @property
    def gap(self) -> float:
        """A bound on the distance of the objective from the optimum."""
        return max(0.0, self.objective - self.dual_bound)


@dataclass(frozen=True)
class Whitening:
    """W, with one block per kernel: its terms, and their triangular factor or their scales."""

    blocks: tuple[tuple[IntArray, FloatArray], ...]

    @classmethod
    def of_terms(
        cls,
        kernels: IntArray,
        center_values: FloatArray,
        definite: NDArray[np.bool_],
        sizes: FloatArray,
    ) -> Whitening:
        """Return W for some terms.

        Parameters
        ----------
        kernels : array of shape (n_terms,)
        center_values : array of shape (n_terms, n_terms)
            K_t(c_s) at the centre of each term s; entries where s and t have different kernels are
            not used.
        definite : array of shape (n_terms,)
            Whether the kernel of each term is positive definite.
        sizes : array of shape (n_terms,)
            s_t.
        """
        blocks = []
        for kernel in np.unique(kernels):
            mine = np.flatnonzero(kernels == kernel)
            if definite[mine[0]]:
                values = center_values[np.ix_(mine, mine)]
                unit = float(np.abs(np.diagonal(values)).mean()) or 1.0
                blocks.append((mine, triangular_root(unit * (values + values.T) / 2)))
            else:
                blocks.append((mine, np.where(sizes[mine] > 0, sizes[mine], 1.0)))
        return cls(tuple(blocks))

    def apply(self, columns: FloatArray) -> FloatArray:
        """Return B = K W."""
        out = np.empty_like(columns, order="F")
        for mine, factor in self.blocks:
            part = columns[:, mine]
            if factor.ndim == 1:
                out[:, mine] = part / factor
            else:
                out[:, mine] = linalg.solve_triangular(factor, part.T, trans=1).T
        return out

    def weights(self, z: FloatArray) -> FloatArray:
        """Return a = W z."""
        out = np.empty_like(z)
        for mine, factor in self.blocks:
            part = z[mine]
            out[mine] = part / factor if factor.ndim == 1 else linalg.solve_triangular(factor, part)
        return out

    def removal_costs(self, weights: FloatArray) -> FloatArray:
        """Return the least ``|z' - z|^2`` for which each term has no weight, summed over votes.

        ``weights`` has shape (n_terms, n_votes).
        """
        out = np.empty(len(weights))
        for mine, factor in self.blocks:
            if factor.ndim == 1:
                squares = factor**-2.0
            else:
                inverse = linalg.solve_triangular(factor, np.eye(len(mine)))
                squares = (inverse**2).sum(axis=1)
            out[mine] = (weights[mine] ** 2).sum(axis=1) / squares
        return out


def triangular_root(values: FloatArray) -> FloatArray:
    """Return an upper triangular U with U^T U = K + ridge, for the smallest ridge that works."""
    trace = float(np.trace(values))
    if not trace > 0:
        return np.eye(len(values))
    for ridge in RIDGES:
        try:
            return np.asarray(linalg.cholesky(values + ridge * trace * np.eye(len(values))))
        except linalg.LinAlgError:
            continue
    return np.diag(np.sqrt(np.maximum(np.diag(values), RIDGES[-1] * trace)))


def smooth_hinge(h: FloatArray) -> FloatArray:
    """Return phi(h)."""
    inside = np.clip(h, 0.0, 1.0)
    return np.asarray(0.5 * inside**2 + np.maximum(0.0, h - 1.0))


@dataclass(frozen=True)
class RelaxedProblem:
    """The problem of relaxing a vote, for labels +-1 or for hinges with goals.

    ``columns`` is B; it has no column for the intercept, and one row per hinge. All rows must have
    a positive weight.
    """

    columns: Design
    y: FloatArray
    w: FloatArray
    rho: float
    fit_intercept: bool = True
    goals: FloatArray | None = None
    #: The width of the rounded corner of each hinge.
    width: float = 1.0

    @classmethod
    def of_hinges(
        cls, design: Design, hinges: Hinges, *, rho: float, width: float
    ) -> RelaxedProblem:
        """Return the problem for a loss, given as hinges, over the rows of a design."""
        if hinges.rows is not None:
            design = RepeatedDesign(design, hinges.rows)
        return cls(design, hinges.signs, hinges.weights, rho, goals=hinges.goals, width=width)

    def shortfalls(self, decision: FloatArray) -> FloatArray:
        """Return h: by how much the vote misses the goal of each hinge."""
        return (1.0 if self.goals is None else self.goals) - self.y * decision

    def loss(self, h: FloatArray) -> float:
        """Return the sum of the rounded hinges."""
        return float(self.w @ (self.width * smooth_hinge(h / self.width)))

    def decision(self, z: FloatArray, intercept: float) -> FloatArray:
        """Return f at every row."""
        return self.columns.values(z) + intercept

    def objective(self, z: FloatArray, decision: FloatArray) -> float:
        """Return P for weights z whose vote at the rows is ``decision``."""
        return self.loss(self.shortfalls(decision)) + 0.5 * self.rho * float(z @ z)

    def dual_value(self, u: FloatArray) -> float:
        """Make any vector u feasible, and return the lower bound on P that it then proves."""
        u = np.clip(u, 0.0, self.w)
        if self.fit_intercept:
            positive = self.y > 0
            mass = np.array([u[~positive].sum(), u[positive].sum()])
            if mass.min() <= 0:
                return 0.0
            u = u * np.where(positive, mass.min() / mass[1], mass.min() / mass[0])
        pull = self.columns.sums(u * self.y)
        linear = float(u.sum() if self.goals is None else self.goals @ u)
        square = float(self.width * (u**2 / self.w).sum() + pull @ pull / self.rho)
        if square <= 0 or linear <= 0:
            return 0.0
        most = 1.0 / float((u / self.w).max())
        step = min(linear / square, most)  # the best multiple of u in the box
        return max(0.0, step * linear - 0.5 * step**2 * square)

    def certify(self, z: FloatArray, intercept: float) -> tuple[float, float]:
        """Return P at some weights, and D at the dual vector that they yield."""
        decision = self.decision(z, intercept)
        u = self.w * (self.shortfalls(decision) / self.width)  # clipped by `dual_value`
        return self.objective(z, decision), self.dual_value(u)
