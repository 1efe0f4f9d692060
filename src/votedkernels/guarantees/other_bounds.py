"""Bounds that need no complexity: by sample compression, and by rows not seen before."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import are_precomputed
from ..kernels.base import FloatArray, IntArray, Rows, count_rows, is_sparse, take_rows
from .compression import (
    BITS,
    RoundedVote,
    binomial_tail,
    compression_bound,
    message_bits,
    round_weights,
)
from .theorems import GeneralizationBound

if TYPE_CHECKING:
    from .of_model import VotingModel

#: More bits than this never pay.
MOST_BITS = 12


def bound_by_compression(
    model: VotingModel, X: object, signs: FloatArray, n_kernels: int, delta: float
) -> GeneralizationBound:
    """Return the smallest compression bound over the numbers of bits per weight.

    ``X`` and ``signs`` are the rows of the fit and their labels.
    """
    rows = model.support_[model.term_support_indices_]
    found = [
        _bound_of_rounded(model, X, signs, rows, n_kernels, n_bits, delta)
        for n_bits in BITS
        if n_bits <= MOST_BITS
    ]
    return min(found, key=lambda bound: bound.value)


def _bound_of_rounded(
    model: VotingModel,
    X: object,
    signs: FloatArray,
    rows: IntArray,
    n_kernels: int,
    n_bits: int,
    delta: float,
) -> GeneralizationBound:
    vote = round_weights(model.term_weights_[0], float(model.intercept_[0]), n_bits)
    rounded = with_weights(model, vote)
    support = np.unique(rows[vote.weights != 0])
    others = np.ones(len(signs), bool)
    others[support] = False
    wrong = np.where(rounded.decision_function(X) > 0, 1.0, -1.0) != signs
    n_errors, n_others = int(wrong[others].sum()), int(others.sum())
    bits = message_bits(vote, rows, n_kernels)
    value = compression_bound(n_errors, len(signs), len(support), bits, delta)
    share = n_errors / n_others if n_others else 1.0
    return GeneralizationBound(
        value=value,
        terms={"error on the other rows": share, "price of the description": value - share},
        theorem="sample compression",
        margin=0.0,
        factor=None,
        n=0,
        n_samples=len(signs),
        n_families=n_kernels,
        delta=delta,
        is_guarantee=True,
        n_support=len(support),
        n_bits=bits,
        rounded=rounded,
    )


def with_weights(model: VotingModel, vote: RoundedVote) -> VotingModel:
    """Return a copy of a fitted model with rounded weights."""
    rounded = copy.copy(model)
    rounded.term_weights_ = vote.weights[None, :]
    rounded.intercept_ = np.array([vote.intercept])
    return rounded


def check_rows_of_fit(model: VotingModel, X: Rows) -> None:
    """Raise unless the support vectors are where the fit found them."""
    if model.centers is not None and np.ndim(model.centers) > 0:
        raise ValueError(
            "method='compression' needs centres that are training rows; this model has its own."
        )
    n_rows, support = count_rows(X), model.support_
    there = len(support) == 0 or int(support.max()) < n_rows
    if there and len(support) and not are_precomputed(model.kernels_):
        there = rows_equal(take_rows(X, support), model.support_vectors_)
    if not there:
        raise ValueError(
            "method='compression' needs the rows that the model was fitted on, in the same order; "
            "the support vectors are not at their places in X."
        )


def rows_equal(first: Rows, second: Rows) -> bool:
    """Whether two sets of rows are the same."""
    if is_sparse(first) and is_sparse(second):
        return bool(first.shape == second.shape and (first != second).nnz == 0)
    if isinstance(second, np.ndarray):
        return bool(np.array_equal(np.asarray(first), second))
    return list(_each(first)) == list(_each(second))


def bound_by_test(
    model: VotingModel, X: object, signs: FloatArray, delta: float
) -> GeneralizationBound:
    """Return the upper end of the Clopper-Pearson interval for the error on unseen rows."""
    n = len(signs)
    wrong = np.where(model.decision_function(X) > 0, 1.0, -1.0) != signs
    n_errors = int(wrong.sum())
    value = binomial_tail(n_errors, n, math.log(delta))
    return GeneralizationBound(
        value=value,
        terms={"error on these rows": n_errors / n, "uncertainty": value - n_errors / n},
        theorem="test rows",
        margin=0.0,
        factor=None,
        n=0,
        n_samples=n,
        n_families=1,
        delta=delta,
        is_guarantee=True,
        assumed={"rows": "not used for the fit, nor for any choice"},
    )


def contains_support_vector(model: VotingModel, X: Rows) -> bool:
    """Whether X holds a support vector, so that it cannot be unseen."""
    if are_precomputed(model.kernels_) or len(model.support_) == 0:
        return False
    known = {_key(row) for row in _each(model.support_vectors_)}
    return any(_key(row) in known for row in _each(X))


def _each(X: Rows) -> list[object]:
    if is_sparse(X):
        return [X[i].toarray().ravel() for i in range(X.shape[0])]
    return list(X)


def _key(row: object) -> object:
    return np.asarray(row, dtype=np.float64).tobytes() if isinstance(row, np.ndarray) else row
