"""Bounds that need no complexities: from sample compression and from unseen rows."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import are_precomputed
from ..kernels.base import FloatArray, Rows, count_rows, is_sparse, take_rows
from ..problem import Vote
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

#: A vote below this share of the largest vote is a tie, and counts as an error: its sign depends on
#: rounding.
TIE = 1e-12


def bound_by_compression(
    vote: Vote, X: Rows, signs: FloatArray, n_kernels: int, delta: float
) -> tuple[GeneralizationBound, RoundedVote]:
    """Return the smallest compression bound over the numbers of bits, and the rounded vote.

    ``vote`` is the vote of one two-class problem; ``X`` and ``signs`` are its training rows and
    their labels.
    """
    if (vote.places < 0).any():
        raise ValueError(
            "method='compression' describes a model by its support vectors, but this model also "
            "has rules, such as thresholds, which are not training rows; use method='theorem', or "
            "method='test' with unseen rows."
        )
    candidates = [
        round_weights(vote.weights[0], float(vote.intercepts[0]), n_bits) for n_bits in BITS
    ]
    decisions = replace(
        vote,
        weights=np.array([candidate.weights for candidate in candidates]),
        intercepts=np.array([candidate.intercept for candidate in candidates]),
    ).decide(X)
    found = [
        (_bound_of_rounded(vote, candidate, signs, decision, n_kernels, delta), candidate)
        for candidate, decision in zip(candidates, decisions.T, strict=True)
    ]
    return min(found, key=lambda pair: pair[0].value)


def _bound_of_rounded(
    vote: Vote,
    rounded: RoundedVote,
    signs: FloatArray,
    decision: FloatArray,
    n_kernels: int,
    delta: float,
) -> GeneralizationBound:
    rows = vote.support[vote.places]
    support = np.unique(rows[rounded.weights != 0])
    others = np.ones(len(signs), bool)
    others[support] = False
    wrong = signs * decision <= TIE * np.abs(decision).max(initial=0.0)
    n_errors, n_others = int(wrong[others].sum()), int(others.sum())
    bits = message_bits(rounded, rows, vote.kernels, signs[rows], n_kernels)
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
    )


def with_weights(model: VotingModel, vote: RoundedVote) -> VotingModel:
    """Return a copy of a fitted model with rounded weights, without terms and rows of weight 0.

    The copy has no certificate: its objective is unknown, so the gap is infinite.
    """
    rounded = copy.copy(model)
    voting = np.flatnonzero(vote.weights)
    used, places = np.unique(model.term_support_indices_[voting], return_inverse=True)
    rounded.term_weights_ = vote.weights[None, voting]
    rounded.term_kernel_indices_ = model.term_kernel_indices_[voting]
    rounded.term_support_indices_ = places
    rounded.support_ = model.support_[used]
    if not are_precomputed(model.kernels_):
        rounded.support_vectors_ = take_rows(model.support_vectors_, used)
    rounded.intercept_ = np.array([vote.intercept])
    rounded.kernel_mass_ = np.bincount(
        rounded.term_kernel_indices_,
        weights=np.abs(vote.weights[voting]),
        minlength=len(model.kernel_names_),
    ).astype(np.float64)
    for name in ("training_error_", "relaxed_objective_", "relaxed_dual_gap_"):
        vars(rounded).pop(name, None)  # they describe the vote before rounding
    rounded.objective_, rounded.dual_gap_ = math.nan, math.inf
    rounded.class_objectives_, rounded.class_dual_gaps_ = np.array([math.nan]), np.array([math.inf])
    return rounded


def check_rows_of_fit(model: VotingModel, X: Rows) -> None:
    """Raise unless the support vectors are at the positions in X where the fit found them."""
    if model.centers is not None and np.ndim(model.centers) > 0:
        raise ValueError(
            "method='compression' needs centres that are training rows; this model has its own."
        )
    n_rows, support = count_rows(X), model.support_
    n_fit = getattr(model, "n_samples_fit_", n_rows)  # models from older files do not have it
    if n_rows != n_fit:
        raise ValueError(
            f"method='compression' needs the rows that the model was fitted on, and these were "
            f"{n_fit}; X has {n_rows} rows."
        )
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
        has_gaps = second.dtype.kind == "f" and bool(np.isnan(second).any())
        return bool(np.array_equal(np.asarray(first), second, equal_nan=has_gaps))
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
    """Whether X holds a support vector, so that not all of its rows are unseen."""
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
