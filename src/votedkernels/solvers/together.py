"""Column generations of several problems over the same columns, in lockstep.

The one-vs-rest problems of many classes differ only in their labels. Each generation stops where it
needs the prices of a dual vector, and one pass, which evaluates each kernel once, answers all of
them. Otherwise they do not know of each other, so each finds the same certificate as alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..exceptions import LPFailed, OutOfTime, SeveralInterrupted
from ..problem import Prices, Problem, Solution, Terms
from .column_generation import SMALLEST_SUBSAMPLE, SUBSAMPLE_TOL, generate_columns
from .coordinate_descent import descend
from .master import Master
from .rounds import Finished, Round, Rounds, Subsample

#: Bytes that the sums of all problems may take if memory is not limited.
MOST_BYTES = 2**30
#: How many arrays with a number per column, and with a number per row, each problem needs at once.
SUMS_AT_ONCE = 4
ARRAYS_OF_ROWS = 12

OnRound = Callable[[Round], bool]


class Turn:
    """One of the generations: it waits for the prices of ``u``, has ended, or needs no LP."""

    def __init__(self, rounds: Rounds, on_end: Callable[[], object]) -> None:
        self.rounds, self.on_end = rounds, on_end
        self.problem = rounds.problem
        self.master = Master(rounds.problem)
        self.start: Terms | None = None
        self.solution: Solution | None = None
        self.has_failed = False

    @property
    def is_waiting(self) -> bool:
        """Whether the generation needs prices to go on."""
        return self.solution is None and not self.has_failed

    def begin(self) -> None:
        """Go on to the first dual vector."""
        self._generation = generate_columns(self.rounds, self.start, self.master)
        self.go_on(None)
        self.start = None

    def go_on(self, prices: Prices | None) -> None:
        """Take prices, and go on to the next dual vector or to the end."""
        try:
            self.u = self._generation.send(prices)  # type: ignore[arg-type] # None at first
        except StopIteration as end:
            self.end(self.rounds.verified(str(end.value)))
        except (Finished, OutOfTime) as end:
            self.end(self.rounds.ended_by(end))
        except LPFailed:
            self.has_failed = True

    def descend(self, n_left: int) -> None:
        """Solve the problem without linear programs, the first of ``n_left`` that need this."""
        rounds = self.rounds
        rounds.problem = self.problem.within(self.problem.budget.share(n_left))
        self.end(descend(rounds, rounds.best.terms))

    def end(self, solution: Solution) -> None:
        """Keep the solution."""
        self.solution = solution
        self.on_end()

    def interrupted(self) -> Solution:
        """Return the best solution so far."""
        if self.solution is not None:
            return self.solution
        if self.start is not None:
            self.rounds.offer_start(self.start)
        return self.rounds.verified("interrupted")


def solve_together(
    problems: Sequence[Problem],
    *,
    tol: float,
    max_iter: int | None = None,
    on_rounds: Sequence[OnRound | None] | None = None,
    on_end: Callable[[int], object] = id,
) -> list[Solution]:
    """Solve problems with the same columns by `solve_by_column_generation`; they share passes.

    Parameters
    ----------
    problems : sequence of Problem
        Problems over the same columns, whose budget they share.
    tol, max_iter
        As for one problem.
    on_rounds : sequence of callables, default=None
        ``on_round`` for each problem.
    on_end : callable
        Called with the index of each problem when it is solved.

    Raises
    ------
    SeveralInterrupted
        On Ctrl-C, with the best solution of each problem.
    """
    n, budget = len(problems), problems[0].budget
    share = replace(budget, memory=budget.memory // n, block_memory=budget.block_memory // n)
    turns = [
        Turn(
            Rounds(problem.within(share), tol=tol, max_iter=max_iter, on_round=on_round),
            partial(on_end, number),
        )
        for number, (problem, on_round) in enumerate(
            zip(problems, on_rounds or [None] * n, strict=True)
        )
    ]
    try:
        _take_turns(turns, problems)
    except KeyboardInterrupt:
        raise SeveralInterrupted([turn.interrupted() for turn in turns]) from None
    return [turn.solution for turn in turns if turn.solution is not None]


def _take_turns(turns: list[Turn], problems: Sequence[Problem]) -> None:
    """Bring all turns to their ends."""
    try:
        problems[0].budget.check_time()
        _start_from_subsample(turns, problems)
        for turn in turns:
            turn.begin()
        while waiting := [turn for turn in turns if turn.is_waiting]:
            for turn, prices in zip(waiting, _price(waiting), strict=True):
                turn.go_on(prices)
    except OutOfTime as end:  # in a pass
        for turn in turns:
            if turn.is_waiting:
                turn.end(turn.rounds.ended_by(end))
    failed = [turn for turn in turns if turn.has_failed]
    for place, turn in enumerate(failed):
        turn.descend(len(failed) - place)


def _price(waiting: list[Turn]) -> list[Prices]:
    """Answer all turns by one pass."""
    vectors = [turn.master.passes.missing(turn.problem.signed(turn.u)) for turn in waiting]
    sums = waiting[0].problem.columns.sum_several(np.stack(vectors))
    return [
        turn.master.passes.priced(turn.problem, turn.u, values)
        for turn, values in zip(waiting, sums, strict=True)
    ]


def _start_from_subsample(turns: list[Turn], problems: Sequence[Problem]) -> None:
    """Solve all problems on the same part of the rows, for the votes to start from."""
    sample = Subsample.of(problems[0], SMALLEST_SUBSAMPLE)
    if sample is None:
        return
    parts = [sample.part_of(problem) for problem in problems]
    starting = [turn for turn, part in zip(turns, parts, strict=True) if part is not None]
    if not starting:
        return
    try:
        found = solve_together([part for part in parts if part is not None], tol=SUBSAMPLE_TOL)
    except SeveralInterrupted as stop:
        for turn, solution in zip(starting, stop.solutions, strict=True):
            turn.start = sample.placed(solution.terms)
        raise
    for turn, solution in zip(starting, found, strict=True):
        turn.start = sample.placed(solution.terms)


def groups_in_memory(problems: Sequence[Problem]) -> Iterator[range]:
    """Yield the numbers of problems that can be solved together in the memory that there is."""
    most = min(MOST_BYTES, problems[0].budget.memory // 2)
    size = max(1, most // bytes_of_turn(problems[0]))
    for start in range(0, len(problems), size):
        yield range(start, min(start + size, len(problems)))


def bytes_of_turn(problem: Problem) -> int:
    """Return the bytes that one problem needs between passes, without its pool."""
    columns = problem.columns
    per_column = SUMS_AT_ONCE * columns.n_kernels * columns.n_centers
    return 8 * (per_column + ARRAYS_OF_ROWS * problem.n_rows)
