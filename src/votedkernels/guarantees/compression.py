"""The sample-compression bound: few rows and few bits describe the model, so it overfits little.

Fix a prefix-free code for messages. Let h be the classifier that is described by s rows of the
sample and a message sigma, and k the number of its errors on the other m - s rows. With probability
1 - delta over samples of m independent rows, for all sets of s rows and all messages at once,

    R(h) <= tail(k, m - s, delta P(s) / C(m, s) 2^-|sigma|),     P(s) = 1 / ((s + 1) (s + 2)),

where tail(k, n, q) is the largest p for which a binomial variable B(n, p) is at most k with
probability q or more. For one set and one message, h does not depend on the other rows, so its
errors there are binomial; the rest is a union bound, as sum_s P(s) = 1, and sum_sigma 2^-|sigma| <=
1 by Kraft's inequality (Littlestone and Warmuth 1986; Floyd and Warmuth 1995; Langford 2005).

Without rows (s = 0), the vote is a constant, and its message is the sign: 1 bit. Any other message
contains, in this order:

- the number b of bits for each size, 0 to 7: 3 bits;
- whether there is an intercept: 1 bit; if so, its sign and its size: 1 + b bits;
- the number n of terms, as e = n - s: log2 (e + 1)(e + 2) bits, and how they are divided among the
  rows: log2 C(n - 1, s - 1) bits;
- the kernel of each term, out of p, by the adaptive code below;
- whether the sign of each term is the label of its row, by the adaptive code for two symbols;
- the size of each term, one of 2^b multiples of the largest size divided by 2^b: b bits.

The adaptive code spends -log2 ((c + 1/p) / (i + 1)) bits on a symbol that occurred c times among
the i symbols before it. So a kernel that votes often costs little, and so do signs that agree with
the labels. The common factor of all sizes is not encoded, because it does not change the sign of
the vote. The bound holds for the vote with these rounded weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ..kernels.base import FloatArray, IntArray

#: The numbers of bits per size that a message can choose, and the bits that state the choice.
BITS = range(8)
BITS_TO_NAME_BITS = 3.0
LOG_2 = math.log(2)


@dataclass(frozen=True)
class RoundedVote:
    """Weights rounded to multiples of a unit, and the intercept."""

    n_bits: int
    weights: FloatArray
    intercept: float


def round_weights(weights: FloatArray, intercept: float, n_bits: int) -> RoundedVote:
    """Return the weights and the intercept, rounded to 2^n_bits sizes; small weights become 0."""
    largest = max(float(np.abs(weights).max(initial=0.0)), abs(intercept))
    if largest == 0.0:
        return RoundedVote(n_bits, np.zeros_like(weights), 0.0)
    unit = largest / 2.0**n_bits
    return RoundedVote(n_bits, unit * np.round(weights / unit), unit * round(intercept / unit))


def message_bits(
    vote: RoundedVote, rows: IntArray, kernels: IntArray, labels: FloatArray, n_kernels: int
) -> float:
    """Return the length of the message for a rounded vote.

    Parameters
    ----------
    vote : RoundedVote
    rows : array of shape (n_terms,)
        The row of each term.
    kernels : array of shape (n_terms,)
        The kernel of each term.
    labels : array of shape (n_terms,)
        The label of each term's row, -1 or 1.
    n_kernels : int
        Number of kernels that the model could choose from.
    """
    voting = vote.weights != 0
    n_terms, n_rows = int(voting.sum()), len(np.unique(rows[voting]))
    if n_terms == 0:
        return 1.0
    extra = n_terms - n_rows
    bits = BITS_TO_NAME_BITS + 1.0 + (1 + vote.n_bits if vote.intercept else 0)
    bits += math.log2((extra + 1) * (extra + 2))
    bits += float(log_binomial(n_terms - 1, n_rows - 1)) / LOG_2
    bits += adaptive_bits(np.unique(kernels[voting], return_counts=True)[1], n_kernels)
    agreeing = int((np.sign(vote.weights[voting]) == labels[voting]).sum())
    bits += adaptive_bits(np.array([agreeing, n_terms - agreeing]), 2)
    return bits + n_terms * vote.n_bits


def adaptive_bits(counts: IntArray, n_symbols: int) -> float:
    """Return the bits that the adaptive code needs for any sequence with these symbol counts.

    The product of (c + 1/p) / (i + 1) over a sequence does not depend on the order of its symbols.
    Over all sequences of the same length, these products sum to 1.
    """
    share = 1.0 / n_symbols
    log_products = gammaln(counts + share) - gammaln(share)
    return float(gammaln(counts.sum() + 1.0) - log_products.sum()) / LOG_2


def compression_bound(
    n_errors: int, n_rows: int, n_support: int, n_bits: float, delta: float
) -> float:
    """Return the bound on the error of a classifier described by some rows and a message.

    Parameters
    ----------
    n_errors : errors on the other rows
    n_rows : m, including the rows that describe the classifier
    n_support : s
    n_bits : the length of the message
    delta : the probability that the bound fails
    """
    if n_support >= n_rows:
        return 1.0
    log_share = -math.log((n_support + 1) * (n_support + 2))
    log_share -= float(log_binomial(n_rows, n_support)) + n_bits * LOG_2
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
        most = chances.max()  # scipy's logsumexp is ten times slower on few numbers
        if most + math.log(np.exp(chances - most).sum()) >= log_q:
            low = middle
        else:
            high = middle


def log_binomial(n: int, k: IntArray | int) -> FloatArray:
    """Return log C(n, k)."""
    k = np.asarray(k, dtype=np.float64)
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
