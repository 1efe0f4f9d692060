"""What each solver knew when: the certificates of one problem, solver by solver, by the clock.

The data are prepared once and every solver gets the same problems, so that curves can be
compared. The clock of each starts at the time the preparation took. Code that is compiled on
first use is loaded before, else the first solver would pay for the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .._system.blas_threads import single_blas_thread
from ..kernels.base import FloatArray
from ..preparation.training import Training
from ..preparation.validation import check_parameters
from ..problem import Problem, Solution
from ..solvers import (
    SOLVERS,
    Incumbent,
    Round,
    check_memory_of_full_lp,
    solve_by_column_generation,
    solve_problem,
)

WARM_UP_SIZE = 200


@dataclass(frozen=True)
class Recording:
    """The certificates of one solver, sums over the one-vs-rest problems.

    The first record is the empty vote, when the data were ready; then comes one per round, the
    best so far; the last is the certificate of the model, verified.
    """

    solver: str
    seconds: FloatArray
    objectives: FloatArray
    dual_bounds: FloatArray
    stop_reason: str


def record_solvers(
    estimator: Any, X: Any, y: Any, sample_weight: Any, solvers: Sequence[str]
) -> list[Recording]:
    """Fit with each solver in turn; ``time_limit`` of the estimator holds for each."""
    check_solvers(solvers)
    estimator = clone(estimator)
    check_parameters(estimator, SOLVERS)
    if estimator.l2_penalty > 0:
        raise ValueError(
            "with l2_penalty > 0 there is one solver, and nothing to compare; use l2_penalty=0."
        )
    limit = estimator.time_limit
    with single_blas_thread():
        started = time.perf_counter()
        deadline = None if limit is None else started + limit
        check = partial(check_memory_of_full_lp, memory_limit=estimator.memory_limit)
        training = Training.prepare(
            estimator,
            X,
            y,
            sample_weight,
            deadline=deadline,
            check_size=check if "lp" in solvers else None,
        )
        problems = training.problems(estimator.complexity_penalty, estimator.l1_penalty)
        prepared = time.perf_counter() - started
        if limit is None or prepared < limit:
            warm_up(problems[0], estimator.tol)
        return [record_solver(solver, problems, estimator, prepared) for solver in solvers]


def check_solvers(solvers: Sequence[str]) -> None:
    """Raise for a list of solvers that cannot be compared."""
    known = ", ".join(map(repr, SOLVERS))
    if isinstance(solvers, str) or not solvers:
        raise ValueError(f"solvers must be a list of some of {known}, got {solvers!r}.")
    for solver in solvers:
        if solver not in SOLVERS:
            raise ValueError(f"solvers must be some of {known}, got {solver!r}.")
    if len(set(solvers)) < len(solvers):
        raise ValueError(f"solvers has repeated entries: {solvers!r}.")


def warm_up(problem: Problem, tol: float) -> None:
    """Load what is compiled on first use: column generation has need of all of it."""
    problem.gram.deadline = None
    rows = np.arange(min(WARM_UP_SIZE, problem.n_rows))
    centers = np.arange(min(WARM_UP_SIZE, problem.gram.n_centers))
    solve_by_column_generation(problem.restricted(rows, centers), tol=tol, max_iter=2)


def record_solver(
    solver: str, problems: list[Problem], estimator: Any, prepared: float
) -> Recording:
    """Solve the problems, one after another, as a fit whose preparation took so many seconds."""
    solutions = [Incumbent(problem).solution(0, "interrupted") for problem in problems]
    records = [(prepared, *totals(solutions))]
    started = time.perf_counter() - prepared
    limit = estimator.time_limit
    deadline = None if limit is None else started + limit
    problems[0].gram.deadline = deadline  # the problems share it

    def note(known: list[Solution]) -> None:
        records.append((time.perf_counter() - started, *totals(known)))

    for number, problem in enumerate(problems):

        def on_round(state: Round, number: int = number) -> bool:
            note([*solutions[:number], state.solution, *solutions[number + 1 :]])
            return False

        solutions[number] = solve_problem(
            solver,
            problem,
            tol=estimator.tol,
            max_iter=estimator.max_iter,
            deadline=deadline,
            on_round=on_round,
        )
        note(solutions)
    seconds, objectives, bounds = np.array(records).T
    # A solver that hands over to another begins anew; what was known stays known. The last
    # record is what was verified, even where rounding made that worse.
    objectives[:-1] = np.minimum.accumulate(objectives[:-1])
    bounds[:-1] = np.maximum.accumulate(bounds[:-1])
    reasons = [s.stop_reason for s in solutions if s.stop_reason != "optimal"]
    return Recording(solver, seconds, objectives, bounds, reasons[0] if reasons else "optimal")


def totals(solutions: list[Solution]) -> tuple[float, float]:
    """Return the sums of the objectives and of the dual bounds."""
    objective = np.array([s.objective for s in solutions]).sum()
    return float(objective), float(np.array([s.dual_bound for s in solutions]).sum())
