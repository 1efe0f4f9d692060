"""Local Rademacher complexity, from the spectrum of the kernel matrix.

    psi_k(rho) = sqrt((2 / m) sum_j min(rho, mu_j)),     r_k = kappa_k^2 psi_k(rho)

where mu_j are the eigenvalues of D^1/2 K_k D^1/2 / (kappa_k^2 m), D is the diagonal matrix of the
sample weights, and m is their sum [1]_. Without a radius (rho = inf), the sum is a trace, and r_k
is sqrt(2) times the trace bound. psi(rho) / sqrt(rho) decreases, so psi(rho) = rho has exactly one
positive solution, the fixed point [2]_.

References
----------
.. [1] S. Mendelson (2003). On the performance of kernel classes. Journal of Machine Learning
   Research 4.
.. [2] P. Bartlett, O. Bousquet, S. Mendelson (2005). Local Rademacher complexities. Annals of
   Statistics 33.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..kernels.base import FloatArray, KernelFamily, Numbers, in_moderate_units
from ..kernels.columns import Columns
from .base import ComplexityMeasure, positive_range

#: Up to this many rows, all eigenvalues are computed.
EXACT_ROWS = 2000
#: Beyond that, the spectrum is estimated from this many subsamples of this many rows.
N_SUBSAMPLES = 4
SUBSAMPLE_ROWS = 1000


class Local(ComplexityMeasure):
    """Local Rademacher complexity, for positive definite kernels.

    It distinguishes kernels that have the same trace, such as all Gaussians: a kernel whose
    spectrum decays fast is simpler. With more than 2,000 rows, the spectrum is estimated from four
    random subsamples of 1,000 rows, and the standard error over these is reported. That error does
    not include the loss of eigenvalues below 1/1,000 of the largest possible, which matters only
    for radii below 0.001. With 1,001 to 2,000 rows, the spectrum is estimated in the same way if
    ``memory_limit`` leaves no room for the matrices (96 MB for 2,000 rows). The result depends on
    the number of rows, so such a limit changes the penalties.

    Parameters
    ----------
    radius : float, "fixed-point" or sequence of float, default="fixed-point"
        The radius, on the scale of K / kappa^2. A sequence has one radius per member of the family.
    filter : bool, default=False
        Whether only columns within this radius may vote: those with
        mean_i (K(x_i, c) / kappa^2)^2 <= radius. Without it, the complexity is only a penalty, not
        part of a guarantee.
    random_state : int, default=0
        Seed of the subsamples.
    """

    def __init__(
        self, radius: Numbers | str = "fixed-point", *, filter: bool = False, random_state: int = 0
    ) -> None:
        self.radius = radius
        self.filter = filter
        self.random_state = random_state

    def measure_with_errors(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return kappa^2 psi(radius) and its standard error."""
        estimates = self._estimates(columns, f, sample_weight)
        values = estimates.mean(axis=0)
        if len(estimates) == 1:
            return values, np.zeros_like(values)
        return values, estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))

    def memory_needed(self, family: KernelFamily, n_rows: int, memory: int) -> int:
        """Return the bytes of three matrices: the base, a member, and LAPACK's workspace.

        They cover all rows, or only those of a subsample if there is no room for all.
        """
        everyone = _spectrum_bytes(family, n_rows)
        if n_rows <= SUBSAMPLE_ROWS or (n_rows <= EXACT_ROWS and everyone <= memory):
            return everyone
        return _spectrum_bytes(family, SUBSAMPLE_ROWS)

    def admits(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> NDArray[np.bool_] | None:
        """Return which columns are within this radius; None without ``filter``."""
        if not self.filter:
            return None
        weights, _ = in_moderate_units(sample_weight)
        kappa_squared, _ = positive_range(columns, f, weights, measure="local")
        size = columns.at_hand().squares(weights, f) / weights.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            size = np.nan_to_num(size / kappa_squared[:, None] ** 2)
        radii = self._radii(columns.families[f].n_kernels)
        if radii is None:  # the fixed point is psi(rho) = r / kappa^2 itself
            with np.errstate(invalid="ignore", divide="ignore"):
                radii = self.measure(columns, f, sample_weight) / kappa_squared
        return np.asarray(size <= np.nan_to_num(radii)[:, None])

    def _estimates(self, columns: Columns, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return kappa^2 psi, one row per subsample and one column per member."""
        kappa_squared, spectra = sampled_spectra(columns, f, sample_weight, self.random_state)
        m = float(sample_weight.sum())
        radii = self._radii(len(kappa_squared))
        values = [
            [
                fixed_point(mu, m) if radii is None else psi(radii[k], mu, m)
                for k, mu in enumerate(members)
            ]
            for members in spectra
        ]
        return np.asarray(kappa_squared * np.array(values))

    def _radii(self, n_kernels: int) -> FloatArray | None:
        """Return one radius per member; None for fixed points."""
        if isinstance(self.radius, str):
            if self.radius != "fixed-point":
                raise ValueError(
                    f"radius of Local must be 'fixed-point' or numbers > 0, got {self.radius!r}."
                )
            return None
        radii = np.asarray(self.radius, dtype=np.float64)
        if radii.ndim == 1 and len(radii) != n_kernels:
            raise ValueError(
                f"radius of Local has {len(radii)} entries for a family of {n_kernels} kernels."
            )
        if radii.ndim > 1 or np.isnan(radii).any() or not (radii > 0).all():
            raise ValueError(
                f"radius of Local must be 'fixed-point' or numbers > 0, got {self.radius!r}."
            )
        return np.broadcast_to(radii, (n_kernels,))


def _spectrum_bytes(family: KernelFamily, n_rows: int) -> int:
    return 8 * n_rows**2 * (math.prod(family.base_axes) + 2)


def subsamples(
    n_rows: int, random: np.random.Generator, *, fits: bool = True
) -> list[NDArray[np.intp]]:
    """Return the rows of each subsample: all rows if they fit, otherwise random ones."""
    if n_rows <= SUBSAMPLE_ROWS or (n_rows <= EXACT_ROWS and fits):
        return [np.arange(n_rows)]
    return [
        np.sort(random.choice(n_rows, SUBSAMPLE_ROWS, replace=False)) for _ in range(N_SUBSAMPLES)
    ]


def measure_at_radii(
    columns: Columns, sample_weight: FloatArray, radii: Sequence[float]
) -> FloatArray:
    """Return r_k(radius) for each radius (rows) and kernel (columns), from the same spectra."""
    m = float(sample_weight.sum())
    parts = []
    for f in range(len(columns.families)):
        kappa_squared, spectra = sampled_spectra(columns, f, sample_weight)
        values = [
            [[psi(radius, mu, m) for mu in members] for members in spectra] for radius in radii
        ]
        parts.append(kappa_squared * np.mean(values, axis=1))
    return np.concatenate(parts, axis=1)


def sampled_spectra(
    columns: Columns, f: int, sample_weight: FloatArray, random_state: int = 0
) -> tuple[FloatArray, list[list[FloatArray]]]:
    """Return kappa_k^2 and, for each subsample, the eigenvalues mu_j of each member."""
    weights, _ = in_moderate_units(sample_weight)
    kappa_squared, _ = positive_range(columns, f, weights, measure="local")
    random = np.random.default_rng(random_state)
    distinct, groups = columns.distinct_rows()
    totals = np.bincount(groups, sample_weight).astype(np.float64)
    needed = _spectrum_bytes(columns.families[f], len(distinct))
    memory = columns.budget.memory + columns.budget.block_memory
    spectra = []
    for chosen in subsamples(len(distinct), random, fits=needed <= memory):
        parts = family_spectra(columns, f, distinct[chosen], totals[chosen], kappa_squared)
        spectra.append(parts)
    return kappa_squared, spectra


def family_spectra(
    columns: Columns, f: int, rows: NDArray[np.intp], weights: FloatArray, kappa_squared: FloatArray
) -> list[FloatArray]:
    """Return the eigenvalues mu_j of each member on some rows, largest first."""
    family = columns.families[f]
    base = family.base(*columns.points(rows))
    root = np.sqrt(weights / weights.sum())
    spectra = []
    for k in range(family.n_kernels):
        columns.budget.check_time()
        if kappa_squared[k] == 0:
            spectra.append(np.zeros(len(rows)))
            continue
        matrix = family.member(base, k) / kappa_squared[k]
        matrix *= root[:, None]
        matrix *= root[None, :]
        eigenvalues = linalg.eigvalsh(matrix, overwrite_a=True, check_finite=False)
        spectra.append(np.maximum(eigenvalues[::-1], 0.0))
    return spectra


def psi(radius: float, spectrum: FloatArray, m: float) -> float:
    """Return sqrt((2 / m) sum_j min(radius, mu_j))."""
    return float(np.sqrt(2.0 / m * np.minimum(radius, spectrum).sum()))


def fixed_point(spectrum: FloatArray, m: float) -> float:
    """Return the radius > 0 with psi(radius) = radius; 0 if the kernel is 0.

    If k eigenvalues exceed the radius, radius^2 = (2 / m) (k radius + the sum of the others). The
    solution of this quadratic equation must be between eigenvalues k and k + 1.
    """
    descending = np.sort(spectrum)[::-1]
    tails = np.append(np.cumsum(descending[::-1])[::-1], 0.0)
    count = np.arange(len(descending) + 1)
    with np.errstate(over="ignore"):  # for radii that are not the solution
        radius = count / m + np.sqrt((count / m) ** 2 + 2.0 * np.maximum(tails, 0.0) / m)
    below = np.append(descending, 0.0)  # the radius must not be smaller than the next eigenvalue
    return float(radius[np.flatnonzero(below <= radius)[0]])
