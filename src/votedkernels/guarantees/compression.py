"""The sample-compression bound: a model that few rows and few bits describe overfits little.

Fix a prefix-free code for messages. Let h be the classifier that s rows of the sample and a message
sigma describe, and k the number of its errors on the other m - s rows. With probability 1 - delta
over samples of m independent rows, for all sets of s rows and all messages at once,

    R(h) <= tail(k, m - s, delta P(s) / C(m, s) 2^-|sigma|),     P(s) = 1 / ((s + 1) (s + 2)),

where tail(k, n, q) is the largest p for which a binomial variable B(n, p) is at most k with
probability q or more. For one set and one message, h does not depend on the other rows, so its
errors there are binomial; the rest is a union bound, as sum_s P(s) = 1, and sum_sigma 2^-|sigma| <=
1 by Kraft's inequality (Littlestone and Warmuth 1986; Floyd and Warmuth 1995; Langford 2005).

The message of a vote has, in this order:

- the number of bits b for each weight, 1 to 16: 4 bits;
- whether there is an intercept: 1 bit;
- for each of the s rows, the number t >= 1 of its terms, in unary: t bits, and which kernels these
  have, out of p: log2 C(p, t) bits;
- for each term and the intercept, its sign and its size, one of 2^b multiples of the largest size
  divided by 2^b: 1 + b bits.

The common factor of all sizes is not encoded, because it does not change the sign of the vote. The
bound holds for the vote with these rounded weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from ..kernels.base import FloatArray, IntArray

#: The numbers of bits for a weight that a message can name.
BITS = range(1, 17)


@dataclass(frozen=True)
class RoundedVote:
    """Weights rounded to multiples of a unit, and the intercept."""

    n_bits: int
    weights: FloatArray
    intercept: float


def round_weights(weights: FloatArray, intercept: float, n_bits: int) -> RoundedVote:
    """Return the weights and the intercept, rounded to 2^n_bits sizes; small ones become 0."""
    largest = max(float(np.abs(weights).max(initial=0.0)), abs(intercept))
    if largest == 0.0:
        return RoundedVote(n_bits, np.zeros_like(weights), 0.0)
    unit = largest / 2.0**n_bits
    return RoundedVote(n_bits, unit * np.round(weights / unit), unit * round(intercept / unit))


def message_bits(vote: RoundedVote, rows: IntArray, n_kernels: int) -> float:
    """Return the length of the message of a rounded vote.

    Parameters
    ----------
    vote : RoundedVote
    rows : array of shape (n_terms,)
        The row of each term.
    n_kernels : int
        Number of kernels that the model could choose from.
    """
    terms_of_rows = np.unique(rows[vote.weights != 0], return_counts=True)[1]
    n_terms = int(terms_of_rows.sum())
    n_numbers = n_terms + (1 if vote.intercept else 0)
    choices = log_binomial(n_kernels, terms_of_rows).sum() / math.log(2)
    return 4.0 + 1.0 + n_terms + float(choices) + n_numbers * (1 + vote.n_bits)


def compression_bound(
    n_errors: int, n_rows: int, n_support: int, n_bits: float, delta: float
) -> float:
    """Return the bound of a classifier described by some rows and a message.

    Parameters
    ----------
    n_errors : errors on the other rows
    n_rows : m, with the rows that describe the classifier
    n_support : s
    n_bits : the length of the message
    delta : the probability that the bound fails
    """
    if n_support >= n_rows:
        return 1.0
    log_share = -math.log((n_support + 1) * (n_support + 2))
    log_share -= float(log_binomial(n_rows, n_support)) + n_bits * math.log(2)
    return binomial_tail(n_errors, n_rows - n_support, math.log(delta) + log_share)


def binomial_tail(k: int, n: int, log_q: float) -> float:
    """Return the largest p for which P(B(n, p) <= k) is exp(log_q) or more, rounded up."""
    if k >= n:
        return 1.0
    counts = np.arange(k + 1)
    ways = log_binomial(n, counts)
    low, high = k / n, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        chances = ways + counts * math.log(middle) + (n - counts) * math.log1p(-middle)
        if logsumexp(chances) >= log_q:
            low = middle
        else:
            high = middle


def log_binomial(n: int, k: IntArray | int) -> FloatArray:
    """Return log C(n, k)."""
    k = np.asarray(k, dtype=np.float64)
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
