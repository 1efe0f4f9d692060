"""Functions that run on a worker, on one chunk of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._system.budget import single_blas_thread
from ..kernels.base import FloatArray, IntArray, KernelFamily
from ..kernels.design import LocalDesign
from ..kernels.local_columns import LocalColumns

#: The largest number of columns that one chunk proposes in a pass.
MOST_COLUMNS = 256


@dataclass(frozen=True)
class Kernels:
    """Fitted families."""

    families: list[KernelFamily]

    def over(self, X: FloatArray, centers: FloatArray) -> LocalColumns:
        """Return the columns of the families over rows and centres."""
        return LocalColumns(self.families, X, centers, for_bases=0)


def as_rows(chunk: ArrayLike, kept: IntArray | None) -> FloatArray:
    """Return a chunk in double precision, with only the rows to keep (None for all)."""
    rows = np.ascontiguousarray(np.asarray(chunk), dtype=np.float64)
    return rows if kept is None else rows[kept]


@dataclass(frozen=True)
class Summary:
    """What the client must know about a chunk before fitting.

    ``not_finite`` is the index of the first row with a NaN or infinite entry, or -1. ``farthest``
    is the row with the largest norm. ``sums`` holds the weighted sums of the features.
    """

    not_finite: int
    farthest: FloatArray
    sums: FloatArray


def summarize(rows: FloatArray, weights: FloatArray) -> Summary:
    """Return the summary of a chunk."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        return Summary(int(np.argmin(finite)), rows[:0], np.zeros(rows.shape[1]))
    norms = np.einsum("ij,ij->i", rows, rows)
    return Summary(-1, rows[norms.argsort()[-1:]], weights @ rows)


def squared_deviations(rows: FloatArray, weights: FloatArray, mean: float) -> float:
    """Return the weighted sum of the squared deviations of all entries from the mean."""
    return float((weights @ (rows - mean) ** 2).sum())


def take(rows: FloatArray, numbers: IntArray) -> FloatArray:
    """Return some rows of a chunk."""
    return rows[numbers]


def take_columns(
    rows: FloatArray, kernels: Kernels, centers: FloatArray, terms: tuple[IntArray, IntArray]
) -> FloatArray:
    """Return some columns at the rows of a chunk."""
    with single_blas_thread():
        return kernels.over(rows, centers).take(*terms)


def map_block(block: FloatArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Apply a function to a block of a design matrix."""
    with single_blas_thread():
        return function(block)


def design_values(block: FloatArray, z: FloatArray) -> FloatArray:
    """Return a block's part of B z."""
    with single_blas_thread():
        return LocalDesign(block).values(z)


def design_sums(block: FloatArray, v: FloatArray) -> FloatArray:
    """Return a block's part of B^T v."""
    with single_blas_thread():
        return LocalDesign(block).sums(v)


def design_squares(block: FloatArray, v: FloatArray) -> FloatArray:
    """Return a block's part of the weighted sums of squares of the columns."""
    with single_blas_thread():
        return LocalDesign(block).squares(v)


def design_products(block: FloatArray, v: FloatArray) -> FloatArray:
    """Return a block's part of the weighted products of the columns."""
    with single_blas_thread():
        return LocalDesign(block).products(v, np.flatnonzero(v))


def diagonal_range(
    rows: FloatArray, family: KernelFamily, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the smallest and the largest K_k(x, x) in a chunk, and the weighted sum of all."""
    diagonal = family.diagonal(rows, rows)
    return diagonal.min(axis=1), diagonal.max(axis=1), diagonal @ weights


def vote(
    rows: FloatArray,
    kernels: Kernels,
    centers: FloatArray,
    terms: tuple[IntArray, IntArray, FloatArray],
) -> FloatArray:
    """Return the vote of some terms at the rows of a chunk."""
    with single_blas_thread():
        return kernels.over(rows, centers).vote(*terms)


def sums(
    rows: FloatArray,
    kernels: Kernels,
    centers: FloatArray,
    v: tuple[IntArray, FloatArray],
    terms: tuple[IntArray, IntArray],
) -> FloatArray:
    """Return a chunk's part of the sums of some columns; v holds non-zero entries only."""
    active, values = v
    with single_blas_thread():
        return kernels.over(rows[active], centers).sums(values, *terms)


def correlate_rows(
    rows: FloatArray, kernels: Kernels, centers: FloatArray, v: tuple[IntArray, FloatArray]
) -> FloatArray:
    """Return a chunk's part of the correlations of some centres."""
    active, values = v
    with single_blas_thread():
        return kernels.over(rows[active], centers).correlate(values)


def correlate_centers(
    so_far: FloatArray | None,
    rows: FloatArray,
    kernels: Kernels,
    active: FloatArray,
    v: FloatArray,
) -> FloatArray:
    """Correlate a chunk's rows, as centres, with some active samples; add the result so far."""
    used = np.flatnonzero(v)
    with single_blas_thread():
        more = kernels.over(active[used], rows).correlate(v[used])
    return more if so_far is None else so_far + more


def worst_of(correlation: FloatArray, penalties: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the centres with the most violated columns, and their correlations, worst first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.nan_to_num(np.abs(correlation) / penalties[:, None], posinf=np.inf)
    worst = excess.max(axis=0)
    order = np.argsort(-worst, kind="stable")[:MOST_COLUMNS]
    order = order[: max(1, int((worst[order] > 1).sum()))]
    return order, correlation[:, order]
