"""Prepares rows in this process: checks them, merges identical ones, and fits the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from sklearn.base import is_regressor

from .._system.budget import Budget
from .._system.byte_sizes import parse_memory
from ..complexity import memory_needed
from ..kernels import LocalColumns, are_precomputed
from ..kernels.base import KernelFamily, count_rows, take_rows
from ..kernels.families import NamedFamilies, fit_families
from ..kernels.local_columns import BLOCK_BYTES, DEFAULT_MEMORY
from ..problem import Centers
from ..solvers import SOLVERS
from .canonical_rows import canonical_sample
from .centers import choose_centers, find_center_rows, find_outside, gives_centers
from .class_weights import loss_weights
from .numbers import NumberTargets
from .parameters import LossParameters, Parameters
from .placement import Placement
from .validation import validate_labels, validate_numbers, validate_rows, validate_weights


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
                f"values in each of {budget.n_jobs} threads; give at least "
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
            f"give at least {math.ceil((smallest + reserved) / 1e6)}MB."
        )
    return budget, max(0, limit - reserved)
