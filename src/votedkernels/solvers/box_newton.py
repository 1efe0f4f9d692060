"""Maximises a concave quadratic function over a box.

    max  g^T v - 1/2 v^T M v     s.t.  low <= v <= high,   y^T v = 0   (only with an intercept)

The method guesses which v_i are at a bound and solves a linear system for the others. Those that
then lie beyond a bound go to it, those at a bound whose gradient points inwards become free, and
the next system is solved. If nothing changes, v is optimal. From a good first guess, this takes a
few systems, however many v_i change sides at once (primal-dual active sets [1]_, also known as
block pivoting [2]_). It may cycle: then v is clipped to the box, and the caller's line search makes
sure that something is gained.

References
----------
.. [1] M. Hintermüller, K. Ito, K. Kunisch (2003). The primal-dual active set strategy as a
   semismooth Newton method. SIAM Journal on Optimization 13.
.. [2] J. J. Júdice, F. M. Pires (1994). A block principal pivoting algorithm for large-scale
   strictly monotone linear complementarity problems. Computers and Operations Research 21.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..kernels.base import FloatArray

#: The largest number of linear systems, and how many may pass without fewer wrong guesses.
MOST_SYSTEMS = 20
PATIENCE = 2
#: Steps beyond a bound by less than this share of the box are rounding errors.
BEYOND = 1e-12


def maximise_in_box(
    M: FloatArray,
    gradient: FloatArray,
    low: FloatArray,
    high: FloatArray,
    balance: FloatArray | None = None,
) -> tuple[FloatArray, bool]:
    """Return v, and whether it is optimal; if it is not, v is a guess inside the box.

    0 must be in the box. ``balance`` is y, or None without an intercept.
    """
    guess = Guess(at_low=(low >= 0) & (gradient <= 0), at_high=(high <= 0) & (gradient >= 0))
    slack = BEYOND * (high - low)
    fewest, patience, n_wrong, v = len(low) + 1, PATIENCE, 1, np.zeros(len(low))
    for _ in range(MOST_SYSTEMS):
        solved = guess.solve(M, gradient, low, high, balance)
        if solved is None:  # M is not positive definite
            break
        v, rest = solved
        n_wrong = guess.mend(v < low - slack, v > high + slack, rest)
        if n_wrong < fewest:
            fewest, patience = n_wrong, PATIENCE
        else:
            patience -= 1
        if n_wrong == 0 or patience == 0:
            break
    return balanced(np.clip(v, low, high), balance), n_wrong == 0


class Guess:
    """Which variables are at which bound; all others are free."""

    def __init__(self, at_low: NDArray[np.bool_], at_high: NDArray[np.bool_]) -> None:
        self.at_low, self.at_high = at_low, at_high

    def solve(
        self,
        M: FloatArray,
        gradient: FloatArray,
        low: FloatArray,
        high: FloatArray,
        balance: FloatArray | None,
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return the optimum if the guess is right, and the gradient there."""
        v = np.where(self.at_low, low, np.where(self.at_high, high, 0.0))
        free = np.flatnonzero(~(self.at_low | self.at_high))
        if balance is not None and len(free) == 0:  # somebody has to balance the others
            free = np.array([np.abs(gradient).argmin()])
            v[free] = 0.0
        fixed = np.flatnonzero(v)  # only those that change sides
        rest = gradient - v[fixed] @ M[fixed]  # M is symmetric, and its rows are contiguous
        multiplier = 0.0
        if len(free):
            # The transpose is in LAPACK's order, so it is not copied.
            factor, failed = lapack.dpotrf(M[np.ix_(free, free)].T, lower=1, overwrite_a=1)
            if failed:
                return None
            v[free] = lapack.dpotrs(factor, rest[free], lower=1)[0]
            if balance is not None:
                y = balance[free]
                pull = lapack.dpotrs(factor, y, lower=1)[0]
                multiplier = float(balance @ v) / float(y @ pull)
                v[free] -= multiplier * pull
            rest = gradient - M @ v
        if balance is not None:
            rest -= multiplier * balance
        return (v, rest) if np.isfinite(rest).all() else None

    def mend(self, below: NDArray[np.bool_], above: NDArray[np.bool_], rest: FloatArray) -> int:
        """Correct wrong guesses; return how many there were."""
        low_wrong, high_wrong = self.at_low & (rest > 0), self.at_high & (rest < 0)
        below, above = below & ~self.at_low, above & ~self.at_high
        self.at_low = (self.at_low & ~low_wrong) | below
        self.at_high = (self.at_high & ~high_wrong) | above
        return int((low_wrong | high_wrong | below | above).sum())


def balanced(v: FloatArray, balance: FloatArray | None) -> FloatArray:
    """Return v with y^T v = 0: whichever of its two parts is larger shrinks."""
    if balance is None:
        return v
    share = balance * v
    gain, loss = float(share[share > 0].sum()), -float(share[share < 0].sum())
    if gain == loss:
        return v
    least = min(gain, loss)
    return v * np.where(share > 0, least / gain if gain else 0.0, least / loss if loss else 0.0)
