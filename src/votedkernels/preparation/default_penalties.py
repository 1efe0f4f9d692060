"""Penalties that depend on the sample: ``complexity_penalty="auto"`` and ``l1_penalty="auto"``.

A column correlates with random labels by about kappa sqrt(log(n) / m), where kappa is the largest
value of its kernel, n the number of columns and m the number of rows. Weights that cost less than
this fit noise. So the price of the cheapest kernel is set to a share of that level. The share c was
chosen on data sets that no report uses (docs/decisions/penalties-by-sample-size.md):

    lambda min_k (r_k / kappa_k) = c sqrt(log(n) / m)

All other kernels then cost more, in proportion to their complexities. Since only ratios of r_k
matter, the rule works with every measure of complexity. Beta is 0, unless a kernel would then have
no penalty at all, as with lambda = 0. In that case it is the level on the right, times the median
of kappa_k.
"""

from __future__ import annotations

import math

import numpy as np

from ..exceptions import OutOfTime
from ..kernels.base import FloatArray
from ..kernels.columns import Columns

#: c in the formulas above.
SHARE = 3e-3
#: kappa_k is measured on this many rows, which are the same on a cluster.
ROWS = 256
#: Sample weights of any size are allowed. Penalties for more rows than this would vanish.
MOST_ROWS = 1e12


def effective_rows(sample_weight: FloatArray) -> float:
    """Return m: the number of rows, each counted as often as its weight says, from 1 to 1e12."""
    return min(max(float(sample_weight.sum()), 1.0), MOST_ROWS)


def resolve_penalties(
    complexity_penalty: float | str,
    l1_penalty: float | str,
    columns: Columns,
    complexities: FloatArray,
    m: float,
) -> tuple[float, float]:
    """Return lambda and beta as numbers; if time runs out, ``"auto"`` is NaN and no solver runs.

    Parameters
    ----------
    complexity_penalty, l1_penalty : float or "auto"
    columns : Columns
    complexities : array of shape (n_kernels,)
    m : float
        The number of rows, from `effective_rows`.
    """
    if not isinstance(complexity_penalty, str) and not isinstance(l1_penalty, str):
        return float(complexity_penalty), float(l1_penalty)
    try:
        kappa = largest_values(columns)
    except OutOfTime:
        kappa = np.full(columns.n_kernels, np.nan)
        complexities = kappa
    level = SHARE * math.sqrt(math.log(max(2, columns.n_kernels * columns.n_centers)) / m)
    if isinstance(complexity_penalty, str):
        complexity_penalty = level / cheapest(complexities, kappa)
    if isinstance(l1_penalty, str):
        prices = complexity_penalty * complexities
        is_free = (prices == 0) & (kappa > 0)
        l1_penalty = level * float(np.median(kappa[kappa > 0])) if is_free.any() else 0.0
    return float(complexity_penalty), float(l1_penalty)


def cheapest(complexities: FloatArray, kappa: FloatArray) -> float:
    """Return the smallest r_k / kappa_k that is not 0; infinity if there is none."""
    ratios = [r / largest for r, largest in zip(complexities, kappa, strict=True) if r and largest]
    return float(min(ratios, default=math.inf))


def largest_values(columns: Columns) -> FloatArray:
    """Return the largest ``|K_k|`` on a fair draw of rows, for each kernel."""
    return np.array([
        float(np.abs(values).max(initial=0.0))
        for f, family in enumerate(columns.families)
        for values in family.members(columns.base_of_sample(f, ROWS))
    ])  # fmt: skip
