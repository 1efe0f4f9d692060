"""The paper's coordinate descent (Appendix C), exactly as printed.

Each round moves one weight: the one whose subgradient

    delta_kj = -c_kj + sign(a_kj) L_k             if a_kj != 0,
               0                                  if a_kj = 0 and |c_kj| <= L_k,
               -c_kj + sign(c_kj) L_k             otherwise,
    c_kj = sum over i with y_i f(x_i) < 1 of w_i y_i K_k(x_i, c_j)

is largest in absolute value. An exact search over the breakpoints moves this weight to where F is
smallest. If the weight is already there, the rule stops. The paper leaves open what happens at a
margin of exactly 1. Its inequality y_i f(x_i) < 1 is strict, so here such a sample counts as
settled. The y_j that is missing from the printed phi only flips signs.

The hinge is neither smooth nor separable, so a point where no single weight improves F need not be
a minimum: the rule **stalls**, often far from the optimum. It is included for study. The solution
has ``stop_reason="stalled"`` and reports its true gap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..kernels.base import FloatArray
from ..problem import Problem, Solution, Terms
from .rounds import Round, Rounds

#: A step that lowers F by less than this does not count (F is 1 at the start).
SMALLEST_GAIN = 1e-12
#: A line search ends at a margin of 1; rounding must not make it count as less.
ROUNDING = 1e-12


def solve_by_paper_rule(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Follow the rule until no weight improves F; ``start`` is not used."""
    del start
    rounds = Rounds(problem, tol=tol, max_iter=max_iter, on_round=on_round)
    return rounds.run(lambda: _follow_rule(rounds))


def _follow_rule(rounds: Rounds) -> str:
    problem, best = rounds.problem, rounds.best
    weights = np.zeros((problem.columns.n_kernels, problem.columns.n_centers))
    intercept = problem.empty_vote().intercept
    decision = np.full(problem.n_rows, intercept)
    while True:
        rounds.begin()
        margins = problem.margins(decision)
        u = np.where(margins < 1 - ROUNDING, problem.w, 0.0)
        correlation = problem.correlate(u)
        feasible = problem.into_box(u)
        of_feasible = problem.correlate(feasible) if intercept else correlation
        best.offer_dual(feasible, problem.dual_value(feasible, of_feasible))
        rounds.bounded()
        slopes = subgradients(weights, correlation, problem)
        k, j = divmod(int(np.abs(slopes).argmax()), slopes.shape[1])
        values = problem.columns.take(np.array([k]), np.array([j]))[:, 0]
        column = problem.y * problem.at_hinges(values)
        weight, penalty = float(weights[k, j]), float(problem.penalties[k])
        step = best_step(margins, column, problem.w, weight, penalty)
        if gain(step, margins, column, problem, weight, k) == 0:
            return "stalled"
        weights[k, j] += step
        decision = decision + step * values
        kernels, centers = np.nonzero(weights)
        terms = Terms(kernels, centers, weights[kernels, centers], intercept)
        best.offer_vote(terms, decision)
        rounds.moved()


def subgradients(weights: FloatArray, correlation: FloatArray, problem: Problem) -> FloatArray:
    """Return the three-case subgradient for every weight."""
    L = problem.penalties[:, None]
    at_zero = np.where(np.abs(correlation) <= L, 0.0, -correlation + np.sign(correlation) * L)
    slopes = np.where(weights != 0, -correlation + np.sign(weights) * L, at_zero)
    return slopes if problem.allowed is None else np.where(problem.allowed, slopes, 0.0)


def gain(
    step: float, margins: FloatArray, column: FloatArray, problem: Problem, weight: float, k: int
) -> float:
    """Return by how much a step lowers F; 0 if that is only rounding."""
    before, after = np.maximum(0.0, 1 - margins), np.maximum(0.0, 1 - margins - step * column)
    lower = float(problem.w @ (before - after))
    lower += float(problem.penalties[k]) * (abs(weight) - abs(weight + step))
    return lower if lower > SMALLEST_GAIN else 0.0


def best_step(
    margins: FloatArray, column: FloatArray, w: FloatArray, weight: float, penalty: float
) -> float:
    """Return the step eta that minimises F along one weight.

    F is convex and piecewise linear in eta. Its slope changes by w_i |z_i| where sample i reaches a
    margin of 1, and by 2 L where the weight passes 0.
    """
    moved = column != 0
    z = column[moved]
    points = np.append((1.0 - margins[moved]) / z, -weight)
    jumps = np.append(w[moved] * np.abs(z), 2.0 * penalty)
    # On the far left, samples with z > 0 are within the margin, and the weight is negative.
    slope = -penalty - float((w[moved] * np.maximum(z, 0.0)).sum())
    order = np.argsort(points, kind="stable")
    after = slope + np.cumsum(jumps[order])
    return float(points[order[int(np.argmax(after >= 0))]])
