"""Probabilities from votes.

With a scale s > 0, the probabilities of the classes at a point are

    P(second class) = 1 / (1 + exp(-s f))                for two classes,
    P(class p)      = exp(s f_p) / sum_q exp(s f_q)      for more.

The scale is fitted to votes on rows that were held out, by maximum likelihood. There is no offset,
so the most probable class is always the class that `predict` returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from ..kernels.base import FloatArray, IntArray

#: The range of the scale times the largest vote: from no opinion to certainty.
SCALES = (1e-3, 1e4)


def fit_scale(decisions: FloatArray, codes: IntArray, weights: FloatArray, m: float) -> float:
    """Return the scale with the largest likelihood, given held-out votes.

    As Platt proposed, a little weight is given to the wrong classes, as if one more row of each had
    been seen. Otherwise, the scale would be infinite if all rows were classified correctly.

    Parameters
    ----------
    decisions : array of shape (n_rows, n_problems)
    codes : the class code of each row
    weights : the weight of each row
    m : number of rows, where repeated rows and rows with weights count more than once
    """
    largest = float(np.abs(decisions).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    logits = as_logits(decisions / largest)
    n_rows, n_classes = logits.shape
    doubt = 1.0 / (m + n_classes)
    targets = np.full(logits.shape, doubt / (n_classes - 1))
    targets[np.arange(n_rows), codes] = 1.0 - doubt
    weights = weights / weights.sum()

    def loss(log_scale: float) -> float:
        chances = log_softmax(np.exp(log_scale) * logits, axis=1)
        return float(-weights @ (targets * chances).sum(axis=1))

    found = minimize_scalar(loss, bounds=np.log(SCALES), method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x)) / largest


def votes_for_all(decisions: FloatArray, own: Any, classes: Any) -> FloatArray:
    """Return votes for all classes, from a model that knows only its ``own`` classes.

    A class that the model has not seen gets the vote -1, the margin that training demands.
    """
    if len(own) == len(classes):
        return decisions
    known = decisions if len(own) > 2 else np.hstack([-decisions, decisions])
    votes = np.full((len(decisions), len(classes)), -1.0)
    votes[:, np.searchsorted(classes, own)] = known
    return votes


def as_logits(decisions: FloatArray) -> FloatArray:
    """Return one column per class: a single vote f becomes (0, f)."""
    if decisions.shape[1] > 1:
        return decisions
    return np.hstack([np.zeros_like(decisions), decisions])


def log_probabilities(decisions: FloatArray, scale: float) -> FloatArray:
    """Return the logarithms of the probabilities, shape (n_rows, n_classes)."""
    return np.asarray(log_softmax(scale * as_logits(decisions), axis=1))


def probabilities(decisions: FloatArray, scale: float) -> FloatArray:
    """Return the probabilities, shape (n_rows, n_classes); the predicted class has the largest.

    Votes that differ by less than rounding have equal probabilities. The class that wins the vote
    then gets the next larger number.
    """
    result = np.exp(log_probabilities(decisions, scale))
    winners = as_logits(decisions).argmax(axis=1)
    rows = np.flatnonzero(result.argmax(axis=1) != winners)
    result[rows, winners[rows]] = np.nextafter(result[rows].max(axis=1), 1.0)
    return result
