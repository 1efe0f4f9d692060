"""Displays in the manner of scikit-learn: data in the constructor, drawing in ``plot``.

One display a file; what they share is in `figure`, `grids` and `models`. matplotlib is imported
when something is drawn, never before.
"""

from .bound_terms import BoundDisplay
from .convergence import ConvergenceDisplay
from .kernel_mass import KernelMassDisplay
from .penalty_grid import PenaltyGridDisplay
from .support_path import SupportPathDisplay
from .voting_boundary import VotingBoundaryDisplay

__all__ = [
    "BoundDisplay",
    "ConvergenceDisplay",
    "KernelMassDisplay",
    "PenaltyGridDisplay",
    "SupportPathDisplay",
    "VotingBoundaryDisplay",
]
