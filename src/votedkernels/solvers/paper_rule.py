"""The paper's coordinate descent (its Appendix C), to the letter.

Each round moves one weight: the one whose subgradient

    delta_kj = -c_kj + sign(a_kj) L_k             if a_kj != 0,
               0                                  if a_kj = 0 and |c_kj| <= L_k,
               -c_kj + sign(c_kj) L_k             otherwise,
    c_kj = sum over i with y_i f(x_i) < 1 of w_i y_i K_k(x_i, c_j)

is largest in absolute value, to where F is smallest along it (an exact search over the
breakpoints). Where that is where it stands, the rule has come to its end. At a margin of exactly
1, which the paper leaves open, a sample counts as settled: strictly less than 1, as printed. The
y_j that the printed phi lacks only flips signs.

The hinge is neither smooth nor separable, so that a point where no single weight improves F need
not be a minimum: the rule **stalls**, often far from the optimum. It is here to be looked at; the
solution says ``stop_reason="stalled"`` and carries its true gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

import numpy as np

from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels.base import FloatArray
from ..problem import Problem, Solution, Terms
from .incumbent import Incumbent, Round

#: A step that lowers F by less is none (F is 1 at the start).
SMALLEST_GAIN = 1e-12
#: A line search ends with a margin of 1; rounding must not make it less.
ROUNDING = 1e-12


def solve_by_paper_rule(
    problem: Problem,
    *,
    tol: float,
    max_iter: int | None = None,
    deadline: float | None = None,
    start: Terms | None = None,
    on_round: Callable[[Round], bool] | None = None,
) -> Solution:
    """Follow the rule until no weight improves F; ``start`` is not used."""
    best = Incumbent(problem)
    n_iter = 0
    weights = np.zeros((problem.gram.n_kernels, problem.gram.n_centers))
    margins = problem.y * problem.empty_vote().intercept
    intercept = problem.empty_vote().intercept
    try:
        for n_iter in count(1):
            u = np.where(margins < 1 - ROUNDING, problem.w, 0.0)
            correlation = problem.correlate(u)
            feasible = problem.feasible_box(u)
            of_feasible = problem.correlate(feasible) if intercept else correlation
            best.offer_dual(feasible, problem.dual_value(feasible, of_feasible))
            if on_round is not None and on_round(best.round(n_iter)):
                return best.verified(n_iter, "interrupted", tol)
            if best.is_optimal(tol):
                return best.verified(n_iter, "optimal", tol)
            if max_iter is not None and n_iter >= max_iter:
                return best.verified(n_iter, "max-iter", tol)
            if deadline is not None and time.perf_counter() >= deadline:
                break
            slopes = subgradients(weights, correlation, problem)
            k, j = divmod(int(np.abs(slopes).argmax()), slopes.shape[1])
            column = problem.y * problem.gram.columns(np.array([k]), np.array([j]))[:, 0]
            step = best_step(
                margins, column, problem.w, float(weights[k, j]), float(problem.penalties[k])
            )
            if gain(step, margins, column, problem, float(weights[k, j]), k) == 0:
                return best.verified(n_iter, "stalled", tol)
            weights[k, j] += step
            margins = margins + step * column
            kernels, centers = np.nonzero(weights)
            terms = Terms(kernels, centers, weights[kernels, centers], intercept)
            best.offer_vote(terms, problem.y * margins)
    except KeyboardInterrupt:
        raise SolverInterrupted(best.verified(n_iter, "interrupted", tol)) from None
    except OutOfTime:
        pass
    return best.verified(n_iter, "time-limit", tol)


def subgradients(weights: FloatArray, correlation: FloatArray, problem: Problem) -> FloatArray:
    """Return the three-case subgradient of every weight."""
    L = problem.penalties[:, None]
    at_zero = np.where(np.abs(correlation) <= L, 0.0, -correlation + np.sign(correlation) * L)
    slopes = np.where(weights != 0, -correlation + np.sign(weights) * L, at_zero)
    return slopes if problem.allowed is None else np.where(problem.allowed, slopes, 0.0)


def gain(
    step: float, margins: FloatArray, column: FloatArray, problem: Problem, weight: float, k: int
) -> float:
    """Return by how much a step lowers F, 0 where that is rounding."""
    before, after = np.maximum(0.0, 1 - margins), np.maximum(0.0, 1 - margins - step * column)
    lower = float(problem.w @ (before - after))
    lower += float(problem.penalties[k]) * (abs(weight) - abs(weight + step))
    return lower if lower > SMALLEST_GAIN else 0.0


def best_step(
    margins: FloatArray, column: FloatArray, w: FloatArray, weight: float, penalty: float
) -> float:
    """Return the step eta that minimises F along one weight.

    F is convex and piecewise linear in eta: its slope changes by w_i |z_i| where sample i
    reaches margin 1, and by 2 L where the weight passes 0.
    """
    moved = column != 0
    z = column[moved]
    points = np.append((1.0 - margins[moved]) / z, -weight)
    jumps = np.append(w[moved] * np.abs(z), 2.0 * penalty)
    # To the far left, samples with z > 0 are within the margin, and the weight is negative.
    slope = -penalty - float((w[moved] * np.maximum(z, 0.0)).sum())
    order = np.argsort(points, kind="stable")
    after = slope + np.cumsum(jumps[order])
    return float(points[order[int(np.argmax(after >= 0))]])
