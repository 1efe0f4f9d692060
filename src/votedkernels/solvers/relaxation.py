"""The second stage of the default search: relaxed votes over chosen columns of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Columns
from ..kernels.base import FloatArray, IntArray
from ..kernels.design import Design
from ..problem.losses import Hinges
from ..problem.relaxed import RelaxedProblem, RelaxedVote, Whitening
from .newton import solve_relaxed

#: The width of the rounded corners if targets are numbers, in units of their mean distance from the
#: median.
WIDTH_OF_NUMBERS = 0.3


@dataclass(frozen=True)
class ChosenColumns:
    """Columns whose weights are fitted again, whitened once for all labels and rhos.

    Attributes
    ----------
    kernels, centers : the kernel and the centre of each column
    design : B = K W at the rows
    whitening : W
    """

    kernels: IntArray
    centers: IntArray
    design: Design
    whitening: Whitening

    @classmethod
    def gather(
        cls,
        columns: Columns,
        w: FloatArray,
        kernels: IntArray,
        centers: IntArray,
        center_values: FloatArray,
    ) -> ChosenColumns:
        """Evaluate columns at the rows, and whiten them.

        ``center_values`` holds K_t(c_s); see `Whitening.of_terms`.
        """
        design = columns.design(kernels, centers)
        definite = np.array([columns.family_of(k).is_positive_definite for k in kernels], bool)
        sizes = np.sqrt(design.squares(w))
        whitening = Whitening.of_terms(kernels, center_values, definite, sizes)
        return cls(kernels, centers, design.mapped(whitening.apply), whitening)

    def relax(
        self,
        hinges: Hinges,
        rhos: Sequence[float],
        *,
        tol: float,
        certify: bool = True,
    ) -> list[RelaxedVote]:
        """Return one relaxed vote per rho, for a loss given as hinges.

        Without ``certify``, the votes have no certificate, which saves time.
        """
        width = 1.0 if hinges.goals is None else WIDTH_OF_NUMBERS
        problem = RelaxedProblem.of_hinges(self.design, hinges, rho=1.0, width=width)
        votes = []
        for rho, (z, intercept) in zip(rhos, solve_relaxed(problem, rhos, tol=tol), strict=True):
            values = (np.inf, 0.0)
            if certify:
                values = replace(problem, rho=rho).certify(z, intercept)
            votes.append(RelaxedVote(self.whitening.weights(z), intercept, *values))
        return votes


def slopes_of(hinges: Hinges, decision: FloatArray) -> FloatArray:
    """Return minus the slope of each row's rounded loss, for a vote that predicts numbers."""
    assert hinges.goals is not None
    assert hinges.rows is not None
    h = hinges.goals - hinges.signs * decision[hinges.rows]
    u = hinges.weights * np.clip(h / WIDTH_OF_NUMBERS, 0.0, 1.0)
    return np.bincount(hinges.rows, hinges.signs * u, len(decision)).astype(np.float64)
