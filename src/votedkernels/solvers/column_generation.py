"""Column generation: the default solver.

The problem has p * n_centers columns, but the optimum uses only a few dozen. A small pool of
columns is solved exactly (`Master`). One pass over all columns then finds the proved lower bound
and the columns that violate their dual constraints, and the worst of these join the pool. This is
the column generation of Gilmore and Gomory (1961), which Demiriz, Bennett and Shawe-Taylor (2002)
use for boosting by linear programming.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

import numpy as np

from ..exceptions import LPFailed, OutOfTime
from ..kernels.base import FloatArray
from ..problem import Prices, Problem, Solution, Terms
from .coordinate_descent import descend, grow_pool
from .descent_pool import DescentPool
from .elastic_pool import ElasticPool
from .master import Master
from .rounds import Incumbent, Round, Rounds, solve_subsample

#: If a pass needs more kernel values than this, candidates are priced between passes.
CHEAP_PASS = 10**8
CANDIDATES_RATIO = 20
FEWEST_CANDIDATES = 1024
CANDIDATE_ROUNDS = 20
SMALLEST_SUBSAMPLE = 100
SUBSAMPLE_TOL = 1e-3
#: With more rows than this, a path also starts from a subsample.
MANY_ROWS = 4000
#: If neither bound improves for this many rounds, double precision is exhausted.
ROUNDS_WITHOUT_GAIN = 20
GAIN = 1e-6
#: The same limit if rounding alone can break every dual constraint; LPs then fail slowly.
FEW_ROUNDS = 3


#: What a solution of the same problem with other penalties can be continued from.
AnyMaster = Master | ElasticPool


def new_master(problem: Problem) -> AnyMaster:
    """Return the master that suits a problem, without columns."""
    return Master(problem) if problem.squares is None else ElasticPool(problem)


def solve_by_column_generation(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
    master: AnyMaster | None = None,
) -> Solution:
    """Minimise F to a relative gap of ``tol``, within the problem's budget.

    Parameters
    ----------
    problem : Problem
    tol : float
        Stop when gap <= tol * objective.
    max_iter : int, default=None
        Maximum number of rounds.
    start : Terms, default=None
        Columns to start the pool with.
    on_round : callable, default=None
        Called with a `Round`; returns True to stop the solver.
    master : Master or ElasticPool, default=None
        The master of the same problem with other penalties, to continue from (`new_master`).
    """
    rounds = Rounds(problem, tol=tol, max_iter=max_iter, on_round=on_round)
    if isinstance(master, ElasticPool) or problem.squares is not None:
        return rounds.run(lambda: _grow_elastic_pool(rounds, start, master))
    if problem.l2_penalty:  # no LP: the pool is solved by an interior point method
        return descend(rounds, start)
    try:
        return rounds.run(lambda: _generate_columns(rounds, start, master))
    except LPFailed:  # the last rung of the ladder needs no LP
        return descend(rounds, rounds.best.terms)


def _generate_columns(rounds: Rounds, start: Terms | None, master: Master | None) -> str:
    """Add columns round by round; return why no further improvement is possible."""
    problem = rounds.problem
    problem.budget.check_time()
    is_new = master is None
    if master is None:
        master = Master(problem)
    if start is None and not len(master.kernels) and (is_new or problem.n_rows > MANY_ROWS):
        start = _start_from_subsample(problem)
    generation = generate_columns(rounds, start, master)
    try:
        u = next(generation)
        while True:
            u = generation.send(master.passes.price(problem, u))
    except StopIteration as end:
        return str(end.value)


def generate_columns(
    rounds: Rounds, start: Terms | None, master: Master
) -> Generator[FloatArray, Prices, str]:
    """Yield a dual vector in each round, and take its prices; return why the rounds end."""
    problem, best, tol = rounds.problem, rounds.best, rounds.tol
    rounding = rounding_to_penalty(problem)
    u = problem.empty_dual()
    master.go_on_with(problem)
    if len(master.kernels):
        u = improve(master, best)
    if start is not None and len(start.kernels):
        master.start_from(rounds.offer_start(start))
        master.add_heaviest(start)
        u = improve(master, best)
    gains = Gains()
    while True:
        rounds.begin()
        u = problem.into_box(u)
        prices = yield u
        best.offer_dual(u, prices.bound)
        rounds.bounded()
        hopeless = float(u.sum()) * rounding > 1
        stuck = gains.are_missing(best, rounds.n_iter, hopeless=hopeless)
        if stuck or not master.add_worst(prices.excess, tol, prices.centers):
            if master.is_cramped:
                return "memory-limit"
            if hopeless or not master.coarseness:
                return "precision"
            raise LPFailed
        u = improve(master, best)
        rounds.moved()
        if problem.columns.n_kernels * problem.columns.n_centers * np.count_nonzero(u) > CHEAP_PASS:
            u = price_candidates(master, best, u, prices, tol)


def _grow_elastic_pool(rounds: Rounds, start: Terms | None, pool: AnyMaster | None) -> str:
    """Solve the elastic net; return why no further improvement is possible."""
    problem = rounds.problem
    if not isinstance(pool, ElasticPool):
        pool = ElasticPool(problem)
        start = start or _start_from_subsample(problem)
    pool.go_on_with(problem)
    reason = grow_pool(rounds, start, pool)
    if reason != "precision":
        return reason
    return grow_pool(rounds, rounds.best.terms, DescentPool(problem))  # slower, but more robust


def _start_from_subsample(problem: Problem) -> Terms | None:
    solve = partial(solve_by_column_generation, tol=SUBSAMPLE_TOL)
    return solve_subsample(problem, solve, smallest=SMALLEST_SUBSAMPLE)


class Gains:
    """Watches whether rounds still improve anything.

    The first round counts as an improvement, and sets the bound and the number of the round.
    """

    bound: float
    last: int

    def __init__(self) -> None:
        self.objective = np.inf

    def are_missing(self, best: Incumbent, n_iter: int, *, hopeless: bool) -> bool:
        """Whether neither the objective nor the bound has improved for too many rounds.

        If proofs are ``hopeless``, only the objective counts, and fewer rounds are allowed. This
        also ends any cycle in which columns leave the pool and come back.
        """
        lower = best.objective < (1 - GAIN) * self.objective
        if lower or (best.dual_bound > (1 + GAIN) * self.bound and not hopeless):
            self.objective, self.bound, self.last = best.objective, best.dual_bound, n_iter
        return n_iter - self.last >= (FEW_ROUNDS if hopeless else ROUNDS_WITHOUT_GAIN)


def rounding_to_penalty(problem: Problem) -> float:
    """Return the largest ratio of a kernel's rounding error to its penalty."""
    priced = problem.penalties > 0
    ratios = problem.columns.largest()[priced] / problem.penalties[priced]
    return float(ratios.max(initial=0.0)) * float(np.finfo(np.float64).eps)


def improve(master: Master, best: Incumbent) -> FloatArray:
    """Solve the master, offer its vote, and return its dual vector."""
    answer = master.solve()
    if answer is None:
        raise OutOfTime if master.problem.budget.is_late else LPFailed
    terms, u, decision = answer
    best.offer_vote(terms, decision)
    return u


def price_candidates(
    master: Master, best: Incumbent, u: FloatArray, prices: Prices, tol: float
) -> FloatArray:
    """Add columns from the most promising centres only, as long as these have violated columns.

    A full pass is needed to prove optimality, but not to find the next columns.
    """
    problem = master.problem
    n_candidates = max(FEWEST_CANDIDATES, problem.columns.n_centers // CANDIDATES_RATIO)
    candidates = np.argsort(-prices.excess.max(axis=0), kind="stable")[:n_candidates]
    if prices.centers is not None:
        candidates = prices.centers[candidates]
    for _ in range(CANDIDATE_ROUNDS):
        u = problem.into_box(u)
        local = master.passes.excess(problem, u, candidates)
        if not master.add_worst(local, tol, candidates):
            break
        u = improve(master, best)
    return u
