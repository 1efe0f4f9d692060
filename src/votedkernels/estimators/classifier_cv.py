"""`VotedKernelClassifierCV`: penalties chosen by cross-validation over hot-started grids."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)

from .._system.stack_level import user_stacklevel
from ..distributed import refuse_dask
from ..exceptions import FitLimitError
from ..kernels import clone_families
from ..kernels.base import count_rows
from ..preparation.training import class_factors, weighted_classes
from ..preparation.validation import (
    check_parameters,
    check_penalties,
    validate_labels,
    validate_rows,
    validate_weights,
)
from ..solvers import SOLVERS
from ..solvers.grid import DEFAULT_PENALTIES, walk_outwards
from ._cv_results import best_candidate, tabulate_candidates
from ._fit_attempt import FitAttempt, fitted_attributes
from ._fold_scores import FoldResult, Schedule, score_fold
from ._html_attributes import ReadableAttributesMixin
from ._named_families import NamedFamiliesMixin
from ._progress import CallbackSupportMixin, FitProgress, with_callbacks
from ._voting import VoteMixin
from .classifier import VotedKernelClassifier
from .path import refuse_continuum

#: Seconds that the last fit gets where none are left, to raise its error.
SHORTEST = 1e-3
#: Parameters handed on to `VotedKernelClassifier` as they are.
SHARED_PARAMETERS = (
    "centers",
    "fit_intercept",
    "class_weight",
    "tol",
    "max_iter",
    "time_limit",
    "memory_limit",
    "random_state",
)


class VotedKernelClassifierCV(
    CallbackSupportMixin, VoteMixin, ReadableAttributesMixin, NamedFamiliesMixin
):
    """`VotedKernelClassifier` with penalties chosen by cross-validation.

    For every fold the whole grid of penalties is solved by hot restarts, each point to its
    certified gap.

    Parameters
    ----------
    kernels : as for `VotedKernelClassifier`, default=None
        A dict of named alternatives is searched over.
    complexity_penalties, l1_penalties : array-like, default=None
        The grid; None is 1, 0.1, ..., 1e-6.
    cv : int, splitter or iterable, default=None
        Cross-validation; None is 5 stratified folds.
    scoring : str or callable, default=None
        A scikit-learn scorer; None is accuracy, in which ``sample_weight`` and ``class_weight``
        count.
    prefer : {"best", "sparse"}, default="best"
        ``"best"`` takes the best mean score, and of equal ones that of the larger penalties;
        ``"sparse"`` the fewest support vectors among models within one standard error of it.
    refit : bool, default=True
        Whether to fit on all data with the penalties chosen. Without, there is no prediction.
    complexity : as for `VotedKernelClassifier`, default="auto"
        A dict of named alternatives is searched over, such as
        ``{radius: Local(radius) for radius in (0.01, 0.1, 1.0)}``.
    centers, fit_intercept, class_weight, tol, max_iter, memory_limit, random_state
        As for `VotedKernelClassifier`.
    time_limit : float, default=None
        Seconds of wall time for the whole call of fit. The search then begins with the penalties
        nearest to the defaults of `VotedKernelClassifier`, goes on to others while there is time,
        and leaves some for the last fit. `FitLimitError` is raised where no vote was found.
    n_jobs : int, default=None
        Processes for folds; None is 1.

    Attributes
    ----------
    best_params_ : dict
        ``complexity_penalty`` and ``l1_penalty``; ``kernels`` and ``complexity`` too, by name,
        where alternatives were given.
    best_score_ : float
        Mean score of the choice over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As `GridSearchCV` has it, with ``mean_n_support`` beside the scores. Candidates that
        the time limit left unsolved in a fold (``n_solved_splits`` counts the others) have NaN
        for scores, and are not chosen.
    complexity_penalty_, l1_penalty_ : float
        The penalties chosen.
    n_splits_ : int
        Number of folds.

    All attributes of `VotedKernelClassifier` follow from the last fit.

    Examples
    --------
    >>> from votedkernels import VotedKernelClassifierCV
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(150, random_state=0)
    >>> model = VotedKernelClassifierCV(complexity_penalties=[1e-1, 1e-2], l1_penalties=[1e-2])
    >>> sorted(model.fit(X, y).best_params_)
    ['complexity_penalty', 'l1_penalty']
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        complexity_penalties: Any = None,
        l1_penalties: Any = None,
        cv: Any = None,
        scoring: Any = None,
        prefer: str = "best",
        refit: bool = True,
        complexity: Any = "auto",
        centers: Any = None,
        fit_intercept: bool = False,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.complexity_penalties = complexity_penalties
        self.l1_penalties = l1_penalties
        self.cv = cv
        self.scoring = scoring
        self.prefer = prefer
        self.refit = refit
        self.complexity = complexity
        self.centers = centers
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose the penalties and fit.

        Parameters
        ----------
        X, y : training data, as for `VotedKernelClassifier.fit`
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, in fitting and in scoring.
        **params
            ``groups`` for the splitter; with metadata routing, whatever was requested.

        Returns
        -------
        self
        """
        started = time.time()
        lambdas = check_penalties(
            self.complexity_penalties, "complexity_penalties", DEFAULT_PENALTIES
        )
        betas = check_penalties(self.l1_penalties, "l1_penalties", DEFAULT_PENALTIES)
        if self.prefer not in ("best", "sparse"):
            raise ValueError(f"prefer must be 'best' or 'sparse', got {self.prefer!r}.")
        alternatives = list(self._alternatives())
        for _, estimator in alternatives:
            check_parameters(estimator, SOLVERS)
            refuse_continuum(estimator.kernels, "VotedKernelClassifierCV")
        refuse_dask(X, "VotedKernelClassifierCV")
        families = [family for _, family in clone_families(alternatives[0][1].kernels)]
        with FitAttempt(self) as attempt:
            X = validate_rows(self, X, families, reset=True)
            classes, codes = validate_labels(X, y)
            y = classes[codes]
            if sample_weight is not None:
                sample_weight = validate_weights(sample_weight, X, codes)
            routed = self._route(sample_weight, params)
            if self.scoring is None and self.class_weight is not None:
                routed.scorer.score = self._weigh_scores(classes, codes, routed.scorer.score)
            cv = check_cv(self.cv, codes, classifier=True)
            splits = list(cv.split(np.zeros((count_rows(X), 1)), codes, **routed.splitter.split))
            scorer = check_scoring(alternatives[0][1], scoring=self.scoring)
            progress = FitProgress(self, len(alternatives) * len(splits) + 1, X, y)
            schedule = None
            if self.time_limit is not None:
                n_folds, n_workers = len(alternatives) * len(splits), effective_n_jobs(self.n_jobs)
                schedule = Schedule(started, self.time_limit, n_folds, n_workers)
            jobs = (
                delayed(score_fold)(
                    estimator, X, y, sample_weight, split, lambdas, betas, scorer,
                    routed.scorer.score, schedule, number,
                )
                for number, ((_, estimator), split) in enumerate(product(alternatives, splits))
            )  # fmt: skip
            folds = self._run(jobs, len(splits), schedule, progress)
            self.n_splits_ = len(splits)
            tried = {
                named.get("kernels"): fold.n_kernels
                for (named, _), fold in zip(alternatives, folds[:: len(splits)], strict=True)
            }
            self.n_kernels_tried_ = sum(tried.values())
            points = [
                named | {"complexity_penalty": float(lam), "l1_penalty": float(beta)}
                for (named, _), lam, beta in product(alternatives, lambdas, betas)
            ]
            self.cv_results_ = tabulate_candidates(points, folds, len(splits))
            chosen = self._choose(alternatives, walk_outwards(lambdas, betas)[0])
            self._warn(folds)
            if self.refit:
                self._refit(chosen, X, y, sample_weight, schedule, attempt)
            else:
                self.classes_ = classes
            self._chosen = chosen
            progress.end()
        return self

    def _run(
        self,
        jobs: Iterable[Any],
        n_splits: int,
        schedule: Schedule | None,
        progress: FitProgress,
    ) -> list[FoldResult]:
        folds: list[FoldResult] = []
        in_order = schedule is not None and schedule.n_workers == 1
        for fold in _while_solved(jobs, n_splits) if in_order else _parallel(self.n_jobs)(jobs):
            progress.begin_problem(f"fold {len(folds)}", lambda state: {})
            folds.append(fold)
            progress.end_problem()
        return folds

    def _alternatives(self) -> Iterator[tuple[dict[str, Any], VotedKernelClassifier]]:
        """Give (names of the choice, unfitted classifier) for every kernels and complexity."""
        searched = {
            name: value
            for name, value in (("kernels", self.kernels), ("complexity", self.complexity))
            if isinstance(value, dict)
        }
        for name, value in searched.items():
            if not value:
                raise ValueError(f"{name} is an empty dict; give at least one alternative.")
        shared = {name: getattr(self, name) for name in SHARED_PARAMETERS}
        for choice in product(*searched.values()):
            named = dict(zip(searched, choice, strict=True))
            values = {name: searched[name][key] for name, key in named.items()}
            yield (
                named,
                VotedKernelClassifier(
                    clone(values.get("kernels", self.kernels), safe=False),
                    complexity=values.get("complexity", self.complexity),
                    **shared,
                ),
            )

    def _route(self, sample_weight: Any, params: dict[str, Any]) -> Bunch:
        """Return what goes to the splitter and what to the scorer."""
        if _routing_enabled():
            weight = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed: Bunch = process_routing(self, "fit", **weight, **params)
            return routed
        unknown = set(params) - {"groups"}
        if unknown:
            raise TypeError(
                f"fit got unexpected arguments {sorted(unknown)}; enable metadata routing to "
                "pass metadata to the splitter or the scorer."
            )
        return Bunch(
            splitter=Bunch(split={"groups": params.get("groups")}),
            scorer=Bunch(score={} if sample_weight is None else {"sample_weight": sample_weight}),
        )

    def _weigh_scores(self, classes: Any, codes: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Let the class weights count in the default accuracy, as they do in the loss."""
        weights = params.get("sample_weight", np.ones(len(codes)))
        factors = class_factors(self.class_weight, classes, codes, weights)
        return {**params, "sample_weight": weighted_classes(weights, factors, codes)}

    def get_metadata_routing(self) -> MetadataRouter:
        """Get metadata routing of this object.

        Returns
        -------
        MetadataRouter
        """
        scoring = self.scoring
        if scoring is None or (isinstance(scoring, str) and scoring in get_scorer_names()):
            scoring = check_scoring(VotedKernelClassifier(), scoring=scoring or "accuracy")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv, classifier=True),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=scoring,
                method_mapping=MethodMapping()
                .add(caller="fit", callee="score")
                .add(caller="score", callee="score"),
            )
        )

    def _choose(
        self,
        alternatives: list[tuple[dict[str, Any], VotedKernelClassifier]],
        usual: tuple[int, int],
    ) -> VotedKernelClassifier:
        """Choose a candidate, and return the classifier that has its kernels and complexity.

        Where time did not suffice to solve any in all folds, it is the ``usual`` pair.
        """
        results = self.cv_results_
        mean = results["mean_test_score"]
        if results["n_solved_splits"].max() < self.n_splits_:
            self.best_index_ = self._without_search(usual)
        elif not np.isfinite(mean).any():
            raise ValueError("Every score is NaN; look at the scorer and the folds.")
        else:
            self.best_index_ = best_candidate(results, self.n_splits_, self.prefer)
        self.best_params_ = results["params"][self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        self.complexity_penalty_ = self.best_params_["complexity_penalty"]
        self.l1_penalty_ = self.best_params_["l1_penalty"]
        names = {key: self.best_params_.get(key) for key in alternatives[0][0]}
        return next(estimator for named, estimator in alternatives if named == names)

    def _without_search(self, usual: tuple[int, int]) -> int:
        """Return the usual pair, the first of the walk; raise where nothing would come of it."""
        if not self.refit:
            raise FitLimitError(
                f"time_limit={self.time_limit!r} ended the search before any pair of penalties "
                "was solved in all folds; give a larger time_limit."
            )
        results = self.cv_results_
        n_lambdas, n_betas = (
            len(np.unique(results[f"param_{name}"]))
            for name in ("complexity_penalty", "l1_penalty")
        )
        # The same pair in every alternative; that of the alternative that came farthest is taken.
        places = np.arange(len(results["params"])).reshape(-1, n_lambdas, n_betas)[:, *usual]
        index = int(places[results["n_solved_splits"][places].argmax()])
        params = results["params"][index]
        warnings.warn(
            f"time_limit={self.time_limit!r} ended the search before any pair of penalties was "
            "solved in all folds. The model has the pair next to the defaults of "
            f"VotedKernelClassifier, complexity_penalty={params['complexity_penalty']:g} and "
            f"l1_penalty={params['l1_penalty']:g}; best_score_ is NaN.",
            ConvergenceWarning,
            stacklevel=user_stacklevel(),
        )
        return index

    def _refit(
        self,
        chosen: VotedKernelClassifier,
        X: Any,
        y: Any,
        sample_weight: Any,
        schedule: Schedule | None,
        attempt: FitAttempt,
    ) -> None:
        model = clone(chosen).set_params(
            complexity_penalty=self.complexity_penalty_,
            l1_penalty=self.l1_penalty_,
            time_limit=None if schedule is None else max(SHORTEST, schedule.end - time.time()),
        )
        try:
            model.fit(X, y, sample_weight)
        except KeyboardInterrupt:
            found = fitted_attributes(model)
            if "term_weights_" in found:
                self._chosen = chosen
                attempt.keep(found)
            raise
        except FitLimitError as error:
            if schedule is None:
                raise
            raise FitLimitError(
                f"time_limit={self.time_limit!r} left no time to fit a model with the penalties "
                "chosen; give a larger time_limit."
            ) from error
        attempt.publish(fitted_attributes(model))

    def _warn(self, folds: list[FoldResult]) -> None:
        gaps = np.concatenate([fold.relative_gaps[fold.solved] for fold in folds])
        late = int((gaps > self.tol).sum())
        if late:
            warnings.warn(
                f"{late} of {len(gaps)} fits in the search stopped early, with relative duality "
                f"gaps up to {gaps.max():.2g}, above tol={self.tol:.2g}; "
                "see cv_results_['max_relative_gap'].",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )
        n_solved = self.cv_results_["n_solved_splits"]
        complete = int((n_solved == self.n_splits_).sum())
        if 0 < complete < len(n_solved):
            warnings.warn(
                f"time_limit={self.time_limit!r} ended the search: {complete} of {len(n_solved)} "
                "candidates were solved in all folds, and the choice is among these; the penalties "
                "nearest to the defaults come first.",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )


def _while_solved(jobs: Iterable[Any], n_splits: int) -> Iterator[FoldResult]:
    """Run the folds one after another.

    An alternative with a fold in which there was no time for any penalties cannot be chosen any
    more: its other folds are not run, and count as unsolved.
    """
    fold: FoldResult | None = None
    for number, (function, args, options) in enumerate(jobs):
        if number % n_splits == 0 or fold is None or fold.solved.any():
            fold = function(*args, **options)
        assert fold is not None
        yield fold


def _parallel(n_jobs: int | None) -> Parallel:
    """Return what runs folds, and gives each as soon as it is done where the backend can.

    The multiprocessing backend cannot, nor can that of Dask before joblib 1.4; joblib refuses to
    ask them. They give all folds at the end, which only makes progress lumpy.
    """
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        return Parallel(n_jobs=n_jobs)
