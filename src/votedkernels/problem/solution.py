"""What a solver hands back: a vote, a dual vector, and the two values that enclose the optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..kernels.base import FloatArray
from ..kernels.columns import Gram
from .problem import Terms


@dataclass(frozen=True)
class Solution:
    """A vote with its certificate.

    ``objective`` is F at ``terms`` and ``dual_bound`` the proved lower bound at ``dual``, both
    computed from the data by `votedkernels.problem`, never taken from an LP solver. ``gram`` has
    the columns that ``terms`` count in. With the hybrid norm, ``dual_terms`` is the other part of
    the dual vector.
    """

    gram: Gram
    terms: Terms
    dual: FloatArray
    objective: float
    dual_bound: float
    n_iter: int
    stop_reason: str
    dual_terms: Terms | None = None

    @property
    def gap(self) -> float:
        """Distance to the optimum at most: objective - dual_bound."""
        return max(0.0, self.objective - self.dual_bound)

    def is_optimal(self, tol: float) -> bool:
        """Whether gap <= tol * objective."""
        return self.gap <= tol * self.objective

    def improved_by(self, later: Solution, tol: float) -> Solution:
        """Return the better vote and the better bound of two solutions of one problem."""
        vote = later if later.objective <= self.objective else self
        proof = later if later.dual_bound >= self.dual_bound else self
        both = replace(
            vote,
            dual=proof.dual,
            dual_terms=proof.dual_terms,
            dual_bound=proof.dual_bound,
            n_iter=self.n_iter + later.n_iter,
            stop_reason=later.stop_reason,
        )
        return replace(both, stop_reason="optimal") if both.is_optimal(tol) else both
