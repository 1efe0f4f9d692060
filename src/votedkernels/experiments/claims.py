"""The paper's claims compared with our results: a verdict for each, and the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .comparisons import Comparison, compare, compare_across
from .evidence import name_of
from .paper import CLAIMS, DATASETS, EXTENSION, TABLE, VOTES, Claim
from .selection import Group
from .standings import (
    Figures,
    Results,
    count_sparser,
    describe_ratios,
    lower_than_both,
    sparsity_ratios,
)

HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "open"
#: Whose votes a claim is about: those that the paper ran, or the one of its extended objective.
PLAIN, EXTENDED = "plain", "extended"
#: An error that is lower than the better SVM's by at least this share is a considerable
#: improvement.
CONSIDERABLE = 0.2


@dataclass(frozen=True)
class Finding:
    """What our results say about a claim."""

    claim: Claim
    family: str
    scaling: str
    objective: str
    rule: str
    verdict: str
    words: str


def decide(groups: Sequence[Group]) -> list[Finding]:
    """Return the findings on all claims, group by group; there are none for peers."""
    findings = []
    for group in groups:
        if group.family not in VOTES:
            continue
        twins = [g for g in groups if g.family == "polynomial" and g.scaling == group.scaling]
        findings += _decide(group, twins, PLAIN)
        if EXTENSION in group.algorithms:
            findings += _decide(group, twins, EXTENDED)
    return findings


def _decide(group: Group, twins: Sequence[Group], objective: str) -> list[Finding]:
    """Judge the votes of one objective; ``twins`` holds the polynomials' results, if any."""
    results = _results(group, objective)
    outcomes = {key: judge(results) for key, judge in _JUDGES.items()}
    if group.family == "gaussian":
        for key, judge_pair in _GAUSSIAN_JUDGES.items():
            twin = _results(twins[0], objective) if twins else None
            outcomes[key] = judge_pair(results, twin) if twin else _NOTHING
    if objective == EXTENDED:
        outcomes["extension"] = _judge_extension(results)
    return [
        Finding(CLAIMS[key], group.family, group.scaling, objective, group.rule, *outcome)
        for key, outcome in outcomes.items()
    ]


def _results(group: Group, objective: str) -> Results:
    if objective == PLAIN:
        return Results(group, VOTES[group.family])
    return Results(group.on_partitions_of([EXTENSION]), [EXTENSION])


_NOTHING = (OPEN, "The records have no data set with all the results that this claim needs.")
_PAPER_ERRORS = {d: {a: cell.error for a, cell in row.items()} for d, row in TABLE.items()}
_PAPER_SUPPORT = {d: {a: cell.support for a, cell in row.items()} for d, row in TABLE.items()}


# -- the judges --------------------------------------------------------------------------


def _judge_outperforms(results: Results) -> tuple[str, str]:
    return _judge_wins(results, 5, 0.0, "a lower mean error than both SVMs")


def _judge_considerable(results: Results) -> tuple[str, str]:
    return _judge_wins(
        results, 3, CONSIDERABLE, f"an error at least {CONSIDERABLE:.0%} below the better SVM's"
    )


def _judge_wins(results: Results, count: int, margin: float, what: str) -> tuple[str, str]:
    if not results.datasets:
        return _NOTHING
    n, needed = len(results.datasets), results.needed(count)
    lower = lower_than_both(_rows(results.errors, results.datasets), results.votes, margin)
    wins = results.significant_wins(results.votes)
    sure = [d for d in lower if d in wins]
    words = (
        f"{_either(results.votes)} has {what} on {_of(lower, n)}; against both SVMs the difference "
        f"is significant on {_of(sure, n)}. The claim asks for {needed} of {n}."
    )
    if len(results.votes) > 1:
        singles = []
        for vote in results.votes:
            mine = lower_than_both(_rows(results.errors, results.datasets), [vote], margin)
            mine_sure = [d for d in mine if results.beats_both(d, vote)]
            singles.append(f"{name_of(vote)} {len(mine)} and {len(mine_sure)}")
        words += f" Alone: {', '.join(singles)}."
    verdict = HOLDS if len(sure) >= needed else IN_PART if len(lower) >= needed else FAILS
    return verdict, words


def _judge_no_difference(results: Results) -> tuple[str, str]:
    if not results.datasets:
        return _NOTHING
    wins = results.significant_wins(results.votes)
    rest = [d for d in results.datasets if d not in wins]
    if not rest:
        return HOLDS, "There are no other data sets: a VKR is significantly better on all of them."
    tests = [test for (d, a, _), test in results.tests.items() if d in rest and a in results.votes]
    better = [test for test in tests if test.outcome == "better"]
    worse = [test for test in tests if test.outcome == "worse"]
    words = (
        f"On the other {len(rest)} data sets there are {len(tests)} comparisons of a VKR with an "
        f"SVM: {len(tests) - len(better) - len(worse)} without significant difference, "
        f"{len(better)} where VKR is better{_pairs(better)}, "
        f"{len(worse)} where it is worse{_pairs(worse)}."
    )
    widths = [test.test.half_width for test in tests if not math.isnan(test.test.half_width)]
    if widths:
        words += (
            f" Half of the comparisons could not have told differences below "
            f"{np.median(widths):.1f} points from chance."
        )
    verdict = FAILS if worse else IN_PART if better else HOLDS
    return verdict, words


def _judge_svms(results: Results) -> tuple[str, str]:
    tests = [test for (_, a, _), test in results.tests.items() if a not in results.votes]
    if not tests:
        return _NOTHING
    alike = [test.dataset for test in tests if test.outcome == "no difference"]
    differ = [test for test in tests if test.outcome != "no difference"]
    words = f"The two SVMs do not differ significantly on {_of(alike, len(tests))}." + "".join(
        f" On {test.dataset} {test.words}" for test in differ
    )
    return (HOLDS if 2 * len(alike) >= len(tests) else FAILS), words


def _judge_ten_times(results: Results) -> tuple[str, str]:
    support = _rows(results.support, results.datasets)
    parts, medians, largest = [], [], []
    for vote in results.votes:
        ratios = sparsity_ratios(support, vote, "l2-svm")
        if ratios:
            parts.append(f"{name_of(vote)}: {describe_ratios(ratios)}")
            medians.append(float(np.median(list(ratios.values()))))
            largest.append(max(ratios.values()))
    if not parts:
        return _NOTHING
    words = "Support vectors of L2-SVM divided by those of VKR. " + " ".join(parts)
    if max(largest) >= 10 and max(medians) >= 2:
        return HOLDS, words
    return (IN_PART if max(medians) > 1 else FAILS), words


def _judge_always(results: Results) -> tuple[str, str]:
    support = _rows(results.support, results.datasets)
    counts, n = count_sparser(support, results.votes)
    if not n:
        return _NOTHING
    words = (
        f"Every VKR has fewer support vectors than both SVMs on {counts[0]} of {n} data sets, and "
        f"at most half of theirs on {counts[1]}."
    )
    if counts[1] == n:
        return HOLDS, words
    return (IN_PART if 2 * counts[0] > n else FAILS), words


def _judge_gaussian_errors(gaussian: Results, polynomial: Results) -> tuple[str, str]:
    vote = _common_vote(gaussian, polynomial)
    found = (
        compare_across(gaussian.group, vote, polynomial.group, vote, d) for d in gaussian.datasets
    )
    tests = [test for test in found if test]
    if not tests:
        return _NOTHING
    alike = [t.dataset for t in tests if t.outcome == "no difference"]
    better = [t.dataset for t in tests if t.outcome == "better"]
    worse = [t.dataset for t in tests if t.outcome == "worse"]
    shared = {test.dataset for test in tests}
    wins = [
        [d for d in results.significant_wins([vote]) if d in shared]
        for results in (gaussian, polynomial)
    ]
    name = name_of(vote)
    words = (
        f"{name} with Gaussian kernels does not differ significantly from {name} with polynomial "
        f"kernels on {_of(alike, len(tests))}; it is better on {_of(better, len(tests))} and worse "
        f"on {_of(worse, len(tests))}. It improves significantly on both SVMs on {len(wins[0])}, "
        f"with polynomial kernels on {len(wins[1])}."
    )
    good = (2 * len(alike) >= len(tests)) + (len(wins[0]) <= len(wins[1]))
    return (FAILS, IN_PART, HOLDS)[good], words


def _judge_gaussian_sparsity(gaussian: Results, polynomial: Results) -> tuple[str, str]:
    vote = _common_vote(gaussian, polynomial)
    merged = {
        d: {"gaussian": gaussian.support[d][vote], "polynomial": polynomial.support[d][vote]}
        for d in gaussian.datasets
        if vote in gaussian.support[d] and vote in polynomial.support.get(d, {})
    }
    ratios = sparsity_ratios(merged, "polynomial", "gaussian")
    if not ratios:
        return _NOTHING
    median = float(np.median(list(ratios.values())))
    words = (
        "Support vectors with Gaussian kernels divided by those with polynomial kernels: "
        f"{describe_ratios(ratios)}"
    )
    return (HOLDS if 0.5 <= median <= 2 else IN_PART if 0.25 <= median <= 4 else FAILS), words


def _common_vote(gaussian: Results, polynomial: Results) -> str:
    """Return the vote that both have: VKRc, or that of the extended objective."""
    return next((v for v in gaussian.votes if v in polynomial.votes), "vkr-trace")


def _judge_extension(results: Results) -> tuple[str, str]:
    parts, lower, ahead = [], [], []
    for rival in VOTES[results.group.family]:
        part = results.group.on_partitions_of([EXTENSION, rival])
        tests = [test for d in part.datasets if (test := compare(part, d, EXTENSION, rival))]
        if not tests:
            continue
        standing = Results(part, [EXTENSION, rival])
        datasets = [test.dataset for test in tests]
        mine, theirs = ([standing.errors[d][a] for d in datasets] for a in (EXTENSION, rival))
        better = [t.dataset for t in tests if t.outcome == "better"]
        worse = [t.dataset for t in tests if t.outcome == "worse"]
        fewer = sum(a < b for a, b in zip(mine, theirs, strict=True))
        ratios = sparsity_ratios(_rows(standing.support, datasets), EXTENSION, rival).values()
        parts.append(
            f"Against {name_of(rival)}: mean error {np.mean(mine):.2f}% against "
            f"{np.mean(theirs):.2f}%, a lower mean on {fewer} of {len(tests)} data sets, "
            f"significantly better on {_of(better, len(tests))} and worse on "
            f"{_of(worse, len(tests))}. {name_of(rival)} has {np.median(list(ratios)):.1f} times "
            "its support vectors in the median."
        )
        lower.append(np.mean(mine) < np.mean(theirs))
        ahead.append(len(better) > len(worse))
    if not parts:
        return _NOTHING
    verdict = FAILS if not all(lower) else HOLDS if all(ahead) else IN_PART
    return verdict, " ".join(parts)


_JUDGES = {
    "outperforms": _judge_outperforms,
    "considerable": _judge_considerable,
    "no-difference": _judge_no_difference,
    "svms-comparable": _judge_svms,
    "ten-times-sparser": _judge_ten_times,
    "always-sparser": _judge_always,
}
_GAUSSIAN_JUDGES = {
    "gaussian-errors": _judge_gaussian_errors,
    "gaussian-sparsity": _judge_gaussian_sparsity,
}


def describe_paper(key: str) -> str:
    """Return what the paper's own table says about a claim; "" if it says nothing."""
    votes = VOTES["polynomial"]
    n = len(DATASETS)
    if key == "outperforms":
        marked = [d for d, row in TABLE.items() if any(cell.mark for cell in row.values())]
        return (
            f"In the paper's table a VKR has the lowest mean on "
            f"{len(lower_than_both(_PAPER_ERRORS, votes))} of {n} data sets, and it marks "
            f"significance (5% or 10%) on {len(marked)}; its text says 5."
        )
    if key == "considerable":
        return (
            f"In the paper's table: {_of(lower_than_both(_PAPER_ERRORS, votes, CONSIDERABLE), n)}."
        )
    if key == "ten-times-sparser":
        parts = (
            f"{name_of(v)}: {describe_ratios(sparsity_ratios(_PAPER_SUPPORT, v, 'l2-svm'))}"
            for v in votes
        )
        return "In the paper's table: " + " ".join(parts)
    if key == "always-sparser":
        (fewer, much), _ = count_sparser(_PAPER_SUPPORT, votes)
        return f"In the paper's table: fewer on {fewer} of {n}, at most half on {much}."
    return ""


# -- words -------------------------------------------------------------------------------


def _rows(figures: Figures, datasets: Iterable[str]) -> dict[str, Mapping[str, float]]:
    return {d: figures[d] for d in datasets}


def _either(votes: Sequence[str]) -> str:
    names = [name_of(vote) for vote in votes]
    return names[0] if len(names) == 1 else f"One of {' and '.join(names)}"


def _of(datasets: Sequence[str], n: int) -> str:
    names = f" ({', '.join(datasets)})" if 0 < len(datasets) < n else ""
    return f"{len(datasets)} of {n}{names}"


def _pairs(tests: Sequence[Comparison]) -> str:
    if not tests:
        return ""
    named = (f"{name_of(t.first)} against {name_of(t.second)} on {t.dataset}" for t in tests)
    return f" ({'; '.join(named)})"
