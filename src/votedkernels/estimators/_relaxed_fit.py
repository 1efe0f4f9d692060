"""Fits with ``relaxation``: the terms that the l1 vote chose get new weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..preparation.training import Training
from ..problem import Problem, Solution, Terms, union_of_terms
from ..solvers.relaxation import ChosenColumns
from ._fitted_attributes import (
    ATTRIBUTE_OF,
    describe_reweighted,
    describe_solutions,
    on_common_widths,
)

#: With ``relaxation="auto"``, rho is this divided by the number of rows, like C = 10 in SVC.
ROWS_TIMES_RHO = 0.1
#: For warm starts, rho decreases to its final value in steps of this factor.
STEP = 10.0
LARGEST = 1e-1


def describe_relaxed(
    training: Training, problems: list[Problem], solutions: list[Solution], rho: float, tol: float
) -> dict[str, Any]:
    """Return the fitted attributes of solutions whose terms have new weights.

    All problems are relaxed over the union of their terms, so that classes share them.
    """
    selected = describe_solutions(training, problems, solutions)
    # No deadline interrupts the second stage, just as in a single process.
    training = training.within(training.columns.budget.until(math.inf))
    training, problems, solutions = on_common_widths(training, problems, solutions)
    kernels, centers, _ = union_of_terms(
        [solution.terms for solution in solutions], training.columns.n_centers
    )
    if len(kernels) == 0:
        return selected
    kernels, centers = np.unique([kernels, training.columns.distinct_centers(centers)], axis=1)
    at_centers = training.values_at_centers(kernels, centers)
    chosen = ChosenColumns.gather(training.columns, training.w, kernels, centers, at_centers)
    n_steps = max(0, int(np.ceil(np.log(LARGEST / rho) / np.log(STEP))))
    rhos = [rho * STEP**step for step in range(n_steps, -1, -1)]
    hinges = training.relaxed_hinges(training.codes, training.w)
    votes = [chosen.relax(h, rhos, tol=min(tol, 1e-9))[-1] for h in hinges]
    terms = [Terms(kernels, centers, vote.weights, vote.intercept) for vote in votes]
    intercepts = np.array([vote.intercept for vote in votes])
    return {
        **selected,
        **describe_reweighted(training, terms, intercepts),
        "selection_": selection_of(selected),
        "relaxed_objective_": training.unit * float(sum(vote.objective for vote in votes)),
        "relaxed_dual_gap_": training.unit * float(sum(vote.gap for vote in votes)),
    }


def selection_of(attributes: dict[str, Any]) -> Bunch:
    """Return the attributes that hold a vote, without their trailing underscores."""
    return Bunch(**{name.rstrip("_"): attributes[name] for name in ATTRIBUTE_OF.values()})
