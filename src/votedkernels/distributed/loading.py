"""Turns Dask arrays into rows on workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.base import FloatArray, IntArray, in_moderate_units, is_dask
from . import tasks
from .rows import RemoteRows

if TYPE_CHECKING:
    from dask.array import Array
    from distributed import Client


def check_array(X: Any) -> Array:
    """Check a Dask array; return it in chunks of whole rows, with known lengths."""
    if not hasattr(X, "chunks"):
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__qualname__}, but fit needs Dask arrays; pass "
            "X.to_dask_array(lengths=True)."
        )
    if X.ndim != 2:
        raise ValueError(
            f"Expected a Dask array with two dimensions, rows and features, got {X.ndim}."
        )
    if any(np.isnan(size) for axis in X.chunks for size in axis):
        raise ValueError(
            "X has chunks of unknown length; call X.compute_chunk_sizes() first, or create X with "
            "to_dask_array(lengths=True)."
        )
    kind = type(X._meta)  # noqa: SLF001 - Dask has no other name for it
    if X.dtype.kind not in "biuf" or not issubclass(kind, np.ndarray):
        raise ValueError(f"X must hold numbers in dense chunks, got {X.dtype} in {kind.__name__}.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X has no rows or no features: shape {X.shape}.")
    return X.rechunk({1: -1})


def find_client() -> Client:
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
            "X is a Dask array, but no Dask cluster is running; connect to one with "
            "distributed.Client(...), or start one on this machine with distributed.Client()."
        )
    if not client.nthreads():
        raise RuntimeError("the Dask cluster has no workers; add some, or wait until they are up.")
    return client


def collect(values: Any, X: Array, name: str) -> Any:
    """Fetch labels or weights into this process; raise if X has a different number of rows."""
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


def place_rows(client: Client, X: Array, weights: FloatArray) -> tuple[RemoteRows, IntArray]:
    """Start loading the chunks; return the rows with non-zero weight, and their indices in X."""
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
    """Return rows of largest norm, and two rows whose mean and variance are those of all rows."""
    weights, _ = in_moderate_units(weights)
    parts = [weights[rows.part(c)] for c in range(rows.n_chunks)]
    summaries = rows.run(lambda: rows.submit_all(tasks.summarize, lambda c: (parts[c],)))
    for c, summary in enumerate(summaries):
        if summary.not_finite >= 0:
            number = numbers[rows.part(c)][summary.not_finite]
            raise ValueError(
                f"X contains NaN or infinity, first at row {number} (counted from 0); drop such "
                "rows, or replace the missing values."
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
