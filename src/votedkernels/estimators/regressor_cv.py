"""`VotedKernelRegressorCV`: regression with kernels and settings chosen by cross-validation."""

from __future__ import annotations

from typing import Any, Self

from sklearn.model_selection import KFold

from ..distributed import refuse_dask
from ..kernels import clone_families
from ..kernels.families import NamedFamiliesMixin
from ..preparation.numbers import check_loss
from ..preparation.validation import validate_numbers, validate_rows, validate_weights
from ._html_attributes import ReadableAttributesMixin
from ._ongoing_fit import CallbackSupportMixin, FitAttempt, showing_progress, with_callbacks
from ._path_strategy import PathStrategy
from ._searching import SHARED_PARAMETERS, SearchMixin
from ._voting import NumberVoteMixin
from .regressor import VotedKernelRegressor


class VotedKernelRegressorCV(
    SearchMixin, CallbackSupportMixin, NumberVoteMixin, ReadableAttributesMixin, NamedFamiliesMixin
):
    """`VotedKernelRegressor` with kernels and settings chosen by cross-validation.

    The search is that of `VotedKernelClassifierCV` without a grid. A path of l1 votes over all
    kernels chooses which rows vote. At each level of the path, new weights are fitted to these rows
    with one kernel at a time, under the squared norm of the kernel's own space and a loss with
    rounded corners. The model is the mean of the best of these votes.

    Parameters
    ----------
    kernels : as for `VotedKernelRegressor`, default=None
        None means Gaussians of seven widths. A dict lists named alternatives to search over.
        ``"table"`` has two alternatives: its kernels with and without rules.
    loss : {"absolute", "epsilon-insensitive", "quantile"}, default="absolute"
        Settings are compared by the mean absolute error or, for quantiles, by the pinball loss.
        Epsilon affects only the choice of the rows that vote.
    epsilon, quantile : as for `VotedKernelRegressor`
    cv : int, splitter or iterable, default=None
        Cross-validation; None means 5 shuffled folds.
    scoring : str or callable, default=None
        If set, the model is chosen by this scikit-learn scorer. None reports minus the mean
        absolute error, or minus the mean pinball loss.
    prefer : {"best", "sparse"}, default="best"
        ``"sparse"`` chooses the model with the fewest support vectors among those that are within
        half a standard error of the best.
    committee : int, default=5
        How many of the best votes are averaged. Not used with ``prefer="sparse"``.
    refit : bool, default=True
        Whether to fit the chosen model on all rows. If False, the search cannot predict.
    scale_features : bool, default=True
        With ``kernels=None``, also search over Gaussians whose features are first multiplied by
        scales that grow with their relevance. The scales are learned from the training rows of each
        fold and, for the model, from all rows; they are ``kernels_[0].feature_scales``. Not used
        for sparse rows, or with a single feature.
    complexity : as for `VotedKernelRegressor`, default="auto"
        ``"auto"`` is ``StableRank(power=2)``. A dict lists named alternatives to search over.
    centers, fit_intercept, tol, max_iter, memory_limit, random_state
        As for `VotedKernelRegressor`. Relaxed votes always have an intercept.
    time_limit : float, default=None
        Seconds of wall time for the whole call to fit. The search stops early, with a warning, to
        leave time for the last fit. `FitLimitError` is raised if there is no time for any model.
    n_jobs : int, default=None
        Number of threads for evaluating kernels. None means 1.
    verbose : int, default=0
        0 prints nothing, 1 shows progress on standard error, 2 prints a line for each step.

    Attributes
    ----------
    best_params_ : dict
        The best setting: ``complexity_penalty``, ``level``, ``kernel`` and ``relaxation``. If there
        were alternatives, it also has the names of the chosen ``kernels`` and ``complexity``.
    best_score_, best_index_, cv_results_, complexity_penalty_, l1_penalty_ :
        As for `VotedKernelClassifierCV`.
    selection_, members_, relaxed_objective_, relaxed_dual_gap_, n_splits_ :
        As for `VotedKernelClassifierCV`.

    The last fit also sets all attributes of `VotedKernelRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from votedkernels import VotedKernelRegressorCV
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(0, 6, (150, 1))
    >>> model = VotedKernelRegressorCV().fit(X, np.sin(X[:, 0]) + random.normal(0, 0.1, 150))
    >>> bool(np.abs(model.predict([[1.0]]) - np.sin(1.0)) < 0.1)
    True
    """

    _single = VotedKernelRegressor
    _score_name = "neg_mean_absolute_error"
    _shared_parameters = (*SHARED_PARAMETERS, "loss", "epsilon", "quantile")

    def __init__(
        self,
        kernels: Any = None,
        *,
        loss: str = "absolute",
        epsilon: float | str = "auto",
        quantile: float = 0.5,
        cv: Any = None,
        scoring: Any = None,
        prefer: str = "best",
        committee: int = 5,
        refit: bool = True,
        scale_features: bool = True,
        complexity: Any = "auto",
        centers: Any = None,
        fit_intercept: bool = True,
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
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.cv = cv
        self.scoring = scoring
        self.prefer = prefer
        self.committee = committee
        self.refit = refit
        self.scale_features = scale_features
        self.complexity = complexity
        self.centers = centers
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose kernels and settings by cross-validation, and fit the model.

        Parameters
        ----------
        X, y : training data, as for `VotedKernelRegressor.fit`
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for fitting and for scoring.
        **params
            ``groups`` for the splitter or, with metadata routing, any requested metadata.

        Returns
        -------
        self
        """
        self._check_choice()
        refuse_dask(X, "VotedKernelRegressorCV")
        alternatives = self._checked_alternatives(X)
        families = [family for _, family in clone_families(alternatives[0][1].kernels)]
        with FitAttempt(self) as attempt, showing_progress(self) as display:
            X = validate_rows(self, X, families, reset=True)
            values, codes = validate_numbers(X, y)
            if sample_weight is not None:
                sample_weight = validate_weights(sample_weight, X, codes, least=1)
            routed = self._route(sample_weight, params)
            default = KFold(5, shuffle=True, random_state=0)
            data = self._gather(X, values, codes, sample_weight, routed, default)
            self._fit_by_path(PathStrategy(self, alternatives, data), attempt, display)
        return self

    def _checked_alternatives(self, X: Any) -> Any:
        check_loss(self)
        return super()._checked_alternatives(X)

    def chosen_regressor(self) -> VotedKernelRegressor:
        """Return an unfitted regressor with the parameters that the search chose.

        Returns
        -------
        VotedKernelRegressor
        """
        chosen: VotedKernelRegressor = self._chosen_single()
        return chosen
