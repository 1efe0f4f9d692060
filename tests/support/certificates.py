"""Whether what a fit says of its own gap is true, judged in extended precision."""

from __future__ import annotations

import re
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from support.oracles import PlainProblem, plain_gap

from votedkernels import Polynomial


def extended_gap(problem, solution):
    """The relative gap of a solver's answer, kernels and sums in extended precision."""
    X, centers = (A.astype(np.longdouble) for A in (problem.gram.X, problem.gram.centers))
    matrices = []
    for family in problem.gram.families:
        if isinstance(family, Polynomial):
            base = np.longdouble(family.gamma_) * (X @ centers.T) + family.coef0
            matrices += [base**degree for degree in family.degrees]
        else:
            distance = ((X[:, None] - centers[None]) ** 2).sum(axis=-1) * family.unit_
            matrices += [np.exp(-np.longdouble(gamma) * distance) for gamma in family.gammas]
    plain = PlainProblem(matrices, problem.y, problem.w, problem.penalties, problem.fit_intercept)
    terms = solution.terms
    a = plain.weights_of(terms.kernels, terms.centers, terms.weights)
    value, gap = plain_gap(plain.extended(), a, terms.intercept, solution.dual)
    return gap / value


def untruths_of_fit(model, X, y, recorded):
    """Fit; list what is said of the gap, by a warning or by its absence, and is not true."""
    recorded.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    gap = max(extended_gap(problem, solution) for problem, solution in recorded)
    said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    if not said:
        return [] if gap <= model.tol else [f"no warning, and the gap is {gap:.2g}"]
    stated = float(re.search(r"relative duality gap of ([-+.e\d]+),", said[0])[1])
    # Two digits are printed.
    if abs(stated - gap) <= 0.06 * gap:
        return []
    return [f"the warning says {stated:.2g}, and the gap is {gap:.2g}"]
