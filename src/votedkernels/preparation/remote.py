"""Prepares rows on a Dask cluster, as `local` does for rows in this process.

There are two differences. Identical rows are not merged, which does not change the optimum. Kernel
families are fitted to two rows with the mean and the variance of the sample, which is all that they
use.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._system.budget import Budget
from ..complexity import are_numbers, measures_by_family
from ..complexity.base import ComplexityMeasure
from ..complexity.formulas import Dimension, Trace
from ..complexity.local import Local
from ..complexity.stable_rank import StableRank
from ..distributed.columns import DaskColumns
from ..distributed.loading import check_array, collect, find_client, place_rows, summarize
from ..distributed.rows import OriginalRows, RemoteRows
from ..kernels import Gaussian, Polynomial
from ..kernels.base import FloatArray, IntArray, KernelFamily, is_sparse
from ..kernels.families import NamedFamilies, fit_families
from ..problem import Centers
from ..solvers import SOLVERS
from .local import draw_centers, gives_centers
from .parameters import Parameters
from .sample import Placement, loss_weights
from .validation import validate_centers, validate_labels, validate_weights

FAMILIES = (Polynomial, Gaussian)
MEASURES = (StableRank, Local, Trace, Dimension)


def place_remotely(
    estimator: Parameters,
    named: NamedFamilies,
    X: object,
    y: object,
    sample_weight: object,
    budget: Budget,
) -> Placement:
    """Check Dask arrays, and bind the families to the rows on the workers."""
    families = [family for _, family in named]
    check_support(estimator, families)
    array = check_array(X)
    client = find_client()
    y, sample_weight = collect(y, array, "y"), collect(sample_weight, array, "sample_weight")
    classes, codes = validate_labels(array, y)
    weights = validate_weights(sample_weight, array, codes)
    rows, numbers = place_rows(client, array, weights)
    codes, weights = codes[numbers], weights[numbers]
    w = loss_weights(estimator.class_weight, classes, codes, weights)
    farthest, sample = summarize(rows, weights, numbers)
    fit_families(named, sample, np.ones(len(sample)))
    estimator.n_features_in_ = array.shape[1]
    points, chosen = choose_remote_centers(estimator, families, rows)
    own = gives_centers(estimator)
    columns = DaskColumns(
        families,
        rows,
        points,
        farthest=farthest,
        codes=codes,
        outside=(points, points) if own else None,
        budget=budget,
    )
    if own:
        centers = Centers(chosen, points)
    else:
        centers = Centers(numbers[chosen], OriginalRows(rows, numbers))
    return Placement(classes, columns, codes, weights, w, centers, array.shape[0])


def check_support(estimator: Parameters, families: Sequence[KernelFamily]) -> None:
    """Raise for parameters that do not support Dask arrays, before any work is done."""
    instead = "; or collect the rows with X.compute() and fit them in one process."
    for family in families:
        if type(family) not in FAMILIES:
            raise ValueError(
                f"Dask arrays can be fitted with Polynomial and Gaussian kernels, but not with "
                f"{type(family).__name__}; use one of these{instead}"
            )
        if getattr(family, "feature_scales", None) is not None:
            raise ValueError(
                "Dask arrays do not support feature_scales of Gaussian; multiply the features by "
                f"them first{instead}"
            )
    if not SOLVERS[estimator.solver].takes_remote_columns or estimator.l2_penalty > 0:
        raise ValueError(
            "Dask arrays need solver='column-generation' and l2_penalty=0, got "
            f"solver={estimator.solver!r} and l2_penalty={estimator.l2_penalty!r}; change these"
            f"{instead}"
        )
    for measure, family in zip(measures_of(estimator, families), families, strict=True):
        if not isinstance(measure, MEASURES):
            raise ValueError(
                f"complexity {type(measure).__name__.lower()!r} of {type(family).__name__} needs "
                "all pairs of rows, which are not computed on a cluster; use 'stable-rank', "
                f"'local', 'trace', 'dimension' or one number per kernel{instead}"
            )
        if isinstance(measure, Local) and measure.filter:
            raise ValueError(
                f"Local(filter=True) of {type(family).__name__} needs all pairs of rows, which are "
                f"not computed on a cluster; use filter=False{instead}"
            )


def measures_of(estimator: Parameters, families: Sequence[KernelFamily]) -> list[ComplexityMeasure]:
    """Return the complexity measure of each family, or a placeholder if numbers are given."""
    if are_numbers(estimator.complexity):
        return [Trace()] * len(families)
    return measures_by_family(estimator.complexity, len(families))


def choose_remote_centers(
    estimator: Parameters, families: Sequence[KernelFamily], rows: RemoteRows
) -> tuple[FloatArray | None, IntArray]:
    """Return the centres (None: all rows), and their indices in the rows or the user's points."""
    n_rows = rows.shape[0]
    if estimator.centers is None:
        return None, np.arange(n_rows)
    drawn = draw_centers(estimator, n_rows)
    if drawn is not None:
        return rows[drawn], drawn
    points = validate_centers(estimator, estimator.centers, families, as_table=True)
    # The centres are dense, like the rows.
    centers = np.asarray(points.toarray() if is_sparse(points) else points, dtype=np.float64)
    return centers, np.arange(len(centers))
