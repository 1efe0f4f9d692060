"""Fitting rows that live on the workers of a Dask cluster.

`VotedKernelClassifier.fit` comes here when X is a Dask array. Rows stay in the chunks they came
in. What a pass asks of all rows or all centres is computed by tasks beside these chunks; the
client keeps a few numbers for each row (label, weight, margin, dual variable), the rows near the
margin or beyond it, and the small linear programs. So the answer is the one that a fit of the same
rows in one process gives, with the same certificate.

    tasks       what runs on a worker, on one chunk
    rows        chunks, and rows fetched from them; work that is tried again when a worker dies
    gram        the questions of `kernels.gram.Gram`, answered by tasks
    training    from Dask arrays to the problems to be solved
"""

from __future__ import annotations

from typing import Any

__all__ = ["is_dask", "prepare_training", "refuse_dask"]


def is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask's; asked without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_dask(X: Any, name: str) -> None:
    """Raise for what would bring all rows to this process without saying so."""
    if is_dask(X):
        raise TypeError(
            f"{name} takes no Dask arrays; collect the rows with X.compute(), and share the fits "
            "among workers by joblib.parallel_config('dask')."
        )


def prepare_training(estimator: Any, X: Any, y: Any, sample_weight: Any, **options: Any) -> Any:
    """Return the `Training` of Dask arrays; see `training.prepare`."""
    from .training import prepare

    return prepare(estimator, X, y, sample_weight, **options)
