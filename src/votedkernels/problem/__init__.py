"""The learning problem, its dual, its certificate, and what a solver hands back."""

from .problem import Continuum, Prices, Problem, Terms
from .rounding import verify
from .solution import Solution

__all__ = ["Continuum", "Prices", "Problem", "Solution", "Terms", "verify"]
