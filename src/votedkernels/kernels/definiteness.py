"""Checks that kernels declared positive definite really are.

The hybrid norm adds rho/2 sum_k a_k^T K_k a_k to F. If a matrix K_k has a negative eigenvalue, F
has no minimum and its certificates are void. So kernels that are positive definite only by the
user's declaration are checked: before the fit on some centres, and during the fit on the columns in
use (`solvers.coordinate_descent`).
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .base import FloatArray, IntArray
from .columns import blocks
from .local_columns import LocalColumns

#: The largest number of centres whose matrix is checked before the fit.
MOST_CENTERS = 2000
#: Memory for the matrix, its transpose, their differences, and its factors.
BYTES_PER_VALUE = 48
#: Differences between K(x, c) and K(c, x) allowed for rounding, relative to the largest value.
ASYMMETRY = 1e-8
#: Negative eigenvalues allowed for rounding, relative to the largest K(x, x) times the row count.
ROUNDING = 1e-10


def check_definite(columns: LocalColumns, center_rows: IntArray) -> None:
    """Raise if a kernel that the user declares positive definite is not."""
    for f, family in enumerate(columns.families):
        if family.is_definite_by_formula:
            continue
        if family.is_precomputed:
            _check_symmetry(columns, f, center_rows)
        chosen = np.arange(columns.n_centers)
        in_memory = int(
            ((columns.budget.memory + columns.budget.block_memory) / BYTES_PER_VALUE) ** 0.5
        )
        most = min(MOST_CENTERS, in_memory)
        if len(chosen) > most:
            chosen = np.sort(np.random.default_rng(0).permutation(len(chosen))[:most])
        base = columns.base(f, center_rows[chosen], chosen)
        for name, values in zip(family.names_, family.members(base), strict=True):
            require_definite(values, name)


def _check_symmetry(columns: LocalColumns, f: int, center_rows: IntArray) -> None:
    """Compare a matrix with its transpose, block by block."""
    everyone = np.arange(columns.n_centers)
    for part in blocks(columns.n_centers, 256):
        there = columns.base(f, center_rows[part], everyone)
        back = columns.base(f, center_rows, everyone[part]).T
        _require_symmetric(there, back, columns.families[f].names_[0])


def _require_symmetric(there: FloatArray, back: FloatArray, name: str) -> None:
    difference = np.abs(there - back)
    if difference.max(initial=0.0) > ASYMMETRY * np.abs(there).max(initial=0.0):
        i, j = np.unravel_index(int(difference.argmax()), difference.shape)
        raise ValueError(
            f"kernel {name} is declared positive definite but is not symmetric: K(x, c) = "
            f"{there[i, j]:.6g} and K(c, x) = {back[i, j]:.6g} for some x and c. Use l2_penalty=0, "
            "or make the kernel symmetric, as in (K + K.T) / 2."
        )


def require_definite(values: FloatArray, name: str) -> None:
    """Raise if a kernel matrix is not symmetric or not positive definite."""
    _require_symmetric(values, values.T, name)
    diagonal = values.diagonal()
    largest = float(np.abs(diagonal).max(initial=0.0))
    if diagonal.min(initial=0.0) < -ROUNDING * largest:
        raise ValueError(
            f"kernel {name} is declared positive definite but K(x, x) = {diagonal.min():.3g} at a "
            "training row; use l2_penalty=0."
        )
    allowed = ROUNDING * largest * len(values)
    shifted = 0.5 * (values + values.T)
    shifted[np.diag_indices(len(values))] += allowed
    if _has_factors(shifted):
        return
    smallest = float(linalg.eigvalsh(shifted, subset_by_index=[0, 0])[0]) - allowed
    if smallest < -allowed:
        raise ValueError(
            f"kernel {name} is declared positive definite but is not: its matrix on {len(values)} "
            f"rows has the eigenvalue {smallest:.3g}, so its squared norm can be negative and has "
            f"no minimum. Use l2_penalty=0, or add at least {-smallest:.3g} to K(x, x)."
        )


def _has_factors(matrix: FloatArray) -> bool:
    if not matrix.any():
        return True
    try:
        linalg.cholesky(matrix, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True
