"""Turns solutions into the attributes of a fitted classifier, and issues warnings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
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
from ..problem.losses import EpsilonInsensitive
from ..problem.vote import HasTerms
from ..solvers import with_widths

#: The fitted attribute that holds each field of a vote. Model files use the same names.
ATTRIBUTE_OF = {
    "families": "kernels_",
    "support": "support_",
    "points": "support_vectors_",
    "weights": "term_weights_",
    "kernels": "term_kernel_indices_",
    "places": "term_support_indices_",
    "levels": "term_levels_",
    "intercepts": "intercept_",
}
#: Fitted attributes besides those of the vote: lambda and beta; one number per kernel, per
#: one-vs-rest problem, and in total; and the scale of the probabilities, if there are any. Model
#: files use the same names.
PENALTIES = ("complexity_penalty_", "l1_penalty_")
PER_KERNEL = ("complexities_", "complexity_errors_", "penalties_", "kernel_mass_")
#: Numbers that only regressors have.
TARGET_NUMBERS = ("target_scale_", "epsilon_")
PER_PROBLEM = ("class_objectives_", "class_dual_bounds_", "class_dual_gaps_")
PROBABILITY_SCALE = "probability_scale_"
TOTALS = ("objective_", "dual_bound_", "dual_gap_")
#: Facts about the training rows for the summary. Older files do not have them.
N_SAMPLES = "n_samples_fit_"
TRAINING_ERROR = "training_error_"
#: Facts for the summary about the search that chose a model; only models from files have them,
#: because such models have no ``cv_results_``.
CROSS_VALIDATION = "cross_validation_"

#: The parameters that can limit a fit, keyed by the stop reason they cause.
LIMITS = {"time-limit": "time_limit", "max-iter": "max_iter", "memory-limit": "memory_limit"}


def vote_of(estimator: Any) -> Vote:
    """Return the vote of a fitted estimator."""
    return Vote(**{field: getattr(estimator, name) for field, name in ATTRIBUTE_OF.items()})


def attributes_of(vote: Vote) -> dict[str, Any]:
    """Return the fitted attributes that hold a vote."""
    return {name: getattr(vote, field) for field, name in ATTRIBUTE_OF.items()}


def has_vote(estimator: Any) -> bool:
    """Whether an estimator holds a vote: a search with ``refit=False`` is fitted, but has none."""
    return all(hasattr(estimator, name) for name in ATTRIBUTE_OF.values())


def describe_solutions(
    training: Training, problems: list[Problem], solutions: list[Solution]
) -> dict[str, Any]:
    """Return the fitted attributes of a classifier, from one solution per one-vs-rest problem."""
    training, problems, solutions = on_common_widths(training, problems, solutions)
    terms = [solution.terms for solution in solutions]
    intercepts = np.array([vote.intercept for vote in terms])
    if training.numbers is None:
        empty = np.array([len(vote.kernels) == 0 for vote in terms])
        intercepts = published_constants(problems, intercepts, empty)
    vote = published_vote(training, terms, intercepts)
    error = training.error(training.decisions(terms, intercepts))
    certificates = (
        training.unit * np.array([s.objective for s in solutions]),
        training.unit * np.array([s.dual_bound for s in solutions]),
        training.unit * np.array([s.gap for s in solutions]),
    )
    reasons = [s.stop_reason for s in solutions if s.stop_reason != "optimal"]
    return {
        **describe_certified(training, problems[0].penalties, vote, certificates),
        TRAINING_ERROR: error,
        "n_iter_": int(sum(s.n_iter for s in solutions)),
        "stop_reason_": reasons[0] if reasons else "optimal",
    }


def describe_certified(
    training: Training, penalties: FloatArray, vote: Vote, certificates: tuple[FloatArray, ...]
) -> dict[str, Any]:
    """Return the attributes that hold a vote, its kernels, and its certificates.

    ``certificates`` are the objectives, lower bounds and gaps of all problems.
    """
    per_kernel = (
        training.complexities,
        training.complexity_errors,
        penalties,
        vote.kernel_mass,
    )
    return {
        **describe_targets(training, certificates),
        N_SAMPLES: training.n_samples,
        "kernel_names_": training.columns.names,
        **attributes_of(vote),
        **dict(zip(PER_KERNEL, per_kernel, strict=True)),
        **{name: float(c.sum()) for name, c in zip(TOTALS, certificates, strict=True)},
    }


def describe_reweighted(
    training: Training, terms: Sequence[HasTerms], intercepts: FloatArray
) -> dict[str, Any]:
    """Return the attributes that change if other weights replace those of the l1 vote."""
    vote = published_vote(training, terms, intercepts)
    return {
        **attributes_of(vote),
        "kernel_mass_": vote.kernel_mass,
        TRAINING_ERROR: training.error(training.decisions(terms, intercepts)),
    }


def published_vote(training: Training, terms: Sequence[HasTerms], intercepts: FloatArray) -> Vote:
    """Return the votes in the form and unit that users see."""
    vote = Vote.gather(terms, intercepts, training.columns, training.centers)
    return vote if training.numbers is None else training.numbers.in_units(vote)


def describe_targets(training: Training, certificates: tuple[FloatArray, ...]) -> dict[str, Any]:
    """Return the attributes that only classifiers have, or those that only regressors have."""
    numbers = training.numbers
    if numbers is None:
        per_problem = dict(zip(PER_PROBLEM, certificates, strict=True))
        return {"classes_": training.classes, **per_problem}
    known = [numbers.scale]
    if isinstance(numbers.loss, EpsilonInsensitive):
        known.append(numbers.loss.epsilon * numbers.scale)
    return dict(zip(TARGET_NUMBERS, known, strict=False))


def on_common_widths(
    training: Training, problems: list[Problem], solutions: list[Solution]
) -> tuple[Training, list[Problem], list[Solution]]:
    """Return the arguments restricted to the widths (of a continuous family) that have a weight.

    Without a continuous family, everything is returned unchanged.
    """
    family = continuous_family(training.columns.families)
    if family is None:
        return training, problems, solutions
    first = training.columns.n_kernels - family.n_kernels
    in_use = [widths_of_terms(solution, first) for solution in solutions]
    used = np.unique(np.concatenate([of_terms[~np.isnan(of_terms)] for of_terms in in_use]))
    widths = used if len(used) else family.knots_
    renumbered = []
    for solution, of_terms in zip(solutions, in_use, strict=True):
        numbers = first + np.searchsorted(widths, of_terms)
        kernels = np.where(np.isnan(of_terms), solution.terms.kernels, numbers)
        renumbered.append(replace(solution, terms=replace(solution.terms, kernels=kernels)))
    problems = [with_widths(problem, widths) for problem in problems]

    def at_widths(values: FloatArray) -> FloatArray:
        between = np.interp(np.log(widths), np.log(family.knots_), values[first:])
        return np.concatenate([values[:first], between])

    training = replace(
        training,
        columns=problems[0].columns,
        complexities=at_widths(training.complexities),
        complexity_errors=at_widths(training.complexity_errors),
    )
    return training, problems, renumbered


def widths_of_terms(solution: Solution, first: int) -> FloatArray:
    """Return the width of each term in the continuous family; NaN for terms in other families.

    ``first`` is the index of the first kernel of the continuous family.
    """
    family = continuous_family(solution.columns.families)
    assert family is not None
    kernels = solution.terms.kernels
    widths = np.full(len(kernels), np.nan)
    widths[kernels >= first] = np.asarray(family.gammas_)[kernels[kernels >= first] - first]
    return widths


def published_constants(
    problems: list[Problem], intercepts: FloatArray, empty: NDArray[np.bool_]
) -> FloatArray:
    """Return the constant of each vote; if a vote has no terms, it predicts the heaviest class.

    ``empty`` says which votes have no terms. The last axis of ``intercepts`` and ``empty`` runs
    over the one-vs-rest problems. If no intercept is fitted, an empty vote gets the difference
    of its class weights. A fitted intercept is kept, because F includes it. It is usually
    -1 in all empty votes, so the heaviest of their classes gets the next larger number to win the
    tie.
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
    """Raise if a limit ended the fit before any kernel got a weight."""
    if any(len(solution.terms.kernels) for solution in solutions):
        return
    for solution in solutions:
        if solution.stop_reason in LIMITS and not solution.is_optimal(estimator.tol):
            parameter = LIMITS[solution.stop_reason]
            raise FitLimitError(
                f"{parameter}={getattr(estimator, parameter)!r} ended the fit before any kernel "
                f"got a weight; use a larger {parameter}, fewer centers, or fewer kernels."
            )


def warn_user(problems: list[Problem], solutions: list[Solution], tol: float) -> None:
    """Warn if the fit stopped before the optimum, or if its result is trivial or not unique."""
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
                "is 0; use l1_penalty > 0."
            )
        elif reason == "precision":
            message += (
                " Double precision does not allow a smaller gap here; scale the features, use "
                "larger penalties or lower degrees, or accept a larger tol."
            )
        elif reason == "stalled":
            message += (
                " The paper's coordinate descent has no improving step left; use "
                "solver='coordinate-descent' or 'column-generation'."
            )
        elif reason in ("time-limit", "max-iter", "memory-limit"):
            message += f" Use a larger {reason.replace('-', '_')}, or a larger tol."
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
            "The radius of the complexity measure (filter=True) admits no column, so the model "
            "predicts a constant everywhere. Use a larger radius, or filter=False.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    elif all(
        s.is_optimal(tol) and len(s.terms.kernels) == 0 and s.objective > 0 for s in solutions
    ):
        predicts = "the heavier class" if problems[0].goals is None else "a constant"
        warnings.warn(
            "The penalties are so large that no kernel gets a weight, so the model predicts "
            f"{predicts} everywhere. Use smaller complexity_penalty and l1_penalty.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
