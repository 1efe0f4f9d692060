"""Complexity by stable rank: how many dimensions the values of a kernel effectively have.

For a positive definite kernel whose matrix on n rows has the eigenvalues mu_j, the stable rank is

    s_k = (sum_j mu_j)^2 / sum_j mu_j^2          (between 1 and n)

It is close to 1 for a nearly constant kernel, and close to n for a kernel that distinguishes all
rows. Eigenvalues are not needed: the sums are the trace and the sum of the squared entries of the
matrix. The complexity is

    r_k = kappa_k^2 sqrt(s_k^power / m)

Unlike trace complexity, it is not the same for all Gaussians. With power 1, it grows with the
square root of a dimension, as in the paper's Lemma 2, but with the stable rank in place of the
dimension of feature space. A larger power makes rich kernels more expensive and keeps narrow ones
from memorising; the default search of `VotedKernelClassifierCV` uses power 2. If the kernel is not
positive definite, the singular values sigma_j of its matrix A replace mu_j, and kappa_k^2 is the
largest diagonal entry of (A^T A)^(1/2). For positive definite kernels, both definitions agree. If
you pass both a function and centres, which may be objects of a different kind from the rows, A has
entries K(row, centre), and kappa_k^2 is its largest absolute value.

The rank is measured on ``n_rows`` rows. For a table, the draw depends only on the content of the
rows. Strings are sorted alphabetically, matrices and other objects keep their order, and evenly
spaced rows are chosen. The number of rows is part of the definition, since s_k <= n_rows.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import linalg

from ..kernels.base import FloatArray, in_moderate_units
from ..kernels.columns import Columns
from .base import ComplexityMeasure, require_positive


class StableRank(ComplexityMeasure):
    """Complexity by stable rank, for any kernel.

    Parameters
    ----------
    power : float, default=1.0
        How steeply the complexity grows with the rank.
    n_rows : int, default=256
        Number of rows on which ranks are measured.
    """

    def __init__(self, power: float = 1.0, n_rows: int = 256) -> None:
        self.power = power
        self.n_rows = n_rows

    def measure(self, columns: Columns, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return kappa_k^2 sqrt(s_k^power / m) for each member of family number ``f``."""
        self._check()
        family = columns.families[f]
        base = columns.base_of_sample(f, int(self.n_rows))
        weights, root = in_moderate_units(sample_weight)
        size = float(np.sqrt(weights.sum())) * float(root)
        definite, square = family.is_positive_definite, not columns.only_with_centers(f)
        out, smallest = [], []
        for values in family.members(base):
            columns.budget.check_time()
            smallest.append(np.diagonal(values).min())
            kappa_squared, rank = scale_and_rank(values, definite=definite, square=square)
            out.append(kappa_squared * rank ** (self.power / 2) / size)
        if definite:
            require_positive(np.array(smallest), family)
        return np.array(out)

    def of_growth(self, log_growth: FloatArray, sample_weight: FloatArray) -> FloatArray:
        """Return sqrt(s^power / m) with s = 2 log(growth)."""
        self._check()
        return super().of_growth(0.5 * (2.0 * log_growth) ** self.power, sample_weight)

    def _check(self) -> None:
        if not isinstance(self.power, Real) or not 0 <= self.power < np.inf:
            raise ValueError(f"power must be a finite number >= 0, got {self.power!r}.")
        if not isinstance(self.n_rows, Integral) or self.n_rows < 2:
            raise ValueError(f"n_rows must be an integer >= 2, got {self.n_rows!r}.")


def scale_and_rank(
    values: FloatArray, *, definite: bool, square: bool = True
) -> tuple[float, float]:
    """Return kappa^2 and the stable rank of a matrix of kernel values.

    If it is not ``square`` (the same points as rows and columns), kappa^2 is its largest value.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return 0.0, 1.0
    values = values / largest  # so that squares neither overflow nor vanish
    squares = float(np.square(values).sum())
    if definite:
        diagonal = np.diagonal(values)
        kappa_squared, total = float(diagonal.max()), float(diagonal.sum())
    else:
        _, sigma, right = linalg.svd(values, full_matrices=False)
        kappa_squared = float((sigma @ right**2).max()) if square else 1.0
        total = float(sigma.sum())
    return largest * kappa_squared, max(1.0, total**2 / squares)
