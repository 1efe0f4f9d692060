"""Displays in the manner of scikit-learn: data in the constructor, drawing in ``plot``.

One display a file; what they share is in `figure`. matplotlib is imported when something is
drawn, never before.
"""

from .convergence import ConvergenceDisplay

__all__ = ["ConvergenceDisplay"]
