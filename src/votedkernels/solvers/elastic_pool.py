"""The pool of columns for the elastic net, whose dual has no constraints but a box.

On the columns Z_ic = y_i K_c(x_i) / s_c of the pool, with l_c = L_c / s_c and goals g (1 for the
hinge loss), the dual is

    max  D(u) = sum_i g_i u_i - 1/(2 rho) sum_c e_c^2,     0 <= u_i <= w_i
         e_c = sign(q_c) max(0, |q_c| - l_c),   q = Z^T u

and sum_i y_i u_i = 0 with an intercept. The weights are a = e / rho. D is concave and piecewise
quadratic: its pieces differ by the columns S with e_c != 0. A step

1. maximises the quadratic function of the present S over the box (`box_newton`), with a matrix
   M = Z_S Z_S^T / rho that is updated only for columns that enter or leave S,
2. goes towards that point as far as D increases.

If columns outside S stop the step early, M was too small. A multiple of the identity is then added
to it, as in the method of Levenberg and Marquardt. The next penalties of a path start from the best
multiple of the last u: all sums, and so u, shrink with the penalties.

If there are many rows, M covers only those that are free or should be. The others wait at their
bounds until they are on the wrong side.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray
from ..kernels.columns import blocks
from ..problem import Problem, Terms
from ..problem.losses import best_constant
from .box_newton import maximise_in_box
from .descent_pool import COLUMNS_AT_ONCE, DescentPool
from .rounds import Incumbent

MAX_STEPS = 300
#: The gap on the pool, as a share of the tolerance, and the smallest possible one.
POOL_GAP, SMALLEST_GAP = 0.5, 1e-13
#: Columns join before they exceed their penalties, and leave when they are far below them.
NEARLY, FAR = 0.85, 0.6
#: Dropping columns copies the others, so it waits until this share of them is idle
#: or memory is full.
MANY_IDLE = 0.2
#: This many columns join in a round, or as many as there are.
COLUMNS_PER_ROUND = 400
#: With fewer rows than this, M covers all of them.
FEW_ROWS = 1500
#: M is computed afresh after this many changes per column.
CHANGES = 5
#: What is added to M, in units of its mean diagonal entry: at first, at least with new penalties,
#: at least, and at most. Then, how it changes with the length of a step.
FIRST_DAMPING, NEW_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-4, 1e-8, 1.0
LONG_STEP, LESS_DAMPING = 0.9, 1 / 3
SHORT_STEPS = ((0.02, 100.0), (0.1, 10.0), (0.4, 3.0))
#: Steps that bring nothing before the method gives up.
USELESS_STEPS = 10
BISECTIONS = 16
#: How much u may grow from one pair of penalties to the next.
MOST_GROWTH = 4.0
#: The mean diagonal entry of M if no column is in use, per column.
NO_COLUMN = 1e-6
#: How much more is added to M if the quadratic function could not be maximised.
MORE_DAMPING = 10.0
#: M forgets idle rows if it covers this many times more than may move; n^2 arrays of a step.
MOST_IDLE, MATRICES = 2, 5


class ElasticPool(DescentPool):
    """The columns whose weights move, scaled to a mean square of 1, and the dual vector."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.accuracy = POOL_GAP
        self.u = problem.empty_dual()
        #: The rows that M covers, M, the columns in it, and how many changed since it was computed.
        self._rows = np.empty(0, np.intp)
        self._matrix = np.zeros((0, 0))
        self._counted = np.zeros(0, bool)
        self._n_changes = 0
        self._damping = FIRST_DAMPING

    def copy(self) -> ElasticPool:
        """Return a copy that can be continued independently."""
        other = copy(self)
        other.member = self.member.copy()  # other arrays are replaced, never changed
        return other

    @property
    def n_bytes(self) -> int:
        """Bytes that the largest arrays take."""
        return self.Z.nbytes + self._matrix.nbytes

    def go_on_with(self, problem: Problem) -> None:
        """Continue with the same problem, but with other penalties or another budget."""
        self.problem, self.is_cramped, self.accuracy = problem, False, POOL_GAP
        self._damping = max(self._damping, NEW_DAMPING)

    # -- the pool ----------------------------------------------------------------------

    def add(self, kernels: IntArray, centers: IntArray) -> None:
        """Add the columns that are not in the pool yet."""
        before = len(self.kernels)
        super().add(kernels, centers)
        self._counted = np.append(self._counted, np.zeros(len(self.kernels) - before, bool))

    def _signed_columns(
        self, kernels: IntArray, centers: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return y K_c(x) / s_c and s_c."""
        assert self.problem.squares is not None
        scale = np.sqrt(self.problem.squares[kernels, centers])
        scale[scale == 0] = 1.0
        Z = np.empty((len(self.problem.y), len(kernels)))
        for part in blocks(len(kernels), COLUMNS_AT_ONCE):
            values = self.problem.columns.take(kernels[part], centers[part]) / scale[part]
            Z[:, part] = self.problem.at_hinges(values) * self.problem.y[:, None]
        return Z, scale

    def add_steepest(self, excess: FloatArray, tol: float) -> bool:
        """Add the columns with the largest excess; return False if none is violated, or no room.

        Columns that nearly violate their constraint join too: they often do so in the next round.
        """
        del tol  # a violated column changes the bound by the square of its excess
        outside = np.where(self.member, 0.0, excess)
        if outside.max(initial=0.0) <= 1.0:
            return False
        idle = ~self._counted & (excess[self.kernels, self.centers] < FAR)
        if idle.sum() > MANY_IDLE * len(idle) or len(idle) >= self.most:
            self._drop(idle)
        most = min(max(COLUMNS_PER_ROUND, len(self.kernels)), self.most - len(self.kernels))
        if most <= 0:
            self.is_cramped = True
            return False
        worst = np.flatnonzero(outside.ravel() > NEARLY)
        if len(worst) > most:
            order = np.argsort(-outside.ravel()[worst], kind="stable")
            worst = np.sort(worst[order[:most]])
        kernels, centers = np.divmod(worst, excess.shape[1])
        self.add(kernels, centers)
        return True

    def _drop(self, columns: NDArray[np.bool_]) -> None:
        self._counted = self._counted[~columns]
        super()._drop(columns)

    # -- steps -------------------------------------------------------------------------

    def improve(self, best: Incumbent, tol: float, gap: float) -> tuple[FloatArray, Terms]:
        """Maximise D over the pool, offer the vote, and return u."""
        del gap
        problem, rho = self.problem, self.problem.l2_penalty
        penalties = problem.penalties[self.kernels] / self.scale
        goals = np.ones(len(problem.y)) if problem.goals is None else problem.goals
        wanted = max(self.accuracy * tol, SMALLEST_GAP)
        u = self._best_multiple(penalties, goals)
        lowest, weights, intercept, useless = np.inf, np.zeros(len(penalties)), 0.0, 0
        for _ in range(MAX_STEPS):
            q = u @ self.Z
            e = beyond(q, penalties)
            shortfalls = goals - self.Z @ (e / rho)
            b = best_constant(problem.y, problem.w, shortfalls) if problem.fit_intercept else 0.0
            shortfalls -= problem.y * b
            square = float(e @ e) / rho
            value = float(problem.w @ np.maximum(0.0, shortfalls) + penalties @ np.abs(e) / rho)
            value += 0.5 * square
            if value < lowest:
                lowest, weights, intercept = value, e / rho, b
            bound = float(goals @ u) - 0.5 * square
            if lowest - bound <= wanted * lowest or problem.budget.is_late:
                break
            move = self._aim(u, shortfalls, e != 0)
            step = self._length(float(goals @ move), q, move @ self.Z, penalties)
            self._note_length(step)
            useless = useless + 1 if step == 0 else 0
            if useless > USELESS_STEPS:
                break
            u = np.clip(u + step * move, 0.0, problem.w)
        self.u = u
        self._offer_weights(best, weights, intercept)
        self.note_weights(weights)
        return u, Terms.none()

    def _offer_weights(self, best: Incumbent, weights: FloatArray, intercept: float) -> None:
        terms = Terms(self.kernels, self.centers, weights / self.scale, intercept)
        f = self.problem.y * (self.Z @ weights)
        if self.problem.hinge_rows is not None:  # any hinge of a row will do
            f = f[np.unique(self.problem.hinge_rows, return_index=True)[1]]
        best.offer_vote(terms.nonzero(), f + intercept)

    def _best_multiple(self, penalties: FloatArray, goals: FloatArray) -> FloatArray:
        """Return the multiple of the last u with the largest D on the pool, clipped to the box."""
        u = self.problem.into_box(self.u)
        reward, q = float(goals @ u), u @ self.Z
        factor = MOST_GROWTH * self._length(MOST_GROWTH * reward, 0 * q, MOST_GROWTH * q, penalties)
        return self.problem.into_box(factor * u)

    def _length(
        self, reward: float, q: FloatArray, change: FloatArray, penalties: FloatArray
    ) -> float:
        """Return how far to go, at most 1, if a whole step adds ``change`` to q.

        ``reward`` is what it adds to the linear part of D.
        """

        def slope(t: float) -> float:
            e = beyond(q + t * change, penalties)
            return reward - float(e @ change) / self.problem.l2_penalty

        if slope(1.0) >= 0:
            return 1.0
        near, far = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (near + far)
            near, far = (middle, far) if slope(middle) > 0 else (near, middle)
        return near

    def _aim(self, u: FloatArray, shortfalls: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
        """Return the way to the maximum of the present piece."""
        problem = self.problem
        self._cover(u, shortfalls, used)
        rows = self._rows
        low, high = -u[rows], problem.w[rows] - u[rows]
        balance = problem.y[rows] if problem.fit_intercept else None
        mean = max(float(np.trace(self._matrix)) / len(rows), NO_COLUMN * len(used))
        move = np.zeros_like(u)
        while True:
            M = self._matrix.copy()
            M[np.diag_indices(len(rows))] += self._damping * mean
            move[rows], is_best = maximise_in_box(M, shortfalls[rows], low, high, balance)
            if is_best or self._damping == MOST_DAMPING:
                return move
            self._damping = min(MOST_DAMPING, MORE_DAMPING * self._damping)

    def _note_length(self, step: float) -> None:
        """Adapt what is added to M."""
        if step > LONG_STEP:
            self._damping = max(LEAST_DAMPING, LESS_DAMPING * self._damping)
        for limit, factor in SHORT_STEPS:
            if step < limit:
                self._damping = min(MOST_DAMPING, factor * self._damping)
                break

    def _cover(self, u: FloatArray, shortfalls: FloatArray, used: NDArray[np.bool_]) -> None:
        """Let M cover the rows that may move, and the columns in use."""
        problem = self.problem
        n = len(u)
        if n <= FEW_ROWS:
            wanted = np.arange(n)
        else:
            moving = ((u > 0) | (shortfalls > 0)) & ((u < problem.w) | (shortfalls < 0))
            wanted = np.flatnonzero(moving)
            if len(wanted) > self._most_rows:
                size = np.where(u[wanted] * (problem.w - u)[wanted] > 0, np.inf, 0.0)
                size = np.maximum(size, np.abs(shortfalls[wanted]))
                order = np.argsort(-size, kind="stable")[: self._most_rows]
                wanted = np.sort(wanted[order])
        covered = np.isin(wanted, self._rows, assume_unique=True).all()
        if not covered or len(self._rows) > MOST_IDLE * max(len(wanted), FEW_ROWS):
            self._rows = wanted
            self._n_changes = len(used) * (CHANGES + 1)
        entering, leaving = used & ~self._counted, self._counted & ~used
        changes = int(entering.sum() + leaving.sum())
        self._n_changes += changes
        if changes > used.sum() or self._n_changes > CHANGES * len(used):
            self._matrix = self._products(used)
            self._n_changes = 0
        else:
            if entering.any():
                self._matrix = self._matrix + self._products(entering)
            if leaving.any():
                self._matrix = self._matrix - self._products(leaving)
        self._counted = used

    def _products(self, columns: NDArray[np.bool_]) -> FloatArray:
        """Return Z_S Z_S^T / rho on the covered rows."""
        everything = len(self._rows) == len(self.Z)
        B = self.Z[:, columns] if everything else self.Z[np.ix_(self._rows, columns)]
        return np.asarray(B @ B.T) / self.problem.l2_penalty

    @property
    def _most_rows(self) -> int:
        """How many rows M can cover with the memory that the pool's columns leave."""
        free = self.problem.budget.memory - 2 * self.Z.nbytes
        return max(FEW_ROWS, int((max(0, free) / (8 * MATRICES)) ** 0.5))


def beyond(q: FloatArray, penalties: FloatArray) -> FloatArray:
    """Return by how much |q_c| exceeds its penalty, with the sign of q_c."""
    return q - np.clip(q, -penalties, penalties)
