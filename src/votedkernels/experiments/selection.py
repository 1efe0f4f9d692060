"""From records to results: choose a setting by validation errors, then report its test errors.

    literal    one setting for all runs of a partition, by its mean validation error: the paper's
               rule. Each test fold is the validation fold of another run, so the test errors are
               slightly optimistic.
    per-run    each run chooses by its own validation errors, and no test fold is used twice.

Errors are compared exactly, as whole numbers, so that ties are the same on every machine. A tie
goes to the larger penalty or the simpler kernel.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby

import numpy as np

from ..exceptions import RecordError
from .evidence import in_order, rank_of, unique
from .records import Record, Setting

RULES = {
    "literal": "one setting per partition, by the mean validation error of its five runs",
    "per-run": "each run chooses its own setting by its own validation errors",
}
NOT_APPLICABLE = -1


@dataclass(frozen=True)
class Choice:
    """An algorithm on one partition of a data set, with the chosen setting of each run."""

    dataset: str
    algorithm: str
    seed: int
    runs: tuple[int, ...]
    settings: tuple[Setting, ...]
    #: Rates, between 0 and 1.
    validation_errors: tuple[float, ...]
    test_errors: tuple[float, ...]
    #: NaN for algorithms without support vectors.
    n_support: tuple[float, ...]
    status: tuple[str, ...]
    #: Sum of |weights| of each kernel.
    masses: tuple[tuple[float, ...], ...]
    #: Number of test rows divided by number of training rows.
    test_to_train: float


@dataclass(frozen=True)
class Summary:
    """The mean of a quantity over runs and partitions, and how much it varies.

    ``sd`` is the standard deviation over the five runs of a partition, as in the paper's table
    (with several partitions, the root of the mean variance). ``spread`` is the standard deviation
    of the means of partitions.
    """

    mean: float
    sd: float
    spread: float
    n_runs: int


@dataclass(frozen=True)
class Group:
    """All choices with one kind of kernel and one scaling, under one rule."""

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
        return sorted({choice.algorithm for choice in self.choices}, key=rank_of)

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

    def on_partitions_of(self, algorithms: Iterable[str]) -> Group:
        """Return the part of the results on partitions that all these algorithms have.

        Without it, means of algorithms with different numbers of partitions would be compared.
        """
        places = [
            {(c.dataset, c.seed) for c in self.choices if c.algorithm == algorithm}
            for algorithm in algorithms
        ]
        shared = set.intersection(*places) if places else set()
        return replace(
            self, choices=tuple(c for c in self.choices if (c.dataset, c.seed) in shared)
        )

    def fully_run(self) -> Group:
        """Return the results of the algorithms that have all partitions of all data sets."""
        places = {(c.dataset, c.seed) for c in self.choices}
        full = [
            a
            for a in self.algorithms
            if {(c.dataset, c.seed) for c in self.choices if c.algorithm == a} == places
        ]
        return replace(self, choices=tuple(c for c in self.choices if c.algorithm in full))

    def error(self, dataset: str, algorithm: str) -> Summary | None:
        """Summarise test errors, in percent."""
        return summarise(
            [[100 * e for e in c.test_errors] for c in self.of(dataset, algorithm)],
        )

    def support(self, dataset: str, algorithm: str) -> Summary | None:
        """Summarise numbers of support vectors; None for algorithms that have none."""
        return summarise([c.n_support for c in self.of(dataset, algorithm)])

    def errors_by_run(self, dataset: str, algorithm: str) -> dict[tuple[int, int], float]:
        """Return test errors in percent by (partition, run)."""
        return {
            (choice.seed, run): 100 * error
            for choice in self.of(dataset, algorithm)
            for run, error in zip(choice.runs, choice.test_errors, strict=True)
        }

    def test_to_train(self, dataset: str) -> float:
        """Return the number of test rows divided by the number of training rows."""
        return float(np.mean([c.test_to_train for c in self.choices if c.dataset == dataset]))


def summarise(parts: Iterable[Sequence[float]]) -> Summary | None:
    """Summarise one number per run, grouped by partition; None if there are none."""
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
    """Choose settings and return results by kind of kernel and scaling."""
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
    """Choose settings for the recorded runs of one algorithm on one partition."""
    if all(len(run["settings"]) == 1 for run in runs):  # nothing to choose
        picks = [0] * len(runs)
    elif rule == "per-run":
        picks = [_best(run["algorithm"], run["settings"], [_rates(run)]) for run in runs]
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
        tuple(tuple(mass[i]) for run, i in chosen if (mass := run.get("mass"))),
        float(np.mean([run["n_test"] / run["n_train"] for run in runs])),
    )


def _pick_common(runs: Sequence[Record]) -> list[int]:
    """Return, for each run, the index of the setting that is best over all runs."""
    places = [
        {json.dumps(setting, sort_keys=True): i for i, setting in enumerate(run["settings"])}
        for run in runs
    ]
    common = [name for name in places[0] if all(name in place for place in places)]
    if not common:
        raise RecordError(
            f"{runs[0]['key']!r} has no setting in common with the other runs of its partition."
        )
    settings = [runs[0]["settings"][places[0][name]] for name in common]
    rates = [
        [errors[place[name]] for name in common]
        for errors, place in zip(map(_rates, runs), places, strict=True)
    ]
    best = common[_best(runs[0]["algorithm"], settings, rates)]
    return [place[best] for place in places]


def _rates(run: Record) -> list[Fraction]:
    """Return the validation error of each setting."""
    return [Fraction(errors, run["n_validation"]) for errors in run["validation_errors"]]


def _best(algorithm: str, settings: list[Setting], rates: Sequence[Sequence[Fraction]]) -> int:
    """Return the index of the setting with the smallest mean error; `preference` breaks ties.

    ``rates`` has one row per run and one column per setting.
    """
    return min(
        range(len(settings)),
        key=lambda i: (sum(run[i] for run in rates), *preference(algorithm, settings[i]), i),
    )


# -- ties --------------------------------------------------------------------------------


def _kernel(setting: Setting) -> tuple[float, float]:
    """Sort kernels, the simplest first; polynomials come before Gaussians."""
    return (0.0, setting["degree"]) if "degree" in setting else (1.0, setting["gamma"])


def _prefer_vote(setting: Setting) -> tuple[float, ...]:
    return -setting["complexity_penalty"], -setting["l1_penalty"]


def _prefer_extended(setting: Setting) -> tuple[float, ...]:
    return *_prefer_vote(setting), -setting["radius"]


def _prefer_l1(setting: Setting) -> tuple[float, ...]:
    return -setting["l1_penalty"], *_kernel(setting)


def _prefer_l2(setting: Setting) -> tuple[float, ...]:
    return *_kernel(setting), setting["C"]


#: By algorithm: how to sort settings of equal validation error, the preferred one first.
TIES: dict[str, Callable[[Setting], tuple[float, ...]]] = {
    "l2-svm": _prefer_l2,
    "l1-svm": _prefer_l1,
    "vkr-dimension": _prefer_vote,
    "vkr-trace": _prefer_vote,
    "vkr-local": _prefer_vote,
    "vkr-extended": _prefer_extended,
}


def preference(algorithm: str, setting: Setting) -> tuple[float, ...]:
    """Return the key that breaks ties, smallest first; empty for algorithms not in `TIES`."""
    if algorithm not in TIES:
        return ()
    try:
        return TIES[algorithm](setting)
    except (KeyError, TypeError):
        raise RecordError(f"{setting} is not a valid setting of {algorithm}.") from None


def _support(n: float) -> float:
    return math.nan if n == NOT_APPLICABLE else float(n)


# -- how fits ended ----------------------------------------------------------------------


@dataclass(frozen=True)
class Endings:
    """How the fits of an algorithm ended: of all settings, and of the chosen ones."""

    algorithm: str
    fits: int
    capped: int
    failed: int
    chosen: int
    chosen_capped: int
    chosen_failed: int
    #: Fits with a duality gap above the tolerance, because of double precision.
    imprecise: int
    chosen_imprecise: int
    #: The largest relative gap, for algorithms that prove one.
    worst_gap: float | None


def count_endings(records: Iterable[Record], group: Group) -> list[Endings]:
    """Count how the fits of a group ended, by algorithm."""
    here = [r for r in records if (r["family"], r["scaling"]) == (group.family, group.scaling)]
    endings = []
    for algorithm in group.algorithms:
        mine = [r for r in here if r["algorithm"] == algorithm]
        status = [s for r in mine for s in r["status"]]
        chosen = [s for c in group.choices if c.algorithm == algorithm for s in c.status]
        gaps = [gap for r in mine if (gap := r.get("gap")) is not None]
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
