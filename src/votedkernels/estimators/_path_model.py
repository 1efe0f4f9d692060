"""Turns the best settings of a search into a model: a committee of relaxed votes, as one vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..kernels.base import FloatArray
from ..preparation.training import Training
from ..problem import Terms, union_of_terms
from ._fitted_attributes import describe_reweighted, describe_solutions
from ._path_sample import PathSample, RelaxedVotes
from ._relaxed_fit import selection_of


def describe_committee(
    training: Training,
    sample: PathSample,
    members: Sequence[RelaxedVotes],
    settings: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Return the fitted attributes of a committee, with the l1 votes of the sample."""
    problems = training.problems(sample.penalty, 0.0)
    selected = describe_solutions(training, problems, sample.solutions)
    terms, intercepts = mean_vote(members, training.columns.n_centers)
    unit = training.unit
    objectives = unit * np.array([[vote.objective for vote in member.votes] for member in members])
    gaps = unit * np.array([[vote.gap for vote in member.votes] for member in members])
    return {
        **selected,
        **describe_reweighted(training, terms, intercepts),
        "selection_": selection_of(selected),
        "members_": [
            Bunch(**setting, relaxed_objective=float(o.sum()), relaxed_dual_gap=float(g.sum()))
            for setting, o, g in zip(settings, objectives, gaps, strict=True)
        ],
        "relaxed_objective_": float(objectives[0].sum()),
        "relaxed_dual_gap_": float(gaps[0].sum()),
    }


def mean_vote(members: Sequence[RelaxedVotes], n_centers: int) -> tuple[list[Terms], FloatArray]:
    """Return each problem's mean vote, over the union of the members' terms, and the intercepts."""
    intercepts = np.mean([member.intercepts for member in members], axis=0)
    terms = []
    for problem, constant in enumerate(intercepts):
        of_problem = [
            Terms(member.kernels, member.centers, member.weights[:, problem]) for member in members
        ]
        kernels, centers, weights = union_of_terms(of_problem, n_centers)
        terms.append(Terms(kernels, centers, weights.mean(axis=0), float(constant)))
    return terms, intercepts
