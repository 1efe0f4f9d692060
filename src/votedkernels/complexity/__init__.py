"""Complexity measures: r_k, a bound on the Rademacher complexity of H_k = {+-K_k(., c)}.

With raw sample weights s_i, which count repetitions, m = sum_i s_i, and kappa_k^2 the largest
K_k(x, x) over all rows and centres x:

    trace       kappa_k sqrt(sum_i s_i K_k(x_i, x_i)) / m             positive definite kernels
    dimension   kappa_k^2 sqrt(d_k), d_k the dimension of feature space        polynomials
    local       kappa_k^2 sqrt((2/m) sum_j min(radius, mu_j)), see `local`     positive definite
    empirical   (1/m) E max_c |sum_i sigma_i K_k(x_i, c)|, by Monte Carlo            any kernel
    stable-rank kappa_k^2 sqrt(s_k^power / m), s_k the stable rank, see `stable_rank`   any kernel
    massart     max_c sqrt(sum_i s_i K_k(x_i, c)^2) sqrt(2 log(2 n_centers)) / m    any kernel

Trace is the paper's Lemma 1 (see also [1]_). Dimension is its Lemma 2 without the factor
12 sqrt(pi / m), as in the paper's experiments. Local is the local Rademacher complexity [2]_.
Massart is the finite-class lemma [3]_ over the given centres. All measures scale with the kernel:
c K has complexity c r_k.

References
----------
.. [1] P. Bartlett, S. Mendelson (2002). Rademacher and Gaussian complexities: risk bounds and
   structural results. Journal of Machine Learning Research 3.
.. [2] P. Bartlett, O. Bousquet, S. Mendelson (2005). Local Rademacher complexities. Annals of
   Statistics 33.
.. [3] P. Massart (2000). Some applications of concentration inequalities to statistics. Annales de
   la Faculté des Sciences de Toulouse 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, KernelFamily
from ..kernels.columns import Columns
from .base import ComplexityMeasure
from .empirical import Empirical
from .formulas import Dimension, Massart, Trace
from .local import Local
from .stable_rank import StableRank

__all__ = [
    "MEASURES",
    "ComplexityMeasure",
    "Dimension",
    "Empirical",
    "Local",
    "Massart",
    "StableRank",
    "Trace",
    "measure_complexities",
]

MEASURES: dict[str, type[ComplexityMeasure]] = {
    "auto": StableRank,
    "stable-rank": StableRank,
    "trace": Trace,
    "dimension": Dimension,
    "local": Local,
    "empirical": Empirical,
    "massart": Massart,
}
"""The measures by the names that users give."""


def resolve_measure(spec: object) -> ComplexityMeasure:
    """Return the measure for a name; a measure is returned as it is."""
    if isinstance(spec, ComplexityMeasure):
        return spec
    if isinstance(spec, str) and spec in MEASURES:
        return MEASURES[spec]()
    raise ValueError(
        f"complexity must be one of {', '.join(map(repr, MEASURES))}, a complexity measure, an "
        f"array with one number per kernel, or a list with one measure per family; got {spec!r}."
    )


def measure_complexities(spec: object, columns: Columns, sample_weight: FloatArray) -> FloatArray:
    """Return r_k for each kernel; see `measure_with_errors`."""
    return measure_with_errors(spec, columns, sample_weight)[0]


def measure_with_errors(
    spec: object, columns: Columns, sample_weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return r_k for each kernel, and its standard error (0 for formulas).

    Parameters
    ----------
    spec : str, ComplexityMeasure, array of numbers, or list of one measure per family
    columns : Columns
    sample_weight : array of shape (n_rows,)
        Raw weights, which count repetitions.
    """
    if are_numbers(spec):
        values = _given_complexities(spec, columns)
        return values, np.zeros_like(values)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        parts = [
            measure.measure_with_errors(columns, f, sample_weight)
            for f, measure in enumerate(measures_by_family(spec, len(columns.families)))
        ]
    values = np.concatenate([r for r, _ in parts])
    if not np.isfinite(values).all():
        k = int(np.argmin(np.isfinite(values)))
        raise ValueError(
            f"the complexity of kernel {columns.names[k]} overflows float64: its values reach "
            f"{columns.largest()[k]:.2g}, and their squares are summed. Scale X or the kernel (for "
            "example, divide a matrix of kernel values by its largest value)."
        )
    return values, np.concatenate([error for _, error in parts])


def memory_needed(spec: object, families: Sequence[KernelFamily], n_rows: int, memory: int) -> int:
    """Return the bytes needed to measure, if ``memory`` are available; see `ComplexityMeasure`."""
    if are_numbers(spec):
        return 0
    measures = measures_by_family(spec, len(families))
    return max(
        measure.memory_needed(family, n_rows, memory)
        for measure, family in zip(measures, families, strict=True)
    )


def admitted_columns(
    spec: object, columns: Columns, sample_weight: FloatArray
) -> NDArray[np.bool_] | None:
    """Return which columns (k, j) may vote according to the measures; None for all."""
    if are_numbers(spec):
        return None
    masks = [
        measure.admits(columns, f, sample_weight)
        for f, measure in enumerate(measures_by_family(spec, len(columns.families)))
    ]
    if all(mask is None for mask in masks):
        return None
    return np.concatenate([
        np.ones((columns.families[f].n_kernels, columns.n_centers), bool) if mask is None else mask
        for f, mask in enumerate(masks)
    ])  # fmt: skip


def measures_by_family(spec: object, n_families: int) -> list[ComplexityMeasure]:
    """Return the measure of each family."""
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        if len(spec) != n_families:
            raise ValueError(
                f"complexity has {len(spec)} entries for {n_families} kernel families; "
                "a list needs one measure per family."
            )
        return [resolve_measure(entry) for entry in spec]
    return [resolve_measure(spec)] * n_families


def are_numbers(spec: object) -> bool:
    """Whether the complexities are given as numbers, one per kernel."""
    if isinstance(spec, np.ndarray):
        return True
    return isinstance(spec, Sequence) and len(spec) > 0 and all(isinstance(r, Real) for r in spec)


def _given_complexities(spec: object, columns: Columns) -> FloatArray:
    values = np.asarray(spec, dtype=np.float64)
    if values.shape != (columns.n_kernels,):
        raise ValueError(
            f"complexity has shape {values.shape}, but there are {columns.n_kernels} kernels "
            f"({columns.names[0]} ... {columns.names[-1]}); give one number per kernel."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("complexity must hold finite numbers >= 0.")
    return values
