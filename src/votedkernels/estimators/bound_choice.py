"""`choose_by_bound`: chooses the penalty in a way that keeps the bound on the error valid.

The sample-compression bound holds for all penalties at once. So the penalty with the smallest bound
can be chosen on the training rows themselves, without folds or validation rows. The scaler and the
scales of the kernels must not come from these rows. They are fitted on a tenth of the rows, which
is fixed beforehand and used for nothing else.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch, _safe_indexing, check_consistent_length

from .._system.budget import Budget, single_blas_thread
from ..distributed import refuse_dask
from ..exceptions import FitLimitError, OutOfTime
from ..guarantees.compression import RoundedVote, compression_bound
from ..guarantees.of_model import check_delta, check_two_classes, signs_of
from ..guarantees.other_bounds import bound_by_compression, with_weights
from ..guarantees.theorems import GeneralizationBound
from ..kernels import are_precomputed, clone_families
from ..kernels.base import FloatArray, IntArray, Rows, count_rows, is_sparse
from ..kernels.families import fit_families
from ..preparation.training import Training
from ..preparation.validation import check_parameters, check_penalties, validate_rows
from ..problem import Vote
from ._fitted_attributes import attributes_of, published_constants
from ._path_sample import PathSample
from .classifier import VotedKernelClassifier
from .path import refuse_continuum

#: Penalties per decade on the default path, and the largest number of them.
PENALTIES_PER_DECADE = 8
MOST_PENALTIES = 48
#: The default path ends after this many votes in a row that cannot lead to a smaller bound.
PATIENCE = 3


def choose_by_bound(
    estimator: VotedKernelClassifier | None,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    scaler: Any = "standard",
    share_for_scaling: float = 0.1,
    complexity_penalties: Any = None,
) -> Bunch:
    """Choose the penalty with the smallest guaranteed bound on the error.

    Every tenth row is set aside to fit the scaler and the scales of the kernels. The votes are
    fitted on the other rows, for one penalty after another, and the penalty with the smallest
    sample-compression bound is chosen. Because the bound holds for all penalties at once, the
    choice costs nothing and needs no validation rows.

    Parameters
    ----------
    estimator : VotedKernelClassifier or None
        The classifier to fit. Its penalties are replaced: ``complexity_penalty`` by the one that is
        chosen, ``l1_penalty`` by 0. None means ``VotedKernelClassifier()``.
    X, y : training data with two classes, as for `VotedKernelClassifier.fit`
    delta : float, default=0.05
        The probability that the bound fails.
    scaler : transformer or None, default="standard"
        How to scale the features; ``"standard"`` is scikit-learn's ``StandardScaler``. Use None if
        the features need no scaling, or were scaled by constants known beforehand.
    share_for_scaling : float, default=0.1
        The share of the rows to set aside. They are evenly spaced. If there is no scaler and no
        kernel has a scale to compute, no rows are set aside.
    complexity_penalties : array-like, default=None
        The penalties to try. None means eight per decade, from the largest at which any kernel has
        a weight, until the bound can no longer get smaller.

    Returns
    -------
    choice : Bunch
        ``model``, the fitted classifier with rounded weights, in a pipeline after its scaler if
        there is one;
        ``bound``, the bound on its error, a `GeneralizationBound`;
        ``complexity_penalty``, the chosen penalty; ``complexity_penalties``, all penalties tried,
        and ``bounds``, their bounds, each with its rounded model; ``rows_set_aside``, the rows used
        for scaling.

    Examples
    --------
    >>> from votedkernels import Gaussian, VotedKernelClassifier, choose_by_bound
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(300, random_state=0)
    >>> choice = choose_by_bound(VotedKernelClassifier(Gaussian()), X, y)
    >>> choice.bound.is_guarantee, choice.bound.value < 0.4
    (True, True)
    >>> choice.model.predict(X[:3]).shape
    (3,)
    """
    estimator = VotedKernelClassifier() if estimator is None else estimator
    check_arguments(estimator, X, delta, share_for_scaling)
    check_consistent_length(X, y)
    model, scaler, aside = prepare_on_rows_aside(estimator, X, scaler, share_for_scaling)
    rows, labels = X, np.asarray(y)
    if len(aside):
        kept = np.delete(np.arange(count_rows(X)), aside)
        rows, labels = _safe_indexing(X, kept), labels[kept]
    if scaler is not None:
        rows = scaler.transform(rows)
    with single_blas_thread():
        path = PathOfBounds(model, rows, labels, delta)
        try:
            penalties, votes = path.follow(complexity_penalties)
        except OutOfTime:
            raise FitLimitError(
                f"time_limit={model.time_limit!r} ended the path before its first vote; use a "
                "larger time_limit, fewer centers, or fewer kernels."
            ) from None
    chosen = float(penalties[int(np.argmin([vote.bound.value for vote in votes]))])
    model.set_params(complexity_penalty=chosen).fit(rows, labels)
    bound = model.generalization_bound(rows, labels, delta=delta, method="compression")
    fitted = bound.rounded
    if scaler is not None:
        fitted = Pipeline([("scaler", scaler), ("classifier", fitted)])
    return Bunch(
        model=fitted,
        bound=bound,
        complexity_penalty=chosen,
        complexity_penalties=penalties,
        bounds=[vote.described_by(model) for vote in votes],
        rows_set_aside=aside,
    )


def check_arguments(estimator: Any, X: Any, delta: float, share: float) -> None:
    """Raise for parameters that the path does not support."""
    if not isinstance(estimator, VotedKernelClassifier):
        raise TypeError(
            f"choose_by_bound needs a VotedKernelClassifier or None, got {estimator!r}; "
            "VotedKernelClassifierCV chooses its penalties itself."
        )
    check_parameters(estimator)
    check_delta(delta)
    if not 0 < share < 1:
        raise ValueError(f"share_for_scaling must lie between 0 and 1, got {share!r}.")
    if estimator.relaxation is not None or estimator.l2_penalty:
        raise ValueError(
            "choose_by_bound supports plain votes only; set relaxation=None and l2_penalty=0."
        )
    if estimator.centers is not None and np.ndim(estimator.centers) > 0:
        raise ValueError("choose_by_bound needs centres that are training rows; set centers=None.")
    refuse_continuum(estimator.kernels, "choose_by_bound")
    refuse_dask(X, "choose_by_bound")


def prepare_on_rows_aside(
    estimator: VotedKernelClassifier, X: Any, scaler: Any, share: float
) -> tuple[VotedKernelClassifier, Any, IntArray]:
    """Return the classifier with fixed kernels, the fitted scaler, and the rows used for them."""
    if isinstance(scaler, str):
        if scaler != "standard":
            raise ValueError(f"scaler must be 'standard', a transformer or None, got {scaler!r}.")
        scaler = StandardScaler(with_mean=not is_sparse(X))
    named = clone_families(estimator.kernels)
    families = [family for _, family in named]
    if scaler is not None and (are_precomputed(families) or any(f.takes_strings for f in families)):
        raise ValueError("these rows are not features to be scaled; set scaler=None.")
    model = clone(estimator).set_params(l1_penalty=0.0)
    if scaler is None and not any(numbers_for_scales(family) for family in families):
        return model, None, np.zeros(0, np.intp)
    n_rows = count_rows(X)
    n_aside = max(2, round(share * n_rows))
    if n_aside > n_rows - 2:
        raise ValueError(
            f"X has {n_rows} rows, of which share_for_scaling={share:g} would leave fewer than 2; "
            "pass more rows."
        )
    aside = np.linspace(0, n_rows - 1, n_aside).round().astype(np.intp)
    rows = _safe_indexing(X, aside)
    if scaler is not None:
        scaler = clone(scaler).fit(rows)
        rows = scaler.transform(rows)
    table = validate_rows(clone(estimator), rows, families, reset=True)
    fit_families([(None, family) for family in families], table, np.ones(n_aside))
    fixed = [
        (name, clone(family).set_params(**numbers_for_scales(family))) for name, family in named
    ]
    names = [name for name, _ in fixed]
    kernels = [family for _, family in fixed] if None in names else fixed
    return model.set_params(kernels=kernels), scaler, aside


def numbers_for_scales(family: Any) -> dict[str, float | None]:
    """Return the numbers that ``"scale"`` stands for in a fitted family; None before a fit."""
    return {
        name: getattr(family, f"{name}_", None)
        for name, value in family.get_params().items()
        if isinstance(value, str) and value == "scale"
    }


@dataclass(frozen=True)
class BoundedVote:
    """A vote on the path, its rounded weights, and the bound on the error with these weights."""

    vote: Vote
    weights: RoundedVote
    bound: GeneralizationBound

    def described_by(self, model: VotedKernelClassifier) -> GeneralizationBound:
        """Return the bound with its rounded model, which equals ``model`` except for the vote."""
        own = copy.copy(model)
        for name, value in attributes_of(self.vote).items():
            setattr(own, name, value)
        return replace(self.bound, rounded=with_weights(own, self.weights))


class PathOfBounds:
    """Votes for one penalty after another, from large to small, and the bounds on their errors."""

    def __init__(self, model: VotedKernelClassifier, X: Rows, y: Any, delta: float) -> None:
        self.delta, self.budget = delta, Budget().for_seconds(model.time_limit)
        self.training = Training.prepare(model, X, y, budget=self.budget)
        check_two_classes(self.training.classes)
        self.X = validate_rows(clone(model), X, self.training.columns.families, reset=True)
        self.signs = signs_of(self.training.classes, y, count_rows(self.X))
        self.sample = PathSample(self.training, self.training.w, model.tol)

    def follow(self, given: Any) -> tuple[FloatArray, list[BoundedVote]]:
        """Return the penalties and their votes, from large to small, as far as time allows."""
        if given is None:
            steps = np.arange(1, MOST_PENALTIES + 1) / PENALTIES_PER_DECADE
            penalties = self.sample.first_entry() * 10.0**-steps
        else:
            penalties = np.sort(check_penalties(given, "complexity_penalties", ()))[::-1]
        votes: list[BoundedVote] = []
        idle = 0
        for penalty in penalties:
            try:
                votes.append(self.vote_at(float(penalty)))
            except OutOfTime:
                if not votes:
                    raise
                break
            idle = idle + 1 if self.is_hopeless([vote.bound for vote in votes]) else 0
            if given is None and idle == PATIENCE:
                break
        return penalties[: len(votes)], votes

    def vote_at(self, penalty: float) -> BoundedVote:
        """Return the vote with this penalty, and its bound."""
        self.sample.follow_path(penalty, self.budget)
        (terms,) = [solution.terms for solution in self.sample.solutions]
        constants = published_constants(
            self.training.problems(penalty, 0.0),
            np.array([terms.intercept]),
            np.array([len(terms.kernels) == 0]),
        )
        columns = self.training.columns
        vote = Vote.gather([terms], constants, columns, self.training.centers)
        n_kernels = columns.n_kernels
        bound, weights = bound_by_compression(vote, self.X, self.signs, n_kernels, self.delta)
        return BoundedVote(vote, weights, bound)

    def is_hopeless(self, bounds: list[GeneralizationBound]) -> bool:
        """Whether the last vote repeats the one before, or cannot have a small bound."""
        last, best = bounds[-1], min(bound.value for bound in bounds)
        if len(bounds) > 1 and last.value == bounds[-2].value > best:
            return True
        no_errors = compression_bound(0, last.n_samples, last.n_support, last.n_bits, self.delta)
        return no_errors > best
