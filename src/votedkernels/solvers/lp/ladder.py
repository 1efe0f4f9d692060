"""Solving a master LP: a ladder of methods, each with its own time limit.

Our dense dual simplex and HiGHS back each other up. Ours is usually faster and goes first; any
breakdown, wrong status or delay passes the LP to the next rung. No result is trusted: callers
recompute the gap from the data. Rungs that have failed repeatedly on LPs of the same kind are tried
last.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from ...exceptions import Infeasible
from .dense_simplex import solve_dense
from .highs import solve_highs
from .linear_program import Basis, LinearProgram, LPResult

#: The least time for a rung, and the most if it starts from a basis (hot) or without one (cold).
LEAST_SECONDS = 5.0
HOT_SECONDS = 10.0
COLD_SECONDS = 120.0
#: A normal solve needs about one pivot per row and column, each of which touches every entry about
#: once and takes about a nanosecond per entry. A rung that takes ten times as long has failed.
SECONDS_PER_TOUCH = 1e-8
#: A rung that failed this many times in a row is tried after the others.
OFTEN = 3

Rung = Callable[[LinearProgram, Basis | None, float], LPResult | None]


def _hot_highs(lp: LinearProgram, basis: Basis | None, end: float) -> LPResult | None:
    return solve_highs(lp, basis=basis, end=end)


def _hot_dense(lp: LinearProgram, basis: Basis | None, end: float) -> LPResult | None:
    return solve_dense(lp, basis=basis, deadline=end)


def _cold_dense(lp: LinearProgram, _: Basis | None, end: float) -> LPResult | None:
    return solve_dense(lp, deadline=end)


def _cold_highs(lp: LinearProgram, _: Basis | None, end: float) -> LPResult | None:
    return solve_highs(lp, end=end, rescale=True)


def _primal_highs(lp: LinearProgram, _: Basis | None, end: float) -> LPResult | None:
    return solve_highs(lp, end=end, strategy=4, rescale=True)


def _interior_highs(lp: LinearProgram, _: Basis | None, end: float) -> LPResult | None:
    return solve_highs(lp, end=end, solver="ipm", rescale=True)


def solve_lp(
    lp: LinearProgram,
    *,
    basis: Basis | None = None,
    deadline: float | None = None,
    may_be_infeasible: bool = False,
    failures: Counter[str] | None = None,
) -> LPResult | None:
    """Return the result of the first rung that succeeds; None if all fail or time is up.

    ``may_be_infeasible`` says that the LP may really be infeasible: the first rung that says so
    ends the search. Otherwise such a claim is a failure like any other. ``failures``
    counts how many times in a row each rung has failed on LPs of the same kind.
    """
    hot: tuple[Rung, ...] = (_hot_dense, _hot_highs)
    failed = Counter() if failures is None else failures
    rungs = sorted(
        (*hot, _cold_dense, _cold_highs, _primal_highs, _interior_highs),
        key=lambda rung: failed[rung.__name__] >= OFTEN,
    )
    n_rows, n_columns = lp.matrix.shape
    enough = max(LEAST_SECONDS, SECONDS_PER_TOUCH * (n_rows + n_columns) * n_rows * n_columns)
    for rung in rungs:
        seconds = min(enough, HOT_SECONDS if rung in hot else COLD_SECONDS)
        end = time.perf_counter() + seconds
        if deadline is not None:
            end = min(end, deadline)
        try:
            result = rung(lp, basis, end)
        except Infeasible:
            if may_be_infeasible:
                return None
            result = None
        except Exception:  # no breakdown of a rung may stop the others
            result = None
        if result is not None:
            failed[rung.__name__] = 0
            return result
        failed[rung.__name__] += 1
        if deadline is not None and time.perf_counter() >= deadline:
            return None
    return None
