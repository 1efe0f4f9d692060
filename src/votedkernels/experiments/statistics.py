"""Significance tests: two algorithms on one data set, or all algorithms over data sets.

Runs share training rows, so their differences are not independent, and the plain t-test finds
differences that do not exist. Nadeau and Bengio (2003) correct its variance:

    t = mean(d) / sqrt((1/n + n_test/n_train) var(d)),     n - 1 degrees of freedom

Over data sets, algorithms are compared by ranks: Friedman's test with Iman and Davenport's F, and
Nemenyi's critical difference q sqrt(k (k + 1) / 6 N), following Demsar (2006). Ties share ranks.
The statistic is not corrected for ties, which makes the test conservative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

ALPHA = 0.05


@dataclass(frozen=True)
class TTest:
    """The corrected resampled t-test of differences; a negative mean favours the first."""

    mean: float
    half_width: float
    t: float
    p: float
    n: int

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at the 5% level."""
        return self.p < ALPHA


@dataclass(frozen=True)
class FriedmanTest:
    """Average ranks over data sets (1 is best), and whether they differ significantly."""

    ranks: tuple[float, ...]
    chi2: float
    p: float
    f: float
    f_p: float
    n_datasets: int
    critical_difference: float

    @property
    def cliques(self) -> list[tuple[int, ...]]:
        """The largest groups of algorithms that do not differ at the 5% level, best first."""
        order = sorted(range(len(self.ranks)), key=lambda i: (self.ranks[i], i))
        found: list[tuple[int, ...]] = []
        for start, first in enumerate(order):
            group = tuple(
                i
                for i in order[start:]
                if self.ranks[i] - self.ranks[first] <= self.critical_difference
            )
            if len(group) > 1 and not any(set(group) <= set(other) for other in found):
                found.append(group)
        return found


def corrected_t_test(differences: Sequence[float], test_to_train: float) -> TTest:
    """Test whether differences over overlapping runs have mean zero."""
    d = np.asarray(differences, dtype=float)
    n = len(d)
    if n < 2:
        return TTest(float(d.mean()) if n else math.nan, math.nan, math.nan, math.nan, n)
    mean = float(d.mean())
    error = math.sqrt((1 / n + test_to_train) * float(d.var(ddof=1)))
    if error <= 1e-12 * max(1.0, abs(mean)):  # all differences are the same
        return TTest(mean, 0.0, 0.0 if mean == 0 else math.copysign(math.inf, mean),
                     1.0 if mean == 0 else 0.0, n)  # fmt: skip
    t = mean / error
    half_width = float(stats.t.ppf(1 - ALPHA / 2, n - 1)) * error
    return TTest(mean, half_width, t, float(2 * stats.t.sf(abs(t), n - 1)), n)


def friedman_test(errors: Any) -> FriedmanTest | None:
    """Compare errors, a row per data set and a column per algorithm; None if there are too few."""
    table = np.asarray(errors, dtype=float)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        return None
    n, k = table.shape
    # Means that differ only by rounding are ties.
    ranks = stats.rankdata(np.round(table, 9), axis=1).mean(axis=0)
    chi2 = 12 * n / (k * (k + 1)) * float(np.sum((ranks - (k + 1) / 2) ** 2))
    chi2 = min(chi2, float(n * (k - 1)))
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-9 else math.inf
    return FriedmanTest(
        tuple(float(rank) for rank in ranks),
        chi2,
        float(stats.chi2.sf(chi2, k - 1)),
        f,
        float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        n,
        nemenyi_critical_difference(k, n),
    )


def nemenyi_critical_difference(n_algorithms: int, n_datasets: int, alpha: float = ALPHA) -> float:
    """Return how far apart two average ranks must be to differ significantly."""
    q = float(stats.studentized_range.ppf(1 - alpha, n_algorithms, np.inf)) / math.sqrt(2)
    return q * math.sqrt(n_algorithms * (n_algorithms + 1) / (6 * n_datasets))
