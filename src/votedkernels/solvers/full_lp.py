"""The paper's linear program (its section 5.1), solved whole: the reference.

    min  sum_i w_i xi_i + sum_kj L_k (a+_kj + a-_kj)
    s.t. xi_i >= 1 - y_i sum_kj (a+_kj - a-_kj) K_k(x_i, c_j),    a+, a-, xi >= 0

It holds all 2 p n_centers columns in memory, so it is for small problems and for checking.
Columns are divided by max |K_k| and the objective by a common unit; neither changes the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from .._system.byte_sizes import parse_memory
from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels.columns import DEFAULT_MEMORY
from ..problem import Problem, Solution, Terms
from .incumbent import Incumbent, Round
from .lp.highs import solve_highs
from .lp.linear_program import LinearProgram, LPResult
from .lp.refinement import solve_basis

LP_SECONDS = 24 * 3600.0
#: HiGHS keeps value and index, by row and by column, besides our dense array.
BYTES_PER_ENTRY = 40
#: What it takes HiGHS to read an entry, which nothing can interrupt.
LOAD_SECONDS = 1e-7


def check_memory_of_full_lp(
    n_rows: int, n_kernels: int, n_centers: int, memory_limit: int | str | None
) -> None:
    """Raise where the whole LP would take more than the limit."""
    needed = BYTES_PER_ENTRY * n_rows * 2 * n_kernels * n_centers
    allowed = DEFAULT_MEMORY if memory_limit is None else parse_memory(memory_limit)
    if needed > allowed:
        raise ValueError(
            f"solver='lp' would take about {needed / 1e9:.2g}GB here, above "
            f"memory_limit={memory_limit!r} ({allowed / 1e9:.2g}GB); use "
            "solver='column-generation', or a larger memory_limit."
        )


def solve_by_full_lp(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    deadline: float | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Minimise F by one linear program; ``max_iter`` and ``start`` are not used."""
    best = Incumbent(problem)
    try:
        _check_time(deadline)
        gram, n = problem.gram, problem.n_rows
        allowed = problem.allowed
        if allowed is None:
            allowed = np.ones((gram.n_kernels, gram.n_centers), bool)
        kernels, centers = np.nonzero(allowed)
        signed = gram.columns(kernels, centers) * problem.y[:, None]
        scale = np.abs(signed).max(axis=0)
        scale[scale == 0] = 1.0
        penalties = problem.penalties[kernels] / scale
        positive = penalties[penalties > 0]
        unit = min(float(problem.w.mean()), float(np.median(positive)) if len(positive) else 1.0)
        signed /= scale
        parts = [signed, -signed, np.eye(n)]
        costs = [penalties / unit, penalties / unit, problem.w / unit]
        if problem.fit_intercept:
            parts += [problem.y[:, None], -problem.y[:, None]]
            costs += [np.zeros(2)]
        matrix = np.concatenate(parts, axis=1)
        lp = LinearProgram(
            cost=-np.concatenate(costs),
            upper=np.full(matrix.shape[1], np.inf),
            matrix=matrix,
            row_lower=np.ones(n),
            row_upper=np.full(n, np.inf),
        )
        _check_time(deadline)
        end = time.perf_counter() + LP_SECONDS if deadline is None else deadline
        result = _solve_whole(lp, end)
        if result is not None:
            result = solve_basis(lp, result)
            n_columns = len(kernels)
            weights = (result.x[:n_columns] - result.x[n_columns : 2 * n_columns]) / scale
            intercept = float(result.x[-2] - result.x[-1]) if problem.fit_intercept else 0.0
            terms = Terms(kernels, centers, weights, intercept).nonzero()
            best.offer_vote(terms, problem.decision(terms))
            u = problem.feasible_box(-result.row_dual * unit)
            best.offer_dual(u, problem.dual_value(u, problem.correlate(u)))
            if on_round is not None:
                on_round(best.round(1))
    except KeyboardInterrupt:
        raise SolverInterrupted(best.verified(1, "interrupted", tol)) from None
    except OutOfTime:
        return best.verified(1, "time-limit", tol)
    if best.is_optimal(tol):
        return best.verified(1, "optimal", tol)
    late = deadline is not None and time.perf_counter() >= deadline
    return best.verified(1, "time-limit" if late else "precision", tol)


def _check_time(deadline: float | None) -> None:
    if deadline is not None and time.perf_counter() >= deadline:
        raise OutOfTime


def _solve_whole(lp: LinearProgram, end: float) -> LPResult | None:
    """Dual simplex, then primal; F is bounded, so no claim of infeasibility is true."""
    for strategy in (1, 4):
        _check_time(end - LOAD_SECONDS * lp.matrix.size)
        with suppress(Exception):  # a breakdown of any kind is this strategy's alone
            result = solve_highs(lp, end=end, strategy=strategy, rescale=True)
            if result is not None:
                return result
    return None
