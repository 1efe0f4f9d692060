"""Prediction from the fitted attributes. Only terms that have a weight are evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..guarantees.of_model import generalization_bound
from ..guarantees.theorems import GeneralizationBound
from ..kernels.base import FloatArray
from ..preparation.validation import validate_rows
from ..problem import Vote
from ._fitted_attributes import PROBABILITY_SCALE, has_vote, vote_of
from ._probabilities import log_probabilities, probabilities
from .explanation import Explanation, explain_votes
from .summary import ModelSummary, summarise


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features, or x0, x1, ... if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{number}" for number in range(getattr(estimator, "n_features_in_", 0))]
    return [str(name) for name in names]


def rules_of(estimator: Any, vote: Vote) -> list[str]:
    """Return the text of each term that is a rule, with the names of features and categories."""
    table = getattr(estimator, "table_", None)
    names = feature_names(estimator)
    return (
        vote.describe_rules(names) if table is None else vote.describe_rules(names, table.name_of)
    )


def offers_probabilities(self: VoteMixin) -> bool:
    """Whether `predict_proba` works, or would work after a fit."""
    return self._offers_probabilities()


class FittedVoteMixin:
    """What every estimator with a vote offers, whether it predicts classes or numbers."""

    kernel_names_: list[str]

    @property
    def term_rules_(self) -> list[str]:
        """The text of each term that is a rule, such as "x3 > 1.5"; empty for other terms."""
        return rules_of(self, self._fitted_vote())

    def _decide(self, X: Any) -> FloatArray:
        """Return the vote on each row, or the votes for each class."""
        vote = self._fitted_vote()
        decision = vote.decide(validate_rows(self, X, vote.families, reset=False))
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def explain(self, X: Any, background: Any = None) -> Explanation:
        """Return the votes behind each decision: which training example, which kernel, how much.

        Parameters
        ----------
        X : rows in the same form as in ``fit``; for ``Precomputed()``, kernel values against all
            training rows
        background : rows like X, default=None
            If given, the explanation includes the Shapley value of each feature: what it adds to
            the vote, compared with these rows. This requires Gaussian or polynomial kernels and
            dense rows. The time grows with the number of background rows; 100 are often enough.

        Returns
        -------
        Explanation
            Its contributions sum to the vote.
        """
        vote = self._fitted_vote()
        if getattr(self, "quantiles", None) is not None:
            raise ValueError(
                "explain supports only one quantile; fit with quantile instead of quantiles."
            )
        rows = validate_rows(self, X, vote.families, reset=False)
        if background is not None:
            background = validate_rows(self, background, vote.families, reset=False)
        names = getattr(self, "feature_names_in_", None)
        classes = getattr(self, "classes_", None)
        rules = rules_of(self, vote)
        return explain_votes(vote, rows, self.kernel_names_, rules, classes, background, names)

    def summary(self, X: Any = None, y: Any = None) -> ModelSummary:
        """Return what the model has learned, as a table to print or to show in a notebook.

        Parameters
        ----------
        X, y : rows in the same form as in ``fit`` and their labels or targets, default=None
            If given, the summary includes the error on these rows.

        Returns
        -------
        ModelSummary
        """
        self._fitted_vote()
        return summarise(self, X, y)

    def _fitted_vote(self) -> Vote:
        check_is_fitted(self)
        if not has_vote(self):
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with refit=False, so it has no model to "
                "predict with; fit it with refit=True."
            )
        return vote_of(self)


class NumberVoteMixin(FittedVoteMixin, RegressorMixin):
    """Predicts numbers from the fitted attributes of a vote."""

    def predict(self, X: Any) -> FloatArray:
        """Return the prediction for each row.

        Parameters
        ----------
        X : rows in the same form as in ``fit``; for ``Precomputed()``, kernel values against all
            training rows

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._decide(X)


class VoteMixin(FittedVoteMixin, ClassifierMixin):
    """Computes votes, classes and probabilities from the fitted attributes of a vote."""

    classes_: Any

    def decision_function(self, X: Any) -> FloatArray:
        """Return the vote f(x).

        Parameters
        ----------
        X : rows in the same form as in ``fit``; for ``Precomputed()``, kernel values against all
            training rows

        Returns
        -------
        array of shape (n_samples,) for two classes, (n_samples, n_classes) for more
        """
        return self._decide(X)

    def _offers_probabilities(self) -> bool:
        return True

    @available_if(offers_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        The most probable class is always the class that `predict` returns. With ``class_weight``,
        the probabilities are those of classes weighted in this way.

        Parameters
        ----------
        X : rows in the same form as in ``fit``; for ``Precomputed()``, kernel values against all
            training rows

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return probabilities(self._votes(X), self._scale())

    @available_if(offers_probabilities)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : as for `predict_proba`

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return log_probabilities(self._votes(X), self._scale())

    def _votes(self, X: Any) -> FloatArray:
        decisions = self.decision_function(X)
        return decisions[:, None] if decisions.ndim == 1 else decisions

    def _scale(self) -> float:
        if not hasattr(self, PROBABILITY_SCALE):
            raise NotFittedError(
                f"this {type(self).__name__} has no probabilities, because its fit was stopped "
                "before they were fitted; fit it again with a larger time_limit."
            )
        return float(getattr(self, PROBABILITY_SCALE))

    def generalization_bound(
        self,
        X: Any,
        y: Any,
        *,
        delta: float = 0.05,
        radius: float | None = None,
        sample_weight: Any = None,
        method: str = "theorem",
    ) -> GeneralizationBound:
        """Bound the probability of error on new rows.

        The bound holds with probability 1 - delta over samples (X, y) of independent rows. With
        ``"theorem"`` and ``"compression"``, it holds even if the model was fitted and its
        penalties were chosen on that sample.

        Parameters
        ----------
        X, y : rows in the same form as in ``fit``, and their labels
        delta : float, default=0.05
            The probability that the bound fails.
        radius : float, default=None
            A bound on the norm of any row, for polynomial kernels. None uses the largest norm in
            the sample, rounded up to a fixed grid, and the bound accounts for that choice.
        sample_weight : None
            The theorems do not cover weights; unequal weights raise an error.
        method : str, default="theorem"
            ``"theorem"`` is the smaller of the bounds in the paper's Theorems 1 and 2, with their
            errors corrected; on small samples it is vacuous.
            ``"compression"`` uses the fact that few rows and bits describe the model; X and y must
            be the rows of the fit, and the bound is that of a model with rounded weights.
            ``"best"`` is the smaller of these two, each with half of delta. ``"test"``
            is for rows that the model has not seen.

        Returns
        -------
        GeneralizationBound
        """
        vote = self._fitted_vote()
        return generalization_bound(
            self, X, y, delta=delta, radius=radius, sample_weight=sample_weight, method=method,
            vote=vote, rows=validate_rows(self, X, vote.families, reset=False),
        )  # fmt: skip

    def predict(self, X: Any) -> Any:
        """Return the class of each row: by the sign of the vote, or by the largest of several.

        Parameters
        ----------
        X : rows in the same form as in ``fit``; for ``Precomputed()``, kernel values against all
            training rows

        Returns
        -------
        array of shape (n_samples,)
        """
        return classes_of(self.decision_function(X), self.classes_)


def classes_of(decision: FloatArray, classes: Any) -> Any:
    """Return the class of each row: by the sign of its vote, or by the largest of several."""
    codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    return np.asarray(classes)[codes]
