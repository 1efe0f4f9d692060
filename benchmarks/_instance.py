"""A problem of the solver benchmark, and its certificate, computed by NumPy alone.

    F(a) = mean_i max(0, 1 - y_i f(x_i)) + sum_kj L_k |a_kj|,     f(x) = sum_kj a_kj K_k(x, x_j)
    D(u) = sum_i u_i   over   0 <= u_i <= 1/m,   |sum_i u_i y_i K_k(x_i, x_j)| <= L_k
    K_k(x, x') = (x.x' + 1)^k,   k = 1, ..., 10,   L_k = lambda r_k + beta, r_k the trace bound

Only the data come from votedkernels, so that a wrong objective or certificate of the library would
be detected.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear

from votedkernels.datasets import make_waveform

DEGREES = tuple(range(1, 11))
ON_MARGIN = 1e-6  # y f(x) this close to 1 counts as 1


@dataclass(frozen=True)
class Instance:
    """Rows, labels of -1 and +1, and the two penalties."""

    X: np.ndarray
    y: np.ndarray
    complexity_penalty: float
    l1_penalty: float

    @property
    def n_rows(self):
        """Number of rows, m."""
        return len(self.y)

    @property
    def n_columns(self):
        """Number of columns (k, j)."""
        return len(DEGREES) * self.n_rows

    @cached_property
    def penalties(self):
        """L_k, with r_k = sqrt(max_i K_k(x_i, x_i)) sqrt(sum_i K_k(x_i, x_i)) / m."""
        powers = (1.0 + (self.X**2).sum(axis=1)) ** np.array(DEGREES)[:, None]
        complexities = np.sqrt(powers.max(axis=1) * powers.sum(axis=1)) / self.n_rows
        return self.complexity_penalty * complexities + self.l1_penalty

    def kernels(self):
        """Yield the matrices K_k, degree by degree."""
        base = self.X @ self.X.T + 1.0
        power = base.copy()
        for _ in DEGREES:
            yield power
            power = power * base

    def columns(self, *, order="C"):
        """Return the m x pm matrix [K_1, ..., K_p]."""
        m = self.n_rows
        out = np.empty((m, self.n_columns), order=order)
        for k, kernel in enumerate(self.kernels()):
            out[:, k * m : (k + 1) * m] = kernel
        return out

    def decision(self, weights):
        """Return f at every row; weights[k, j] is a_kj."""
        return sum(kernel @ a for kernel, a in zip(self.kernels(), weights, strict=True))

    def objective(self, weights):
        """Return F."""
        loss = np.maximum(0.0, 1.0 - self.y * self.decision(weights)).mean()
        return float(loss + self.penalties @ np.abs(weights).sum(axis=1))

    def lower_bound(self, weights):
        """Return a proved lower bound on min F, from the weights of a vertex of the LP.

        By complementary slackness, u_i is 1/m within the margin and 0 outside. For rows on the
        margin, u_i makes the constraints of the terms tight. Then u is scaled until it is feasible.
        Any weights yield a bound; those of an optimal vertex yield the optimum.
        """
        margins = self.y * self.decision(weights)
        unit = 1.0 / self.n_rows
        u = np.where(margins < 1.0, unit, 0.0)
        free = np.abs(margins - 1.0) <= ON_MARGIN
        u[free] = 0.0
        used = weights != 0
        if free.any() and used.any():
            tight = np.concatenate(
                [
                    (kernel[:, of_kernel] * self.y[:, None]).T / penalty
                    for kernel, of_kernel, penalty in zip(
                        self.kernels(), used, self.penalties, strict=True
                    )
                ]
            )
            target = np.sign(weights[used]) - tight @ u
            u[free] = unit * lsq_linear(unit * tight[:, free], target, bounds=(0, 1)).x
        excess = max(
            np.abs((u * self.y) @ kernel).max() / penalty
            for kernel, penalty in zip(self.kernels(), self.penalties, strict=True)
        )
        return float(u.sum() / max(1.0, excess))


def make_instance(n_rows, complexity_penalty):
    """Return waveform data, standardised and divided by the root of the number of features."""
    X, y = make_waveform(n_rows, random_state=0)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) * np.sqrt(X.shape[1]))
    return Instance(X, y.astype(np.float64), complexity_penalty, complexity_penalty / 10)
