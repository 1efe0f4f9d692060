"""Compare two algorithms on one data set: test the difference in errors and put it into words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

from .evidence import name_of
from .selection import Group
from .statistics import TTest, corrected_t_test


@dataclass(frozen=True)
class Comparison:
    """The test errors of two algorithms on the runs that both have for a data set."""

    dataset: str
    first: str
    second: str
    test: TTest

    @property
    def outcome(self) -> str:
        """How the first does: "better" or "worse" at the 5% level, or "no difference"."""
        if not self.test.significant:
            return "no difference"
        return "better" if self.test.mean < 0 else "worse"

    @property
    def words(self) -> str:
        """The outcome as a sentence."""
        names = f"{name_of(self.first)} against {name_of(self.second)}"
        side = "lower" if self.test.mean < 0 else "higher"
        by = f"{abs(self.test.mean):.2f} points {side}, {format_p(self.test.p)}"
        if self.outcome == "no difference":
            return f"{names}: no significant difference ({by})."
        return f"{names}: significantly {self.outcome} ({by})."


def compare(group: Group, dataset: str, first: str, second: str) -> Comparison | None:
    """Compare two algorithms of a group; None if they have no run in common."""
    return compare_across(group, first, group, second, dataset)


def compare_across(
    group: Group, first: str, other: Group, second: str, dataset: str
) -> Comparison | None:
    """Compare algorithms of two groups, which must have the same folds."""
    a, b = group.errors_by_run(dataset, first), other.errors_by_run(dataset, second)
    both = sorted(a.keys() & b.keys())
    if not both:
        return None
    differences = [a[run] - b[run] for run in both]
    return Comparison(
        dataset, first, second, corrected_t_test(differences, group.test_to_train(dataset))
    )


def compare_all(group: Group) -> list[Comparison]:
    """Compare all pairs of algorithms on all data sets; votes come before SVMs."""
    pairs = [(b, a) for a, b in combinations(group.algorithms, 2)]
    found = (compare(group, dataset, *pair) for dataset in group.datasets for pair in pairs)
    return [comparison for comparison in found if comparison]


def format_p(p: float) -> str:
    """Return a p-value with no more digits than are meaningful."""
    if math.isnan(p):
        return "too few runs for a test"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
