"""The learning problem, its dual, its certificate, and the solution that a solver returns."""

from .problem import Continuum, Prices, Problem, Terms
from .solution import Solution, verify
from .vote import Centers, Vote, union_of_terms

__all__ = [
    "Centers",
    "Continuum",
    "Prices",
    "Problem",
    "Solution",
    "Terms",
    "Vote",
    "union_of_terms",
    "verify",
]
