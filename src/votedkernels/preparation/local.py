"""Prepares rows in this process.

Rows are checked, identical rows are merged, the kernels are fitted, and the centres are chosen:
training rows, or points from the user.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_random_state

from .._system.budget import Budget
from .._system.byte_sizes import parse_memory
from ..complexity import memory_needed
from ..kernels import LocalColumns, are_precomputed, continuous_family
from ..kernels.base import IntArray, KernelFamily, Rows, count_rows, take_rows
from ..kernels.families import NamedFamilies, fit_families
from ..kernels.local_columns import BLOCK_BYTES, DEFAULT_MEMORY
from ..problem import Centers
from ..solvers import SOLVERS
from .numbers import NumberTargets
from .parameters import LossParameters, Parameters
from .sample import CanonicalSample, Placement, canonical_sample, loss_weights
from .validation import (
    is_table,
    validate_centers,
    validate_labels,
    validate_numbers,
    validate_rows,
    validate_weights,
)


def place_locally(
    estimator: Parameters,
    named: NamedFamilies,
    X: object,
    y: object,
    sample_weight: object,
    budget: Budget,
) -> Placement:
    """Check rows, labels and weights, and bind the families to distinct rows and centres."""
    families = [family for _, family in named]
    precomputed = are_precomputed(families)
    X = validate_rows(estimator, X, families, reset=True)
    numeric = is_regressor(estimator)
    classes, codes = (validate_numbers if numeric else validate_labels)(X, y)
    weights = validate_weights(sample_weight, X, codes, least=1 if numeric else 2)
    sample = canonical_sample(X, codes, weights, precomputed=precomputed)
    class_weight = None if numeric else estimator.class_weight
    w = loss_weights(class_weight, classes, sample.codes, sample.weights)
    targets = None
    if numeric:
        targets = NumberTargets.of_estimator(
            cast("LossParameters", estimator), np.asarray(classes, float), sample.codes, w
        )
    rows = take_rows(X, sample.rows)
    fit_families(named, rows, sample.weights)
    centers, numbers = choose_centers(estimator, X, sample, families)
    center_rows = None
    if getattr(estimator, "l2_penalty", 0.0) > 0:
        center_rows = find_center_rows(estimator, families, sample, numbers)
    n_rows, n_centers = len(sample.rows), count_rows(centers)
    check_size = SOLVERS[estimator.solver].check_size
    if check_size is not None:
        n_kernels = sum(family.n_kernels for family in families)
        check_size(n_rows, n_kernels, n_centers, estimator.memory_limit)
    budget, for_bases = divide_memory(estimator, families, n_rows, budget)
    columns = LocalColumns(
        families,
        rows,
        centers,
        itself=sample.rows if precomputed else None,
        center_of=sample.center_of if estimator.centers is None else None,
        outside=find_outside(estimator, X, sample, families, centers),
        for_bases=for_bases,
        budget=budget,
    )
    source = None if precomputed else centers if gives_centers(estimator) else X
    return Placement(
        classes,
        columns,
        sample.codes,
        sample.weights,
        w,
        Centers(numbers, source),
        count_rows(X),
        center_rows,
        places=sample.places,
        center_of=sample.center_of if estimator.centers is None else None,
        numbers=targets,
    )


def divide_memory(
    estimator: Parameters, families: Sequence[KernelFamily], n_rows: int, budget: Budget
) -> tuple[Budget, int]:
    """Reserve memory for blocks; return the remaining budget, and how much of it bases may use."""
    limited = estimator.memory_limit is not None
    limit, smallest = DEFAULT_MEMORY, 0
    if limited:
        layers = max(math.prod(family.base_axes) for family in families)
        smallest = 2 * budget.n_jobs * BLOCK_BYTES * layers
        limit = parse_memory(estimator.memory_limit) - smallest
        if limit < 0:
            raise ValueError(
                f"memory_limit={estimator.memory_limit!r} is too small for one block of kernel "
                f"values in each of {budget.n_jobs} threads; use at least "
                f"{smallest / 1e6:.0f}MB."
            )
        budget = replace(budget, memory=limit, block_memory=smallest)
    # Complexities are measured before there are blocks, so they may use that memory as well.
    measuring = memory_needed(estimator.complexity, families, n_rows, limit + smallest) - smallest
    solving = SOLVERS[estimator.solver].least_memory(n_rows)
    reserved = max(0, measuring, solving)
    if reserved > limit and limited:
        needs = "the complexity measure" if measuring > solving else "the solver's columns"
        raise ValueError(
            f"memory_limit={estimator.memory_limit!r} is too small for {needs} on {n_rows} rows; "
            f"use at least {math.ceil((smallest + reserved) / 1e6)}MB."
        )
    return budget, max(0, limit - reserved)


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
    """Return centres that may not be rows, in both forms (row, centre); None if all are rows."""
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
) -> IntArray | None:
    """Return the row of each centre for the hybrid norm; None for the elastic net.

    Raise if the hybrid norm is required but does not apply.
    """
    if continuous_family(families) is not None:
        raise ValueError(
            "l2_penalty > 0 needs finitely many kernels, but ContinuousGaussian has a continuum "
            "of them; use Gaussian."
        )
    applies = all(f.is_positive_definite for f in families) and not gives_centers(estimator)
    if estimator.l2_norm == "weights" or (estimator.l2_norm == "auto" and not applies):
        return None
    for family in families:
        if not family.is_positive_definite:
            raise ValueError(
                f"l2_norm='rkhs' needs positive definite kernels, but {family.names_[0]} is not "
                "known to be positive definite; use l2_norm='weights', or declare the kernel "
                "positive definite if it is."
            )
    if gives_centers(estimator):
        raise ValueError(
            "l2_norm='rkhs' needs training rows as centres, but centers holds other points; use "
            "l2_norm='weights', centers=None or a number of rows to draw."
        )
    order = np.argsort(sample.rows)
    places = np.searchsorted(sample.rows, numbers, sorter=order)
    center_rows = order[np.minimum(places, len(order) - 1)]
    if not np.array_equal(sample.rows[center_rows], numbers):
        raise ValueError("l2_penalty > 0 needs a symmetric kernel matrix, but X is not symmetric.")
    return center_rows
