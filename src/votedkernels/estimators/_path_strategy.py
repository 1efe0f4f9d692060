"""The default search of both CV classes: prepares, searches down a path, chooses, and refits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._system.budget import Budget, single_blas_thread
from .._system.progress_display import in_words
from .._system.stack_level import user_stacklevel
from ..complexity import StableRank
from ..exceptions import FitLimitError, OutOfTime
from ..kernels import Gaussian, clone_families
from ..kernels.base import FloatArray, IntArray
from ..kernels.families import fit_families
from ..kernels.stacked_columns import stack_columns
from ..preparation.training import Training
from ._fitted_attributes import PROBABILITY_SCALE
from ._ongoing_fit import FitProgress, score_name
from ._path_committee import Member, choose_committee, refit
from ._path_level import Fold, Level
from ._path_model import describe_committee
from ._path_search import PathSearch
from ._probabilities import fit_scale
from ._search_data import Alternative, SearchData

if TYPE_CHECKING:
    from .._system.progress_display import ProgressDisplay

#: The widths for ``kernels=None``, in units of 1 / (n_features * variance).
WIDTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
#: The name under which a search reports how features are treated, and the two ways.
FEATURES, SCALED, AS_GIVEN = "features", "scaled", "as given"
#: Settings are compared on at most this many distinct rows; the model is fitted on all rows.
SEARCH_ROWS = 2000
#: Compared with an alternative without rules, rules must improve the criterion by this share: even
#: where no rule is right, there are many to choose from, and some look right by chance.
MARGIN_OF_RULES = 0.05
#: The part of a time limit that a plain vote may use if a search follows.
INSURANCE_SHARE = 0.3
#: The share of a time limit that the search may use; the rest is for the last fit.
SEARCH_SHARE = 0.7


@dataclass(frozen=True)
class Searched:
    """An alternative, its data, and the levels of its path.

    ``codes`` and ``weights`` are those of the held-out rows. ``factor`` converts penalties of the
    search to penalties for all rows.
    """

    named: dict[str, Any]
    estimator: Any
    training: Training
    levels: list[Level]
    codes: IntArray
    weights: FloatArray
    factor: float

    @property
    def criterion(self) -> float:
        """The best criterion of any level, by which alternatives are compared."""
        best = min(float(level.criteria[0]) for level in self.levels)
        # The user's own score, with its sign reversed, may be negative.
        return best + MARGIN_OF_RULES * abs(best) * bool(self.training.are_rules.any())

    def penalty_of(self, committee: list[Member]) -> float:
        """Return the penalty, for all rows, of the last level that a committee needs."""
        return self.factor * self.levels[max(member.level for member in committee)].penalty

    def probabilities(self, committee: list[Member]) -> dict[str, float]:
        """Return the scale of a committee's probabilities, from its votes on held-out rows."""
        if self.training.numbers is not None:
            return {}
        votes = [self.levels[member.level].decisions[member.place] for member in committee]
        mean = np.asarray(np.mean(votes, axis=0, dtype=np.float64))
        scale = fit_scale(mean, self.codes, self.weights, self.training.m)
        return {PROBABILITY_SCALE: scale}


class PathStrategy:
    """The default search of an estimator, step by step.

    Parameters
    ----------
    search : VotedKernelClassifierCV or VotedKernelRegressorCV
    alternatives : list of Alternative
    data : SearchData
    """

    def __init__(self, search: Any, alternatives: list[Alternative], data: SearchData) -> None:
        self.search, self.data = search, data
        self.alternatives = [(named, with_defaults(model)) for named, model in alternatives]
        if data.numeric and search.scale_features and search.kernels is None and data.has_scales:
            self.alternatives = [
                ({FEATURES: what, **named}, self._scaled(model) if what == SCALED else model)
                for named, model in self.alternatives
                for what in (SCALED, AS_GIVEN)
            ]
        #: The estimator to fit if there is no level to choose from; ``insurance`` is its fit.
        self.plain = clone(alternatives[0][1])
        if data.n_classes > 2:
            # A time limit may leave some classes with weights that are too small compared with
            # those of others. Relaxation fits them again, which takes little time.
            self.plain.set_params(relaxation="auto")
        self.insurance: Any = None
        seconds = search.time_limit
        self.budget = Budget().for_seconds(seconds)
        self.search_budget = Budget().for_seconds(
            None if seconds is None else SEARCH_SHARE * seconds
        )
        self.found: list[Searched] = []
        #: Whether time ran out before some alternative completed a level.
        self.was_late = False

    def _scaled(self, model: Any) -> Any:
        """Return the estimator with feature scales learned from all rows."""
        scales = self.data.learn_scales(np.arange(len(self.data.codes)))
        kernels = Gaussian(WIDTHS, feature_scales=scales)
        return clone(model).set_params(kernels=kernels)

    def run(self, progress: FitProgress) -> None:
        """Search all alternatives, as far as time allows."""
        if self.search.time_limit is not None and self.search.refit and not self._insure():
            self.was_late = True
            return
        for number, (named, estimator) in enumerate(self.alternatives):
            share = self.search_budget.share(len(self.alternatives) - number)
            try:
                found = self._search_one(named, estimator, share, progress)
            except OutOfTime:
                self.was_late = True
                continue
            if found.levels:
                self.found.append(found)

    def _insure(self) -> bool:
        """Fit a plain vote first, in case the search fails; return whether to search."""
        model: Any = clone(self.plain)
        model.set_params(time_limit=self.budget.time_limit)
        data = self.data
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.insurance = model.fit(data.X, data.labels, data.sample_weight)
        except FitLimitError:
            return False
        used = self.search.time_limit - self.budget.seconds_left
        return bool(used <= INSURANCE_SHARE * self.search.time_limit)

    def _search_one(
        self,
        named: dict[str, Any],
        estimator: Any,
        budget: Budget,
        progress: FitProgress,
    ) -> Searched:
        data = self.data
        with single_blas_thread():
            training = Training.prepare(
                clone(estimator), data.X, data.labels, data.sample_weight, budget=budget
            )
            part, n_rows = some_rows(training), len(training.codes)
            budget.check_time()
            part = replace(part, columns=stack_columns(part.columns))
            if not np.isfinite(training.complexities).all():
                raise OutOfTime
            folds = [Fold(np.asarray(train), np.asarray(test)) for train, test in data.splits]
            search = PathSearch(
                part,
                data.loss_weights(getattr(self.search, "class_weight", None)),
                data.row_weights,
                folds,
                partial(data.score, training.numbers),
                by_score=data.scorer is not None,
                budget=budget,
                max_iter=self.search.max_iter,
                of_folds=self._learnt_in_folds(named, estimator, budget),
            )
            levels: list[Level] = []
            if progress.display is not None:
                search.on_fold = self._shown_fold(progress.display, search, levels)
            for number, level in enumerate(search.levels(budget)):
                name = f"level {number}"
                progress.begin_problem(name, lambda _: {})
                levels.append(level)
                if progress.display is not None:
                    progress.display.step(
                        f"level {len(levels)} done{self._outlook(search, levels)}"
                    )
                if progress.end_problem(name):
                    break
        factor = math.sqrt(len(part.codes) / n_rows)
        codes, weights = search.codes[search.scored], search.weights[search.scored]
        return Searched(named, estimator, training, levels, codes, weights, factor)

    def _learnt_in_folds(
        self, named: dict[str, Any], estimator: Any, budget: Budget
    ) -> list[Training] | None:
        """Return the data of each fold, with feature scales learned from its training rows."""
        if named.get(FEATURES) != SCALED:
            return None
        data, prepared = self.data, []
        for train, _ in data.splits:
            budget.check_time()
            model = clone(estimator)
            model.kernels.feature_scales = data.learn_scales(train)
            training = Training.prepare(
                model, data.X, data.labels, data.sample_weight, budget=budget
            )
            prepared.append(some_rows(training))
        return prepared

    def _shown_fold(
        self, display: ProgressDisplay, search: PathSearch, levels: list[Level]
    ) -> Callable[[int], None]:
        """Return a function that shows which fold is being fitted."""

        def on_fold(fold: int) -> None:
            where = f"level {len(levels) + 1}, fold {fold + 1} of {len(self.data.splits)}"
            display.detail(where + self._outlook(search, levels))

        return on_fold

    def _outlook(self, search: PathSearch, levels: list[Level]) -> str:
        """Return the time left and the best so far, as the end of a sentence."""
        if not levels:
            return ""
        least = search.least_levels * levels[-1].seconds
        left = f", at least {in_words(least)} left" if least else ""
        best = min(levels, key=lambda level: float(level.criteria[0]))
        name, n_support = score_name(self.search), best.n_support.mean()
        score = best.scores[0].mean()
        return f"{left}, best {name} {score:.4f} with {n_support:.0f} support vectors"

    # -- results -----------------------------------------------------------------------

    def results(self) -> dict[str, Any]:
        """Return all settings of all levels, in the format of `GridSearchCV`."""
        rows: list[dict[str, Any]] = []
        columns: dict[str, list[Any]] = {}
        for found in self.found:
            names = found.training.columns.names
            for number, level in enumerate(found.levels):
                for place, setting in enumerate(level.settings):
                    rows.append(
                        found.named
                        | {
                            "complexity_penalty": level.penalty,
                            "level": number,
                            "kernel": setting.name_among(names),
                            "relaxation": setting.rho,
                        }
                    )
                    values = {
                        "scores": level.scores[place],
                        "mean_test_loss": float(level.criteria[place]),
                        "mean_n_support": float(level.n_support.mean()),
                        "mean_fit_time": level.seconds / len(level.settings),
                        "max_relative_gap": level.gap,
                    }
                    for name, value in values.items():
                        columns.setdefault(name, []).append(value)
        scores = np.array(columns.pop("scores"))
        results: dict[str, Any] = {"params": rows}
        for name in rows[0]:
            results[f"param_{name}"] = np.array([row[name] for row in rows])
        for split in range(scores.shape[1]):
            results[f"split{split}_test_score"] = scores[:, split]
        mean = scores.mean(axis=1)
        results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=1)
        results["rank_test_score"] = 1 + (mean[None, :] > mean[:, None] + 1e-12).sum(axis=1)
        results["n_solved_splits"] = np.full(len(rows), scores.shape[1])
        return results | {name: np.array(values) for name, values in columns.items()}

    def n_kernels_tried(self) -> int:
        """Return the number of kernels in all alternatives, as the error bounds count them.

        Alternatives not searched for lack of time count too, since they could have been chosen.
        """
        counts = {f.named.get("kernels"): f.training.columns.n_kernels for f in self.found}
        asked = {named.get("kernels"): model.kernels for named, model in self.alternatives}
        if not self.found and self.plain.kernels is None:
            asked["those of a plain vote"] = None
        data = self.data
        for name in asked.keys() - counts.keys():
            families = clone_families(asked[name])
            fit_families(families, data.X, data.row_weights)
            counts[name] = sum(family.n_kernels for _, family in families)
        return sum(counts.values())

    def choose(self) -> tuple[Searched, list[Member], int]:
        """Return the best alternative, its committee, and the index of its best member."""
        best = min(self.found, key=lambda found: found.criterion)
        committee = choose_committee(best.levels, self.search.prefer, int(self.search.committee))
        before = 0
        for found in self.found:
            sizes = [len(entry.settings) for entry in found.levels]
            if found is best:
                first = committee[0]
                return best, committee, before + sum(sizes[: first.level]) + first.place
            before += sum(sizes)
        raise AssertionError("the best alternative is among those found")

    def refit(self, found: Searched, committee: list[Member]) -> dict[str, Any]:
        """Fit a committee on all rows, and return its fitted attributes."""
        training = found.training
        budget = replace(training.columns.budget, deadline=self.budget.deadline)
        training = training.within(budget)
        if len(training.codes) <= SEARCH_ROWS:
            training = replace(training, columns=stack_columns(training.columns))
        try:
            with single_blas_thread():
                sample, members = refit(
                    training,
                    found.levels,
                    committee,
                    tol=self.search.tol,
                    budget=budget,
                    factor=found.factor,
                )
        except OutOfTime:
            raise FitLimitError(
                f"time_limit={self.search.time_limit!r} left no time to fit a model with the "
                "chosen settings; use a larger time_limit."
            ) from None
        names = training.columns.names
        settings = [
            {"level": m.level, "kernel": setting.name_among(names), "relaxation": setting.rho}
            for m, setting in ((m, found.levels[m.level].settings[m.place]) for m in committee)
        ]
        described = describe_committee(found.training, sample, members, settings)
        penalty = {"complexity_penalty_": sample.penalty}
        return described | penalty | found.probabilities(committee)

    def fit_plain(self) -> Any:
        """Return an estimator fitted without a search, for use if the search completed no level."""
        search, data = self.search, self.data
        if not search.refit:
            raise FitLimitError(
                f"time_limit={search.time_limit!r} ended the search before any level was complete; "
                "use a larger time_limit."
            )
        if self.was_late:
            arguments = "" if self.plain.relaxation is None else "relaxation='auto'"
            warnings.warn(
                f"time_limit={search.time_limit!r} ended the search before any level was complete. "
                f"The model is that of {type(self.plain).__name__}({arguments}) with default "
                "penalties.",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )
        if self.insurance is not None:
            return self.insurance
        if search.time_limit is not None:
            raise FitLimitError(
                f"time_limit={search.time_limit!r} left no time to fit any model; use a larger "
                "time_limit."
            )
        model: Any = clone(self.plain)
        model.fit(data.X, data.labels, data.sample_weight)
        return model

    def warn_of_limits(self) -> None:
        """Warn if the time limit ended the search."""
        if self.search.time_limit is not None and self.search_budget.is_late:
            n_levels = sum(len(found.levels) for found in self.found)
            warnings.warn(
                f"time_limit={self.search.time_limit!r} ended the search after {n_levels} levels; "
                "the model is chosen from these. Larger penalties are tried first.",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )


def some_rows(training: Training) -> Training:
    """Return the rows on which settings are compared."""
    return training.some_rows(SEARCH_ROWS) if len(training.codes) > SEARCH_ROWS else training


def with_defaults(model: Any) -> Any:
    """Return the estimator with the kernels and the complexity of the default search."""
    model = clone(model)
    if model.kernels is None:
        model.kernels = Gaussian(WIDTHS)
    if isinstance(model.complexity, str) and model.complexity == "auto":
        model.complexity = StableRank(power=2.0)
    return model
