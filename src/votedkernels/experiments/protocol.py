"""The paper's protocol: five random folds; each is used for testing once, for validation once.

In run i of 0..4, fold i is for testing, fold i + 1 (mod 5) for validation, and the other three for
training. The scaling of the features is computed from the training folds alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..kernels.base import FloatArray, IntArray

N_FOLDS = 5

SCALINGS: dict[str, str] = {
    "none": "features as they are",
    "standard": "features with mean 0 and variance 1",
    "range": "features in [-1, 1]",
}


@dataclass(frozen=True, order=True)
class Unit:
    """One piece of work: an algorithm with all its settings, on one run of one partition."""

    family: str
    scaling: str
    seed: int
    dataset: str
    run: int
    algorithm: str

    @property
    def key(self) -> str:
        """The unique name of the unit."""
        return (
            f"{self.family}/{self.scaling}/seed{self.seed}/{self.dataset}/run{self.run}/"
            f"{self.algorithm}"
        )


@dataclass(frozen=True)
class Split:
    """Rows for training, validation and testing, with the scaling of the training rows."""

    X_train: FloatArray
    y_train: IntArray
    X_validation: FloatArray
    y_validation: IntArray
    X_test: FloatArray
    y_test: IntArray


def partition(n_rows: int, seed: int) -> list[IntArray]:
    """Return five random folds of the rows, as equal in size as possible."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return [np.sort(fold) for fold in np.array_split(order, N_FOLDS)]


def split(X: FloatArray, y: IntArray, *, seed: int, run: int, scaling: str) -> Split:
    """Return the rows of one run of a partition."""
    folds = partition(len(y), seed)
    test, validation = folds[run], folds[(run + 1) % N_FOLDS]
    train = np.sort(np.concatenate([f for f in folds if f is not test and f is not validation]))
    scale = make_scaler(scaling, X[train])
    return Split(
        scale(X[train]), y[train], scale(X[validation]), y[validation], scale(X[test]), y[test]
    )


def make_scaler(scaling: str, X: FloatArray) -> Any:
    """Return a function that scales rows, fitted on the given rows."""
    if scaling not in SCALINGS:
        raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}, got {scaling!r}.")
    if scaling == "none":
        return lambda rows: rows
    scaler = StandardScaler() if scaling == "standard" else MinMaxScaler((-1.0, 1.0))
    return scaler.fit(X).transform
