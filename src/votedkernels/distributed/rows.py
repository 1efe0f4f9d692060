"""Rows in chunks on the workers of a cluster, and work on them.

If a worker dies, its chunks are lost, and the scheduler computes them again from their source. What
the client itself sent to the worker is lost for good. So every piece of work is a function that
sends what it needs and can be called again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np

from .._system.budget import Budget
from ..exceptions import OutOfTime
from ..kernels.base import FloatArray, IntArray
from . import tasks

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
Sent = TypeVar("Sent")

#: How many times work is tried if workers die.
TRIES = 4
SECONDS_BETWEEN_TRIES = 1.0
SMALL_ARGUMENT = 2**16


@dataclass
class Traffic:
    """Bytes sent to workers, and bytes received from them."""

    sent: int = 0
    received: int = 0


@dataclass
class FetchedRows:
    """Rows that the client has fetched and, for every row, its index among them or -1."""

    places: IntArray
    rows: FloatArray


class Future(Protocol[Result_co]):
    """The result of a task on the cluster, or data sent there. Dask has its own class for this."""

    def result(self) -> Result_co:
        """Wait for the result, and return it."""


class RemoteRows:
    """Rows in chunks on workers, numbered from 0 across all chunks.

    The client keeps the rows that it has fetched.
    """

    def __init__(
        self,
        client: Client,
        chunks: Sequence[Future[FloatArray]],
        lengths: Sequence[int],
        width: int,
    ) -> None:
        self.client = client
        self.chunks = list(chunks)
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        self.shape = (int(self.starts[-1]), width)
        #: At its deadline, work stops with `OutOfTime`.
        self.budget = Budget()
        #: Counts only the data that this class moves, not Dask's own traffic.
        self.traffic = Traffic()
        self._fetched = FetchedRows(np.full(self.shape[0], -1, np.intp), np.empty((0, width)))

    def within(self, budget: Budget) -> Self:
        """Return the same rows with another budget."""
        other = copy(self)
        other.budget = budget
        return other

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.chunks)

    @property
    def n_fetched(self) -> int:
        """Number of rows that the client has fetched."""
        return len(self._fetched.rows)

    def part(self, number: int) -> slice:
        """Return the row numbers of a chunk, as a slice."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def __getitem__(self, numbers: IntArray | slice) -> FloatArray:
        """Return the requested rows, fetching those that the client does not have."""
        numbers = np.arange(self.shape[0])[numbers]
        known = self._fetched
        missing = np.unique(numbers[known.places[numbers] < 0])
        if len(missing):
            self._fetch(missing)
        return np.asarray(known.rows[known.places[numbers]])

    def _fetch(self, numbers: IntArray) -> None:
        chunk_of = np.searchsorted(self.starts, numbers, side="right") - 1
        wanted = [(int(c), numbers[chunk_of == c]) for c in np.unique(chunk_of)]
        parts = self.run(
            lambda: [self.submit(tasks.take, c, rows - self.starts[c]) for c, rows in wanted]
        )
        order = np.concatenate([rows for _, rows in wanted])
        known = self._fetched
        known.places[order] = len(known.rows) + np.arange(len(order))
        known.rows = np.concatenate([known.rows, *parts])

    # -- work --------------------------------------------------------------------------

    def submit(
        self, function: Callable[..., Result], chunk: int, *arguments: object
    ) -> Future[Result]:
        """Start a task whose first argument is a chunk."""
        future: Future[Result] = self.client.submit(
            function, self.chunks[chunk], *arguments, pure=False
        )
        return future

    def submit_all(
        self, function: Callable[..., Result], arguments: Callable[[int], Sequence[object]]
    ) -> list[Future[Result]]:
        """Start a task on every chunk."""
        return [self.submit(function, c, *arguments(c)) for c in range(self.n_chunks)]

    def send(self, value: Sent, *, to_all: bool = True) -> Sent | Future[Sent]:
        """Send a value to the cluster as an argument for tasks; workers copy it when they need it.

        Small values are sent with the tasks themselves.
        """
        size = _size_of(value)
        self.traffic.sent += size * (len(self.client.nthreads()) if to_all else 1)
        if size <= SMALL_ARGUMENT:
            return value
        future: Future[Sent] = self.client.scatter([value], hash=False)[0]
        return future

    def run(self, start: Callable[[], list[Future[Result]]]) -> list[Result]:
        """Call ``start`` to submit tasks (again if workers die), and return the results."""
        from distributed import CancelledError, KilledWorker, wait
        from distributed.comm import CommClosedError

        lost = (KilledWorker, CancelledError, CommClosedError, ConnectionError)
        for attempt in range(TRIES):
            self.budget.check_time()
            seconds = self.budget.seconds_left
            futures: list[Future[Result]] = []
            try:
                futures = start()
                wait(futures, timeout=None if math.isinf(seconds) else seconds)
                results: list[Result] = self.client.gather(futures)
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
                self.traffic.received += sum(map(_size_of, results))
                return results
        raise AssertionError("the last try returns or raises")

    def _give_up_on(self, attempt: int, why: str) -> None:
        """Raise if another try is pointless; otherwise wait a moment."""
        self._raise_if_closed()
        if attempt + 1 == TRIES:
            raise RuntimeError(
                f"the Dask cluster lost workers {TRIES} times during the same work ({why}); "
                "give workers more memory, or use smaller chunks."
            ) from None
        time.sleep(SECONDS_BETWEEN_TRIES)

    def _raise_if_closed(self) -> None:
        if self.client.status != "running":
            raise RuntimeError(
                "the Dask cluster was closed during fit; start a new Client and fit again."
            ) from None


@dataclass(frozen=True)
class OriginalRows:
    """Remote rows, by their index in the user's data."""

    rows: RemoteRows
    numbers: IntArray

    def __getitem__(self, wanted: IntArray) -> FloatArray:
        """Return the requested rows."""
        return self.rows[np.searchsorted(self.numbers, wanted)]


def is_lost(future: object) -> bool:
    """Whether data on the workers have been lost."""
    return getattr(future, "status", "finished") in ("lost", "cancelled", "error")


def _size_of(value: object) -> int:
    """Return the bytes of the arrays in a value, including nested ones."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(_size_of, value))
    return 8
