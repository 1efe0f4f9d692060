"""Turns the best level of a search into a model: a committee of relaxed votes, as one vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..kernels.base import FloatArray
from ..preparation.training import Training
from ..problem import Terms, Vote
from ._fitted_attributes import describe_solutions
from ._path_sample import PathSample, RelaxedVotes
from ._relaxed_fit import selection_of
from ._voting import attributes_of


def describe_committee(
    training: Training,
    sample: PathSample,
    members: Sequence[RelaxedVotes],
    settings: Sequence[dict[str, Any]],
    penalty: float,
) -> dict[str, Any]:
    """Return the fitted attributes of a committee whose l1 votes have this ``penalty``."""
    problems = training.problems(penalty, 0.0)
    selected = describe_solutions(training, problems, sample.solutions)
    terms, intercepts = mean_vote(members)
    vote = Vote.gather(terms, intercepts, training.columns.families, training.centers)
    objectives = np.array([[vote.objective for vote in member.votes] for member in members])
    gaps = np.array([[vote.gap for vote in member.votes] for member in members])
    return {
        **selected,
        **attributes_of(vote),
        "kernel_mass_": vote.kernel_mass,
        "selection_": selection_of(selected),
        "members_": [
            Bunch(**setting, relaxed_objective=float(o.sum()), relaxed_dual_gap=float(g.sum()))
            for setting, o, g in zip(settings, objectives, gaps, strict=True)
        ],
        "relaxed_objective_": float(objectives[0].sum()),
        "relaxed_dual_gap_": float(gaps[0].sum()),
    }


def mean_vote(members: Sequence[RelaxedVotes]) -> tuple[list[Terms], FloatArray]:
    """Return the mean of votes that share their centres, one per problem, and the intercepts."""
    kernels = np.unique([member.kernels[0] for member in members])
    centers = members[0].centers
    weights = np.zeros((len(kernels), *members[0].weights.shape))
    for member in members:
        weights[np.searchsorted(kernels, member.kernels[0])] += member.weights / len(members)
    n_terms = len(kernels) * len(centers)
    by_problem = weights.reshape(n_terms, -1).T
    every_kernel, every_center = np.repeat(kernels, len(centers)), np.tile(centers, len(kernels))
    intercepts = np.mean([member.intercepts for member in members], axis=0)
    terms = [
        Terms(every_kernel, every_center, of_problem, float(constant))
        for of_problem, constant in zip(by_problem, intercepts, strict=True)
    ]
    return terms, intercepts
