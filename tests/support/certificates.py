"""Check in extended precision what a fit reports about its own gap."""

from __future__ import annotations

import re
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from support.oracles import PlainProblem, plain_gap

from votedkernels import Polynomial
from votedkernels._system.budget import Budget
from votedkernels.problem.solution import closer_rounding_error


def extended_gap(problem, solution):
    """Return the relative gap of a solution, with kernels and sums in extended precision."""
    X, centers = (A.astype(np.longdouble) for A in (problem.columns.X, problem.columns.centers))
    matrices = []
    for family in problem.columns.families:
        if isinstance(family, Polynomial):
            base = np.longdouble(family.gamma_) * (X @ centers.T) + family.coef0
            matrices += [base**d for d in np.atleast_1d(family.degrees).tolist()]
        else:
            distance = ((X[:, None] - centers[None]) ** 2).sum(axis=-1) * family.unit_
            matrices += [np.exp(-np.longdouble(gamma) * distance) for gamma in family.gammas]
    plain = PlainProblem(matrices, problem.y, problem.w, problem.penalties, problem.fit_intercept)
    terms = solution.terms
    a = plain.weights_of(terms.kernels, terms.centers, terms.weights)
    value, gap = plain_gap(plain.extended(), a, terms.intercept, solution.dual)
    return gap / value


def untruths_of_fit(model, X, y, recorded):
    """Fit; return false statements about the gap, made by a warning or by its absence."""
    recorded.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    gap = max(extended_gap(problem, solution) for problem, solution in recorded)
    said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    if not said:
        return [] if gap <= model.tol else [f"no warning, and the gap is {gap:.2g}"]
    match = re.search(r"relative duality gap of ([-+.e\d]+),", said[0])
    if match is None:
        return [f"the warning states no gap: {said[0]}"]
    stated = float(match[1])
    # Two digits are printed. Bounds are rounded apart by what even extended precision may err, so
    # the gap may be stated too large by twice that, but never too small.
    finer = float(np.finfo(np.longdouble).eps / np.finfo(np.float64).eps)
    unlimited = [(problem.within(Budget()), solution) for problem, solution in recorded]
    room = 2 * finer * max(closer_rounding_error(*pair) for pair in unlimited)
    if -0.06 * gap <= stated - gap <= 0.06 * gap + room:
        return []
    return [f"the warning says {stated:.2g}, and the gap is {gap:.2g}"]
