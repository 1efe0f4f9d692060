"""Sentences about the default search, next to other tuned models."""

from functools import cache
from statistics import mean, median
from typing import Any

import numpy as np
from support.recorded import ASIDE, by_data_set, differences, folds, mean_and_error, ratios
from support.sentences import Sentence

from votedkernels.experiments.statistics import friedman_test

PAGE = "docs/when-to-use.md"
METHODS = (
    "ours", "svc", "ours, committee=1", "ours, sparse", "rvm", "logistic", "boosting",
    "ours, untuned", "svc, untuned",
)  # fmt: skip


def error(method: str, kind: str = "binary") -> float:
    return 100 * mean(by_data_set(method, "error", kind))


def to_svc(method: str, kind: str = "binary") -> tuple[float, float]:
    return mean_and_error(differences(method, kind).values())


def to_svc_aside() -> tuple[float, float]:
    return mean_and_error(value for data, value in differences("ours").items() if data in ASIDE)


def support(method: str) -> float:
    return median(by_data_set(method, "support"))


@cache
def ranks(*, aside: bool) -> dict[str, Any]:
    """Return average ranks of the differences from SVC: not all methods have the same folds."""
    names = [data for data in folds("svc") if data in ASIDE or not aside]
    test = friedman_test(np.array([[differences(m)[data] for m in METHODS] for data in names]))
    assert test is not None
    found = dict(zip(METHODS, test.ranks, strict=True))
    return {**found, "critical difference": test.critical_difference}


def rank(*names: str, aside: bool = False) -> list[float]:
    return [ranks(aside=aside)[name] for name in names]


def partitions(method: str, *, aside: bool) -> set[int]:
    return {p for data, of in folds(method).items() if (data in ASIDE) == aside for p, _ in of}


def each_has_five_folds() -> bool:
    """Whether every data set has the partitions that the page says."""
    two, one = {0, 1}, {0}
    return (
        all(partitions(method, aside=True) == two for method in ("ours", "svc"))
        and all(len(partitions(method, aside=True)) == 1 for method in METHODS[2:4])
        and all(partitions(method, aside=False) == one for method in METHODS[:4])
    )


def sets_where_the_vote_has_more_support() -> set[str]:
    return {data for data, ratio in ratios("ours", "support").items() if ratio > 1}


def behind(*names: str, kind: str = "binary") -> list[float]:
    """Return by how much the search is behind SVC."""
    return [differences("ours", kind)[name] for name in names]


def level(*names: str) -> bool:
    return all(abs(value) < 0.3 for value in behind(*names, kind="multi"))


SENTENCES = [
    Sentence(
        PAGE,
        "On the other eleven, the difference from `SVC` is {} ± {}.",
        to_svc_aside,
    ),
    Sentence(
        PAGE,
        "The eleven data sets have two partitions into folds (one for the variants); the twelve "
        "have one.",
        each_has_five_folds,
    ),
    Sentence(
        PAGE,
        "are {} ± {} points for a relevance vector machine (with a median of {} support vectors), "
        "{} ± {} for logistic regression, and {} ± {} for gradient-boosted trees.",
        lambda: [*to_svc("rvm"), support("rvm"), *to_svc("logistic"), *to_svc("boosting")],
    ),
    Sentence(
        PAGE,
        'are {} for the default search, {} for `SVC`, {} for `committee=1`, {} for '
        '`prefer="sparse"`, {} for the relevance vector machine, {} for logistic regression and '
        "{} for the trees; by Nemenyi's test, ranks must be at least {} apart",
        lambda: rank(*METHODS[:1], *METHODS[1:7], "critical difference"),
    ),
    Sentence(
        PAGE,
        "first and second ({} and {}), but the relevance vector machine ({}) is ahead of "
        '`prefer="sparse"` ({})',
        lambda: rank("ours", "svc", "rvm", "ours, sparse", aside=True),
    ),
    Sentence(
        PAGE,
        "its mean error is {} %, that of `SVC` is {} % ({} ± {} points), and the median ratio of "
        "support vectors is {}.",
        lambda: [
            error("ours", "multi"), error("svc", "multi"), *to_svc("ours", "multi"),
            median(ratios("ours", "support", "multi").values()),
        ],
    ),
    Sentence(
        PAGE,
        "It is behind on satimage (by {} points) and vehicle (by {}), ahead on yeast (by {})",
        lambda: np.abs(behind("satimage", "vehicle", "yeast", kind="multi")).tolist(),
    ),
    Sentence(
        PAGE,
        "and level on pendigits, segment and wine.",
        lambda: level("pendigits", "segment", "wine"),
    ),
    Sentence(
        PAGE,
        "does worst against `SVC` on mammographic ({} points behind), where most rows occur more "
        "than once, and on musk ({}).",
        lambda: sorted(differences("ours").values())[:-3:-1],
    ),
    Sentence(
        PAGE,
        "On ocr49, wdbc, qsar_biodeg and oocytes_merluccius it has more support vectors than "
        "`SVC`.",
        lambda: sets_where_the_vote_has_more_support()
        == {"ocr49", "wdbc", "qsar_biodeg", "oocytes_merluccius"},
    ),
    Sentence(
        "docs/choosing.md",
        "the mean error over {} data sets is {} %, that of `SVC()` is {} %, and the median number "
        "of support vectors is {} instead of {} (`benchmarks/results/selection.jsonl`).",
        lambda: [
            len(folds("ours, untuned")), error("ours, untuned"), error("svc, untuned"),
            support("ours, untuned"), support("svc, untuned"),
        ],
    ),
]  # fmt: skip
