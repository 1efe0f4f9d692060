"""Whether kernels that are declared positive definite are.

The hybrid norm adds rho/2 sum_k a_k^T K_k a_k to F. Where a matrix K_k has a negative eigenvalue,
F has no minimum, and what is proved about it is not true. So matrices that are positive definite by
the user's word alone are looked at: before the fit on some centres, and during it on the columns in
use (`solvers.coordinate_descent`).
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .base import FloatArray, IntArray
from .columns import Gram, blocks

#: Centres whose matrix is decomposed before the fit.
MOST_CENTERS = 2000
#: Of the matrix, what is compared with it, and its factors.
BYTES_PER_VALUE = 48
#: Differences of K(x, c) and K(c, x), over the largest value, that are put down to rounding.
ASYMMETRY = 1e-8
#: Negative eigenvalues, over the largest K(x, x) and the number of rows, that are.
ROUNDING = 1e-10


def check_definite(gram: Gram, center_rows: IntArray) -> None:
    """Raise for a kernel that is positive definite by the user's word, and is not."""
    for f, family in enumerate(gram.families):
        if family.is_definite_by_formula:
            continue
        if family.is_precomputed:
            _check_symmetry(gram, f, center_rows)
        chosen = np.arange(gram.n_centers)
        in_memory = int(((gram.memory_left + gram.block_memory) / BYTES_PER_VALUE) ** 0.5)
        most = min(MOST_CENTERS, in_memory)
        if len(chosen) > most:
            chosen = np.sort(np.random.default_rng(0).permutation(len(chosen))[:most])
        base = gram.base(f, center_rows[chosen], chosen)
        for name, values in zip(family.names_, family.members(base), strict=True):
            require_definite(values, name)


def _check_symmetry(gram: Gram, f: int, center_rows: IntArray) -> None:
    """Compare all values of a matrix with their counterparts, block by block."""
    everyone = np.arange(gram.n_centers)
    for part in blocks(gram.n_centers, 256):
        there = gram.base(f, center_rows[part], everyone)
        back = gram.base(f, center_rows, everyone[part]).T
        _require_symmetric(there, back, gram.families[f].names_[0])


def _require_symmetric(there: FloatArray, back: FloatArray, name: str) -> None:
    difference = np.abs(there - back)
    if difference.max(initial=0.0) > ASYMMETRY * np.abs(there).max(initial=0.0):
        i, j = np.unravel_index(int(difference.argmax()), difference.shape)
        raise ValueError(
            f"kernel {name} is declared positive definite and is not symmetric: K(x, c) = "
            f"{there[i, j]:.6g} and K(c, x) = {back[i, j]:.6g} for some x and c. Use l2_penalty=0, "
            "or make it symmetric, as in (K + K.T) / 2."
        )


def require_definite(values: FloatArray, name: str) -> None:
    """Raise where a kernel's matrix on some points is not symmetric or not positive definite."""
    _require_symmetric(values, values.T, name)
    diagonal = values.diagonal()
    largest = float(np.abs(diagonal).max(initial=0.0))
    if diagonal.min(initial=0.0) < -ROUNDING * largest:
        raise ValueError(
            f"kernel {name} is declared positive definite and K(x, x) = {diagonal.min():.3g} at a "
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
            f"kernel {name} is declared positive definite and is not: its matrix on {len(values)} "
            f"rows has the eigenvalue {smallest:.3g}, and a squared norm that can be negative has "
            "no minimum. Use l2_penalty=0, or add at least as much to K(x, x)."
        )


def _has_factors(matrix: FloatArray) -> bool:
    if not matrix.any():
        return True
    try:
        linalg.cholesky(matrix, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True
