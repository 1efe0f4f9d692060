"""Prediction: only terms that have a weight are evaluated, in blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..guarantees.of_model import generalization_bound
from ..guarantees.theorems import GeneralizationBound
from ..kernels import KernelFamily
from ..kernels.base import FloatArray, IntArray
from ..preparation.validation import validate_rows
from ..problem import Vote


class VoteMixin(ClassifierMixin):
    """`decision_function` and `predict` from the attributes of a fitted vote."""

    classes_: Any
    kernels_: list[KernelFamily]
    support_: IntArray
    support_vectors_: Any
    term_weights_: FloatArray
    term_kernel_indices_: IntArray
    term_support_indices_: IntArray
    intercept_: FloatArray

    def decision_function(self, X: Any) -> FloatArray:
        """Return the vote f(x).

        Parameters
        ----------
        X : rows, in the form they had at fit; for ``Precomputed()``, kernel values against
            all training rows

        Returns
        -------
        array of shape (n_samples,) for two classes, (n_samples, n_classes) for more
        """
        check_is_fitted(self)
        if not hasattr(self, "term_weights_"):
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with refit=False, so it has no model to "
                "predict with; fit it with refit=True."
            )
        X = validate_rows(self, X, self.kernels_, reset=False)
        decision = self._vote().decide(X)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def _vote(self) -> Vote:
        return Vote(
            families=self.kernels_,
            support=self.support_,
            points=self.support_vectors_,
            kernels=self.term_kernel_indices_,
            places=self.term_support_indices_,
            weights=self.term_weights_,
            intercepts=self.intercept_,
        )

    def generalization_bound(
        self,
        X: Any,
        y: Any,
        *,
        delta: float = 0.05,
        radius: float | None = None,
        sample_weight: Any = None,
    ) -> GeneralizationBound:
        """Bound the probability of error on new rows.

        The paper's Theorems 1 and 2, corrected; the smaller of the two. It holds with
        probability 1 - delta over samples (X, y) of independent rows, also where the model was
        fitted and its penalties were chosen on that sample. On small samples it is vacuous.

        Parameters
        ----------
        X, y : rows in the form they had at fit, and their labels
        delta : float, default=0.05
        radius : float, default=None
            A norm that no row can exceed, for polynomial kernels. None takes one from the
            sample, rounded up to a fixed grid, and pays for that.
        sample_weight : None
            The theorems know no weights; anything but equal ones is an error.

        Returns
        -------
        GeneralizationBound
        """
        return generalization_bound(
            self, X, y, delta=delta, radius=radius, sample_weight=sample_weight
        )

    def predict(self, X: Any) -> Any:
        """Return the class of each row: the sign, or the largest, of `decision_function`.

        Parameters
        ----------
        X : rows, in the form they had at fit; for ``Precomputed()``, kernel values against
            all training rows

        Returns
        -------
        array of shape (n_samples,)
        """
        return classes_of(self.decision_function(X), self.classes_)


def classes_of(decision: FloatArray, classes: Any) -> Any:
    """Return the class of each row: the sign, or the largest, of its votes."""
    codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    return np.asarray(classes)[codes]
