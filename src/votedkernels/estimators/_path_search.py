"""The default search: chooses a level of a path, and relaxed votes on the centres of that level.

All folds go down one path together (`_path_sample`). At each level, a relaxed vote is fitted for
each kernel and each rho, and its decisions on the held-out rows are judged by the criterion

    errors + LOGLOSS * log-loss of the vote at its best scale + SIZE * centres / rows

(means over rows; smaller is better; `_path_judgement`). For numbers, it is the mean absolute error
or the pinball loss. The last term prefers fewer centres if all else is equal. The search ends after
a few levels without an improvement, before it reaches the most expensive levels.

If some kernels are not positive definite, the search then goes on with fewer centres: at each
further level, the centres that a vote needs least are removed, a tenth or a fifth of them. Of two
votes with equally many centres, one that was thinned has fewer errors than one that is still
growing, because a row that fitted badly when it joined is often of little use later. Large votes
take most of the time, so with many centres, fewer are tried (`MANY_TO_THIN`, `MANY_FOR_RHOS`).

The model is a committee, the mean of the votes of the best settings (`_path_committee`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

import numpy as np

from .._system.budget import Budget
from ..exceptions import OutOfTime
from ..kernels.base import FloatArray, IntArray
from ..preparation.training import Training
from ._path_judgement import losses_of, may_thin, with_price_of_size
from ._path_level import Fold, Level, best_kernels
from ._path_sample import RULES_ONLY, PathSample, Setting

RHOS = tuple(10.0**-exponent for exponent in (1.5, 2.5, 3.5, 4.5, 5.5, 7.0))
RHOS_OF_NUMBERS = tuple(10.0**-exponent for exponent in (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5))
LEVELS_PER_DECADE = 2
MOST_LEVELS = 12
#: The l1 path ends when the terms exceed this share of the rows or the loss falls below this value.
MOST_TERMS, MOST_TERMS_OF_NUMBERS = 0.15, 0.08
LEAST_LOSS = 0.03
#: Rows stop joining when the centres exceed this share of the rows or reach this number. If some
#: kernels are not positive definite, all rows may join: with string similarities, votes of
#: nearly all rows are often best.
MOST_CENTERS = 0.5
CENTERS_AT_ALL = 1500
#: How many of the best kernels are still fitted while rows join.
KERNELS_WHILE_GROWING = 4
#: With more than two classes, each class has its own problem, so fitting takes a long time. The
#: path begins at this level and ends after this many levels. After the first, only this many
#: of the best kernels are fitted and, while rows join, only this many.
FIRST_OF_MANY_CLASSES, LEVELS_OF_MANY_CLASSES = 3, 2
KERNELS_OF_MANY_CLASSES, KERNELS_WHILE_MANY_GROW = 3, 2
#: With a time limit, the path begins at this level: earlier ones have few centres and rarely win.
FIRST_IN_A_HURRY = 4
#: The search ends after this many levels without an improvement.
PATIENCE = 3
#: How many levels are thinned, and the number of centres below which none is.
MOST_THINNED, FEWEST_TO_THIN = 12, 10
#: The share of the centres that stay at a level. With few rows, whose votes take little time, more
#: stay if there are few centres, and more levels are thinned.
KEPT, KEPT_OF_FEW = 0.8, 0.9
FEW_ROWS, MOST_THINNED_OF_FEW = 200, 24
#: In a search that thins votes, only the best kernel is fitted while there are more centres, rows
#: stop joining after fewer levels without an improvement, and thinning then begins with the centres
#: of the level after the best.
MANY_TO_THIN, LESS_PATIENCE = 400, 2
#: In such a search, if there are more centres than this, a kernel is fitted only with the value of
#: rho that was best for it before, and with the values next to it.
MANY_FOR_RHOS = 100
#: Relative gap of l1 votes in folds.
TOL = 1e-2

#: The centres and the rules that each fold has chosen.
Chosen: TypeAlias = list[tuple[IntArray, IntArray]]


class PathSearch:
    """Folds that go down a path together.

    Parameters
    ----------
    training : Training
        The data, with all rows and with local columns.
    weights : array of shape (n_samples,)
        Weight in the loss, for each row passed to fit.
    row_weights : array of shape (n_samples,)
        Weight of each row passed to fit, whatever its class.
    folds : list of Fold
    score : callable
        Takes the votes on some rows, of shape (n_rows, n_problems), and the indices of these rows;
        returns a score, where larger is better.
    by_score : bool
        Whether to choose by this score instead of the criterion at the top of this module.
    max_iter : int or None
        Maximum number of rounds for each l1 vote.
    on_fold : callable or None
        Called with the number of each fold before its votes at a level are fitted.
    of_folds : list of Training or None
        The data of each fold, if the kernels were learned from the training rows of the fold.
    """

    def __init__(
        self,
        training: Training,
        weights: FloatArray,
        row_weights: FloatArray,
        folds: list[Fold],
        score: Callable[[FloatArray, IntArray], float],
        *,
        by_score: bool = False,
        budget: Budget,
        max_iter: int | None = None,
        on_fold: Callable[[int], None] | None = None,
        of_folds: Sequence[Training] | None = None,
    ) -> None:
        self.training, self.folds, self.on_fold = training, folds, on_fold
        #: At least this many levels are still to come, unless the path ends earlier.
        self.least_levels = PATIENCE
        self.score, self.by_score, self.max_iter = score, by_score, max_iter
        self.weights = weights
        places = training.places
        assert places is not None
        self.codes = np.where(places >= 0, training.codes[places], 0)
        times = np.zeros(len(places), np.intp)
        for fold in folds:
            times[fold.test] += 1
        #: Rows that have a weight and are held out in at least one fold.
        self.scored = np.flatnonzero((times > 0) & (places >= 0))
        self.times = times[self.scored]
        self.samples = []
        for fold, own in zip(folds, of_folds or [training] * len(folds), strict=True):
            budget.check_time()
            own = self.relearned(own, fold, row_weights)
            stack = own is not training
            self.samples.append(PathSample(own, self.weights_of(fold, weights), TOL, stack=stack))
        budget.check_time()
        self.top = self.everyone().first_entry()
        #: The place among all rhos of the one that is best for a kernel so far.
        self._best_rhos: dict[int, int] = {}

    def weights_of(self, fold: Fold, weights: FloatArray) -> FloatArray:
        """Return the weight of each distinct row in the training part of a fold."""
        places = self.training.places
        assert places is not None
        train = fold.train[places[fold.train] >= 0]
        n_rows = len(self.training.codes)
        return np.bincount(places[train], weights[train], n_rows).astype(np.float64)

    def relearned(self, training: Training, fold: Fold, row_weights: FloatArray) -> Training:
        """Return the data with kernels that are learned only from the training part of a fold."""
        if not training.columns.learn_from_rows:
            return training
        weights = self.weights_of(fold, row_weights)
        rows = np.flatnonzero(weights)
        return replace(training, columns=training.columns.at_hand().relearned(rows, weights[rows]))

    def everyone(self) -> PathSample:
        """Return the sample of all rows."""
        return PathSample(self.training, self.training.w, TOL)

    def levels(self, budget: Budget) -> Iterator[Level]:
        """Yield one level after another until the search ends or time runs out."""
        best, idle = np.inf, 0
        number = self._first_level(in_a_hurry=math.isfinite(budget.deadline))
        growing: Setting | None = None
        last_kernels: list[int] = []
        are_rules = self.training.are_rules
        kernels = np.flatnonzero(~are_rules).tolist() + [RULES_ONLY] * bool(are_rules.any())
        whole, budget = budget, budget.share(2)  # give up on a slow first level
        found: list[tuple[Level, Chosen]] = []
        while idle < self._patience(growing) and self.top > 0:
            started = time.perf_counter()
            penalty = self.top * 10.0 ** (-(number + 1) / LEVELS_PER_DECADE)
            try:
                for sample in self._one_by_one():
                    if growing is None:
                        sample.follow_path(penalty, budget, max_iter=self.max_iter)
                        last_penalty = penalty
                    else:
                        budget.check_time()
                        sample.grow(growing)
                level = self._score(last_penalty, kernels, budget, started)
            except OutOfTime:
                if best == np.inf:
                    raise
                return
            is_full = may_thin(self.training) and not any(s.can_grow for s in self.samples)
            level = replace(level, grown_by=growing, is_full=is_full)
            idle = 0 if level.criteria[0] < best else idle + 1
            if idle == 0:
                best, winner = float(level.criteria[0]), level.settings[0]
                place_of_best = len(found)
            found.append((level, [(sample.chosen, sample.rules) for sample in self.samples]))
            self.least_levels = PATIENCE - idle
            yield level
            budget = whole
            number += 1
            if self.many_classes:
                kernels = best_kernels(level, KERNELS_OF_MANY_CLASSES)
            if not (last_kernels and self._is_costly()):
                last_kernels = best_kernels(level, self._n_kernels_at_last)
            if growing is not None or self._ends_path(number):
                growing = level.settings[0]
                kernels = [growing.kernel] if self._is_costly() else last_kernels
                if self._has_grown():
                    break
        if best < np.inf and may_thin(self.training):
            kernels = sorted({*last_kernels, winner.kernel})
            level = self._go_back(found, place_of_best)
            yield from self._thinned(level, winner, kernels, budget)

    def _thinned(
        self, level: Level, setting: Setting, kernels: list[int], budget: Budget
    ) -> Iterator[Level]:
        """Yield levels with fewer and fewer of the centres that the folds have now."""
        self.least_levels = 0
        few_rows = len(self.training.codes) <= FEW_ROWS
        for _ in range(MOST_THINNED_OF_FEW if few_rows else MOST_THINNED):
            started = time.perf_counter()
            if min(len(sample.chosen) for sample in self.samples) < FEWEST_TO_THIN:
                return
            few = few_rows and self._most_chosen <= MANY_FOR_RHOS
            kept = KEPT_OF_FEW if few else KEPT
            try:
                for sample in self._one_by_one():
                    budget.check_time()
                    sample.thin(setting, kept)
                fitted = [setting.kernel] if self._is_costly() else kernels
                found = self._score(level.penalty, fitted, budget, started)
            except OutOfTime:
                return
            level = replace(
                found, grown_by=level.grown_by, thinned_by=setting, kept=kept, follows=level.follows
            )
            yield level
            level = replace(level, follows=None)

    def _go_back(self, found: list[tuple[Level, Chosen]], best: int) -> Level:
        """Return to the level whose centres are thinned, given all levels and the best of them."""
        place = min(best + 1, len(found) - 1) if self._is_costly() else len(found) - 1
        level, chosen = found[place]
        for sample, (centers, rules) in zip(self.samples, chosen, strict=True):
            sample.chosen, sample.rules = centers, rules
        return replace(level, follows=place)

    def _one_by_one(self) -> Iterator[PathSample]:
        """Yield the sample of each fold, after reporting its number."""
        for fold, sample in enumerate(self.samples):
            if self.on_fold is not None:
                self.on_fold(fold)
            yield sample

    @property
    def _n_kernels_at_last(self) -> int:
        """How many of the best kernels are fitted while rows join or leave."""
        return KERNELS_WHILE_MANY_GROW if self.many_classes else KERNELS_WHILE_GROWING

    def _patience(self, growing: Setting | None) -> int:
        """Return how many levels without an improvement end the search."""
        return PATIENCE if growing is None or not self._is_costly() else LESS_PATIENCE

    def _is_costly(self) -> bool:
        """Whether there are so many centres that only one kernel is fitted."""
        return self._most_chosen > MANY_TO_THIN and may_thin(self.training)

    @property
    def _most_chosen(self) -> int:
        """The largest number of centres in any fold."""
        return max(len(sample.chosen) for sample in self.samples)

    def _has_grown(self) -> bool:
        """Whether no more rows may join."""
        share = np.mean([len(s.chosen) / len(s.rows) for s in self.samples])
        large = self._most_chosen >= CENTERS_AT_ALL
        return (
            bool(share > self._most_centers) or large or not all(s.can_grow for s in self.samples)
        )

    @property
    def rhos(self) -> tuple[float, ...]:
        """The values of rho to try, decreasing."""
        return rhos_of(self.training)

    @property
    def many_classes(self) -> bool:
        """Whether there are more than two classes."""
        return self.training.n_problems > 1

    @property
    def _most_centers(self) -> float:
        """Share of the rows that may become centres before the search ends."""
        definite = all(f.is_positive_definite for f in self.training.columns.families)
        return MOST_CENTERS if definite else 1.0

    def _first_level(self, *, in_a_hurry: bool) -> int:
        """Return the number of the first level, counted from the first column with a weight."""
        if in_a_hurry:
            return FIRST_IN_A_HURRY
        return FIRST_OF_MANY_CLASSES if self.many_classes else 0

    def _ends_path(self, number: int) -> bool:
        """Whether the l1 path ends here, because it starts to interpolate or has enough levels."""
        if self.many_classes and number >= FIRST_OF_MANY_CLASSES + LEVELS_OF_MANY_CLASSES:
            return True
        terms = np.mean([sample.n_terms / len(sample.rows) for sample in self.samples])
        loss = np.mean([sample.loss for sample in self.samples])
        most = MOST_TERMS if self.training.numbers is None else MOST_TERMS_OF_NUMBERS
        return bool(terms > most or loss < LEAST_LOSS or number == MOST_LEVELS)

    def _score(
        self,
        penalty: float,
        kernels: list[int],
        budget: Budget,
        started: float,
    ) -> Level:
        """Fit relaxed votes with some kernels and every rho in all folds, and score them."""
        settings = self._settings(kernels)
        decisions, scores = self._decide(settings, budget)
        losses = losses_of(self.training, decisions, self.codes[self.scored])
        weights = self.weights[self.scored]
        share = float(np.mean([len(s.chosen) / len(s.rows) for s in self.samples]))
        criteria = with_price_of_size(self.training, losses @ weights / weights.sum(), share)
        if self.by_score:
            criteria = -np.nan_to_num(scores.mean(axis=1), nan=-np.inf)
        order = np.argsort(criteria, kind="stable")
        for place in order[::-1]:
            self._best_rhos[settings[place].kernel] = self.rhos.index(settings[place].rho)
        gaps = [s.gap / s.objective for p in self.samples for s in p.solutions if s.objective > 0]
        return Level(
            penalty,
            None,
            tuple(settings[place] for place in order),
            criteria[order],
            losses[order].astype(np.float32),
            decisions[order].astype(np.float32),
            scores[order],
            np.array([len(sample.chosen) for sample in self.samples]),
            max(gaps, default=0.0),
            time.perf_counter() - started,
        )

    def _settings(self, kernels: list[int]) -> list[Setting]:
        """Return the settings to fit: some kernels, with all values of rho or the likeliest."""
        few = self._most_chosen > MANY_FOR_RHOS and may_thin(self.training)
        settings = []
        for kernel in kernels:
            best = self._best_rhos.get(kernel) if few else None
            likely = slice(None) if best is None else slice(max(0, best - 1), best + 2)
            settings += [Setting(kernel, rho) for rho in self.rhos[likely]]
        return settings

    def _decide(self, settings: list[Setting], budget: Budget) -> tuple[FloatArray, FloatArray]:
        """Return the votes of all settings on the held-out rows, and their scores in each fold."""
        places = self.training.places
        assert places is not None
        n_problems = self.training.n_problems
        votes = np.zeros((len(settings), len(places), n_problems))
        scores = np.zeros((len(votes), len(self.folds)))
        for f, (sample, fold) in enumerate(zip(self.samples, self.folds, strict=True)):
            test = fold.test[places[fold.test] >= 0]
            for kernel, group in groupby(enumerate(settings), lambda item: item[1].kernel):
                budget.check_time()
                mine = [place for place, _ in group]
                of_fold = np.zeros((len(mine), len(test), n_problems))
                if len(sample.chosen) + sample.rules.shape[1]:
                    relaxed = sample.compare(kernel, [settings[place].rho for place in mine])
                    values = sample.training.columns.take(
                        relaxed[0].kernels, relaxed[0].centers, places[test]
                    )
                    of_fold[:] = [vote.decide(values) for vote in relaxed]
                votes[mine[0] : mine[-1] + 1, test] += of_fold
                scores[mine, f] = [self.score(v, test) for v in of_fold]
        return votes[:, self.scored] / self.times[:, None], scores


def rhos_of(training: Training) -> tuple[float, ...]:
    """Return the values of rho to try: targets without noise need very small ones."""
    return RHOS if training.numbers is None else RHOS_OF_NUMBERS
