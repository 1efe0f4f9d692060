"""The committee that a search chooses, and its fit on all rows.

The model is the mean of the votes of the best settings, from any level. Levels of a path share most
of their centres, so averaging reduces the noise of the choice and adds few support vectors. With
more than two classes, and where the search removed centres, levels differ more, and all members
come from the best one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._system.budget import Budget
from ..preparation.training import Training
from ._path_level import Level, ancestry
from ._path_sample import PathSample, RelaxedVotes
from ._path_search import TOL, rhos_of

#: After a search on some of the rows, the l1 path of all rows ends at this number of centres.
CENTERS_ON_PATH = 150
#: If all rows of the folds are centres, so are all rows of the refit if its centres exceed this
#: share of them. Were a few rows not centres, narrow kernels could fit them by the intercept alone,
#: and the rows of the other class by large weights, which no fold has seen.
NEARLY_ALL = 0.9
#: How much worse than the best a sparser level may be, in standard errors.
SPARSE_ERRORS = 0.5

#: A vote is clearly worse than the best if its losses on held-out rows are larger by more than this
#: many standard errors of the difference.
CLEARLY_WORSE = 2.0


@dataclass(frozen=True)
class Member:
    """A vote of the committee: the number of its level, and its place among the settings there."""

    level: int
    place: int


def refit(
    training: Training,
    levels: list[Level],
    committee: Sequence[Member],
    *,
    tol: float,
    budget: Budget,
    factor: float = 1.0,
) -> tuple[PathSample, list[RelaxedVotes]]:
    """Go down a path with all rows; return the sample at its end and the votes of a committee.

    Penalties are multiplied by ``factor``, which corrects for a search on fewer rows. After such a
    search, the l1 path begins where the first member needs it and ends at `CENTERS_ON_PATH`; from
    there on, rows join instead: with many rows, small penalties would take too long.
    """
    sample = PathSample(training, training.w, TOL)
    needed = [member.level for member in committee]
    last, start, end = max(needed), 0, path_end(levels)
    if factor < 1:
        end = path_end(levels, CENTERS_ON_PATH)
        start = min(*needed, end)
    votes: dict[Member, RelaxedVotes] = {}
    for number in ancestry(levels, last):
        if number < start:
            continue
        level = levels[number]
        if number <= end:
            ends = number in (end, last)
            sample.follow_path(factor * level.penalty, budget, tol if ends else None)
        else:
            budget.check_time()
            if level.thinned_by is not None:
                sample.thin(level.thinned_by, level.kept)
            else:
                sample.grow(level.grown_by or levels[number - 1].settings[0])
                if level.is_full and len(sample.chosen) > NEARLY_ALL * len(sample.centers):
                    sample.fill()
        for member in (m for m in committee if m.level == number):
            setting = level.settings[member.place]
            rhos = [rho for rho in rhos_of(training) if rho >= setting.rho]
            votes[member] = sample.relax(setting.kernel, rhos, tol)[-1]
    return sample, [votes[member] for member in committee]


def path_end(levels: Sequence[Level], most_centers: float = math.inf) -> int:
    """Return the last level of the l1 path with at most this many centres, or the first."""
    on_path = [n for n, one in enumerate(levels) if one.grown_by is None and one.thinned_by is None]
    few = [n for n in on_path if levels[n].n_support.mean() <= most_centers]
    return max(few, default=0)


def choose_committee(levels: list[Level], prefer: str, n_members: int) -> list[Member]:
    """Return the best settings of all levels, best first.

    With more than two classes, all come from the best level: the classes together have many
    centres, and other levels would add more. So they do where levels are thinned, and there each
    kernel has one vote at most, and none that is clearly worse than the best. If ``prefer`` is
    "sparse", there is only one: the best setting of the sparsest level that is nearly as good as
    the best.
    """
    criteria = np.array([level.criteria[0] for level in levels])
    best = int(criteria.argmin())
    if prefer == "best":
        if any(level.thinned_by is not None for level in levels):
            return [Member(best, place) for place in one_per_kernel(levels[best])[:n_members]]
        many_classes = levels[best].decisions.shape[-1] > 1
        chosen = [best] if many_classes else range(len(levels))
        every = [(c, n, p) for n in chosen for p, c in enumerate(levels[n].criteria)]
        return [Member(level, place) for _, level, place in sorted(every)[:n_members]]
    top = levels[best].losses[0]
    allowed = top.mean() + SPARSE_ERRORS * top.std() / np.sqrt(len(top))
    near = [n for n, level in enumerate(levels) if level.losses[0].mean() <= allowed]
    return [Member(min(near, key=lambda n: (float(levels[n].n_support.mean()), n)), 0)]


def one_per_kernel(level: Level) -> list[int]:
    """Return the place of each kernel's best setting, unless it is clearly worse than the best."""
    first: dict[int, int] = {}
    for place, setting in enumerate(level.settings):
        first.setdefault(setting.kernel, place)
    worse = level.losses - level.losses[0]
    bounds = CLEARLY_WORSE * worse.std(axis=1) / np.sqrt(worse.shape[1])
    return [place for place in first.values() if worse[place].mean() <= bounds[place]]
