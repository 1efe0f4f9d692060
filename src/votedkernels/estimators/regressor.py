"""`VotedKernelRegressor`: predicts numbers, with the same solvers as the classifier."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

from .._system.budget import Budget, single_blas_thread
from ..distributed import refuse_dask
from ..kernels.families import NamedFamiliesMixin
from ..preparation.numbers import check_loss, check_several_quantiles
from ..preparation.training import Training
from ..preparation.validation import check_parameters
from ._conformal import learn_shifts
from ._html_attributes import ReadableAttributesMixin
from ._ongoing_fit import (
    CallbackSupportMixin,
    FitAttempt,
    FitProgress,
    OngoingFit,
    showing_progress,
    with_callbacks,
)
from ._quantiles import QuantilesMixin, fit_quantiles


class VotedKernelRegressor(
    CallbackSupportMixin, QuantilesMixin, ReadableAttributesMixin, NamedFamiliesMixin
):
    r"""Regression by a sparse vote of kernel functions, with a proof of optimality.

    Learns ``f(x) = sum_kj a_kj K_k(x, c_j) + b`` by minimising

    .. math::
        F(a, b) = \sum_i w_i \ell(t_i - f(x_i)) + \sum_{kj} (\lambda r_k + \beta) |a_{kj}|

    where r_k is the Rademacher complexity of kernel k, or a bound on it. The loss is that of
    support vector regression, the absolute error, or the pinball loss of a quantile. Targets are
    centred and scaled during the fit, so penalties do not depend on the unit of the target.
    The fit ends when the duality gap, recomputed from the data, is at most ``tol * objective_``.

    Parameters
    ----------
    kernels : KernelFamily, list of them, list of (name, KernelFamily), or "table", default=None
        The kernel families. None means ``[Polynomial((1, 2, 3)), Gaussian()]``. ``"table"`` takes a
        data frame as it is, with numbers, categories, dates and gaps: see `mixed_kernels`.
    loss : {"epsilon-insensitive", "absolute", "quantile"}, default="epsilon-insensitive"
        ``"epsilon-insensitive"`` is ``max(0, |t - f| - epsilon)``, ``"absolute"`` is ``|t - f|``,
        and ``"quantile"`` is the pinball loss, whose minimum is a conditional quantile.
    epsilon : float or "auto", default="auto"
        Errors up to this size, in the unit of the target, cost nothing. ``"auto"`` is a tenth of
        the mean absolute distance of the target from its median.
    quantile : float, default=0.5
        The quantile to predict with ``loss="quantile"``.
    quantiles : sequence of float, default=None
        With ``loss="quantile"``, several increasing quantiles that are fitted together and never
        cross, not even between the training rows. ``predict`` then returns the median.
        Upper quantiles differ from lower ones by votes that are never negative, so `Gaussian`
        must be among the kernels. ``objective_`` is the sum over the quantiles. The first row of
        ``term_weights_`` and of ``intercept_`` is the lowest quantile, and each further row is
        what is added to reach the next one.
    conformal : bool, default=False
        With ``quantiles``, move each quantile except the median by a constant that is learned from
        20 more fits, each without a twentieth of the rows, so that the stated share of new targets
        is below it. With more than 1,000 rows, there are five more fits, without a fifth. Quantiles
        still never cross. See the user guide for what is guaranteed.
    complexity_penalty, l1_penalty, l2_penalty, l2_norm : as for `VotedKernelClassifier`
    relaxation : float or "auto", default=None
        If set, the weights of the terms that the l1 vote chose are fitted again, with this penalty
        (rho) on the squared norms in the kernels' own spaces and a loss with rounded corners.
        ``"auto"`` is 0.1 divided by the number of rows. None keeps the l1 vote.
    complexity, centers, solver : as for `VotedKernelClassifier`
    fit_intercept : bool, default=True
        Whether to add an unpenalised constant b to f.
    tol, max_iter, time_limit, memory_limit, n_jobs, random_state : as for `VotedKernelClassifier`
    verbose : int, default=0
        0 prints nothing, 1 shows progress on standard error, 2 prints a line for each round.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Indices of the training rows that have a vote, or of your own points if you pass
        ``centers``.
    support_vectors_ : array of shape (n_support, n_features), or list of objects
        The points that have a vote. Empty for a precomputed kernel.
    term_weights_ : array of shape (1, n_terms), or (n_quantiles, n_terms)
        The weights a_kj, in the unit of the target.
    term_kernel_indices_, term_support_indices_ : arrays of shape (n_terms,)
        Index of the kernel of each term, and of its point in ``support_vectors_``.
    intercept_ : array of shape (1,), or (n_quantiles,)
        The constant b.
    kernels_ : list of KernelFamily
        The fitted families.
    complexity_penalty_, l1_penalty_ : float
        Lambda and beta as numbers.
    kernel_names_, complexities_, penalties_ : per kernel: name, r_k and lambda r_k + beta
    complexity_errors_ : array of shape (n_kernels,)
        Standard errors of the complexities, for measures that estimate them.
    kernel_mass_ : array of shape (n_kernels,)
        Sum of the absolute weights of each kernel.
    epsilon_ : float
        Epsilon, in the unit of the target. 0 for ``loss="absolute"``; not set for quantiles.
    target_scale_ : float
        The unit of the target during the fit: its mean absolute distance from the median.
    conformal_shifts_ : array of shape (n_quantiles,)
        With ``conformal``, what is added to each quantile, in the unit of the target.
    objective_, dual_bound_, dual_gap_ : float
        F of the model, the proved lower bound on the optimum, and their difference, in the unit of
        the target.
    selection_ : Bunch
        With ``relaxation``, the l1 vote that chose the terms: the fitted attributes of a vote,
        without the trailing underscore. ``objective_``, ``dual_bound_`` and ``dual_gap_`` refer to
        this vote.
    relaxed_objective_, relaxed_dual_gap_ : float
        With ``relaxation``, the second objective, and a bound on its distance from its minimum over
        the weights of the given terms.
    n_iter_ : int
        Number of rounds.
    stop_reason_ : str
        Why the fit stopped; see `VotedKernelClassifier`.
    n_samples_fit_ : int
        Number of rows passed to fit.
    training_error_ : float
        Mean absolute error on the training rows or, for quantiles, the mean pinball loss.
    n_features_in_ : int
        Number of features. Not set for lists of objects.
    table_ : TableCoding
        The names and categories of the columns, if X is a data frame and all kernel families accept
        gaps, as with ``kernels="table"``. In ``support_vectors_``, categories are then numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from votedkernels import VotedKernelRegressor
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = VotedKernelRegressor().fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict([[1.0]]) - np.sin(1.0)) < 0.1)
    True
    >>> bool(model.dual_gap_ <= 1e-6 * model.objective_)
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        loss: str = "epsilon-insensitive",
        epsilon: float | str = "auto",
        quantile: float = 0.5,
        quantiles: Any = None,
        conformal: bool = False,
        complexity_penalty: float | str = "auto",
        l1_penalty: float | str = "auto",
        l2_penalty: float = 0.0,
        l2_norm: str = "auto",
        relaxation: float | str | None = None,
        complexity: Any = "auto",
        centers: Any = None,
        solver: str = "column-generation",
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
        self.quantiles = quantiles
        self.conformal = conformal
        self.complexity_penalty = complexity_penalty
        self.l1_penalty = l1_penalty
        self.l2_penalty = l2_penalty
        self.l2_norm = l2_norm
        self.relaxation = relaxation
        self.complexity = complexity
        self.centers = centers
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the vote.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list of objects
            Training rows: a square kernel matrix for ``Precomputed()``, any objects for
            ``Similarity``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. A weight of 2 counts a row twice.

        Returns
        -------
        self
        """
        check_loss(self)
        check_several_quantiles(self)
        check_parameters(self)
        refuse_dask(X, "VotedKernelRegressor")
        budget = Budget().for_seconds(self.time_limit)
        with (
            FitAttempt(self) as attempt,
            single_blas_thread(),
            showing_progress(self) as display,
        ):
            training = Training.prepare(self, X, y, sample_weight, budget=budget)
            if self.quantiles is not None:
                found = fit_quantiles(self, training)
                if self.conformal:
                    found["conformal_shifts_"] = learn_shifts(self, X, y, sample_weight)
                attempt.publish(found)
                return self
            fit = OngoingFit(self, training, partial(FitProgress, self, X, y, display=display))
            fit.run(attempt)
            fit.progress.end()
            fit.warn()
        return self
