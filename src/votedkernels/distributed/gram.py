"""`Gram` over rows on a cluster: the same questions, answered by tasks beside the chunks.

Rows are numbered as in `RemoteRows`. The centres are either all rows, or a few that the client
holds. Two kinds of passes go over everything:

    sums over rows (votes, correlations of few centres)     the centres travel to every chunk
    correlations of all centres with the active samples     the active samples travel

Active samples that were sent stay on the workers in blocks, so that a round only sends those that
are new, and one number for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import Gram
from ..kernels.base import FloatArray, IntArray, KernelFamily
from . import tasks
from .rows import RemoteRows

#: Rows that the client takes for a first guess (see `solvers.subsample`).
MOST_ROWS_AT_HAND = 20_000
#: Active samples are sent in blocks of at most so many bytes.
BLOCK_BYTES = 32 * 2**20
#: Blocks are sent anew when so large a part of them is no longer active.
STALE = 0.5


class DaskGram(Gram):
    """Columns of fitted kernel families over remote rows.

    Parameters
    ----------
    families : sequence of fitted KernelFamily
    X : RemoteRows
    centers : array of shape (n_centers, n_features), or None for all rows
    farthest : array
        Rows that bound the norm of all others.
    n_jobs : int
        Threads of this process, for the first guess.
    outside : as for `Gram`
    """

    def __init__(
        self,
        families: Sequence[KernelFamily],
        X: RemoteRows,
        centers: FloatArray | None,
        *,
        farthest: FloatArray,
        n_jobs: int = 1,
        outside: tuple[Any, Any] | None = None,
    ) -> None:
        self.families = list(families)
        self.rows = X
        self.X = self.itself = X
        self.centers: Any = X if centers is None else centers
        self.outside = outside
        self.n_rows = X.shape[0]
        self.n_centers = int(self.centers.shape[0])
        self.n_jobs = n_jobs
        self._number_kernels()
        self.work = self.n_kernels * self.n_rows * self.n_centers
        self.n_values = 0
        self._bases = [None] * len(self.families)
        self._farthest = farthest
        for family in self.families:
            family.check_range(farthest, farthest if centers is None else centers)
        self._sent: list[tuple[IntArray, Any]] = []

    @property
    def deadline(self) -> float | None:
        """Of `time.perf_counter`; passes stop there with `OutOfTime`."""
        return self.rows.deadline

    @deadline.setter
    def deadline(self, value: float | None) -> None:
        self.rows.deadline = value

    def until(self, deadline: float | None) -> Gram:
        """Return itself: the deadline is that of the tasks on the workers."""
        return self

    @property
    def kernels(self) -> tasks.Kernels:
        """What tasks need to know of the kernels."""
        return tasks.Kernels(self.families, self.work)

    # -- sums over rows ----------------------------------------------------------------

    def correlate(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for all centres, or some."""
        if centers is None and self.centers is self.rows:
            parts = self.rows.run(lambda: self._pass_over_centers(v))
            return np.concatenate(parts, axis=1)
        points = self.centers[slice(None) if centers is None else centers]
        self.n_values += self.n_kernels * len(points) * int(np.count_nonzero(v))

        def start() -> list[Any]:
            kernels, sent = self.kernels, self.rows.send(points)
            return self.rows.submit_all(
                tasks.correlate_rows, lambda c: (kernels, sent, self._send_part(v, c))
            )

        return np.asarray(np.sum(self.rows.run(start), axis=0))

    def sums(self, v: FloatArray, kernels: IntArray, centers: IntArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for the columns (kernels[t], centers[t]) only."""
        if not v.any() or len(kernels) == 0:
            return np.zeros(len(kernels))
        points, positions = self._points(centers)

        def start() -> list[Any]:
            known, sent = self.kernels, self.rows.send(points)
            return self.rows.submit_all(
                tasks.sums, lambda c: (known, sent, self._send_part(v, c), (kernels, positions))
            )

        return np.asarray(np.sum(self.rows.run(start), axis=0))

    def vote(
        self,
        kernels: IntArray,
        centers: IntArray,
        weights: FloatArray,
        rows: IntArray | None = None,
    ) -> FloatArray:
        """Return sum_t weights[t] K_{kernels[t]}(x_i, c_{centers[t]}) for every row."""
        points, positions = self._points(centers)
        if rows is not None:
            return self.kernels.over(self.rows[rows], points).vote(kernels, positions, weights)
        if len(kernels) == 0:
            return np.zeros((self.n_rows, *weights.shape[1:]))

        def start() -> list[Any]:
            known, sent = self.kernels, self.rows.send(points)
            terms = (kernels, positions, weights)
            return self.rows.submit_all(tasks.vote, lambda c: (known, sent, terms))

        return np.concatenate(self.rows.run(start))

    def diagonal_range(self, f: int, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Return the smallest and the largest K_k(x, x) of each member, and their sum over rows."""
        family = self.families[f]
        parts = self.rows.run(
            lambda: self.rows.submit_all(
                tasks.diagonal_range,
                lambda c: (family, self.rows.send(weights[self.rows.part(c)], to_all=False)),
            )
        )
        smallest, largest, total = zip(*parts, strict=True)
        ends = np.min(smallest, axis=0), np.max(largest, axis=0)
        return *self._with_outside(f, *ends), np.sum(total, axis=0)

    def _send_part(self, v: FloatArray, chunk: int) -> Any:
        """Send what a vector holds for the rows of a chunk: where it is not 0, and its values."""
        part = v[self.rows.part(chunk)]
        active = np.flatnonzero(part)
        return self.rows.send((active, part[active]), to_all=False)

    def _points(self, centers: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the distinct centres of some terms, and the place of each term's in them."""
        used, positions = np.unique(centers, return_inverse=True)
        return self.centers[used], positions

    # -- correlations of all centres ---------------------------------------------------

    def worst_columns(
        self, v: FloatArray, penalties: FloatArray
    ) -> tuple[FloatArray, IntArray | None]:
        """Return the correlation of the centres that violate most in each chunk, and which."""
        if self.centers is not self.rows:
            return self.correlate(v), None

        def start() -> list[Any]:
            return [
                self.rows.client.submit(tasks.worst_of, part, penalties, pure=False)
                for part in self._pass_over_centers(v)
            ]

        parts = self.rows.run(start)
        centers = [self.rows.starts[c] + found for c, (found, _) in enumerate(parts)]
        return np.concatenate([part for _, part in parts], axis=1), np.concatenate(centers)

    def _pass_over_centers(self, v: FloatArray) -> list[Any]:
        """Start the correlation of every chunk, as centres, with the active samples."""
        self.n_values += self.n_kernels * self.n_centers * int(np.count_nonzero(v))
        kernels = self.kernels
        parts: list[Any] = [None] * self.rows.n_chunks
        for numbers, block in self._send_active(v):
            values = self.rows.send(v[numbers])
            for c, chunk in enumerate(self.rows.chunks):
                parts[c] = self.rows.client.submit(
                    tasks.correlate_centers, parts[c], chunk, kernels, block, values, pure=False
                )
        return parts

    def _send_active(self, v: FloatArray) -> list[tuple[IntArray, Any]]:
        """Return blocks of rows on the workers that hold all active samples."""
        active = np.flatnonzero(v)
        self._sent = [(numbers, block) for numbers, block in self._sent if not _is_lost(block)]
        there = np.zeros(self.n_rows, bool)
        for numbers, _ in self._sent:
            there[numbers] = True
        if there.sum() * (1 - STALE) > len(active):
            self._sent, there = [], np.zeros(self.n_rows, bool)
        new = active[~there[active]]
        if len(new) == 0 and not self._sent:
            new = np.arange(min(1, self.n_rows))  # nothing is active: a block of weight 0
        size = max(1, BLOCK_BYTES // (8 * self.rows.shape[1]))
        for first in range(0, len(new), size):
            numbers = new[first : first + size]
            self._sent.append((numbers, self.rows.send(self.rows[numbers])))
        return self._sent

    # -- rows at hand ------------------------------------------------------------------

    def columns(
        self, kernels: IntArray, centers: IntArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the columns (kernels[t], centers[t]) on some rows, which the client fetches."""
        points, positions = self._points(centers)
        X = self.rows[slice(None) if rows is None else rows]
        return self.kernels.over(X, points).columns(kernels, positions)

    def restricted(self, rows: IntArray, centers: IntArray) -> Gram:
        """Return the same kernels over some of the rows and centres, in this process."""
        part = Gram(self.families, self.rows[rows], self.centers[centers], n_jobs=self.n_jobs)
        part.work, part.deadline = self.work, self.deadline
        return part

    @property
    def most_rows(self) -> int:
        """How many rows `restricted` should be asked for at most."""
        return MOST_ROWS_AT_HAND

    def at_hand(self) -> Gram:
        """Return the same with all rows and centres in this process."""
        return self.restricted(np.arange(self.n_rows), np.arange(self.n_centers))

    def largest(self) -> FloatArray:
        """Return a bound on |K_k| for each kernel, or about."""
        centers = self._farthest if self.centers is self.rows else self.centers
        return np.concatenate([f.largest(self._farthest, centers) for f in self.families])

    def error_growth(self) -> FloatArray:
        """Return by how much rounding errors of each kernel exceed those of numbers of its size."""
        return np.concatenate([f.error_growth(self._farthest) for f in self.families])


def _is_lost(future: Any) -> bool:
    """Whether what was sent is no longer there."""
    return getattr(future, "status", "finished") in ("lost", "cancelled", "error")
