"""Compares solvers by fitting with each of them; the data are prepared only once."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from .._system.budget import Budget, single_blas_thread
from ..preparation.training import Training
from ..preparation.validation import check_parameters
from ..solvers import SOLVERS
from ..solvers.trace import Trace, trace_solver, warm_up


def trace_solvers(
    estimator: Any, X: Any, y: Any, sample_weight: Any, solvers: Sequence[str]
) -> list[Trace]:
    """Fit with each solver in turn, each within the estimator's ``time_limit``."""
    check_solvers(solvers)
    estimator = clone(estimator)
    check_parameters(estimator)
    if estimator.l2_penalty > 0:
        raise ValueError(
            "l2_penalty > 0 leaves only one solver, so there is nothing to compare; use "
            "l2_penalty=0."
        )
    # If a solver limits the size of problems, let it check before any work is done.
    limited = [name for name in solvers if SOLVERS[name].check_size is not None]
    estimator.set_params(solver=limited[0] if limited else solvers[0])
    limit = math.inf if estimator.time_limit is None else estimator.time_limit
    with single_blas_thread():
        started = time.perf_counter()
        budget = Budget(started + limit)
        training = Training.prepare(estimator, X, y, sample_weight, budget=budget)
        problems = training.problems(*training.penalties_of(estimator))
        prepared = time.perf_counter() - started
        if prepared < limit:
            warm_up(problems[0], estimator.tol)
        return [
            trace_solver(
                solver,
                problems,
                training.columns.budget.until(time.perf_counter() + limit - prepared),
                tol=estimator.tol,
                max_iter=estimator.max_iter,
                seconds_before=prepared,
            )
            for solver in solvers
        ]


def check_solvers(solvers: Sequence[str]) -> None:
    """Raise if the listed solvers cannot be compared."""
    known = ", ".join(map(repr, SOLVERS))
    if isinstance(solvers, str) or not solvers:
        raise ValueError(f"solvers must be a list of some of {known}, got {solvers!r}.")
    for solver in solvers:
        if solver not in SOLVERS:
            raise ValueError(f"solvers must be some of {known}, got {solver!r}.")
    if len(set(solvers)) < len(solvers):
        raise ValueError(f"solvers has repeated entries: {solvers!r}.")
