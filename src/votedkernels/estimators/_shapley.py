"""Exact Shapley values of features, for kernels whose features combine in a simple way.

The game: the features in a set S take their values from the explained row x, the others from a
background row b, and v(S) is the mean of f over all background rows. The Shapley value of a feature
i is what it adds to v(S) on average, as S grows in random order. Equivalently (Owen), each other
feature is in S with probability s, and the average is an integral over s from 0 to 1. For these
kernels, the integrand is a polynomial in s, so Gauss-Legendre quadrature is exact:

    Gaussian    K = prod_j k_j:  (p_i - q_i) integral of prod_{j != i} (q_j + s (p_j - q_j)) ds
    Polynomial  K = (sum_j z_j + coef0)^k:  integral of E[(R + d_i)^k - R^k] ds

with p_j and q_j the factors of x and b; d_j the difference of the summands of x and b; and R the
sum of coef0, all summands of b, and d_j for each j != i in S. The moments of R come from its
cumulants, which are sums over j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from typing import Any

import numpy as np

from ..kernels import ContinuousGaussian, Gaussian, Polynomial
from ..kernels.base import FloatArray, IntArray, KernelFamily, is_sparse
from ..problem import Vote

#: The approximate number of values that an array holds at a time.
NUMBERS_AT_ONCE = 2**15


def shapley_values(vote: Vote, X: Any, background: Any) -> tuple[FloatArray, FloatArray]:
    """Return the values, of shape (n_rows, n_problems, n_features), and v of the empty set.

    Together, the values of a row and v of the empty set sum to the vote on that row.
    """
    check_supported(vote, X)
    baseline = np.asarray(vote.decide(background).mean(axis=0))
    values = np.zeros((len(X), len(vote.intercepts), X.shape[1]))
    first = 0
    for family in vote.families:
        mine = np.flatnonzero((first <= vote.kernels) & (vote.kernels < first + family.n_kernels))
        members = vote.kernels[mine] - first
        first += family.n_kernels
        for terms in terms_at_once(mine, X.shape[1]):
            centers = np.asarray(vote.points)[vote.places[terms]].T
            weights = vote.weights[:, terms]
            chosen = members[np.searchsorted(mine, terms)]
            for others in rows_at_once(background, centers.size):
                gains = GAMES[type(family)](family, chosen, centers, others)
                for row, x in enumerate(X):
                    values[row] += weights @ gains(x).T
    return values / len(background), baseline


def check_supported(vote: Vote, X: Any) -> None:
    """Raise if there is no quick way to compute Shapley values."""
    for family in vote.families:
        if type(family) not in GAMES:
            raise ValueError(
                "Shapley values take time exponential in the number of features, except for "
                f"{' and '.join(kind.__name__ for kind in GAMES)} kernels, but this model has a "
                f"{type(family).__name__} kernel; call explain without background."
            )
    if is_sparse(X) or is_sparse(vote.points):
        raise ValueError(
            "Shapley values need dense rows, but the rows or the model are sparse; fit and explain "
            "with X.toarray(), or call explain without background."
        )


def terms_at_once(terms: IntArray, n_features: int) -> Iterator[IntArray]:
    step = max(1, NUMBERS_AT_ONCE // n_features)
    for start in range(0, len(terms), step):
        yield terms[start : start + step]


def rows_at_once(rows: FloatArray, n_numbers: int) -> Iterator[FloatArray]:
    step = max(1, NUMBERS_AT_ONCE // max(1, n_numbers))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


#: Maps a row to what each feature adds to each kernel, summed over background rows; shape
#: (n_features, n_terms).
Gains = Callable[[FloatArray], FloatArray]


def gaussian_gains(
    family: KernelFamily, members: IntArray, centers: FloatArray, background: FloatArray
) -> Gains:
    """Return the gains of Gaussian kernels. ``centers`` has shape (n_features, n_terms)."""
    assert isinstance(family, Gaussian)
    scales = 1.0 if family.scales_ is None else family.scales_[:, None]
    rates = -family.gammas_[members] * family.unit_ * scales**2 * np.ones((len(centers), 1))
    # Features come first, then background rows, then terms.
    others = np.exp(rates[:, None, :] * (background.T[:, :, None] - centers[:, None, :]) ** 2)
    nodes = quadrature(len(centers) - 1)

    def gains(x: FloatArray) -> FloatArray:
        mine = np.exp(rates * (x[:, None] - centers) ** 2)[:, None, :]
        differences = mine - others
        total = np.zeros_like(others)
        for node, weight in nodes:
            factors = others + node * differences
            rest = np.ones_like(factors)
            np.cumprod(factors[:-1], axis=0, out=rest[1:])
            after = np.cumprod(factors[:0:-1], axis=0)[::-1]
            rest[:-1] *= after
            total += weight * rest
        total *= differences
        return np.asarray(total.sum(axis=1))

    return gains


def polynomial_gains(
    family: KernelFamily, members: IntArray, centers: FloatArray, background: FloatArray
) -> Gains:
    """Return the gains of polynomial kernels. ``centers`` has shape (n_features, n_terms)."""
    assert isinstance(family, Polynomial)
    degrees = family.degrees_[members]
    by_degree = [(int(d), np.flatnonzero(degrees == d)) for d in np.unique(degrees)]

    def gains(x: FloatArray) -> FloatArray:
        result = np.zeros_like(centers)
        for degree, terms in by_degree:
            scaled = family.gamma_ * centers[:, terms]
            others = background.T[:, :, None] * scaled[:, None, :]
            differences = (x[:, None] - background.T)[:, :, None] * scaled[:, None, :]
            start = family.coef0 + others.sum(axis=0)
            result[:, terms] = power_gains(start, differences, degree).sum(axis=1)
        return result

    return gains


def power_gains(start: FloatArray, differences: FloatArray, degree: int) -> FloatArray:
    """Return what each feature adds to (start + sum of the differences in S)^degree.

    ``differences`` has the shape of ``start`` and one more axis, the features, in front.
    """
    powers = [differences**r for r in range(1, degree)]
    rests = [power.sum(axis=0) - power for power in powers]  # sums over the other features
    result = np.zeros_like(differences)
    for node, weight in quadrature(degree - 1):
        cumulants = [c * rest for c, rest in zip(bernoulli(node, degree - 1), rests, strict=True)]
        if cumulants:
            cumulants[0] = cumulants[0] + start
        moments = [np.ones_like(differences)]
        for m in range(1, degree):
            terms = (
                comb(m - 1, r - 1) * cumulants[r - 1] * moments[m - r] for r in range(1, m + 1)
            )
            moments.append(sum(terms, np.zeros_like(differences)))
        for m, moment in enumerate(moments):
            result += weight * comb(degree, m) * moment * differences ** (degree - m)
    return result


def quadrature(degree: int) -> list[tuple[float, float]]:
    """Return nodes and weights that integrate polynomials of a given degree from 0 to 1 exactly."""
    nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    return [
        (float(0.5 * (node + 1)), float(0.5 * weight))
        for node, weight in zip(nodes, weights, strict=True)
    ]


def bernoulli(s: float, n: int) -> list[float]:
    """Return the first n cumulants of a variable that is 1 with probability s, else 0."""
    current = np.polynomial.Polynomial([0.0, 1.0])
    variance = np.polynomial.Polynomial([0.0, 1.0, -1.0])
    result = []
    for _ in range(n):
        result.append(float(current(s)))
        current = variance * current.deriv()
    return result


#: How to compute the gains of each family for which this takes polynomial time.
GAMES: dict[type, Callable[..., Gains]] = {
    Gaussian: gaussian_gains,
    ContinuousGaussian: gaussian_gains,
    Polynomial: polynomial_gains,
}
