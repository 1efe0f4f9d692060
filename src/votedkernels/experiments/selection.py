"""From records to results: a setting chosen by validation errors, then its test errors.

    literal    one setting for all runs of a partition, by its mean validation error: the paper's
               rule. Each test fold validates another run, so the figures are a little optimistic.
    per-run    each run chooses by its own validation errors, and no test fold is used twice.

Errors are compared exactly, as whole numbers, so that ties are ties on every machine. They go to
the larger penalty or the simpler kernel.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from ..exceptions import RecordError
from .evidence import Record, in_order, unique

RULES = {
    "literal": "one setting per partition, by the mean validation error of its five runs",
    "per-run": "each run chooses its own setting by its own validation errors",
}
NOT_APPLICABLE = -1


@dataclass(frozen=True)
class Choice:
    """An algorithm on one partition of a data set, with the settings chosen; by run."""

    dataset: str
    algorithm: str
    seed: int
    runs: tuple[int, ...]
    settings: tuple[dict[str, Any], ...]
    #: Rates, between 0 and 1.
    validation_errors: tuple[float, ...]
    test_errors: tuple[float, ...]
    #: nan where there is no such thing.
    n_support: tuple[float, ...]
    status: tuple[str, ...]
    #: Sum of |weights| of each kernel.
    masses: tuple[tuple[float, ...], ...]
    #: Rows for testing by rows for training.
    test_to_train: float


@dataclass(frozen=True)
class Summary:
    """A figure over runs and partitions.

    ``sd`` is the standard deviation over the five runs of a partition (the root of the mean
    variance where there are several partitions), as in the paper's table; ``spread`` that of the
    means of partitions.
    """

    mean: float
    sd: float
    spread: float
    n_runs: int


@dataclass(frozen=True)
class Group:
    """All choices with one kind of kernels and one scaling, under one rule."""

    family: str
    scaling: str
    rule: str
    choices: tuple[Choice, ...]

    @cached_property
    def datasets(self) -> list[str]:
        """Data sets that have any results."""
        return unique(choice.dataset for choice in self.choices)

    @cached_property
    def algorithms(self) -> list[str]:
        """Algorithms that have any results."""
        order = in_order(
            {"family": "", "scaling": "", "dataset": "", "algorithm": a, "seed": 0, "run": 0}
            for a in {choice.algorithm for choice in self.choices}
        )
        return [r["algorithm"] for r in order]

    @cached_property
    def seeds(self) -> list[int]:
        """Partitions that have any results."""
        return sorted({choice.seed for choice in self.choices})

    @cached_property
    def _index(self) -> dict[tuple[str, str], list[Choice]]:
        index: dict[tuple[str, str], list[Choice]] = {}
        for choice in self.choices:
            index.setdefault((choice.dataset, choice.algorithm), []).append(choice)
        return index

    def of(self, dataset: str, algorithm: str) -> list[Choice]:
        """Return the choices of an algorithm on a data set, by partition."""
        return self._index.get((dataset, algorithm), [])

    def error(self, dataset: str, algorithm: str) -> Summary | None:
        """Summarise test errors, in percent."""
        return summarise(
            [[100 * e for e in c.test_errors] for c in self.of(dataset, algorithm)],
        )

    def support(self, dataset: str, algorithm: str) -> Summary | None:
        """Summarise numbers of support vectors; None where there is no such thing."""
        return summarise([c.n_support for c in self.of(dataset, algorithm)])

    def errors_by_run(self, dataset: str, algorithm: str) -> dict[tuple[int, int], float]:
        """Return test errors in percent by (partition, run)."""
        return {
            (choice.seed, run): 100 * error
            for choice in self.of(dataset, algorithm)
            for run, error in zip(choice.runs, choice.test_errors, strict=True)
        }

    def test_to_train(self, dataset: str) -> float:
        """Rows for testing by rows for training."""
        return float(np.mean([c.test_to_train for c in self.choices if c.dataset == dataset]))


def summarise(parts: Iterable[Sequence[float]]) -> Summary | None:
    """Summarise figures by run, partition by partition; None where there are none."""
    kept = [[x for x in part if not math.isnan(x)] for part in parts]
    kept = [part for part in kept if part]
    if not kept:
        return None
    means = [float(np.mean(part)) for part in kept]
    variances = [float(np.var(part, ddof=1)) for part in kept if len(part) > 1]
    return Summary(
        float(np.mean(means)),
        math.sqrt(float(np.mean(variances))) if variances else math.nan,
        float(np.std(means, ddof=1)) if len(means) > 1 else math.nan,
        sum(map(len, kept)),
    )


# -- choosing ----------------------------------------------------------------------------


def make_groups(records: Iterable[Record], rule: str = "literal") -> list[Group]:
    """Choose settings and return results by kind of kernels and scaling."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}.")
    groups = []
    for (family, scaling), part in groupby(
        in_order(records), key=lambda r: (r["family"], r["scaling"])
    ):
        choices = [
            choose(list(runs), rule)
            for _, runs in groupby(part, key=lambda r: (r["dataset"], r["algorithm"], r["seed"]))
        ]
        groups.append(Group(family, scaling, rule, tuple(choices)))
    return groups


def choose(runs: Sequence[Record], rule: str) -> Choice:
    """Choose settings for the runs of one algorithm on one partition, as many as there are."""
    if all(len(run["settings"]) == 1 for run in runs):  # nothing to choose, or chosen inside
        picks = [0] * len(runs)
    elif rule == "per-run":
        picks = [_best(run, [run], range(len(run["settings"]))) for run in runs]
    else:
        picks = _pick_common(runs)
    first = runs[0]
    chosen = list(zip(runs, picks, strict=True))
    return Choice(
        first["dataset"],
        first["algorithm"],
        first["seed"],
        tuple(run["run"] for run in runs),
        tuple(run["settings"][i] for run, i in chosen),
        tuple(run["validation_errors"][i] / run["n_validation"] for run, i in chosen),
        tuple(run["test_errors"][i] / run["n_test"] for run, i in chosen),
        tuple(_support(run["n_support"][i]) for run, i in chosen),
        tuple(run["status"][i] for run, i in chosen),
        tuple(tuple(run["mass"][i]) for run, i in chosen if run.get("mass")),
        float(np.mean([run["n_test"] / run["n_train"] for run in runs])),
    )


def _pick_common(runs: Sequence[Record]) -> list[int]:
    """Return, for each run, the place of the setting that is best over all of them."""
    places = [
        {json.dumps(setting, sort_keys=True): i for i, setting in enumerate(run["settings"])}
        for run in runs
    ]
    common = [name for name in places[0] if all(name in place for place in places)]
    if not common:
        raise RecordError(f"the runs of {runs[0]['key']!r} and others share no setting.")
    aligned = [
        {**run, "validation_errors": [run["validation_errors"][place[name]] for name in common]}
        for run, place in zip(runs, places, strict=True)
    ]
    first = {**runs[0], "settings": [runs[0]["settings"][places[0][name]] for name in common]}
    best = common[_best(first, aligned, range(len(common)))]
    return [place[best] for place in places]


def _best(names: Record, runs: Sequence[Record], candidates: Iterable[int]) -> int:
    """Return the setting of least mean validation error; ties as `preference` says."""
    shares = math.lcm(*(run["n_validation"] for run in runs))
    return min(
        candidates,
        key=lambda i: (
            sum(run["validation_errors"][i] * (shares // run["n_validation"]) for run in runs),
            *preference(names["algorithm"], names["settings"][i]),
            i,
        ),
    )


# -- ties --------------------------------------------------------------------------------


def _kernel(setting: dict[str, Any]) -> float:
    return float(setting["degree"] if "degree" in setting else setting["gamma"])


def _prefer_vote(setting: dict[str, Any]) -> tuple[float, ...]:
    return -setting["complexity_penalty"], -setting["l1_penalty"]


def _prefer_l1(setting: dict[str, Any]) -> tuple[float, ...]:
    return -setting["l1_penalty"], _kernel(setting)


def _prefer_l2(setting: dict[str, Any]) -> tuple[float, ...]:
    return _kernel(setting), setting["C"]


#: By algorithm, what goes first among settings of equal validation error.
TIES: dict[str, Callable[[dict[str, Any]], tuple[float, ...]]] = {
    "l2-svm": _prefer_l2,
    "l1-svm": _prefer_l1,
    "vkr-dimension": _prefer_vote,
    "vkr-trace": _prefer_vote,
    "vkr-local": _prefer_vote,
}


def preference(algorithm: str, setting: dict[str, Any]) -> tuple[float, ...]:
    """Return what ties are broken by, smallest first; nothing for other algorithms."""
    if algorithm not in TIES:
        return ()
    try:
        return TIES[algorithm](setting)
    except (KeyError, TypeError):
        raise RecordError(f"{algorithm} cannot have the setting {setting}.") from None


def _support(n: float) -> float:
    return math.nan if n == NOT_APPLICABLE else float(n)


# -- how fits ended ----------------------------------------------------------------------


@dataclass(frozen=True)
class Endings:
    """How the fits of an algorithm ended, all settings, and those of the settings chosen."""

    algorithm: str
    fits: int
    capped: int
    failed: int
    chosen: int
    chosen_capped: int
    chosen_failed: int
    #: Fits whose duality gap double precision left too large.
    imprecise: int
    chosen_imprecise: int
    #: The largest relative gap, of algorithms that prove one.
    worst_gap: float | None


def count_endings(records: Iterable[Record], group: Group) -> list[Endings]:
    """Count the fits of a group that hit a cap or failed."""
    here = [r for r in records if (r["family"], r["scaling"]) == (group.family, group.scaling)]
    endings = []
    for algorithm in group.algorithms:
        mine = [r for r in here if r["algorithm"] == algorithm]
        status = [s for r in mine for s in r["status"]]
        chosen = [s for c in group.choices if c.algorithm == algorithm for s in c.status]
        gaps = [r["gap"] for r in mine if r.get("gap") is not None]
        endings.append(
            Endings(
                algorithm,
                len(status),
                status.count("cap"),
                status.count("failed"),
                len(chosen),
                chosen.count("cap"),
                chosen.count("failed"),
                status.count("imprecise"),
                chosen.count("imprecise"),
                max(gaps, default=None),
            )
        )
    return endings
