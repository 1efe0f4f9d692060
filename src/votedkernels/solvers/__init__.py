"""Solvers: each minimises F for a `Problem` and returns a `Solution` with its certificate."""

from collections.abc import Callable

from ..solution import Solution
from .column_generation import solve_by_column_generation
from .full_lp import check_memory_of_full_lp, solve_by_full_lp
from .incumbent import Round, SolverInterrupted
from .master import Master

SOLVERS: dict[str, Callable[..., Solution]] = {
    "column-generation": solve_by_column_generation,
    "lp": solve_by_full_lp,
}

__all__ = [
    "SOLVERS",
    "Master",
    "Round",
    "SolverInterrupted",
    "check_memory_of_full_lp",
    "solve_by_column_generation",
    "solve_by_full_lp",
]
