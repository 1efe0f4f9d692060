"""Traces of solvers: how the objective and the bound improve over time.

To compare solvers, let them solve the same problems. Call `warm_up` first to load code that is
imported on first use; otherwise, the loading time would be charged to the first solver.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._system.budget import Budget
from ..kernels.base import FloatArray
from ..problem import Problem, Solution
from . import solve_problem
from .column_generation import solve_by_column_generation
from .rounds import Incumbent, Round

WARM_UP_SIZE = 200


@dataclass(frozen=True)
class Trace:
    """The certificates of one solver, summed over the one-vs-rest problems.

    The first record is that of the empty vote, made when the data were ready. Each round
    adds a record with the best values so far. The last record is the verified certificate of the
    model.
    """

    solver: str
    seconds: FloatArray
    objectives: FloatArray
    dual_bounds: FloatArray
    stop_reason: str


def warm_up(problem: Problem, tol: float) -> None:
    """Load all code that is imported on first use, with a short run of column generation."""
    rows = np.arange(min(WARM_UP_SIZE, problem.n_rows))
    centers = np.arange(min(WARM_UP_SIZE, problem.columns.n_centers))
    part = problem.restricted(rows, centers)
    solve_by_column_generation(part.within(part.budget.until(math.inf)), tol=tol, max_iter=2)


def trace_solver(
    solver: str,
    problems: Sequence[Problem],
    budget: Budget,
    *,
    tol: float,
    max_iter: int | None,
    seconds_before: float,
) -> Trace:
    """Solve problems in turn; the clock starts at ``seconds_before``, the preparation time."""
    solutions = [Incumbent(problem).solution(0, "interrupted") for problem in problems]
    records = [(seconds_before, *totals(solutions))]
    started = time.perf_counter() - seconds_before

    def note(number: int, state: Round) -> bool:
        known = [*solutions[:number], state.solution, *solutions[number + 1 :]]
        records.append((time.perf_counter() - started, *totals(known)))
        return False

    for number, problem in enumerate(problems):
        solutions[number] = solve_problem(
            solver,
            problem.within(budget),
            tol=tol,
            max_iter=max_iter,
            on_round=partial(note, number),
        )
        records.append((time.perf_counter() - started, *totals(solutions)))
    seconds, objectives, bounds = np.array(records).T
    # The last record is the verified one, even if the check for rounding errors made it worse.
    objectives[:-1] = np.minimum.accumulate(objectives[:-1])
    bounds[:-1] = np.maximum.accumulate(bounds[:-1])
    reasons = [s.stop_reason for s in solutions if s.stop_reason != "optimal"]
    return Trace(solver, seconds, objectives, bounds, reasons[0] if reasons else "optimal")


def totals(solutions: Sequence[Solution]) -> tuple[float, float]:
    """Return the sums of the objectives and of the dual bounds."""
    objective = np.array([s.objective for s in solutions]).sum()
    return float(objective), float(np.array([s.dual_bound for s in solutions]).sum())
