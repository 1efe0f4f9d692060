"""All kernels of a problem over its rows and centres, evaluated in blocks.

Column (k, j) of the problem is K_k(., c_j). `Gram` answers the questions that learning
asks of these p * n_centers columns (their correlation with a vector, some of them, a vote of
them, and what complexities need), and never holds p Gram matrices: the bases of the
families are kept where memory allows, else recomputed block by block.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .base import FloatArray, IntArray, KernelFamily, count_rows, take_rows

# The partition into blocks is fixed, so that sums do not depend on the number of threads.
BLOCK_ROWS = 4096
BLOCK_CENTERS = 256
BLOCK_BYTES = 8 * BLOCK_ROWS * BLOCK_CENTERS
DEFAULT_MEMORY = 2**30


class OutOfTime(Exception):
    """A pass was stopped at its deadline."""


class Gram:
    """Columns K_k(., c_j) of fitted kernel families over rows X and centres.

    Parameters
    ----------
    families : sequence of fitted KernelFamily
    X : rows, as the families take them
    centers : centres, in the same form (column numbers for a precomputed kernel)
    itself : the rows in the form of centres; X by default
    memory_limit : int
        Bytes that may be allocated here.
    n_jobs : int
        Threads that share the blocks.
    """

    def __init__(
        self,
        families: Sequence[KernelFamily],
        X: Any,
        centers: Any,
        *,
        itself: Any = None,
        memory_limit: int = DEFAULT_MEMORY,
        n_jobs: int = 1,
    ) -> None:
        self.families = list(families)
        self.X = X
        self.centers = centers
        self.itself = X if itself is None else itself
        self.n_rows = count_rows(X)
        self.n_centers = count_rows(centers)
        self.n_jobs = n_jobs
        #: Of `time.perf_counter`; passes stop there with `OutOfTime`.
        self.deadline: float | None = None
        self.names = [name for family in self.families for name in family.names_]
        self.n_kernels = len(self.names)
        sizes = [family.n_kernels for family in self.families]
        self._family_of = np.repeat(np.arange(len(sizes)), sizes)
        self._member_of = np.concatenate([np.arange(size) for size in sizes])
        #: Kernel values evaluated so far by `correlate`.
        self.n_values = 0
        for family in self.families:
            family.check_range(X, centers)
        self._bases = self._cached_bases(memory_limit)

    # -- the questions ------------------------------------------------------------

    def correlate(self, v: FloatArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j), shape (n_kernels, n_centers): one pass.

        Only rows with v_i != 0 take part.
        """
        active = np.flatnonzero(v)
        self.n_values += self.n_kernels * self.n_centers * len(active)
        weights = v[active]
        return self._fold(active, lambda family, base, rows: family.correlate(base, weights[rows]))

    def squares(self, v: FloatArray, f: int) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j)^2 for the members of family f."""
        active = np.flatnonzero(v)
        weights = v[active]

        def fold(family: KernelFamily, base: FloatArray, rows: slice) -> FloatArray:
            members = (family.member(base, k) for k in range(family.n_kernels))
            return np.stack([weights[rows] @ (values * values) for values in members])

        return self._fold(active, fold, [f])[self.members_of(f)]

    def columns(
        self, kernels: IntArray, centers: IntArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the columns (kernels[t], centers[t]) on some rows, shape (n_rows, n_terms)."""
        if rows is None:
            rows = np.arange(self.n_rows)
        out = np.empty((len(rows), len(kernels)))
        for f, family in enumerate(self.families):
            terms = np.flatnonzero(self._family_of[kernels] == f)
            if len(terms) == 0:
                continue
            used, positions = np.unique(centers[terms], return_inverse=True)
            members = self._member_of[kernels[terms]]
            for block in blocks(len(rows), BLOCK_ROWS):
                base = self._base(f, rows[block], used)
                out[block, terms] = family.columns(base, members, positions)
        return out

    def vote(
        self,
        kernels: IntArray,
        centers: IntArray,
        weights: FloatArray,
        rows: IntArray | None = None,
    ) -> FloatArray:
        """Return sum_t weights[t] K_{kernels[t]}(x_i, c_{centers[t]}) for every row.

        ``weights`` may have a second axis, for several votes over the same terms.
        """
        if rows is None:
            rows = np.arange(self.n_rows)
        out = np.zeros((len(rows), *weights.shape[1:]))
        for block in blocks(len(rows), BLOCK_ROWS):
            out[block] = self.columns(kernels, centers, rows[block]) @ weights
        return out

    def diagonal(self, f: int) -> FloatArray:
        """Return K_k(x_i, x_i) for the members of family f, shape (n_members, n_rows)."""
        return self.families[f].diagonal(self.X, self.itself)

    def members_of(self, f: int) -> IntArray:
        """Return the numbers of the kernels of family f."""
        return np.flatnonzero(self._family_of == f)

    # -- blocks ------------------------------------------------------------------------

    def _fold(
        self,
        rows: IntArray,
        fold: Callable[[KernelFamily, FloatArray, slice], FloatArray],
        families: Sequence[int] | None = None,
    ) -> FloatArray:
        """Sum ``fold`` over row blocks, for every block of centres."""
        out = np.zeros((self.n_kernels, self.n_centers))

        def work(cols: slice) -> None:
            if self.deadline is not None and time.perf_counter() >= self.deadline:
                raise OutOfTime
            for f in range(len(self.families)) if families is None else families:
                family, mine = self.families[f], self.members_of(f)
                for block in blocks(len(rows), BLOCK_ROWS):
                    base = self._base(f, rows[block], cols)
                    out[mine, cols] += fold(family, base, block)

        parts = list(blocks(self.n_centers, BLOCK_CENTERS))
        if self.n_jobs > 1 and len(parts) > 1:
            with ThreadPoolExecutor(self.n_jobs) as pool:
                try:
                    list(pool.map(work, parts))
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
        else:
            for part in parts:
                work(part)
        return out

    def _base(self, f: int, rows: IntArray, cols: IntArray | slice) -> FloatArray:
        if self._bases is not None:
            base = self._bases[f]
            return base[rows, cols] if isinstance(cols, slice) else base[np.ix_(rows, cols)]
        return self.families[f].base(take_rows(self.X, rows), take_rows(self.centers, cols))

    def _cached_bases(self, memory_limit: int) -> list[FloatArray] | None:
        if 8 * self.n_rows * self.n_centers * len(self.families) > memory_limit:
            return None
        bases = []
        for family in self.families:
            base = np.empty((self.n_rows, self.n_centers))
            for rows in blocks(self.n_rows, BLOCK_ROWS):
                base[rows] = family.base(take_rows(self.X, rows), self.centers)
            bases.append(base)
        return bases


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices that cut range(n) into parts of one size."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
