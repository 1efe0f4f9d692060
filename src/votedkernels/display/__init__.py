"""Displays as in scikit-learn: the constructor accepts data, and ``plot`` draws them.

Each display has its own file. All share `figure`, `grids`, `levels`, `kernel_names` and `models`.
matplotlib is imported only when something is drawn.
"""

from .bound_terms import BoundDisplay
from .convergence import ConvergenceDisplay
from .explained_row import ExplanationDisplay
from .kernel_mass import KernelMassDisplay
from .penalty_grid import PenaltyGridDisplay
from .support_path import SupportPathDisplay
from .voting_boundary import VotingBoundaryDisplay

__all__ = [
    "BoundDisplay",
    "ConvergenceDisplay",
    "ExplanationDisplay",
    "KernelMassDisplay",
    "PenaltyGridDisplay",
    "SupportPathDisplay",
    "VotingBoundaryDisplay",
]
