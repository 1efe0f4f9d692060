"""Solvers: each minimises F for a `Problem` and returns a `Solution` with its certificate."""

from collections.abc import Callable
from typing import Any

from ..exceptions import SolverInterrupted
from ..problem import Problem, Solution
from .column_generation import solve_by_column_generation
from .continuum import solve_over_continuum, with_widths
from .coordinate_descent import (
    COORDINATES_PER_ROUND,
    pool_bytes,
    solve_by_coordinate_descent,
)
from .full_lp import check_memory_of_full_lp, solve_by_full_lp
from .incumbent import Incumbent, Round
from .master import Master
from .paper_rule import solve_by_paper_rule

SOLVERS: dict[str, Callable[..., Solution]] = {
    "column-generation": solve_by_column_generation,
    "lp": solve_by_full_lp,
    "coordinate-descent": solve_by_coordinate_descent,
    "coordinate-descent-paper": solve_by_paper_rule,
}
"""The solvers by the names that users type."""

CONVERGENT_SOLVERS = tuple(name for name in SOLVERS if name != "coordinate-descent-paper")
"""Those that reach any gap; the paper's rule does not."""


def solve_problem(solver: str, problem: Problem, **options: Any) -> Solution:
    """Solve a problem by the solver of that name, over a continuum of widths if it has one."""
    if problem.continuum is not None:
        return solve_over_continuum(problem, SOLVERS[solver], **options)
    return SOLVERS[solver](problem, **options)


def least_memory(solver: str, n_rows: int) -> int:
    """Return the bytes without which a solver does not start, on so many rows."""
    if solver != "coordinate-descent":
        return 0
    n_pool = min(n_rows, COORDINATES_PER_ROUND)
    return pool_bytes(n_rows, n_pool, n_pool)


__all__ = [
    "CONVERGENT_SOLVERS",
    "SOLVERS",
    "Incumbent",
    "Master",
    "Round",
    "SolverInterrupted",
    "check_memory_of_full_lp",
    "least_memory",
    "solve_by_column_generation",
    "solve_by_coordinate_descent",
    "solve_by_full_lp",
    "solve_by_paper_rule",
    "solve_problem",
    "with_widths",
]
