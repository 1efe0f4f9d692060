"""The folds of the default search, and what they find at one level of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import FloatArray, IntArray
from ._path_sample import Setting


@dataclass(frozen=True)
class Fold:
    """Training rows and held-out rows, as indices into the rows passed to fit."""

    train: IntArray
    test: IntArray


@dataclass(frozen=True)
class Level:
    """What the folds found at one level.

    Attributes
    ----------
    penalty : the penalty on the l1 path; after its end, that of the last level on the path
    grown_by : the setting whose vote chose the rows that joined; None on the l1 path
    settings : all settings, best first
    criteria : their criteria, smaller is better
    losses : array of shape (n_settings, n_rows), the losses on the held-out rows
    decisions : array of shape (n_settings, n_rows, n_problems), the votes on the held-out rows
    scores : array of shape (n_settings, n_folds), as reported to the user
    n_support : number of centres in each fold
    gap : largest relative gap of the l1 votes
    seconds : time that the level took
    thinned_by : the setting whose vote chose the centres that were removed; None if none were
    kept : the share of the centres that stayed
    follows : the number of the level whose centres changed; None if it is the one before
    is_full : whether all rows are centres, in all folds
    """

    penalty: float
    grown_by: Setting | None
    settings: tuple[Setting, ...]
    criteria: FloatArray
    losses: NDArray[np.float32]
    decisions: NDArray[np.float32]
    scores: FloatArray
    n_support: IntArray
    gap: float
    seconds: float
    thinned_by: Setting | None = None
    kept: float = 1.0
    follows: int | None = None
    is_full: bool = False


def ancestry(levels: Sequence[Level], number: int) -> list[int]:
    """Return the numbers of the levels that lead to a level, in order and including it."""
    line = [number]
    while line[-1] > 0:
        before = levels[line[-1]].follows
        line.append(line[-1] - 1 if before is None else before)
    return line[::-1]


def best_kernels(level: Level, n: int) -> list[int]:
    """Return the n kernels whose settings do best at a level."""
    order = dict.fromkeys(setting.kernel for setting in level.settings)
    return sorted(list(order)[:n])
