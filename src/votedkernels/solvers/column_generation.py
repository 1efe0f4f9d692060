"""Column generation: the default solver.

The problem has p * n_centers columns, of which the optimum uses a few dozen. A small pool is
solved exactly (`Master`); one pass over all columns then gives the proved lower bound and the
columns that violate their dual constraint; the worst of these join the pool.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np

from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels.base import FloatArray
from ..problem import Prices, Problem, Solution, Terms
from .coordinate_descent import solve_by_coordinate_descent
from .incumbent import Incumbent, Round
from .master import Master
from .subsample import decision_in_any_case, solve_subsample

#: Kernel values that a pass may take before candidates are priced in between.
CHEAP_PASS = 10**8
CANDIDATES_RATIO = 20
FEWEST_CANDIDATES = 1024
CANDIDATE_ROUNDS = 20
SMALLEST_SUBSAMPLE = 100
SUBSAMPLE_TOL = 1e-3
#: Double precision has no more to give when neither bound has moved for so long.
ROUNDS_WITHOUT_GAIN = 20
GAIN = 1e-6
#: The same where rounding alone can break every dual constraint, and LPs take long to fail.
FEW_ROUNDS = 3


def solve_by_column_generation(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    deadline: float | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
    master: Master | None = None,
) -> Solution:
    """Minimise F to a relative gap of ``tol``.

    Parameters
    ----------
    problem : Problem
    tol : float
        Stop when gap <= tol * objective.
    max_iter : int, default=None
        Rounds at most.
    deadline : float, default=None
        Of `time.perf_counter`.
    start : Terms, default=None
        Columns to start the pool with.
    on_round : callable, default=None
        Called with a `Round`; true asks to stop.
    master : Master, default=None
        The master of the same problem with other penalties, to go on from.
    """
    best = Incumbent(problem)
    n_iter = last_gain = 0
    objective, bound = np.inf, 0.0
    try:
        if deadline is not None and time.perf_counter() >= deadline:
            raise OutOfTime
        rounding = rounding_to_penalty(problem)
        u = problem.feasible_box(problem.w)
        if master is None:
            master = Master(problem, deadline=deadline)
            if start is None:
                solve = partial(solve_by_column_generation, tol=SUBSAMPLE_TOL)
                start = solve_subsample(
                    problem, solve, smallest=SMALLEST_SUBSAMPLE, deadline=deadline
                )
        else:
            master.problem, master.is_cramped = problem, False
            if len(master.kernels):
                u = improve(master, best, u)
        if start is not None and len(start.kernels):
            decision = decision_in_any_case(problem, start)
            best.offer_scaled(start, decision)
            master.start_from(decision)
            heaviest = np.argsort(-np.abs(start.weights), kind="stable")[: master.room]
            chosen = np.sort(heaviest)
            master.add_columns(start.kernels[chosen], start.centers[chosen])
            u = improve(master, best, u)
        for n_iter in count(1):
            u = problem.feasible_box(u)
            prices = problem.price(u)
            best.offer_dual(u, prices.bound)
            if on_round is not None and on_round(best.round(n_iter)):
                return best.verified(n_iter, "interrupted", tol)
            if best.is_optimal(tol):
                return best.verified(n_iter, "optimal", tol)
            hopeless = float(u.sum()) * rounding > 1
            gained = best.objective < (1 - GAIN) * objective
            if gained or (best.dual_bound > (1 + GAIN) * bound and not hopeless):
                objective, bound, last_gain = best.objective, best.dual_bound, n_iter
            stuck = n_iter - last_gain >= (FEW_ROUNDS if hopeless else ROUNDS_WITHOUT_GAIN)
            if stuck or not master.add_worst(prices.excess, tol, prices.centers):
                if master.is_cramped:
                    return best.verified(n_iter, "memory-limit", tol)
                if hopeless or not master.coarseness:
                    return best.verified(n_iter, "precision", tol)
                break
            u = improve(master, best, u)
            if max_iter is not None and n_iter >= max_iter:
                return best.verified(n_iter, best.reason("max-iter", tol), tol)
            if problem.gram.n_kernels * problem.gram.n_centers * np.count_nonzero(u) > CHEAP_PASS:
                u = price_candidates(master, best, u, prices, tol)
    except SolverInterrupted as stop:  # on a part of the rows
        vote = stop.solution.terms
        best.offer_scaled(vote, decision_in_any_case(problem, vote))
        raise SolverInterrupted(best.verified(n_iter, "interrupted", tol)) from None
    except KeyboardInterrupt:
        raise SolverInterrupted(best.verified(n_iter, "interrupted", tol)) from None
    except OutOfTime:
        pass
    if deadline is not None and time.perf_counter() >= deadline:
        return best.verified(n_iter, "time-limit", tol)
    # Every LP method failed on a master, or in the units that are best for the gap: the last rung
    # needs none.
    return solve_by_coordinate_descent(
        problem, tol=tol, max_iter=max_iter, deadline=deadline, on_round=on_round, best=best
    )


def rounding_to_penalty(problem: Problem) -> float:
    """Return the largest rounding error of a value of K_k over the penalty of kernel k."""
    priced = problem.penalties > 0
    ratios = problem.gram.largest()[priced] / problem.penalties[priced]
    return float(ratios.max(initial=0.0)) * float(np.finfo(np.float64).eps)


def improve(master: Master, best: Incumbent, u: FloatArray) -> FloatArray:
    """Solve the master, offer its vote, and return its dual vector."""
    answer = master.solve()
    if answer is None:
        raise OutOfTime
    terms, u, decision = answer
    best.offer_vote(terms, decision)
    return u


def price_candidates(
    master: Master, best: Incumbent, u: FloatArray, prices: Prices, tol: float
) -> FloatArray:
    """Go on with the most promising centres only, while these have violated columns.

    A full pass is needed to prove optimality, not to find the next columns.
    """
    problem = master.problem
    n_candidates = max(FEWEST_CANDIDATES, problem.gram.n_centers // CANDIDATES_RATIO)
    candidates = np.argsort(-prices.excess.max(axis=0), kind="stable")[:n_candidates]
    if prices.centers is not None:
        candidates = prices.centers[candidates]
    for _ in range(CANDIDATE_ROUNDS):
        u = problem.feasible_box(u)
        local = problem.excess(problem.correlate(u, candidates), candidates)
        if not master.add_worst(local, tol, candidates):
            break
        u = improve(master, best, u)
    return u
