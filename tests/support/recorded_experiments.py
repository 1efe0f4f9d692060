"""The committed records of the paper's experiments, and what follows from them."""

from functools import cache
from statistics import mean

import numpy as np
from support.paths import ROOT

from votedkernels.experiments.claims import Finding, decide
from votedkernels.experiments.evidence import Evidence, load_evidence, rank_of
from votedkernels.experiments.records import Record
from votedkernels.experiments.selection import Group, make_groups
from votedkernels.experiments.tables import rank_algorithms
from votedkernels.experiments.unions import with_unions

RESULTS = ROOT / "docs" / "results"
#: The folder of the experiments on other data sets.
YARDSTICK = "yardstick"


@cache
def evidence_of(folder: str = ".") -> Evidence:
    """Return what the files of records in a folder contain."""
    return load_evidence(sorted((RESULTS / folder).glob("*.jsonl.gz")))


@cache
def records_of(folder: str = ".") -> tuple[Record, ...]:
    """Return the records in a folder, and the SVMs that choose among both kinds of kernels."""
    return with_unions(evidence_of(folder).records)


@cache
def groups_of(folder: str = ".", rule: str = "literal") -> tuple[Group, ...]:
    """Return the results of a folder, one group per kind of kernel and scaling."""
    return tuple(make_groups(records_of(folder), rule))


def group_of(
    family: str, scaling: str = "range", rule: str = "literal", folder: str = "."
) -> Group:
    """Return the results with one kind of kernel and one scaling."""
    (found,) = (g for g in groups_of(folder, rule) if (g.family, g.scaling) == (family, scaling))
    return found


@cache
def findings(folder: str = ".", rule: str = "literal") -> tuple[Finding, ...]:
    """Return the verdicts on all claims."""
    return tuple(decide(groups_of(folder, rule)))


def error_on(group: Group, dataset: str, algorithm: str) -> float:
    """Return the mean error on a data set, in percent."""
    summary = group.error(dataset, algorithm)
    assert summary is not None
    return summary.mean


def mean_error(group: Group, algorithm: str) -> float:
    """Return the mean error over the data sets and partitions that all algorithms have."""
    part = group.on_partitions_of(group.algorithms)
    return mean(error_on(part, dataset, algorithm) for dataset in part.datasets)


def median_support(group: Group, algorithm: str) -> float:
    """Return the median of the numbers of support vectors over data sets."""
    part = group.on_partitions_of(group.algorithms)
    found = [part.support(dataset, algorithm) for dataset in part.datasets]
    return float(np.median([summary.mean for summary in found if summary]))


def ranks_of(group: Group, algorithms: tuple[str, ...]) -> tuple[dict[str, float], float]:
    """Return average ranks of some algorithms, and how far apart ranks must be to differ."""
    part = Group(
        group.family, group.scaling, group.rule,
        tuple(c for c in group.choices if c.algorithm in algorithms),
    )  # fmt: skip
    ranked = rank_algorithms(part)
    assert ranked is not None
    names, test = ranked
    assert names == sorted(algorithms, key=rank_of)
    return dict(zip(names, map(float, test.ranks), strict=True)), test.critical_difference
