"""Column generation: the default solver.

The problem has p * n_centers columns, of which the optimum uses a few dozen. A small pool is
solved exactly (`Master`); one pass over all columns then gives the proved lower bound and the
columns that violate their dual constraint; the worst of these join the pool.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..kernels.gram import OutOfTime
from ..problem import Problem, Terms
from ..solution import Solution
from .incumbent import Incumbent, Round, SolverInterrupted
from .master import Master

COLUMNS_PER_ROUND = 40
IDLE_ROUNDS = 6
CROWDED_POOL = 400
SETTLED_EXCESS = 1.2


def solve_by_column_generation(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    deadline: float | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Minimise F to a relative gap of ``tol``.

    Parameters
    ----------
    problem : Problem
    tol : float
        Stop when gap <= tol * objective.
    max_iter : int, default=None
        Rounds at most.
    deadline : float, default=None
        Of `time.perf_counter`.
    start : Terms, default=None
        Columns to start the pool with.
    on_round : callable, default=None
        Called with a `Round`; true asks to stop.
    """
    best = Incumbent(problem)
    n_iter = 0
    try:
        master = Master(problem, deadline=deadline)
        u = problem.feasible_box(problem.w)
        if start is not None and len(start.kernels):
            master.add_columns(start.kernels, start.centers)
            answer = master.solve()
            if answer is not None:
                terms, u, decision = answer
                best.offer_vote(terms, decision)
        for n_iter in count(1):
            u = problem.feasible_box(u)
            correlation = problem.correlate(u)
            best.offer_dual(u, correlation)
            if on_round is not None and on_round(best.round(n_iter)):
                return best.solution(n_iter, "interrupted")
            if best.is_optimal(tol):
                return best.solution(n_iter, "optimal")
            if max_iter is not None and n_iter >= max_iter:
                return best.solution(n_iter, "max-iter")
            excess = problem.excess(correlation)
            kernels, centers = choose_columns(excess, master, tol)
            if len(kernels) == 0:
                return best.solution(n_iter, "precision")
            master.settled = bool(excess.max() < SETTLED_EXCESS)
            if len(master.kernels) > CROWDED_POOL:
                master.drop_idle_columns(IDLE_ROUNDS)
            master.add_columns(kernels, centers)
            answer = master.solve()
            if answer is None:
                break
            terms, u, decision = answer
            best.offer_vote(terms, decision)
    except KeyboardInterrupt:
        raise SolverInterrupted(best.solution(n_iter, "interrupted")) from None
    except OutOfTime:
        pass
    late = deadline is not None and time.perf_counter() >= deadline
    return best.solution(n_iter, "time-limit" if late else "precision")


def choose_columns(excess: FloatArray, master: Master, tol: float) -> tuple[IntArray, IntArray]:
    """Return the columns that violate most: one kernel a centre, for variety."""
    excess = np.where(master.member, 0.0, excess)
    kernels = excess.argmax(axis=0)
    worst = excess[kernels, np.arange(excess.shape[1])]
    centers = np.argsort(-worst, kind="stable")[:COLUMNS_PER_ROUND]
    centers = centers[worst[centers] > 1 + 0.1 * min(tol, 1e-6)]
    return kernels[centers], centers
