"""Columns over rows on a cluster, evaluated by tasks on the workers that hold the chunks.

Rows are numbered as in `RemoteRows`. The centres are either all rows, or a few points that the
client holds. Two kinds of passes cover everything:

    sums over rows (votes, correlations of a few centres)   send the centres to every chunk
    correlations of all centres with the active samples     send the active samples

Active samples stay on the workers in blocks. A round sends only new samples, and one number for
each active sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from .._system.budget import Budget
from ..kernels.base import FloatArray, IntArray, KernelFamily, Rows, hash_rows
from ..kernels.columns import Columns
from ..kernels.design import Design
from ..kernels.local_columns import LocalColumns
from . import tasks
from .design import DaskDesign
from .rows import Future, RemoteRows, is_lost

#: The largest number of rows that the client fetches for a first guess (`solve_subsample`).
MOST_ROWS_AT_HAND = 20_000
#: It fetches one row in so many at most.
ROWS_LEFT = 4
#: The client fetches at most this many values of chosen columns to relax a vote (128 MiB).
MOST_VALUES_AT_HAND = 2**24
#: Active samples are sent in blocks of at most this many bytes.
BLOCK_BYTES = 32 * 2**20
#: Blocks are sent again if more than this share of their samples is no longer active.
STALE = 0.5


class DaskColumns(Columns):
    """Columns of fitted kernel families over remote rows.

    Parameters
    ----------
    families : sequence of fitted KernelFamily
    X : RemoteRows
    centers : array of shape (n_centers, n_features), or None for all rows
    farthest : array
        Rows whose norms are at least as large as those of all others.
    codes : array
        Class of each row.
    outside, budget : as for `Columns`
        The budget's threads are those of this process, used for the first guess.
    """

    def __init__(
        self,
        families: Sequence[KernelFamily],
        X: RemoteRows,
        centers: FloatArray | None,
        *,
        farthest: FloatArray,
        codes: IntArray,
        outside: tuple[Rows, Rows] | None = None,
        budget: Budget,
    ) -> None:
        n_rows = X.shape[0]
        n_centers = n_rows if centers is None else len(centers)
        super().__init__(families, n_rows, n_centers, outside=outside, budget=budget)
        self.rows = X.within(budget)
        #: The user's centres; None if all rows are centres.
        self.given = centers
        self._farthest = farthest
        self._codes = codes
        for family in self.families:
            family.check_range(farthest, farthest if centers is None else centers)
        self._sent: list[tuple[IntArray, FloatArray | Future[FloatArray]]] = []

    def within(self, budget: Budget) -> Self:
        """Return the same columns with another budget."""
        other = copy(self)
        other.budget, other.rows = budget, self.rows.within(budget)
        return other

    @property
    def kernels(self) -> tasks.Kernels:
        """What tasks need to know about the kernels."""
        return tasks.Kernels(self.families)

    # -- sums over rows ----------------------------------------------------------------

    def correlate(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for all centres or for some."""
        if centers is None and self.given is None:
            parts = self.rows.run(lambda: self._pass_over_centers(v))
            return np.concatenate(parts, axis=1)
        points = self.centers_at(slice(None) if centers is None else centers)

        def start() -> list[Future[FloatArray]]:
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

        def start() -> list[Future[FloatArray]]:
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

        def start() -> list[Future[FloatArray]]:
            known, sent = self.kernels, self.rows.send(points)
            terms = (kernels, positions, weights)
            return self.rows.submit_all(tasks.vote, lambda _: (known, sent, terms))

        return np.concatenate(self.rows.run(start))

    def diagonal_range(self, f: int, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Return the smallest and the largest K_k(x, x) of each member, and the sum over rows."""
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

    def _send_part(
        self, v: FloatArray, chunk: int
    ) -> tuple[IntArray, FloatArray] | Future[tuple[IntArray, FloatArray]]:
        """Send the non-zero entries of a vector for the rows of a chunk, with their indices."""
        part = v[self.rows.part(chunk)]
        active = np.flatnonzero(part)
        return self.rows.send((active, part[active]), to_all=False)

    def _points(self, centers: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the distinct centres of some terms, and each term's index among them."""
        used, positions = np.unique(centers, return_inverse=True)
        return self.centers_at(used), positions

    def centers_at(self, numbers: IntArray | slice) -> FloatArray:
        """Return these centres; the client fetches them if they are rows."""
        return self.rows[numbers] if self.given is None else self.given[numbers]

    def distinct_centers(self, numbers: IntArray) -> IntArray:
        """Return, for each of these centres, the first of them that is the same point."""
        if self.given is not None:
            return numbers
        points = self.centers_at(numbers) + 0.0  # -0.0 is the same number as 0.0
        _, first, places = np.unique(points, axis=0, return_index=True, return_inverse=True)
        return np.asarray(numbers[first[places.reshape(-1)]])

    # -- correlations of all centres ---------------------------------------------------

    def worst_columns(
        self, v: FloatArray, penalties: FloatArray, of_kernels: FloatArray | None = None
    ) -> tuple[FloatArray, IntArray | None]:
        """Return the correlations of the most violated centres of each chunk, and their indices."""
        del of_kernels  # sums are not kept
        if self.given is not None:
            return self.correlate(v), None

        def start() -> list[Future[tuple[IntArray, FloatArray]]]:
            return [
                self.rows.client.submit(tasks.worst_of, part, penalties, pure=False)
                for part in self._pass_over_centers(v)
            ]

        parts = self.rows.run(start)
        centers = [self.rows.starts[c] + found for c, (found, _) in enumerate(parts)]
        return np.concatenate([part for _, part in parts], axis=1), np.concatenate(centers)

    def _pass_over_centers(self, v: FloatArray) -> list[Future[FloatArray]]:
        """Start tasks that correlate the rows of every chunk, as centres, with active samples."""
        kernels = self.kernels
        parts: list[Any] = [None] * self.rows.n_chunks
        for numbers, block in self._send_active(v):
            values = self.rows.send(v[numbers])
            for c, chunk in enumerate(self.rows.chunks):
                parts[c] = self.rows.client.submit(
                    tasks.correlate_centers, parts[c], chunk, kernels, block, values, pure=False
                )
        return parts

    def _send_active(self, v: FloatArray) -> list[tuple[IntArray, FloatArray | Future[FloatArray]]]:
        """Return blocks of rows on the workers that together contain all active samples."""
        active = np.flatnonzero(v)
        self._sent[:] = [sent for sent in self._sent if not is_lost(sent[1])]
        there = np.zeros(self.n_rows, bool)
        for numbers, _ in self._sent:
            there[numbers] = True
        if there.sum() * (1 - STALE) > len(active):
            self._sent.clear()
            there[:] = False
        new = active[~there[active]]
        if len(new) == 0 and not self._sent:
            new = np.arange(min(1, self.n_rows))  # no sample is active: send a row with weight 0
        size = max(1, BLOCK_BYTES // (8 * self.rows.shape[1]))
        for first in range(0, len(new), size):
            numbers = new[first : first + size]
            self._sent.append((numbers, self.rows.send(self.rows[numbers])))
        return self._sent

    def distinct_rows(self) -> tuple[IntArray, IntArray]:
        """Return one row of each group of identical rows of one class, and the group of each row.

        Groups are in the same order as in a single-process fit, which merges identical rows of one
        class. Rows with the same hash count as identical.
        """
        parts = self.rows.run(lambda: self.rows.submit_all(hash_rows, lambda _: ()))
        hashes = np.concatenate(parts)
        order = np.lexsort((self._codes, hashes))
        hashes, codes = hashes[order], self._codes[order]
        new = np.ones(len(order), bool)
        new[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
        groups = np.empty(len(order), np.intp)
        groups[order] = np.cumsum(new) - 1
        return order[new], groups

    def points(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the requested rows, as rows and as centres; the client fetches them."""
        found = self.rows[rows]
        return found, found

    # -- rows at hand ------------------------------------------------------------------

    def take(
        self, kernels: IntArray, centers: IntArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the columns (kernels[t], centers[t]) on some rows, which the client fetches.

        For all rows, the workers evaluate the columns.
        """
        if rows is None:
            return np.concatenate(self.rows.run(lambda: self._start_taking(kernels, centers)))
        points, positions = self._points(centers)
        return self.kernels.over(self.rows[rows], points).take(kernels, positions)

    def design(self, kernels: IntArray, centers: IntArray) -> Design:
        """Return the columns (kernels[t], centers[t]); the client fetches them if they are few."""
        if self.n_rows * len(kernels) <= MOST_VALUES_AT_HAND:
            return super().design(kernels, centers)
        return DaskDesign(self.rows, len(kernels), lambda: self._start_taking(kernels, centers))

    def _start_taking(self, kernels: IntArray, centers: IntArray) -> list[Future[FloatArray]]:
        """Start tasks that evaluate some columns at the rows of every chunk."""
        points, positions = self._points(centers)
        known, sent = self.kernels, self.rows.send(points)
        return self.rows.submit_all(
            tasks.take_columns, lambda _: (known, sent, (kernels, positions))
        )

    def restricted(self, rows: IntArray, centers: IntArray) -> LocalColumns:
        """Return the same kernels over some of the rows and centres, in this process."""
        return LocalColumns(
            self.families, self.rows[rows], self.centers_at(centers), budget=self.budget
        )

    @property
    def most_rows(self) -> int:
        """The largest number of rows to request from `restricted`."""
        return min(MOST_ROWS_AT_HAND, self.n_rows // ROWS_LEFT)

    def at_hand(self) -> LocalColumns:
        """Return the same columns with all rows and centres in this process."""
        return self.restricted(np.arange(self.n_rows), np.arange(self.n_centers))

    def largest(self) -> FloatArray:
        """Return the approximate maximum of ``|K_k|`` for each kernel."""
        centers = self._farthest if self.given is None else self.given
        return np.concatenate([f.largest(self._farthest, centers) for f in self.families])

    def error_growth(self) -> FloatArray:
        """Return the factor by which each K_k's rounding error exceeds that of a single number."""
        return np.concatenate([f.error_growth(self._farthest) for f in self.families])
