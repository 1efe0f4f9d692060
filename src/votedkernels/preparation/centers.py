"""The centres of a problem: training rows, or points from the user."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

from ..kernels import are_precomputed, continuous_family
from ..kernels.base import IntArray, KernelFamily, Rows, count_rows, take_rows
from .canonical_rows import CanonicalSample
from .parameters import Parameters
from .validation import is_table, validate_centers


def gives_centers(estimator: Parameters) -> bool:
    """Whether the user passes points as centres, rather than a number of rows or None."""
    return estimator.centers is not None and not isinstance(estimator.centers, int | np.integer)


def draw_centers(estimator: Parameters, n_rows: int) -> IntArray | None:
    """Return the indices of ``centers`` random rows, or None if ``centers`` is not an int."""
    given = estimator.centers
    if not isinstance(given, int | np.integer) or isinstance(given, bool):
        return None
    if given < 1:
        raise ValueError(f"centers must be at least 1, got {given}.")
    random = check_random_state(estimator.random_state)
    return np.sort(random.permutation(n_rows)[:given])


def choose_centers(
    estimator: Parameters, X: Rows, sample: CanonicalSample, families: Sequence[KernelFamily]
) -> tuple[Rows, IntArray]:
    """Return the centres, and their indices in the training rows or the user's points."""
    given = estimator.centers
    if given is None:
        numbers = sample.centers
    elif (drawn := draw_centers(estimator, len(sample.centers))) is not None:
        numbers = sample.centers[drawn]
    elif are_precomputed(families):
        numbers = np.asarray(given)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) == 0:
            raise ValueError(
                "centers of a precomputed kernel must be a one-dimensional array of column numbers "
                "of X."
            )
        n_columns = np.asarray(X).shape[1]
        if numbers.min() < 0 or numbers.max() >= n_columns:
            raise ValueError(f"centers must lie between 0 and {n_columns - 1}.")
    else:
        centers = validate_centers(estimator, given, families, as_table=is_table(X))
        return centers, np.arange(count_rows(centers))
    return (numbers if are_precomputed(families) else take_rows(X, numbers)), numbers


def find_outside(
    estimator: Parameters,
    X: Rows,
    sample: CanonicalSample,
    families: Sequence[KernelFamily],
    centers: Rows,
) -> tuple[Rows, Rows] | None:
    """Return the centres that may not be training rows, as rows and as centres; None if all are."""
    if not gives_centers(estimator):
        return None
    if not are_precomputed(families):
        return centers, centers
    others = np.setdiff1d(np.asarray(centers), sample.rows)
    return (take_rows(X, others), others) if len(others) else None


def find_center_rows(
    estimator: Parameters,
    families: Sequence[KernelFamily],
    sample: CanonicalSample,
    numbers: IntArray,
) -> IntArray:
    """Return the row of each centre, for the hybrid norm; raise if that norm does not apply."""
    if continuous_family(families) is not None:
        raise ValueError(
            "l2_penalty > 0 needs finitely many kernels, but ContinuousGaussian has a continuum "
            "of them; use Gaussian."
        )
    for family in families:
        if not family.is_positive_definite:
            raise ValueError(
                f"l2_penalty > 0 needs positive definite kernels, but {family.names_[0]} is not "
                "known to be positive definite; use l2_penalty=0, or declare the kernel positive "
                "definite if it is."
            )
    if gives_centers(estimator):
        raise ValueError(
            "l2_penalty > 0 needs training rows as centres, but centers holds other points; use "
            "centers=None or a number of rows to draw."
        )
    order = np.argsort(sample.rows)
    places = np.searchsorted(sample.rows, numbers, sorter=order)
    center_rows = order[np.minimum(places, len(order) - 1)]
    if not np.array_equal(sample.rows[center_rows], numbers):
        raise ValueError("l2_penalty > 0 needs a symmetric kernel matrix, but X is not symmetric.")
    return center_rows
