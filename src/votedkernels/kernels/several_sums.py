"""Sums of all kernels for several v in one pass, which computes each kernel value once.

The one-vs-rest problems of many classes have the same columns. The rows with u_i != 0 of one class
often have u_i != 0 in others, too, and most of the time of a pass is spent on kernel values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .base import FloatArray, IntArray, take_rows
from .columns import blocks
from .sums import SeveralWeights

if TYPE_CHECKING:
    from .local_columns import LocalColumns

#: A block of the base and the sums of several vectors stay in cache.
BLOCK_ROWS = 256
BLOCK_CENTERS = 256


def weights_by_row(vectors: FloatArray) -> tuple[IntArray, SeveralWeights]:
    """Return the rows on which any vector is not 0, and the weights on these.

    Rows of the same vectors follow each other, so that their sums stay in cache.
    """
    which, rows = np.nonzero(vectors)
    used, first = np.unique(rows, return_index=True)  # the first vector of each row is its lowest
    used = used[np.argsort(which[first], kind="stable")]
    place = np.empty(vectors.shape[1], np.intp)
    place[used] = np.arange(len(used))
    order = np.argsort(place[rows], kind="stable")
    starts = np.searchsorted(place[rows][order], np.arange(len(used) + 1))
    which, rows = which[order], rows[order]
    return used, SeveralWeights(starts, which, vectors[which, rows], len(vectors))


def sum_for_several(columns: LocalColumns, vectors: FloatArray) -> FloatArray:
    """Return `LocalColumns.sum_kernels` for each row v of ``vectors``, in one pass.

    The result has the shape (n_vectors, n_kernels, n_centers).
    """
    active, several = weights_by_row(vectors)
    out = np.zeros((len(vectors), columns.n_kernels, columns.n_centers))
    for f, family in enumerate(columns.families):
        if not family.is_coded:
            _add_family(columns, f, active, several, out)
    return out


def _add_family(
    columns: LocalColumns, f: int, active: IntArray, several: SeveralWeights, out: FloatArray
) -> None:
    family, members = columns.families[f], columns.members_of(f)
    left = right = None
    if not columns.stores_base(f):
        left = family.left_factor(take_rows(columns.X, active))
        right = None if left is None else family.right_factor(columns.centers)

    def work(cols: slice) -> None:
        sums = np.zeros((len(members), len(out), len(range(columns.n_centers)[cols])))
        for rows in blocks(len(active), BLOCK_ROWS):
            columns.budget.check_time()
            if left is None or right is None:
                base = np.ascontiguousarray(columns.base(f, active[rows], cols))
            else:
                base = family.multiply(left[rows], right[cols])
            sums += family.correlate_several(base, several.on(rows))
        out[:, members, cols] = sums.swapaxes(0, 1)

    columns.for_blocks_of_centers(work, BLOCK_CENTERS)
