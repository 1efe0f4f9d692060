"""`VotedKernelClassifierCV`: a vote whose kernels and penalties are chosen by cross-validation."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ..distributed import refuse_dask
from ..kernels import clone_families
from ..kernels.base import FloatArray
from ..kernels.families import NamedFamiliesMixin
from ..preparation.sample import class_factors, weighted_classes
from ..preparation.validation import (
    check_penalties,
    validate_labels,
    validate_rows,
    validate_weights,
)
from ..solvers.grid_order import DEFAULT_PENALTIES
from ._grid_strategy import GridStrategy
from ._html_attributes import ReadableAttributesMixin
from ._ongoing_fit import (
    CallbackSupportMixin,
    FitAttempt,
    FitProgress,
    showing_progress,
    with_callbacks,
)
from ._path_strategy import PathStrategy
from ._searching import SHARED_PARAMETERS, SearchMixin
from ._voting import VoteMixin
from .classifier import VotedKernelClassifier

if TYPE_CHECKING:
    from .._system.progress_display import ProgressDisplay


class VotedKernelClassifierCV(
    SearchMixin, CallbackSupportMixin, VoteMixin, ReadableAttributesMixin, NamedFamiliesMixin
):
    """`VotedKernelClassifier` with kernels and penalties chosen by cross-validation.

    Without a grid, the search has two stages. The first is a path of l1 votes over all kernels,
    from the penalty where the first column gets a weight to smaller ones; it chooses which rows
    vote. In the second, at each level of the path, new weights are fitted to these rows with one
    kernel at a time, under the squared norm of the kernel's own space (the relaxed vote). The model
    is the mean of the best of these votes. With a grid of penalties, a plain vote with a
    certified gap is fitted at every point of the grid.

    Parameters
    ----------
    kernels : as for `VotedKernelClassifier`, default=None
        None means Gaussians of seven widths or, with a grid, the `VotedKernelClassifier` default.
        A dict lists named alternatives to search over. ``"table"`` has two alternatives: its
        kernels with and without rules. Rules are chosen only if they improve the criterion by 5 per
        cent.
    complexity_penalties, l1_penalties : array-like, default=None
        A grid of penalties. If only one is set, the other is 1, 0.1, ..., 1e-6. If both are None,
        the search has two stages.
    l2_penalties : array-like, default=None
        Values of ``l2_penalty`` to search over. If they are set, the search uses a grid of the
        other penalties too.
    l2_norm : as for `VotedKernelClassifier`, default="auto"
    cv : int, splitter or iterable, default=None
        Cross-validation; None means 5 stratified folds, shuffled unless there is a grid.
    scoring : str or callable, default=None
        If set, the model is chosen by this scikit-learn scorer. None reports accuracy, weighted by
        ``sample_weight`` and ``class_weight``. With a grid, the model is chosen by this accuracy;
        without one, by errors, log-loss and size together.
    prefer : {"best", "sparse"}, default="best"
        ``"sparse"`` chooses the model with the fewest support vectors among those that are within
        half a standard error of the best (with a grid, within one standard error).
    committee : int, default=5
        How many of the best votes are averaged. They have most of their support vectors in common.
        If some kernels are not positive definite, there is at most one vote per kernel. Not used
        with a grid or with ``prefer="sparse"``.
    refit : bool, default=True
        Whether to fit the chosen model on all rows. If False, the search cannot predict.
    complexity : as for `VotedKernelClassifier`, default="auto"
        Without a grid, ``"auto"`` is ``StableRank(power=2)``. A dict lists named alternatives to
        search over, such as ``{radius: Local(radius) for radius in (0.01, 0.1, 1.0)}``.
    centers, fit_intercept, class_weight, tol, max_iter, memory_limit, random_state
        As for `VotedKernelClassifier`. Relaxed votes always have an intercept.
    time_limit : float, default=None
        Seconds of wall time for the whole call to fit. The search stops early, with a warning, to
        leave time for the last fit. `FitLimitError` is raised if there is no time for any model.
    n_jobs : int, default=None
        With a grid, number of processes for the folds; otherwise, number of threads for evaluating
        kernels. None means 1.
    verbose : int, default=0
        0 prints nothing, 1 shows progress on standard error, 2 prints a line for each step.

    Attributes
    ----------
    best_params_ : dict
        The best setting: ``complexity_penalty``, ``level``, ``kernel`` and ``relaxation`` or, with
        a grid, ``complexity_penalty``, ``l1_penalty`` and, if searched, ``l2_penalty``. If there
        were alternatives, it also has the names of the chosen ``kernels`` and ``complexity``.
    best_score_ : float
        Mean score of the best setting over the folds.
    best_index_ : int
        Index of the best setting in ``cv_results_``.
    cv_results_ : dict of arrays
        All settings, in the format of `GridSearchCV`, with two further columns: ``mean_n_support``
        and, without a grid, ``mean_test_loss``, the criterion for the choice.
    complexity_penalty_, l1_penalty_ : float
        The penalties of the l1 vote.
    selection_ : Bunch
        The l1 vote that chose the rows: the fitted attributes of a vote, without the trailing
        underscore. ``objective_``, ``dual_bound_`` and ``dual_gap_`` refer to this vote. Not set
        with a grid.
    members_ : list of Bunch
        The votes of the committee: ``level``, ``kernel``, ``relaxation``, ``relaxed_objective`` and
        ``relaxed_dual_gap``. Not set with a grid.
    relaxed_objective_, relaxed_dual_gap_ : float
        Objective and gap of the best member. For the given terms, its weights are optimal up to
        this gap. Not set with a grid.
    probability_scale_ : float
        The factor s in P = 1 / (1 + exp(-s f)) or, with more than two classes, in the softmax of
        s f. It is fitted to votes on the held-out rows of the search. Not set if a time limit left
        no time for the search.
    n_splits_ : int
        Number of folds.

    The last fit also sets all attributes of `VotedKernelClassifier`.

    Examples
    --------
    >>> from votedkernels import VotedKernelClassifierCV
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(150, random_state=0)
    >>> model = VotedKernelClassifierCV().fit(X, y)
    >>> len(model.members_)
    5
    >>> model = VotedKernelClassifierCV(complexity_penalties=[1e-1, 1e-2], l1_penalties=[1e-2])
    >>> sorted(model.fit(X, y).best_params_)
    ['complexity_penalty', 'l1_penalty']
    """

    _single = VotedKernelClassifier
    _score_name = "accuracy"
    _shared_parameters = (*SHARED_PARAMETERS, "l2_norm", "class_weight")

    def __init__(
        self,
        kernels: Any = None,
        *,
        complexity_penalties: Any = None,
        l1_penalties: Any = None,
        l2_penalties: Any = None,
        l2_norm: str = "auto",
        cv: Any = None,
        scoring: Any = None,
        prefer: str = "best",
        committee: int = 5,
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
        verbose: int = 0,
    ) -> None:
        # pylint: disable=duplicate-code  # scikit-learn reads parameters from the signature
        self.kernels = kernels
        self.complexity_penalties = complexity_penalties
        self.l1_penalties = l1_penalties
        self.l2_penalties = l2_penalties
        self.l2_norm = l2_norm
        self.cv = cv
        self.scoring = scoring
        self.prefer = prefer
        self.committee = committee
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
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose kernels and penalties by cross-validation, and fit the model.

        Parameters
        ----------
        X, y : training data, as for `VotedKernelClassifier.fit`
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for fitting and for scoring.
        **params
            ``groups`` for the splitter or, with metadata routing, any requested metadata.

        Returns
        -------
        self
        """
        started = time.time()
        grid = self._grid()
        grids = (self.complexity_penalties, self.l1_penalties, self.l2_penalties)
        by_path = all(penalties is None for penalties in grids)
        refuse_dask(X, "VotedKernelClassifierCV")
        alternatives = self._checked_alternatives(X)
        families = [family for _, family in clone_families(alternatives[0][1].kernels)]
        with FitAttempt(self) as attempt, showing_progress(self) as display:
            X = validate_rows(self, X, families, reset=True)
            classes, codes = validate_labels(X, y)
            y = classes[codes]
            if sample_weight is not None:
                sample_weight = validate_weights(sample_weight, X, codes)
            routed = self._route(sample_weight, params)
            if self.scoring is None and self.class_weight is not None:
                routed.scorer.score = self._weigh_scores(classes, codes, routed.scorer.score)
            default = StratifiedKFold(shuffle=True, random_state=0) if by_path else None
            data = self._gather(X, classes, codes, sample_weight, routed, default)
            if by_path:
                self._fit_by_path(PathStrategy(self, alternatives, data), attempt, display)
            else:
                strategy = GridStrategy(self, alternatives, data, grid, started)
                self._fit_by_grid(strategy, attempt, display)
            if not self.refit:
                self.classes_ = classes
        return self

    def _fit_by_grid(
        self, strategy: GridStrategy, attempt: FitAttempt, display: ProgressDisplay | None
    ) -> None:
        """Search a grid of plain votes, and fit the best one."""
        data = strategy.data
        progress = FitProgress(self, data.X, data.labels, strategy.n_folds + 1, display=display)
        folds = strategy.run(progress)
        self.n_kernels_tried_ = strategy.n_kernels_tried(folds)
        self.cv_results_ = strategy.results(folds)
        self._note_choice(strategy.choose(self.cv_results_))
        self.l1_penalty_ = self.best_params_["l1_penalty"]
        self._chosen = strategy.classifier_of(self.best_params_)
        strategy.warn(folds, self.cv_results_)
        if self.refit:
            strategy.refit(self._chosen, self.best_params_, attempt)
            attempt.publish(strategy.probabilities(folds, self.best_index_))
        progress.end()

    def _grid(self) -> tuple[FloatArray, FloatArray]:
        """Return the complexity penalties and the l1 penalties to search over."""
        self._check_choice()
        return (
            check_penalties(self.complexity_penalties, "complexity_penalties", DEFAULT_PENALTIES),
            check_penalties(self.l1_penalties, "l1_penalties", DEFAULT_PENALTIES),
        )

    def _weigh_scores(self, classes: Any, codes: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return the scorer's arguments, with rows weighted by class as in the loss."""
        weights = params.get("sample_weight", np.ones(len(codes)))
        factors = class_factors(self.class_weight, classes, codes, weights)
        return {**params, "sample_weight": weighted_classes(weights, factors, codes)}

    def _offers_probabilities(self) -> bool:
        # Before the fit, scikit-learn's check of probabilities passes tables to every
        # estimator that offers probabilities, even if X must be a kernel matrix.
        is_fitted = hasattr(self, "cv_results_")
        return is_fitted or not self.__sklearn_tags__().input_tags.pairwise

    def chosen_classifier(self) -> VotedKernelClassifier:
        """Return an unfitted classifier with the parameters that the search chose.

        Returns
        -------
        VotedKernelClassifier
        """
        chosen: VotedKernelClassifier = self._chosen_single()
        return chosen
