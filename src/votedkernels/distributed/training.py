"""From Dask arrays to the problems to be solved: what `Training.prepare` does, next to the data.

Two things differ. Identical rows are not merged, which leaves the optimum as it is. And families
see two rows in place of the sample, with its mean and its variance, which is all that they take
from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from ..complexity import are_numbers, measure_with_errors, measures_by_family
from ..complexity.base import ComplexityMeasure
from ..complexity.formulas import Auto, Dimension, Trace
from ..exceptions import OutOfTime
from ..kernels import Gaussian, Polynomial, clone_families
from ..kernels.base import FloatArray, IntArray, KernelFamily, in_moderate_units
from ..preparation.training import Training, class_factors, gives_centers, loss_weights
from ..preparation.validation import validate_centers, validate_labels, validate_weights
from ..problem import Centers
from . import is_dask, tasks
from .gram import DaskGram
from .rows import RemoteRows

FAMILIES = (Polynomial, Gaussian)
MEASURES = (Auto, Trace, Dimension)


def prepare(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, deadline: float | None = None
) -> Training:
    """Validate and prepare Dask arrays for an estimator with our parameters."""
    named = clone_families(estimator.kernels)
    families = [family for _, family in named]
    check_support(estimator, families)
    X = check_array(X)
    client = find_client()
    y, sample_weight = collect(y, X, "y"), collect(sample_weight, X, "sample_weight")
    classes, codes = validate_labels(X, y)
    weights = validate_weights(sample_weight, X, codes)
    rows, numbers = place_rows(client, X, weights)
    codes, weights = codes[numbers], weights[numbers]
    farthest, sample = summarize(rows, weights, numbers)
    for name, family in named:
        family.fit(sample, np.ones(len(sample)))
        if name is not None:
            family.names_ = [f"{name}: {kernel}" for kernel in family.names_]
    estimator.n_features_in_ = X.shape[1]
    centers, center_numbers = choose_centers(estimator, families, rows)
    n_jobs = effective_n_jobs(estimator.n_jobs)
    own = gives_centers(estimator)
    outside = (centers, centers) if own else None
    gram = DaskGram(families, rows, centers, farthest=farthest, n_jobs=n_jobs, outside=outside)
    gram.deadline = deadline
    gram.work *= len(classes) if len(classes) > 2 else 1
    try:
        complexities, errors = measure_with_errors(estimator.complexity, gram, weights)
    except OutOfTime:
        complexities = errors = np.full(gram.n_kernels, np.nan)
    factors = class_factors(estimator.class_weight, classes, codes, weights)
    return Training(
        classes=classes,
        gram=gram,
        codes=codes,
        w=loss_weights(weights, factors, codes),
        complexities=complexities,
        complexity_errors=errors,
        allowed=None,
        centers=Centers(
            center_numbers if own else numbers[center_numbers],
            centers if own else OriginalRows(rows, numbers),
        ),
        center_rows=None,
        fit_intercept=bool(estimator.fit_intercept),
    )


@dataclass(frozen=True)
class OriginalRows:
    """Remote rows by their number in the data that the user gave."""

    rows: RemoteRows
    numbers: IntArray

    def __getitem__(self, wanted: IntArray) -> FloatArray:
        """Return some rows."""
        return self.rows[np.searchsorted(self.numbers, wanted)]


def check_support(estimator: Any, families: Sequence[KernelFamily]) -> None:
    """Raise for what cannot be fitted to Dask arrays, before any work."""
    instead = "; or collect the rows with X.compute() and fit them in one process."
    for family in families:
        if type(family) not in FAMILIES:
            raise ValueError(
                f"Dask arrays are fitted by Polynomial and Gaussian kernels, not by "
                f"{type(family).__name__}; use one of these{instead}"
            )
    if estimator.solver != "column-generation" or estimator.l2_penalty > 0:
        raise ValueError(
            "Dask arrays are fitted by solver='column-generation' with l2_penalty=0, got "
            f"solver={estimator.solver!r}, l2_penalty={estimator.l2_penalty!r}; use these"
            f"{instead}"
        )
    for measure, family in zip(measures_of(estimator, families), families, strict=True):
        known = isinstance(measure, MEASURES)
        if not known or (isinstance(measure, Auto) and not family.is_positive_definite):
            raise ValueError(
                f"complexity {type(measure).__name__.lower()!r} of {type(family).__name__} needs "
                "all pairs of rows, which a cluster does not give; use 'trace', 'dimension' or "
                f"one number per kernel{instead}"
            )


def measures_of(estimator: Any, families: Sequence[KernelFamily]) -> list[ComplexityMeasure]:
    """Return the complexity measure of each family; none where numbers are given."""
    if are_numbers(estimator.complexity):
        return [Trace()] * len(families)
    return measures_by_family(estimator.complexity, len(families))


def check_array(X: Any) -> Any:
    """Return a Dask array of numbers in chunks of whole rows, of known lengths."""
    if not hasattr(X, "chunks"):
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__qualname__}; fit takes Dask arrays: give "
            "X.to_dask_array(lengths=True)."
        )
    if X.ndim != 2:
        raise ValueError(
            f"Expected a Dask array of two dimensions, rows and features, got {X.ndim}."
        )
    if any(np.isnan(size) for axis in X.chunks for size in axis):
        raise ValueError(
            "X has chunks of unknown length; call X.compute_chunk_sizes() first, or make it by "
            "to_dask_array(lengths=True)."
        )
    if X.dtype.kind not in "biuf" or not isinstance(X._meta, np.ndarray):
        raise ValueError(
            f"X must hold numbers in dense chunks, got {X.dtype} in {type(X._meta).__name__}."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X has no rows or no features: shape {X.shape}.")
    return X.rechunk({1: -1})


def find_client() -> Any:
    """Return the client of a running cluster that has workers."""
    try:
        from distributed import get_client
    except ImportError:
        raise ImportError(
            "Fitting Dask arrays needs distributed: pip install 'votedkernels[dask]'."
        ) from None
    try:
        client = get_client()
    except ValueError:
        client = None
    if client is None or client.status != "running":
        raise RuntimeError(
            "X is a Dask array and there is no running Dask cluster; start one with "
            "distributed.Client(), which also makes one of this machine."
        )
    if not client.nthreads():
        raise RuntimeError("the Dask cluster has no workers; add some, or wait until they are up.")
    return client


def collect(values: Any, X: Any, name: str) -> Any:
    """Return labels or weights in this process; raise where their number is not that of X."""
    if is_dask(values):
        if np.isnan(values.shape[0]):
            raise ValueError(
                f"{name} has chunks of unknown length; call {name}.compute_chunk_sizes() first."
            )
        if values.shape[0] != X.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]} rows and {name} has {values.shape[0]} entries; they must "
                "have the same number."
            )
        values = values.compute()
    return values


def place_rows(client: Any, X: Any, weights: FloatArray) -> tuple[RemoteRows, IntArray]:
    """Start loading the chunks; return the rows that have weight, and their numbers in X."""
    chunks, lengths, start = [], [], 0
    loaded = client.compute(list(X.to_delayed().ravel()))
    for chunk, length in zip(loaded, X.chunks[0], strict=True):
        kept = np.flatnonzero(weights[start : start + length])
        start += length
        if len(kept):
            wanted = None if len(kept) == length else kept
            chunks.append(client.submit(tasks.as_rows, chunk, wanted, pure=False))
            lengths.append(len(kept))
    return RemoteRows(client, chunks, lengths, X.shape[1]), np.flatnonzero(weights)


def summarize(
    rows: RemoteRows, weights: FloatArray, numbers: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return rows of largest norm, and two rows with the mean and the variance of all."""
    weights, _ = in_moderate_units(weights)
    parts = [weights[rows.part(c)] for c in range(rows.n_chunks)]
    summaries = rows.run(lambda: rows.submit_all(tasks.summarize, lambda c: (parts[c],)))
    for c, summary in enumerate(summaries):
        if summary.not_finite >= 0:
            number = numbers[rows.part(c)][summary.not_finite]
            raise ValueError(
                f"X contains NaN or infinity, first at row {number} (counted from 0); drop such "
                "rows, or replace what is missing."
            )
    total = float(weights.sum())
    means = np.sum([summary.sums for summary in summaries], axis=0) / total
    mean = float(means.mean())
    squares = rows.run(
        lambda: rows.submit_all(tasks.squared_deviations, lambda c: (parts[c], mean))
    )
    variance = float(np.sum(squares)) / (total * rows.shape[1])
    within = np.sqrt(max(0.0, variance - float(np.mean((means - mean) ** 2))))
    farthest = np.concatenate([summary.farthest for summary in summaries])
    return farthest, np.stack([means - within, means + within])


def choose_centers(
    estimator: Any, families: Sequence[KernelFamily], rows: RemoteRows
) -> tuple[FloatArray | None, IntArray]:
    """Return the centres (None for all rows) and their numbers, of rows or of those given."""
    given, n_rows = estimator.centers, rows.shape[0]
    if given is None:
        return None, np.arange(n_rows)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if given < 1:
            raise ValueError(f"centers must be at least 1, got {given}.")
        random = check_random_state(estimator.random_state)
        chosen = np.sort(random.permutation(n_rows)[:given])
        return rows[chosen], chosen
    centers = validate_centers(estimator, given, families, as_table=True)
    return centers, np.arange(len(centers))
