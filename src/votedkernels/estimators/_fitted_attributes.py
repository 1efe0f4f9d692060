"""From solutions to the attributes of a fitted classifier, and to what its user must be told."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._system.stack_level import user_stacklevel
from ..exceptions import FitLimitError
from ..kernels import continuous_family
from ..kernels.base import FloatArray
from ..preparation.training import Training
from ..problem import Problem, Solution, Vote
from ..solvers import with_widths

#: The limits that can end a fit, by their stop reason.
LIMITS = {"time-limit": "time_limit", "max-iter": "max_iter", "memory-limit": "memory_limit"}


def describe_solutions(
    training: Training, problems: list[Problem], solutions: list[Solution]
) -> dict[str, Any]:
    """Return the fitted attributes of solutions, one per one-vs-rest problem."""
    training, problems, solutions = on_common_widths(training, problems, solutions)
    gram, terms = training.gram, [solution.terms for solution in solutions]
    intercepts = published_constants(
        problems,
        np.array([vote.intercept for vote in terms]),
        np.array([len(vote.kernels) == 0 for vote in terms]),
    )
    vote = Vote.gather(terms, intercepts, gram.families, training.centers)
    objectives = np.array([s.objective for s in solutions])
    bounds = np.array([s.dual_bound for s in solutions])
    gaps = np.array([s.gap for s in solutions])
    reasons = [s.stop_reason for s in solutions if s.stop_reason != "optimal"]
    return {
        "classes_": training.classes,
        "kernels_": gram.families,
        "kernel_names_": gram.names,
        "complexities_": training.complexities,
        "complexity_errors_": training.complexity_errors,
        "penalties_": problems[0].penalties,
        "support_": vote.support,
        "support_vectors_": vote.points,
        "term_weights_": vote.weights,
        "term_kernel_indices_": vote.kernels,
        "term_support_indices_": vote.places,
        "intercept_": vote.intercepts,
        "kernel_mass_": vote.kernel_mass,
        "class_objectives_": objectives,
        "class_dual_bounds_": bounds,
        "class_dual_gaps_": gaps,
        "objective_": float(objectives.sum()),
        "dual_bound_": float(bounds.sum()),
        "dual_gap_": float(gaps.sum()),
        "n_iter_": int(sum(s.n_iter for s in solutions)),
        "stop_reason_": reasons[0] if reasons else "optimal",
    }


def on_common_widths(
    training: Training, problems: list[Problem], solutions: list[Solution]
) -> tuple[Training, list[Problem], list[Solution]]:
    """Return the same over all widths of a continuous family that got a weight anywhere."""
    family = continuous_family(training.gram.families)
    if family is None:
        return training, problems, solutions
    first = training.gram.n_kernels - family.n_kernels
    in_use = []
    for solution in solutions:
        chosen = continuous_family(solution.gram.families)
        assert chosen is not None
        widths = np.asarray(chosen.gammas_)
        in_use.append(widths[np.maximum(solution.terms.kernels - first, 0)])
    own = [solution.terms.kernels >= first for solution in solutions]
    used = np.unique(np.concatenate([w[o] for w, o in zip(in_use, own, strict=True)]))
    widths = used if len(used) else family.knots_
    renumbered = [
        replace(s, terms=replace(s.terms, kernels=np.where(
            o, first + np.searchsorted(widths, w), s.terms.kernels)))
        for s, w, o in zip(solutions, in_use, own, strict=True)
    ]  # fmt: skip
    problems = [with_widths(problem, widths) for problem in problems]

    def at_widths(values: FloatArray) -> FloatArray:
        between = np.interp(np.log(widths), np.log(family.knots_), values[first:])
        return np.concatenate([values[:first], between])

    training = replace(
        training,
        gram=problems[0].gram,
        complexities=at_widths(training.complexities),
        complexity_errors=at_widths(training.complexity_errors),
    )
    return training, problems, renumbered


def published_constants(
    problems: list[Problem], intercepts: FloatArray, empty: NDArray[np.bool_]
) -> FloatArray:
    """Return the constants of votes, so that those without terms decide for the heaviest class.

    The last axis of ``intercepts`` and of ``empty`` (which votes have no terms) is that of the
    one-vs-rest problems. A problem without an intercept gets the difference of its class weights.
    One with an intercept keeps it, as F is that of this vote: -1, mostly, in all problems without
    terms. The heaviest class among these gets the next larger number, so that the tie is its own.
    """
    balance = np.array([float(problem.w @ problem.y) for problem in problems])
    if not problems[0].fit_intercept:
        return np.where(empty, balance, intercepts)
    if len(problems) == 1:
        return intercepts
    heaviest = np.where(empty, balance, -np.inf).argmax(axis=-1)
    wins = empty & (np.arange(len(problems)) == heaviest[..., None])
    return np.where(wins, np.nextafter(intercepts, np.inf), intercepts)


def check_limits(estimator: Any, solutions: list[Solution]) -> None:
    """Raise where a limit ended a fit before any kernel got a weight: that is no model."""
    if any(len(solution.terms.kernels) for solution in solutions):
        return
    for solution in solutions:
        if solution.stop_reason in LIMITS and not solution.is_optimal(estimator.tol):
            parameter = LIMITS[solution.stop_reason]
            raise FitLimitError(
                f"{parameter}={getattr(estimator, parameter)!r} ended the fit before any kernel "
                f"got a weight; give a larger {parameter}, fewer centers, or fewer kernels."
            )


def warn_user(problems: list[Problem], solutions: list[Solution], tol: float) -> None:
    """Say what a user must know of the answer."""
    penalties = problems[0].penalties
    gap = max(s.gap / s.objective if s.objective > 0 else 0.0 for s in solutions)
    if not all(s.is_optimal(tol) for s in solutions):
        reason = next(s.stop_reason for s in solutions if not s.is_optimal(tol))
        message = (
            f"The fit stopped ({reason}) at a relative duality gap of {gap:.2g}, "
            f"above tol={tol:.2g}."
        )
        if np.any(penalties == 0):
            message += (
                " Some kernels have no penalty, so nothing can be proved unless the objective "
                "is 0; set l1_penalty > 0."
            )
        elif reason == "precision":
            message += (
                " Double precision allows no better here; scale the features, use larger "
                "penalties or lower degrees, or accept a larger tol."
            )
        elif reason == "stalled":
            message += (
                " The paper's coordinate descent has no step left that improves; use "
                "solver='coordinate-descent' or 'column-generation'."
            )
        elif reason in ("time-limit", "max-iter", "memory-limit"):
            message += f" Give a larger {reason.replace('-', '_')}, or a larger tol."
        warnings.warn(message, ConvergenceWarning, stacklevel=user_stacklevel())
    if not penalties.any():
        warnings.warn(
            "No kernel has a penalty (complexity_penalty and l1_penalty are 0): the solution is "
            "not unique, and nothing is proved about it unless the objective is 0.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    elif problems[0].allowed is not None and not problems[0].allowed.any():
        warnings.warn(
            "The radius of the complexity measure (filter=True) admits no column: the model "
            "predicts the heavier class everywhere. Use a larger radius, or filter=False.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    elif all(s.is_optimal(tol) and len(s.terms.kernels) == 0 for s in solutions):
        warnings.warn(
            "The penalties are so large that no kernel gets a weight: the model predicts the "
            "heavier class everywhere. Use smaller complexity_penalty and l1_penalty.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
