"""A design matrix whose rows stay on the workers, next to the rows that they belong to.

The client sends one number per row or per column, and receives one number per row, or one per
column or pair of columns from each chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..kernels.design import Design
from . import tasks
from .rows import Future, RemoteRows, is_lost

Result = TypeVar("Result")


class DaskDesign(Design):
    """A design matrix in blocks on workers, one block per chunk of rows.

    Parameters
    ----------
    rows : RemoteRows
    n_columns : int
    start : callable
        Starts the tasks that compute the blocks, and returns their futures; called again if blocks
        are lost.
    """

    def __init__(
        self, rows: RemoteRows, n_columns: int, start: Callable[[], list[Future[FloatArray]]]
    ) -> None:
        self._rows = rows
        self._n_columns = n_columns
        self._start = start
        self._blocks: list[Future[FloatArray]] = []

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._rows.shape[0], self._n_columns

    def values(self, z: FloatArray) -> FloatArray:
        """Return B z."""
        return np.concatenate(self._run(tasks.design_values, lambda _: (z,)))

    def sums(self, v: FloatArray) -> FloatArray:
        """Return B^T v."""
        parts = self._run(tasks.design_sums, lambda c: (self._part(v, c),))
        return np.asarray(np.sum(parts, axis=0))

    def squares(self, v: FloatArray) -> FloatArray:
        """Return sum_i v_i B_ij^2 for each column j."""
        parts = self._run(tasks.design_squares, lambda c: (self._part(v, c),))
        return np.asarray(np.sum(parts, axis=0))

    def products(self, v: FloatArray, rows: IntArray | slice) -> FloatArray:
        """Return the upper triangle of sum_i v_i (B_i, 1) (B_i, 1)^T over some rows, v >= 0."""
        used = np.zeros(len(v))
        used[rows] = v[rows]
        parts = self._run(tasks.design_products, lambda c: (self._part(used, c),))
        return np.asarray(np.sum(parts, axis=0))

    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> DaskDesign:
        """Return a design in which ``function`` is applied to each block of rows."""

        def start() -> list[Future[FloatArray]]:
            client = self._rows.client
            (sent,) = client.scatter([function], hash=False)
            blocks = [
                client.submit(tasks.map_block, block, sent, pure=False)
                for block in self._living_blocks()
            ]
            self._blocks = []  # workers may forget them
            return blocks

        return DaskDesign(self._rows, self._n_columns, start)

    def _part(self, v: FloatArray, chunk: int) -> FloatArray | Future[FloatArray]:
        return self._rows.send(v[self._rows.part(chunk)], to_all=False)

    def _run(
        self, task: Callable[..., Result], arguments: Callable[[int], Sequence[object]]
    ) -> list[Result]:
        """Run a task on every block, and repeat it if workers die."""

        def start() -> list[Future[Result]]:
            submit = self._rows.client.submit
            return [
                submit(task, block, *arguments(c), pure=False)
                for c, block in enumerate(self._living_blocks())
            ]

        return self._rows.run(start)

    def _living_blocks(self) -> list[Future[FloatArray]]:
        if not self._blocks or any(map(is_lost, self._blocks)):
            self._blocks = self._start()
        return self._blocks
