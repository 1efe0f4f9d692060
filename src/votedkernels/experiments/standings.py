"""How votes and support vector machines stand: the figures by which claims are judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np

from .comparisons import compare
from .paper import DATASETS, SVMS
from .selection import Group

MUCH_SPARSER = 0.5

#: By data set, then by algorithm.
Figures = Mapping[str, Mapping[str, float]]


class Results:
    """Means and tests of a group, on the data sets with results of both SVMs and a vote."""

    def __init__(self, group: Group, votes: Iterable[str]) -> None:
        self.group = group
        self.votes = [v for v in votes if v in group.algorithms]
        self.errors = self._means("error")
        self.support = self._means("support")
        self.datasets = [
            d for d, row in self.errors.items() if any(v in row for v in self.votes)
            and all(s in row for s in SVMS)
        ]  # fmt: skip
        self.tests = {
            (d, a, b): comparison
            for d in self.datasets
            for a, b in [*product(self.votes, SVMS), SVMS]
            if (comparison := compare(group, d, a, b))
        }

    def _means(self, figure: str) -> dict[str, dict[str, float]]:
        means: dict[str, dict[str, float]] = {}
        for d in self.group.datasets:
            summaries = {a: getattr(self.group, figure)(d, a) for a in self.group.algorithms}
            means[d] = {a: s.mean for a, s in summaries.items() if s is not None}
        return means

    def beats_both(self, dataset: str, vote: str) -> bool:
        """Whether a vote is significantly better than both SVMs."""
        tests = [self.tests.get((dataset, vote, svm)) for svm in SVMS]
        return all(test is not None and test.outcome == "better" for test in tests)

    def significant_wins(self, votes: Iterable[str]) -> list[str]:
        """Return the data sets on which a vote is significantly better than both SVMs."""
        votes = list(votes)
        return [d for d in self.datasets if any(self.beats_both(d, v) for v in votes)]

    def needed(self, of_eleven: int) -> int:
        """Return how many data sets a claim needs, in proportion to those in the records."""
        return max(1, math.ceil(of_eleven * len(self.datasets) / len(DATASETS)))


def lower_than_both(errors: Figures, votes: Iterable[str], margin: float = 0.0) -> list[str]:
    """Return the data sets on which a vote's mean error is below both SVMs' by this share."""
    votes = list(votes)
    found = []
    for dataset, row in errors.items():
        mine = [row[v] for v in votes if v in row]
        if not mine or not all(s in row for s in SVMS):
            continue
        best, svm = min(mine), min(row[s] for s in SVMS)
        if best < svm and best <= (1 - margin) * svm:
            found.append(dataset)
    return found


def sparsity_ratios(support: Figures, vote: str, svm: str) -> dict[str, float]:
    """Return the SVM's number of support vectors divided by the vote's, for each data set."""
    return {
        d: row[svm] / row[vote] if row[vote] else math.inf
        for d, row in support.items()
        if vote in row and svm in row
    }


def count_sparser(support: Figures, votes: Iterable[str]) -> tuple[tuple[int, int], int]:
    """Count where every vote is sparser than both SVMs, and where it is at least twice as sparse.

    Returns ((sparser, at least twice as sparse), data sets).
    """
    votes = list(votes)
    fewer = much = n = 0
    for row in support.values():
        mine, theirs = [row[v] for v in votes if v in row], [row[s] for s in SVMS if s in row]
        if not mine or len(theirs) < len(SVMS):
            continue
        n += 1
        fewer += max(mine) < min(theirs)
        much += max(mine) <= MUCH_SPARSER * min(theirs)
    return (fewer, much), n


def describe_ratios(ratios: Mapping[str, float]) -> str:
    """Describe the median and range of ratios, and how many are at least ten."""
    values = list(ratios.values())
    tens = sum(value >= 10 for value in values)
    low, high = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return (
        f"median {np.median(values):.1f}, from {ratios[low]:.1f} ({low}) "
        f"to {ratios[high]:.1f} ({high}), "
        f"ten or more on {tens} of {len(values)}."
    )
