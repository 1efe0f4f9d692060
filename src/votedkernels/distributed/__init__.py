"""Fits models to rows that are stored on the workers of a Dask cluster.

`preparation` uses this package if X is a Dask array. Rows stay in their chunks. Tasks on the
workers compute what a pass needs from all rows or all centres. The client keeps a few numbers per
row (label, weight, margin, dual variable), the rows near or beyond the margin, and the small linear
programs. So a fit finds the same optimum as a fit of these rows in one process, with the same
certificate.

    tasks       functions that run on a worker, on one chunk
    rows        the chunks, rows fetched from them, and work that is repeated if a worker dies
    loading     turns Dask arrays into such rows
    columns     implements `kernels.Columns` with tasks
    design      implements `kernels.design.Design` with tasks
"""

from __future__ import annotations

from ..kernels.base import is_dask

__all__ = ["refuse_dask"]


def refuse_dask(X: object, name: str) -> None:
    """Raise for Dask collections, instead of silently fetching all rows into this process."""
    if is_dask(X):
        raise TypeError(
            f"{name} does not accept Dask arrays; collect the rows with X.compute(), and "
            "distribute the fits among workers with joblib.parallel_config('dask')."
        )
