"""Where a path of votes begins.

With fixed prices p_k, the penalties are L_k = level * p_k. No column has a weight at levels above

    max_kj |sum_i w_i y_i K_k(x_i, c_j)| / p_k

At this level, the first column gets a weight.
"""

from __future__ import annotations

from dataclasses import replace

from ..kernels.base import FloatArray
from ..problem import Problem


def first_entry(problem: Problem, prices: FloatArray) -> float:
    """Return the level above which no column has a weight."""
    correlation = problem.correlate(problem.empty_dual())
    return float(replace(problem, penalties=prices).excess(correlation).max(initial=0.0))
