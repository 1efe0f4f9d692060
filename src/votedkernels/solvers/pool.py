"""The pool: the columns that take part in a solver's next step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray
from ..problem import Problem

#: A column is violated if it exceeds its penalty by more than this share of the tolerance.
VIOLATION = 0.1
#: For this purpose, the tolerance is at most this.
LARGEST_TOL = 1e-6


class ColumnPool:
    """A selection of columns. Columns that have had no weight for some rounds are removed.

    Attributes
    ----------
    kernels, centers : arrays of shape (n_pool,)
        Which columns are in the pool.
    scale : array of shape (n_pool,)
        Largest absolute value of each column, by which solvers divide it.
    idle : array of shape (n_pool,)
        Number of rounds since each column last had a weight.
    member : array of shape (n_kernels, n_centers)
        Whether a column is in the pool.
    is_cramped : bool
        Whether columns were kept out for lack of memory.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kernels = np.zeros(0, np.intp)
        self.centers = np.zeros(0, np.intp)
        self.idle = np.zeros(0, np.intp)
        self.scale = np.zeros(0)
        self.member = np.zeros((problem.columns.n_kernels, problem.columns.n_centers), bool)
        self.is_cramped = False

    def admit(self, kernels: IntArray, centers: IntArray) -> tuple[IntArray, IntArray]:
        """Add columns without a weight; return those that were not in the pool before."""
        fresh = ~self.member[kernels, centers]
        kernels, centers = kernels[fresh], centers[fresh]
        self.member[kernels, centers] = True
        self.kernels = np.concatenate([self.kernels, kernels])
        self.centers = np.concatenate([self.centers, centers])
        self.idle = np.concatenate([self.idle, np.zeros(len(kernels), np.intp)])
        return kernels, centers

    def dismiss(self, columns: NDArray[np.bool_]) -> None:
        """Remove columns from the pool. They may come back if they are violated again."""
        keep = ~columns
        self.member[self.kernels[columns], self.centers[columns]] = False
        self.kernels, self.centers = self.kernels[keep], self.centers[keep]
        self.idle, self.scale = self.idle[keep], self.scale[keep]

    def note_weights(self, weights: FloatArray) -> None:
        """Count one more idle round for each column without a weight, and restart for others."""
        self.idle = np.where(weights != 0, 0, self.idle + 1)

    def worst_outside(
        self, excess: FloatArray, tol: float, most: int, candidates: IntArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the most violated columns outside the pool, and by how much they are violated.

        For variety, there is at most one kernel per centre. ``excess`` has a column for each
        centre, or for each of the ``candidates``.
        """
        if candidates is None:
            candidates = np.arange(excess.shape[1])
        excess = np.where(self.member[:, candidates], 0.0, excess)
        kernels = excess.argmax(axis=0)
        worst = excess[kernels, np.arange(len(candidates))]
        order = np.argsort(-worst, kind="stable")[:most]
        order = order[worst[order] > 1 + VIOLATION * min(tol, LARGEST_TOL)]
        return kernels[order], candidates[order], worst[order]


def largest_values(columns: FloatArray, axis: int) -> FloatArray:
    """Return the largest absolute value of each column; 1 for a column of zeros."""
    largest = np.maximum(columns.max(axis=axis, initial=0.0), -columns.min(axis=axis, initial=0.0))
    return np.where(largest > 0, largest, 1.0)
