"""What runs on a worker: functions of one chunk of rows, and of little else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._system.blas_threads import single_blas_thread
from ..kernels import Gram
from ..kernels.base import FloatArray, IntArray, KernelFamily

#: Columns that one chunk offers in a pass.
MOST_COLUMNS = 256


@dataclass(frozen=True)
class Kernels:
    """Fitted families, and the work ahead by which all processes choose compiled loops alike."""

    families: list[KernelFamily]
    work: int

    def over(self, X: FloatArray, centers: FloatArray) -> Gram:
        """Return their columns over rows and centres."""
        gram = Gram(self.families, X, centers, memory_limit=0)
        gram.work = self.work
        return gram


def as_rows(chunk: Any, kept: IntArray | None) -> FloatArray:
    """Return a chunk as numbers in double precision, without the rows that have no weight."""
    rows = np.ascontiguousarray(np.asarray(chunk), dtype=np.float64)
    return rows if kept is None else rows[kept]


@dataclass(frozen=True)
class Summary:
    """What the client must know of a chunk before anything is fitted.

    ``not_finite`` is the first row with an entry that is no number, or -1; ``farthest`` the row
    of largest norm; ``sums`` are the weighted sums of the columns.
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
    """Return the weighted sum of squared distances of all entries to the mean."""
    return float((weights @ (rows - mean) ** 2).sum())


def take(rows: FloatArray, numbers: IntArray) -> FloatArray:
    """Return some rows of a chunk."""
    return rows[numbers]


def diagonal_range(
    rows: FloatArray, family: KernelFamily, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the smallest and the largest K_k(x, x) of a chunk, and the weighted sum."""
    diagonal = family.diagonal(rows, rows)
    return diagonal.min(axis=1), diagonal.max(axis=1), diagonal @ weights


def vote(
    rows: FloatArray, kernels: Kernels, centers: FloatArray, terms: tuple[Any, Any, Any]
) -> FloatArray:
    """Return the vote of some terms at the rows of a chunk."""
    with single_blas_thread():
        return kernels.over(rows, centers).vote(*terms)


def sums(
    rows: FloatArray,
    kernels: Kernels,
    centers: FloatArray,
    v: tuple[IntArray, FloatArray],
    terms: tuple[Any, Any],
) -> FloatArray:
    """Return the part of a chunk in the sums of some columns; v is given where it is not 0."""
    active, values = v
    with single_blas_thread():
        return kernels.over(rows[active], centers).sums(values, *terms)


def correlate_rows(
    rows: FloatArray, kernels: Kernels, centers: FloatArray, v: tuple[IntArray, FloatArray]
) -> FloatArray:
    """Return the part of a chunk's rows in the correlation of some centres."""
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
    """Return the correlation of a chunk's rows, as centres, with a block of active samples."""
    used = np.flatnonzero(v)
    with single_blas_thread():
        more = kernels.over(active[used], rows).correlate(v[used])
    return more if so_far is None else so_far + more


def worst_of(correlation: FloatArray, penalties: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the centres whose columns violate most, and their correlation, the worst first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.nan_to_num(np.abs(correlation) / penalties[:, None], posinf=np.inf)
    worst = excess.max(axis=0)
    order = np.argsort(-worst, kind="stable")[:MOST_COLUMNS]
    order = order[: max(1, int((worst[order] > 1).sum()))]
    return order, correlation[:, order]
