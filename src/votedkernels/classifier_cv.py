"""`VotedKernelClassifierCV`: penalties chosen by cross-validation over hot-started grids."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
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

from .classifier import VotedKernelClassifier
from .distributed import refuse_dask
from .fold_scores import FoldResult, score_fold
from .kernel_path import refuse_continuum
from .kernels import clone_families
from .kernels.base import count_rows
from .named_families import NamedFamiliesMixin
from .path import DEFAULT_PENALTIES
from .progress import CallbackSupportMixin, FitProgress, with_callbacks
from .readable import ReadableAttributesMixin
from .solvers import SOLVERS
from .stack import user_stacklevel
from .training import class_factors
from .validation import (
    check_parameters,
    check_penalties,
    validate_labels,
    validate_rows,
    validate_weights,
)
from .voting import VoteMixin

#: Scores that differ by less are equal: neither rounding nor one row in a million should move
#: the choice to smaller penalties.
SAME_SCORE = 1e-6
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
        Seconds of wall time for the whole call of fit.
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
        As `GridSearchCV` has it, with ``mean_n_support`` beside the scores.
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
        end = None if self.time_limit is None else time.time() + self.time_limit
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
        jobs = (
            delayed(score_fold)(
                estimator, X, y, sample_weight, split, lambdas, betas, scorer,
                routed.scorer.score, end,
            )
            for _, estimator in alternatives
            for split in splits
        )  # fmt: skip
        folds: list[FoldResult] = []
        for fold in _parallel(self.n_jobs)(jobs):
            progress.begin_problem(f"fold {len(folds)}", lambda state: {})
            folds.append(fold)
            progress.end_problem()
        self.n_splits_ = len(splits)
        tried = {
            named.get("kernels"): folds[number * len(splits)].n_kernels
            for number, (named, _) in enumerate(alternatives)
        }
        self.n_kernels_tried_ = sum(tried.values())
        self.cv_results_ = self._tabulate(alternatives, folds, lambdas, betas)
        self._choose(alternatives)
        self._warn(folds)
        if self.refit:
            self._refit(X, y, sample_weight, end)
        else:
            self.classes_ = classes
        progress.end()
        return self

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
        return {**params, "sample_weight": weights * factors[codes]}

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

    def _tabulate(
        self,
        alternatives: list[tuple[dict[str, Any], VotedKernelClassifier]],
        folds: list[FoldResult],
        lambdas: Any,
        betas: Any,
    ) -> dict[str, Any]:
        """Return the scores in the form of `GridSearchCV`."""
        points = [
            named | {"complexity_penalty": float(lam), "l1_penalty": float(beta)}
            for named, _ in alternatives
            for lam in lambdas
            for beta in betas
        ]

        def collect(name: str) -> Any:
            """Values by (point, fold)."""
            values = np.stack([getattr(fold, name) for fold in folds])
            by_alternative = values.reshape(len(alternatives), self.n_splits_, -1)
            return by_alternative.transpose(0, 2, 1).reshape(len(points), self.n_splits_)

        scores, n_support, seconds = collect("scores"), collect("n_support"), collect("seconds")
        results: dict[str, Any] = {"params": points}
        for name in points[0]:
            results[f"param_{name}"] = np.array([point[name] for point in points])
        for split in range(self.n_splits_):
            results[f"split{split}_test_score"] = scores[:, split]
        results["mean_test_score"] = scores.mean(axis=1)
        results["std_test_score"] = scores.std(axis=1)
        rounded = np.round(results["mean_test_score"] / SAME_SCORE)
        results["rank_test_score"] = 1 + (rounded[None, :] > rounded[:, None]).sum(axis=1)
        results["mean_n_support"] = n_support.mean(axis=1)
        results["mean_fit_time"] = seconds.mean(axis=1)
        results["max_relative_gap"] = collect("relative_gaps").max(axis=1)
        return results

    def _choose(self, alternatives: list[tuple[dict[str, Any], VotedKernelClassifier]]) -> None:
        results = self.cv_results_
        mean = results["mean_test_score"]
        if not np.isfinite(mean).any():
            raise ValueError("Every score is NaN; look at the scorer and the folds.")
        best = np.nanmax(mean)
        allowed, order = best - SAME_SCORE, [np.zeros(len(mean))]
        if self.prefer == "sparse":
            top = int(np.nanargmax(mean))
            spread = results["std_test_score"][top] / np.sqrt(max(1, self.n_splits_ - 1))
            allowed, order = best - spread - SAME_SCORE, [results["mean_n_support"]]
        candidates = np.flatnonzero(mean >= allowed)
        keys = (-results["param_l1_penalty"], -results["param_complexity_penalty"], *order)
        self.best_index_ = int(candidates[np.lexsort([key[candidates] for key in keys])[0]])
        self.best_params_ = results["params"][self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        self.complexity_penalty_ = self.best_params_["complexity_penalty"]
        self.l1_penalty_ = self.best_params_["l1_penalty"]
        names = {key: self.best_params_.get(key) for key in alternatives[0][0]}
        self._chosen = next(estimator for named, estimator in alternatives if named == names)

    def _refit(self, X: Any, y: Any, sample_weight: Any, end: float | None) -> None:
        model = clone(self._chosen).set_params(
            complexity_penalty=self.complexity_penalty_,
            l1_penalty=self.l1_penalty_,
            time_limit=None if end is None else max(0.0, end - time.time()),
        )
        model.fit(X, y, sample_weight)
        fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
        self.__dict__.update(fitted)

    def _warn(self, folds: list[FoldResult]) -> None:
        gaps = np.concatenate([fold.relative_gaps.ravel() for fold in folds])
        late = int((gaps > self.tol).sum())
        if late:
            warnings.warn(
                f"{late} of {len(gaps)} fits in the search stopped early, with relative duality "
                f"gaps up to {gaps.max():.2g}, above tol={self.tol:.2g}; "
                "see cv_results_['max_relative_gap'].",
                ConvergenceWarning,
                stacklevel=user_stacklevel(),
            )


def _parallel(n_jobs: int | None) -> Parallel:
    """Return what runs folds, and gives each as soon as it is done where the backend can.

    The multiprocessing backend cannot, nor can that of Dask before joblib 1.4; joblib refuses to
    ask them. They give all folds at the end, which only makes progress lumpy.
    """
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        return Parallel(n_jobs=n_jobs)
