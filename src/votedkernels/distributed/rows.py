"""Rows in chunks on the workers of a cluster, and work on them.

A worker that dies takes its chunks with it; the scheduler computes them again from where they
came. What the client itself sent to the worker is lost, so every piece of work is a function that
sends what it needs and can be called again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..exceptions import OutOfTime
from ..kernels.base import FloatArray, IntArray
from . import tasks

#: Times that work is tried when workers die under it.
TRIES = 4
SECONDS_BETWEEN_TRIES = 1.0
SMALL_ARGUMENT = 2**16


class RemoteRows:
    """Rows in chunks on workers; numbered from 0 through all chunks.

    Rows that were fetched once stay with the client.
    """

    def __init__(self, client: Any, chunks: Sequence[Any], lengths: Sequence[int], width: int):
        self.client = client
        self.chunks = list(chunks)
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        self.shape = (int(self.starts[-1]), width)
        #: Of `time.perf_counter`; work stops there with `OutOfTime`.
        self.deadline: float | None = None
        #: Bytes that went to workers and came from them, as far as they are ours.
        self.bytes_sent = self.bytes_received = 0
        self._places = np.full(self.shape[0], -1, np.intp)
        self._fetched = np.empty((0, width))

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.chunks)

    def part(self, number: int) -> slice:
        """Return the rows of a chunk."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def __getitem__(self, numbers: Any) -> FloatArray:
        """Return some rows."""
        numbers = np.arange(self.shape[0])[numbers]
        missing = np.unique(numbers[self._places[numbers] < 0])
        if len(missing):
            self._fetch(missing)
        return np.asarray(self._fetched[self._places[numbers]])

    def _fetch(self, numbers: IntArray) -> None:
        chunk_of = np.searchsorted(self.starts, numbers, side="right") - 1
        wanted = [(int(c), numbers[chunk_of == c]) for c in np.unique(chunk_of)]
        parts = self.run(
            lambda: [self.submit(tasks.take, c, rows - self.starts[c]) for c, rows in wanted]
        )
        order = np.concatenate([rows for _, rows in wanted])
        self._places[order] = len(self._fetched) + np.arange(len(order))
        self._fetched = np.concatenate([self._fetched, *parts])

    # -- work --------------------------------------------------------------------------

    def submit(self, function: Callable[..., Any], chunk: int, *arguments: Any) -> Any:
        """Start a task beside a chunk, which is its first argument."""
        return self.client.submit(function, self.chunks[chunk], *arguments, pure=False)

    def submit_all(
        self, function: Callable[..., Any], arguments: Callable[[int], Sequence[Any]]
    ) -> list[Any]:
        """Start a task beside every chunk."""
        return [self.submit(function, c, *arguments(c)) for c in range(self.n_chunks)]

    def send(self, value: Any, *, to_all: bool = True) -> Any:
        """Send a value to the cluster, as an argument of tasks; workers copy it as they need it.

        What is small goes along with the tasks themselves.
        """
        size = _size_of(value)
        self.bytes_sent += size * (len(self.client.nthreads()) if to_all else 1)
        if size <= SMALL_ARGUMENT:
            return value
        return self.client.scatter([value], hash=False)[0]

    def run(self, start: Callable[[], list[Any]]) -> list[Any]:
        """Return the results of the tasks that ``start`` starts; start again if workers die."""
        from distributed import CancelledError, KilledWorker, wait
        from distributed.comm import CommClosedError

        lost = (KilledWorker, CancelledError, CommClosedError, ConnectionError)
        for attempt in range(TRIES):
            seconds = None
            if self.deadline is not None:
                seconds = self.deadline - time.perf_counter()
                if seconds <= 0:
                    raise OutOfTime
            futures: list[Any] = []
            try:
                futures = start()
                wait(futures, timeout=seconds)
                results: list[Any] = self.client.gather(futures)
            except lost as error:
                self._give_up_on(attempt, str(error))
            except TimeoutError:
                self.client.cancel(futures)
                raise OutOfTime from None
            except BaseException as error:
                if isinstance(error, Exception):
                    self._raise_if_closed()
                else:  # Ctrl-C
                    self.client.cancel(futures)
                raise
            else:
                self.bytes_received += sum(map(_size_of, results))
                return results
        raise AssertionError("the last try returns or raises")

    def _give_up_on(self, attempt: int, why: str) -> None:
        """Raise where another try makes no sense; else wait a moment."""
        self._raise_if_closed()
        if attempt + 1 == TRIES:
            raise RuntimeError(
                f"workers of the Dask cluster were lost {TRIES} times over the same work ({why}); "
                "give workers more memory, or use smaller chunks."
            ) from None
        time.sleep(SECONDS_BETWEEN_TRIES)

    def _raise_if_closed(self) -> None:
        if self.client.status != "running":
            raise RuntimeError(
                "the Dask cluster was closed during fit; start a new Client and fit again."
            ) from None


def _size_of(value: Any) -> int:
    """Return the bytes of arrays in a result, nested or not."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(_size_of, value))
    return 8
