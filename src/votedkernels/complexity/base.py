"""What a complexity measure is, and how the kernels of a problem are measured."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..kernels.base import FloatArray, KernelFamily, in_moderate_units
from ..kernels.coded import CodedFamily
from ..kernels.columns import Columns

#: The measures, by the names that users type; the package fills this dictionary.
MEASURES: dict[str, type[ComplexityMeasure]] = {}


class ComplexityMeasure(BaseEstimator):
    """Base class of complexity measures.

    A subclass defines `measure`, or `measure_with_errors` if its values are estimates.
    """

    #: Whether it can measure rules, such as thresholds, from their columns.
    measures_rules = False

    def measure(self, columns: Columns, f: int, sample_weight: FloatArray) -> FloatArray:
        """Return r_k for each member of family number ``f``."""
        return self.measure_with_errors(columns, f, sample_weight)[0]

    def measure_with_errors(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return r_k and the standard errors, which are 0 for a formula."""
        values = self.measure(columns, f, sample_weight)
        return values, np.zeros_like(values)

    def measure_family(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return r_k and the standard errors; rules get the bound from their growth function."""
        family = columns.families[f]
        if self.measures_rules or not isinstance(family, CodedFamily):
            return self.measure_with_errors(columns, f, sample_weight)
        r = self.of_growth(family.log_growth(float(sample_weight.sum())), sample_weight)
        return r, np.zeros_like(r)

    def of_growth(self, log_growth: FloatArray, sample_weight: FloatArray) -> FloatArray:
        """Return Massart's bound for classes of this many columns on any sample of this size."""
        weights, root = in_moderate_units(sample_weight)
        return np.asarray(np.sqrt(2 * log_growth) / np.sqrt(weights.sum()) / root)

    def memory_needed(self, family: KernelFamily, n_rows: int, memory: int) -> int:
        """Return the bytes needed to measure a family, in addition to blocks of kernel values.

        ``memory`` bytes are available. If more are needed, the fit raises an error.
        """
        del family, n_rows, memory
        return 0

    def admits(
        self, columns: Columns, f: int, sample_weight: FloatArray
    ) -> NDArray[np.bool_] | None:
        """Return a mask (n_members, n_centers) of the columns that may vote; None for all."""
        del columns, f, sample_weight
        return None


def positive_range(
    columns: Columns, f: int, weights: FloatArray, *, measure: str
) -> tuple[FloatArray, FloatArray]:
    """Return kappa_k^2 and weighted traces of a family; raise if it is not positive definite."""
    require_positive_definite(columns.families[f], measure=measure)
    smallest, largest, trace = columns.diagonal_range(f, weights)
    require_positive(smallest, columns.families[f])
    return largest, trace


def require_positive_definite(family: KernelFamily, *, measure: str) -> None:
    """Raise if a family is not declared positive definite."""
    if not family.is_positive_definite:
        raise ValueError(
            f"complexity {measure!r} needs positive definite kernels, and "
            f"{family.names_[0]} is not declared positive definite; use complexity='massart', or "
            "declare it (positive_definite=True) if it is."
        )


def require_positive(smallest: FloatArray, family: KernelFamily) -> None:
    """Raise if the smallest K_k(x_i, x_i) of a member shows that it is not positive definite."""
    if smallest.min() < 0:
        k = int(np.argmin(smallest))
        raise ValueError(
            f"kernel {family.names_[k]} is declared positive definite but K(x, x) = "
            f"{smallest[k]:.3g} at a training row or a centre; use complexity='massart'."
        )


def resolve_measure(spec: object) -> ComplexityMeasure:
    """Return the measure for a name; a measure is returned unchanged."""
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
            measure.measure_family(columns, f, sample_weight)
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
    """Return the bytes needed to measure all families, if ``memory`` bytes are available."""
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
            f"({columns.names[0]} ... {columns.names[-1]}); pass one number per kernel."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("complexity must hold finite numbers >= 0.")
    return values
