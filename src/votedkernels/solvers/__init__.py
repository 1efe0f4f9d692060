"""The solvers. Each minimises F for a `Problem` and returns a `Solution` with its certificate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Required, TypedDict, Unpack

from ..exceptions import SolverInterrupted
from ..problem import Problem, Solution, Terms
from .column_generation import solve_by_column_generation
from .continuum import solve_over_continuum, with_widths
from .coordinate_descent import solve_by_coordinate_descent
from .descent_pool import least_pool_bytes
from .full_lp import check_memory_of_full_lp, solve_by_full_lp
from .master import Master
from .paper_rule import solve_by_paper_rule
from .rounds import Incumbent, Round
from .together import groups_in_memory, solve_together


class SolverOptions(TypedDict, total=False):
    """The options that every solver takes; see `solve_by_column_generation`."""

    tol: Required[float]
    max_iter: int | None
    on_round: Callable[[Round], bool] | None


@dataclass(frozen=True)
class Solver:
    """A solver and its capabilities.

    Attributes
    ----------
    solve : callable
        Takes a `Problem` and the options of `solve_by_column_generation`.
    reaches_any_gap : bool
        Whether it reaches the optimum, given enough time.
    takes_hybrid_norm : bool
        Whether it solves problems with an ``l2_penalty``.
    takes_remote_columns : bool
        Whether it works with rows on a cluster. Other solvers need all rows in this process.
    least_memory : callable
        Takes the number of rows and returns the bytes that the solver needs to start.
    check_size : callable
        Takes the numbers of rows, kernels and centres, and ``memory_limit``. Raises if such a
        problem is too large.
    """

    solve: Callable[..., Solution]
    reaches_any_gap: bool = True
    takes_hybrid_norm: bool = False
    takes_remote_columns: bool = False
    least_memory: Callable[[int], int] = lambda _: 0
    check_size: Callable[[int, int, int, int | str | None], None] | None = None


#: The solvers, by the names that users type.
SOLVERS = {
    "column-generation": Solver(
        solve_by_column_generation, takes_hybrid_norm=True, takes_remote_columns=True
    ),
    "lp": Solver(solve_by_full_lp, check_size=check_memory_of_full_lp),
    "coordinate-descent": Solver(
        solve_by_coordinate_descent, takes_hybrid_norm=True, least_memory=least_pool_bytes
    ),
    "coordinate-descent-paper": Solver(solve_by_paper_rule, reaches_any_gap=False),
}

CONVERGENT_SOLVERS = tuple(name for name, solver in SOLVERS.items() if solver.reaches_any_gap)


def solve_problem(
    solver: str,
    problem: Problem,
    *,
    start: Terms | None = None,
    **options: Unpack[SolverOptions],
) -> Solution:
    """Solve a problem with the named solver, over a continuum of widths if the problem has one.

    For a continuum, ``start`` is ignored, because its terms have other widths.
    """
    if problem.continuum is not None:
        return solve_over_continuum(problem, SOLVERS[solver].solve, **options)
    return SOLVERS[solver].solve(problem, start=start, **options)


def can_solve_together(solver: str, problems: Sequence[Problem]) -> bool:
    """Whether `solve_together` does what the named solver does for each problem."""
    first = problems[0]
    return (
        solver == "column-generation"
        and len(problems) > 1
        and first.columns.keeps_sums
        and first.continuum is None
        and not first.l2_penalty
    )


__all__ = [
    "CONVERGENT_SOLVERS",
    "SOLVERS",
    "Incumbent",
    "Master",
    "Round",
    "Solver",
    "SolverInterrupted",
    "can_solve_together",
    "groups_in_memory",
    "solve_by_column_generation",
    "solve_by_coordinate_descent",
    "solve_by_full_lp",
    "solve_by_paper_rule",
    "solve_problem",
    "solve_together",
    "with_widths",
]
