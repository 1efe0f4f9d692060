"""`VotedKernelClassifierCV` with a grid: plain votes at every pair of penalties, in every fold."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring

from .._system.budget import SHORTEST
from .._system.progress_display import in_words
from .._system.stack_level import user_stacklevel
from ..exceptions import FitLimitError
from ..kernels.base import FloatArray
from ..preparation.training import effective_rows
from ..solvers.grid_order import walk_outwards
from ._cv_results import best_candidate, tabulate_candidates
from ._fitted_attributes import PROBABILITY_SCALE
from ._fold_scores import FoldResult, Schedule, score_fold
from ._ongoing_fit import FitAttempt, FitProgress, GridWatch, fitted_attributes, score_name
from ._probabilities import fit_scale, votes_for_all
from ._search_data import Alternative, SearchData
from .classifier import VotedKernelClassifier


class GridStrategy:
    """The grid search of an estimator, step by step.

    Parameters
    ----------
    search : VotedKernelClassifierCV
    alternatives : list of Alternative
    data : SearchData
    grid : complexity penalties and l1 penalties
    started : float
        The time at which fit was called, from `time.time`.
    """

    def __init__(
        self,
        search: Any,
        alternatives: list[Alternative],
        data: SearchData,
        grid: tuple[FloatArray, FloatArray],
        started: float,
    ) -> None:
        self.search, self.alternatives, self.data, self.grid = search, alternatives, data, grid
        self.time_limit = search.time_limit
        self.n_splits = len(data.splits)
        self.n_folds = len(alternatives) * self.n_splits
        self.schedule: Schedule | None = None
        #: The best score and the time left after the last fold.
        self._outlook = ""
        if self.time_limit is not None:
            n_workers = effective_n_jobs(search.n_jobs)
            self.schedule = Schedule(started, self.time_limit, self.n_folds, n_workers)

    def run(self, progress: FitProgress) -> list[FoldResult]:
        """Solve and score the grid in every fold of every alternative."""
        data = self.data
        self._check_folds()
        scorer = check_scoring(self.alternatives[0][1], scoring=self.search.scoring)
        jobs = (
            delayed(score_fold)(
                estimator, data.X, data.labels, data.sample_weight, split, *self.grid, scorer,
                data.score_params, self.schedule, number, self._watch(progress, number),
            )
            for number, ((_, estimator), split) in enumerate(
                product(self.alternatives, data.splits)
            )
        )  # fmt: skip
        in_order = self.schedule is not None and self.schedule.n_workers == 1
        done: Iterable[FoldResult]
        done = (
            _while_solved(jobs, self.n_splits) if in_order else _parallel(self.search.n_jobs)(jobs)
        )
        folds: list[FoldResult] = []
        for fold in done:
            name = f"fold {len(folds)}"
            progress.begin_problem(name, lambda _: {})
            folds.append(fold)
            progress.end_problem(name)
            if progress.display is not None:
                self._outlook = self._describe(folds, progress.display.seconds)
                step = f"fold {len(folds)} of {self.n_folds} done"
                progress.display.step(step + self._outlook)
        if progress.display is not None:
            progress.display.detail("fitting the chosen model on all rows")
        return folds

    def _check_folds(self) -> None:
        """Raise if the training rows of a fold are all of one class."""
        for number, (train, _) in enumerate(self.data.splits, 1):
            codes = self.data.codes[train][self.data.row_weights[train] > 0]
            if len(codes) and (codes == codes[0]).all():
                name = self.data.classes[codes[:1]].tolist()[0]
                raise ValueError(
                    f"the training rows of fold {number} of {self.n_splits} have only one class, "
                    f"{name!r}, but a classifier needs at least 2 classes; add rows of the rare "
                    "classes, use other folds (cv), or search without a grid of penalties."
                )

    def _watch(self, progress: FitProgress, number: int) -> GridWatch | None:
        """Return a counter for the solved points of a fold; None if nothing is shown."""
        if progress.display is None:
            return None
        n_classes = len(self.data.classes)
        n_points = math.prod(map(len, self.grid)) * (1 if n_classes == 2 else n_classes)
        where = f"fold {number + 1} of {self.n_folds}, "
        return GridWatch(progress.display, n_points, where, lambda: self._outlook)

    def _describe(self, folds: list[FoldResult], seconds: float) -> str:
        """Return the best mean score so far and the time left, as the end of a sentence."""
        text = ""
        first = (len(folds) - 1) // self.n_splits * self.n_splits
        means = np.mean([fold.scores for fold in folds[first:]], axis=0)
        if np.isfinite(means).any():
            text += f", best mean {score_name(self.search)} {np.nanmax(means):.4f}"
        left = seconds / len(folds) * (self.n_folds - len(folds))
        return text + (f", about {in_words(left)} left" if left else "")

    def results(self, folds: list[FoldResult]) -> dict[str, Any]:
        """Return ``cv_results_``."""
        points = [
            named | {"complexity_penalty": float(lam), "l1_penalty": float(beta)}
            for (named, _), lam, beta in product(self.alternatives, *self.grid)
        ]
        return tabulate_candidates(points, folds, self.n_splits)

    def n_kernels_tried(self, folds: list[FoldResult]) -> int:
        """Return the number of kernels in all alternatives."""
        first_folds = folds[:: self.n_splits]
        tried = {
            named.get("kernels"): fold.n_kernels
            for (named, _), fold in zip(self.alternatives, first_folds, strict=True)
        }
        return sum(tried.values())

    def choose(self, results: dict[str, Any]) -> int:
        """Return the index of the chosen candidate.

        If no candidate was solved in all folds in time, this is the index of the usual pair.
        """
        if results["n_solved_splits"].max() < self.n_splits:
            return self._without_search(results)
        if not np.isfinite(results["mean_test_score"]).any():
            raise ValueError("Every score is NaN; check the scorer and the folds.")
        return best_candidate(results, self.n_splits, self.search.prefer)

    def classifier_of(self, params: dict[str, Any]) -> VotedKernelClassifier:
        """Return the classifier with the kernels and the complexity of a candidate."""
        names = {key: params.get(key) for key in self.alternatives[0][0]}
        found: VotedKernelClassifier = next(
            estimator for named, estimator in self.alternatives if named == names
        )
        return found

    def _without_search(self, results: dict[str, Any]) -> int:
        """Return the index of the usual pair, which is solved first; raise if not refitting."""
        if not self.search.refit:
            raise FitLimitError(
                f"time_limit={self.time_limit!r} ended the search before any pair of penalties "
                "was solved in all folds; use a larger time_limit."
            )
        usual = walk_outwards(*self.grid)[0]
        n_lambdas, n_betas = (
            len(np.unique(results[f"param_{name}"]))
            for name in ("complexity_penalty", "l1_penalty")
        )
        # Each alternative has this pair; choose the alternative that solved it in the most folds.
        places = np.arange(len(results["params"])).reshape(-1, n_lambdas, n_betas)[:, *usual]
        index = int(places[results["n_solved_splits"][places].argmax()])
        params = results["params"][index]
        warnings.warn(
            f"time_limit={self.time_limit!r} ended the search before any pair of penalties was "
            "solved in all folds. The model uses the pair nearest to the defaults of "
            f"VotedKernelClassifier, complexity_penalty={params['complexity_penalty']:g} and "
            f"l1_penalty={params['l1_penalty']:g}; best_score_ is NaN.",
            ConvergenceWarning,
            stacklevel=user_stacklevel(),
        )
        return index

    def probabilities(self, folds: list[FoldResult], index: int) -> dict[str, float]:
        """Return the scale of a candidate's probabilities, from its votes on held-out rows.

        If time ran out before there were such votes, the result is empty.
        """
        data = self.data
        alternative, *pair = np.unravel_index(index, (len(self.alternatives), *map(len, self.grid)))
        of_alternative = folds[int(alternative) * self.n_splits :][: self.n_splits]
        votes, rows = [], []
        for fold, (_, test) in zip(of_alternative, data.splits, strict=True):
            if fold.solved[*pair]:
                own = fold.decisions[*pair].astype(np.float64)
                votes.append(votes_for_all(own, fold.classes, data.classes))
                rows.append(test)
        if not votes:
            return {}
        held_out = np.concatenate(rows)
        weights = data.loss_weights(self.search.class_weight)[held_out]
        alive = np.flatnonzero(weights)
        decisions, codes = np.concatenate(votes)[alive], data.codes[held_out][alive]
        m = effective_rows(data.row_weights)
        return {PROBABILITY_SCALE: fit_scale(decisions, codes, weights[alive], m)}

    def refit(
        self, chosen: VotedKernelClassifier, params: dict[str, Any], attempt: FitAttempt
    ) -> None:
        """Fit the chosen candidate on all rows, and copy its attributes to the search."""
        data, schedule = self.data, self.schedule
        model = clone(chosen).set_params(
            complexity_penalty=params["complexity_penalty"],
            l1_penalty=params["l1_penalty"],
            time_limit=None if schedule is None else max(SHORTEST, schedule.end - time.time()),
        )
        try:
            model.fit(data.X, data.labels, data.sample_weight)
        except KeyboardInterrupt:
            found = fitted_attributes(model)
            if "term_weights_" in found:
                attempt.keep(found)
            raise
        except FitLimitError as error:
            if schedule is None:
                raise
            raise FitLimitError(
                f"time_limit={self.time_limit!r} left no time to fit a model with the chosen "
                "penalties; use a larger time_limit."
            ) from error
        attempt.publish(fitted_attributes(model))

    def warn(self, folds: list[FoldResult], results: dict[str, Any]) -> None:
        """Warn about fits that stopped early, and about a search that ran out of time."""
        gaps = np.concatenate([fold.relative_gaps[fold.solved] for fold in folds])
        late = int((gaps > self.search.tol).sum())
        if late:
            warnings.warn(
                f"{late} of {len(gaps)} fits in the search stopped early, with relative duality "
                f"gaps up to {gaps.max():.2g}, above tol={self.search.tol:.2g}; "
                "see cv_results_['max_relative_gap'].",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )
        n_solved = results["n_solved_splits"]
        complete = int((n_solved == self.n_splits).sum())
        if 0 < complete < len(n_solved):
            warnings.warn(
                f"time_limit={self.time_limit!r} ended the search: {complete} of {len(n_solved)} "
                "candidates were solved in all folds, and one of these was chosen. The penalties "
                "nearest to the defaults are solved first.",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )


def _while_solved(jobs: Iterable[Any], n_splits: int) -> Iterator[FoldResult]:
    """Run the folds in order, and skip those that can no longer matter.

    If a fold had no time to solve any penalties, its alternative cannot be chosen. The other folds
    of that alternative are not run and count as unsolved.
    """
    fold: FoldResult | None = None
    for number, (function, args, options) in enumerate(jobs):
        if number % n_splits == 0 or fold is None or fold.solved.any():
            fold = function(*args, **options)
        assert fold is not None
        yield fold


def _parallel(n_jobs: int | None) -> Parallel:
    """Return a runner that yields each fold as soon as it is done, if the backend can do that.

    The multiprocessing backend cannot, nor can the Dask backend before joblib 1.4; joblib then
    raises an error. These backends return all folds at the end, so progress is reported only then.
    """
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        return Parallel(n_jobs=n_jobs)
