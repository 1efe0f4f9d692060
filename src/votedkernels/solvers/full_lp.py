"""The paper's linear program (section 5.1), solved as a whole, for reference.

    min  sum_i w_i xi_i + sum_kj L_k (a+_kj + a-_kj)
    s.t. xi_i >= 1 - y_i sum_kj (a+_kj - a-_kj) K_k(x_i, c_j),    a+, a-, xi >= 0

For other losses, a goal replaces 1, and there is one xi per hinge.
All 2 p n_centers columns are in memory, so this is for small problems and for checking other
solvers. Columns are divided by their largest absolute value, and the objective by a common unit.
Neither changes the solution.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from .._system.budget import Budget
from .._system.byte_sizes import parse_memory
from ..kernels.base import FloatArray
from ..kernels.local_columns import DEFAULT_MEMORY
from ..problem import Problem, Solution, Terms
from .lp.highs import solve_highs
from .lp.linear_program import LinearProgram, LPResult, solve_basis
from .master import largest_values
from .rounds import Round, Rounds

LP_SECONDS = 24 * 3600.0
#: Bytes per entry: our dense array, and the value and index that HiGHS stores by row and by column.
BYTES_PER_ENTRY = 40
#: Time that HiGHS takes to read an entry; reading cannot be interrupted.
LOAD_SECONDS = 1e-7


def check_memory_of_full_lp(
    n_rows: int, n_kernels: int, n_centers: int, memory_limit: int | str | None
) -> None:
    """Raise if the whole LP would need more memory than the limit."""
    needed = BYTES_PER_ENTRY * n_rows * 2 * n_kernels * n_centers
    allowed = DEFAULT_MEMORY if memory_limit is None else parse_memory(memory_limit)
    if needed > allowed:
        raise ValueError(
            f"solver='lp' would need about {needed / 1e9:.2g}GB here, more than "
            f"memory_limit={memory_limit!r} ({allowed / 1e9:.2g}GB); use "
            "solver='column-generation', or a larger memory_limit."
        )


def solve_by_full_lp(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Minimise F by solving one linear program; ``max_iter`` and ``start`` are not used."""
    del max_iter, start
    rounds = Rounds(problem, tol=tol, on_round=on_round)
    return rounds.run(lambda: _solve_once(rounds))


def _solve_once(rounds: Rounds) -> str:
    problem = rounds.problem
    rounds.begin()
    problem.budget.check_time()
    whole = WholeLP(problem)
    problem.budget.check_time()
    result = _solve_whole(whole.lp, min(problem.budget.deadline, time.perf_counter() + LP_SECONDS))
    if result is None:
        problem.budget.check_time()
        return "precision"
    terms, u = whole.read(solve_basis(whole.lp, result))
    rounds.best.offer_vote(terms, problem.decision(terms))
    u = problem.into_box(u)
    rounds.best.offer_dual(u, problem.dual_value(u, problem.correlate(u)))
    rounds.bounded()
    return "precision"


class WholeLP:
    """The linear program of a problem; translates its solution back into a vote."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        columns, n = problem.columns, len(problem.y)
        allowed = problem.allowed
        if allowed is None:
            allowed = np.ones((columns.n_kernels, columns.n_centers), bool)
        self.kernels, self.centers = np.nonzero(allowed)
        values = problem.at_hinges(columns.take(self.kernels, self.centers))
        signed = values * problem.y[:, None]
        self.scale = largest_values(signed, axis=0)
        penalties = problem.penalties[self.kernels] / self.scale
        positive = penalties[penalties > 0]
        typical = float(np.median(positive)) if len(positive) else 1.0
        self.unit = unit = min(float(problem.w.mean()), typical)
        signed /= self.scale
        parts = [signed, -signed, np.eye(n)]
        costs = [penalties / unit, penalties / unit, problem.w / unit]
        if problem.fit_intercept:
            parts += [problem.y[:, None], -problem.y[:, None]]
            costs += [np.zeros(2)]
        matrix = np.concatenate(parts, axis=1)
        self.lp = LinearProgram(
            cost=-np.concatenate(costs),
            upper=np.full(matrix.shape[1], np.inf),
            matrix=matrix,
            row_lower=np.ones(n) if problem.goals is None else problem.goals,
            row_upper=np.full(n, np.inf),
        )

    def read(self, result: LPResult) -> tuple[Terms, FloatArray]:
        """Return the vote and the dual vector of a solution of the LP."""
        n = len(self.kernels)
        weights = (result.x[:n] - result.x[n : 2 * n]) / self.scale
        intercept = float(result.x[-2] - result.x[-1]) if self.problem.fit_intercept else 0.0
        terms = Terms(self.kernels, self.centers, weights, intercept).nonzero()
        return terms, -result.row_dual * self.unit


def _solve_whole(lp: LinearProgram, end: float) -> LPResult | None:
    """Try the dual simplex, then the primal; ignore claims of infeasibility, which are false."""
    for strategy in (1, 4):
        Budget(end - LOAD_SECONDS * lp.matrix.size).check_time()
        with suppress(Exception):  # after any error, try the next strategy
            result = solve_highs(lp, end=end, strategy=strategy, rescale=True)
            if result is not None:
                return result
    return None
