"""Newton's method for relaxed votes, whose loss is piecewise quadratic.

The loss is quadratic on the rows I within the margin, 0 < 1 - y_i f(x_i) <= 1, and linear on the
rows J on the wrong side. If I and J are fixed, P is a quadratic function, whose minimum solves

    (B_I^T diag(w_I) B_I + rho) z = B_IJ^T diag(w_IJ) y_IJ

(with a column of ones, without rho, for the intercept; for hinges with goals g and a width d, rho
is multiplied by d, and the right-hand side by g on I and by d on J). A step to this point may
change I and J. If it does not, the point is the minimum of P. This takes a few steps (the finite
Newton method of Mangasarian 2002, and of Keerthi and DeCoste 2005). A step that would increase P is
halved. The matrix is updated only for rows that enter or leave I, and each rho starts from the
solution for the previous one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, lstsq

from ..kernels.base import FloatArray, IntArray
from ..problem.losses import best_constant
from ..problem.relaxed import RelaxedProblem

#: Maximum number of steps for one rho.
MAX_STEPS = 100
#: Penalty on the square of the intercept, relative to rho plus the sum of the weights, so that the
#: linear system always has a solution.
TINY = 1e-12
#: If more rows than this share of I enter or leave it, the matrix is computed from scratch.
MANY = 0.4
#: The shortest step to try.
SHORTEST = 1e-15


def solve_relaxed(
    problem: RelaxedProblem, rhos: Sequence[float], *, tol: float
) -> Iterator[tuple[FloatArray, float]]:
    """Yield (z, intercept) for each rho in turn.

    Steps end at the exact minimum, up to rounding, or once a step lowers P by at most ``tol`` times
    P. This is fastest if the values of rho decrease.
    """
    newton = Newton(problem)
    for rho in rhos:
        yield newton.solve(rho, tol)


class Newton:
    """The state of the method: the current weights, the rows I and J, and the matrix of I."""

    def __init__(self, problem: RelaxedProblem) -> None:
        self.problem = problem
        self.n_columns = problem.columns.shape[1]
        #: The weights and, if there is one, the intercept.
        self.z = np.zeros(self.n_columns + problem.fit_intercept)
        #: 1 - y f at each row; I, where it is in (0, 1]; and J, where it is larger.
        if problem.goals is not None and problem.fit_intercept:
            self.z[-1] = best_constant(problem.y, problem.w, problem.goals)
        self.h = problem.shortfalls(problem.decision(*self._parts(self.z)))
        self.inside, self.wrong = self._pieces()
        #: The upper triangle of B_I^T diag(w_I) B_I.
        self.matrix = self._products(np.flatnonzero(self.inside))

    def solve(self, rho: float, tol: float) -> tuple[FloatArray, float]:
        """Return the weights and the intercept for one rho."""
        ridge = np.full(len(self.z), rho)
        if self.problem.fit_intercept:
            ridge[-1] = TINY * (rho + float(self.problem.w.sum()))
        ridge *= self.problem.width
        value = self._value(self.z, self.h, ridge)
        for _ in range(MAX_STEPS):
            before = value
            value, is_full = self._move(self._minimum_of_piece(ridge), value, ridge)
            settled = self._update_pieces()
            if is_full and (settled or before - value <= tol * value):
                break
        z, intercept = self._parts(self.z)
        return z.copy(), intercept

    def _parts(self, z: FloatArray) -> tuple[FloatArray, float]:
        """Return the weights and the intercept."""
        if self.problem.fit_intercept:
            return z[:-1], float(z[-1])
        return z, 0.0

    def _value(self, z: FloatArray, h: FloatArray, ridge: FloatArray) -> float:
        return self.problem.loss(h) + 0.5 * float(ridge @ (z * z)) / self.problem.width

    def _minimum_of_piece(self, ridge: FloatArray) -> FloatArray:
        """Return the minimum of the quadratic function that equals P for the current I and J."""
        matrix = self.matrix.copy(order="F")
        matrix[np.diag_indices(len(ridge))] += ridge
        problem = self.problem
        goals = 1.0 if problem.goals is None else problem.goals
        pull = np.where(self.inside, goals, np.where(self.wrong, problem.width, 0.0))
        target = problem.w * problem.y * pull
        right = np.append(self.problem.columns.sums(target), target.sum())[: len(self.z)]
        factor, failed = lapack.dpotrf(matrix, clean=0)
        if not failed:
            return np.asarray(lapack.dpotrs(factor, right)[0])
        whole = np.triu(matrix) + np.triu(matrix, 1).T  # after rounding: least squares
        return np.asarray(lstsq(whole, right)[0])

    def _move(self, aim: FloatArray, value: float, ridge: FloatArray) -> tuple[float, bool]:
        """Step towards ``aim``, halving the step while P increases.

        Return P at the new point, and whether the full step was taken or no step lowers P.
        """
        h = self.problem.shortfalls(self.problem.decision(*self._parts(aim)))
        found = self._value(aim, h, ridge)
        if found <= value:
            self.z, self.h = aim, h
            return found, True
        z, change, step = aim - self.z, h - self.h, 0.5
        while step > SHORTEST:
            found = self._value(self.z + step * z, self.h + step * change, ridge)
            if found < value:
                self.z, self.h = self.z + step * z, self.h + step * change
                return found, False
            step /= 2
        return value, True

    def _pieces(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks of I and J."""
        width = self.problem.width
        return (self.h > 0) & (self.h <= width), self.h > width

    def _update_pieces(self) -> bool:
        """Update I, J and the matrix; return whether I and J stay the same."""
        inside, wrong = self._pieces()
        changed = np.flatnonzero(inside != self.inside)
        settled = len(changed) == 0 and np.array_equal(wrong, self.wrong)
        self.wrong = wrong
        if len(changed) == 0:
            return settled
        if len(changed) > MANY * inside.sum():
            self.matrix = self._products(np.flatnonzero(inside))
        else:
            enter, leave = changed[inside[changed]], changed[~inside[changed]]
            if len(enter):
                self.matrix += self._products(enter)
            if len(leave):
                self.matrix -= self._products(leave)
        self.inside = inside
        return False

    def _products(self, rows: IntArray | slice) -> FloatArray:
        """Return the upper triangle of B^T diag(w) B over some rows."""
        n = len(self.z)
        return self.problem.columns.products(self.problem.w, rows)[:n, :n]
