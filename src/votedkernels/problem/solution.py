"""What a solver returns: a vote, a dual vector, and the two values that enclose the optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..kernels.base import FloatArray
from ..kernels.columns import Columns
from .problem import Terms


@dataclass(frozen=True)
class Solution:
    """A vote with its certificate.

    ``objective`` is F at ``terms``, and ``dual_bound`` is the lower bound that ``dual`` proves.
    Both are computed from the data by `votedkernels.problem`, never taken from an LP solver.
    ``terms`` refers to ``columns`` by index. With the hybrid norm, ``dual_terms`` is the part v of
    the dual.
    """

    columns: Columns
    terms: Terms
    dual: FloatArray
    objective: float
    dual_bound: float
    n_iter: int
    stop_reason: str
    dual_terms: Terms | None = None

    @property
    def gap(self) -> float:
        """Bound on the distance to the optimum: objective - dual_bound."""
        return max(0.0, self.objective - self.dual_bound)

    def is_optimal(self, tol: float) -> bool:
        """Whether gap <= tol * objective."""
        return self.gap <= tol * self.objective

    def improved_by(self, later: Solution, tol: float) -> Solution:
        """Return the better vote and the better bound of two solutions of the same problem."""
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
