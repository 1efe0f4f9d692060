"""What a piece of work may use: time, memory and threads.

Budgets are passed down and never changed. To pass on part of a budget, make a new one. Each of
our own threads uses one BLAS thread (`single_blas_thread`).
"""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache

from threadpoolctl import ThreadpoolController

from ..exceptions import OutOfTime

UNLIMITED = 2**62
#: Estimators do not accept a time limit of 0, so any limit passed on is at least this (seconds).
SHORTEST = 1e-3


@dataclass(frozen=True)
class Budget:
    """The limits on a piece of work. By default, time and memory are unlimited.

    Attributes
    ----------
    deadline : float
        When the work must end, on the clock of `time.perf_counter`.
    memory : int
        Bytes that may be in use at any one time.
    block_memory : int
        Additional bytes, reserved for blocks of kernel values. Work that needs no such blocks may
        use them for other purposes.
    n_jobs : int
        Number of threads.
    """

    deadline: float = math.inf
    memory: int = UNLIMITED
    block_memory: int = 0
    n_jobs: int = 1

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline: never negative, and infinite without a deadline."""
        return max(0.0, self.deadline - time.perf_counter())

    @property
    def time_limit(self) -> float:
        """The seconds left, as a time limit for another estimator."""
        return max(SHORTEST, self.seconds_left)

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() >= self.deadline

    def check_time(self) -> None:
        """Raise `OutOfTime` once the deadline has passed."""
        if self.is_late:
            raise OutOfTime

    def for_seconds(self, seconds: float | None) -> Budget:
        """Return a copy with a deadline ``seconds`` from now; None means no deadline."""
        return self.until(math.inf if seconds is None else time.perf_counter() + seconds)

    def until(self, deadline: float) -> Budget:
        """Return a copy with another deadline."""
        return replace(self, deadline=deadline)

    def share(self, n: float) -> Budget:
        """Return a budget with an n-th of the remaining time, as for the first of n equal parts."""
        if math.isinf(self.deadline):
            return self
        now = time.perf_counter()
        return self.until(now + (self.deadline - now) / n)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread, so that results do not depend on how many it would use."""
    limiter: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limiter
