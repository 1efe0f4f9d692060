"""`VotedKernelClassifier`: the library's main estimator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from .._system.budget import Budget, single_blas_thread
from ..kernels.families import NamedFamiliesMixin
from ..preparation.training import Training
from ..preparation.validation import check_parameters
from ._fitted_attributes import PROBABILITY_SCALE
from ._held_out_votes import scale_of_classifier
from ._html_attributes import ReadableAttributesMixin
from ._ongoing_fit import (
    CallbackSupportMixin,
    FitAttempt,
    FitProgress,
    OngoingFit,
    showing_progress,
    with_callbacks,
)
from ._voting import VoteMixin


class VotedKernelClassifier(
    CallbackSupportMixin, VoteMixin, ReadableAttributesMixin, NamedFamiliesMixin
):
    r"""Sparse vote of kernel functions from many families, with a proof of optimality.

    Learns ``f(x) = sum_kj a_kj K_k(x, c_j)`` by minimising

    .. math::
        F(a) = \sum_i w_i \max(0, 1 - y_i f(x_i)) + \sum_{kj} (\lambda r_k + \beta) |a_{kj}|

    where r_k is the Rademacher complexity of kernel k, or a bound on it. This is Voted Kernel
    Regularization (Cortes, Goyal, Kuznetsov and Mohri). Kernels need be neither symmetric nor
    positive definite. The fit ends when the duality gap, recomputed from the data, is at most
    ``tol * objective_``.

    Parameters
    ----------
    kernels : KernelFamily, list of them, list of (name, KernelFamily), or "table", default=None
        The kernel families. None means ``[Polynomial((1, 2, 3)), Gaussian()]``. ``"table"`` takes a
        data frame as it is, with numbers, categories, dates and gaps: see `mixed_kernels`.
    complexity_penalty : float or "auto", default="auto"
        Lambda, the penalty on kernel complexity. ``"auto"`` depends on the numbers of rows and
        columns: the cheapest kernel costs 0.003 sqrt(log(n_columns) / n_rows) times its largest
        value. With ``relaxation``, it costs a third of that.
    l1_penalty : float or "auto", default="auto"
        Beta, the penalty that all weights share. ``"auto"`` is 0, unless a kernel would then have
        no penalty, as with ``complexity_penalty=0``. Then, with one kernel, the model is the
        norm-1 SVM.
    l2_penalty : float, default=0.0
        Rho, the penalty on a squared norm in addition to the l1 norm. It needs
        ``solver="column-generation"`` or ``"coordinate-descent"``.
    l2_norm : {"auto", "rkhs", "weights"}, default="auto"
        The squared norm. ``"rkhs"`` adds ``rho/2 sum_k a_k^T K_k a_k`` to F, as in a support
        vector machine (the hybrid norm). It requires positive definite kernels and training rows
        as centres. Matrices and functions that are declared positive definite are checked: up to
        2,000 rows before the fit, and all columns in use during it. A negative eigenvalue raises
        an error. ``"weights"`` adds ``rho/2 sum_kj s_kj^2 a_kj^2`` (the elastic net), where
        s_kj^2 is the mean square of column kj, for any kernels and centres. ``"auto"`` is
        ``"rkhs"`` if that applies.
    relaxation : float or "auto", default=None
        If set, the weights of the terms that the l1 vote chose are fitted again, with this penalty
        (rho) on the squared norms in the kernels' own spaces. Several classes share all terms.
        ``"auto"`` is 0.1 divided by the number of rows. The relaxed vote has the same number of
        terms, and its own intercept. None keeps the l1 vote, as in the paper.
    complexity : str, complexity measure, array or list, default="auto"
        How r_k is measured: ``"trace"``, ``"dimension"``, ``"local"``, ``"empirical"``,
        ``"massart"``, ``"stable-rank"``, or an object such as ``Local(radius=0.1)``. ``"auto"`` is
        stable rank, which makes narrow Gaussians more expensive than wide ones. An array holds the
        numbers r_k themselves; a list holds one measure per family.
    centers : int, array or list, default=None
        The points c_j: None for all training rows, an int for the number of training rows to
        draw, or your own points.
    solver : str, default="column-generation"
        The algorithm. ``"column-generation"`` suits most problems. ``"lp"`` solves the paper's
        linear program as a whole, for small problems and for checking.
        ``"coordinate-descent"`` needs no LP solver. ``"coordinate-descent-paper"`` follows the
        paper's rule, which stalls before the optimum; ``stop_reason_`` then says so.
    fit_intercept : bool, default=False
        Whether to add an unpenalised constant b to f.
    class_weight : dict or "balanced", default=None
        Factor for each class in the loss.
    probability : bool, default=False
        Whether to fit probabilities, for `predict_proba`. If so, five more fits, each on four
        fifths of the rows, provide votes on held-out rows, to which the probabilities are fitted.
    tol : float, default=1e-6
        Stop when the duality gap is at most ``tol * objective_``.
    max_iter : int, default=None
        Maximum number of rounds per problem. None means no limit.
    time_limit : float, default=None
        Maximum wall time of the whole call to fit, in seconds. When time runs out, fit keeps
        the best model so far, with its gap, and issues a ConvergenceWarning.
    memory_limit : int or str, default=None
        Extra memory that fit may allocate, such as ``"2GB"``. None allows 1 GiB for kernel
        values and whatever the solver needs. If a limit leaves no room for more columns, fit
        keeps the best model so far, with its gap, and issues a ConvergenceWarning.
    n_jobs : int, default=None
        Number of threads that evaluate kernels. None means 1. The model does not depend on it.
    random_state : int or RandomState, default=None
        Determines which rows are drawn if ``centers`` is an int.
    verbose : int, default=0
        0 prints nothing, 1 shows progress on standard error, 2 prints a line for each round.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_ : array of shape (n_support,)
        Indices of the training rows that have a vote, or of your own points if you pass
        ``centers``.
    support_vectors_ : array of shape (n_support, n_features), or list of objects
        The points that have a vote. Empty for a precomputed kernel.
    term_weights_ : array of shape (n_problems, n_terms)
        The weights a_kj. Two classes make one problem; with more, each class has its own.
    term_kernel_indices_ : array of shape (n_terms,)
        Index of the kernel of each term.
    term_support_indices_ : array of shape (n_terms,)
        Index of each term's point in ``support_vectors_``.
    intercept_ : array of shape (n_problems,)
        The constants b. If no kernel gets a weight, they make the model predict the heaviest
        class. With ``fit_intercept``, problems without a kernel usually share the same b, so
        the heaviest of their classes gets the next larger number; ``objective_`` includes b.
        Without ``fit_intercept``, b is the difference of their class weights, and
        ``objective_`` is that of f = 0.
    kernels_ : list of KernelFamily
        The fitted families.
    complexity_penalty_, l1_penalty_ : float
        Lambda and beta as numbers.
    kernel_names_, complexities_, penalties_ : per kernel: name, r_k and lambda r_k + beta
    complexity_errors_ : array of shape (n_kernels,)
        Standard errors of the complexities, for measures that estimate them (``"empirical"``,
        and ``"local"`` on many rows).
    kernel_mass_ : array of shape (n_kernels,)
        Sum of the absolute weights of each kernel.
    objective_, dual_bound_, dual_gap_ : float
        F of the model, the proved lower bound on the optimum, and their difference, each
        summed over the one-vs-rest problems.
    class_objectives_, class_dual_bounds_, class_dual_gaps_ : array of shape (n_problems,)
        The same for each problem.
    selection_ : Bunch
        With ``relaxation``, the l1 vote that chose the terms: the fitted attributes of a vote,
        without the trailing underscore. ``objective_``, ``dual_bound_`` and ``dual_gap_`` refer to
        this vote.
    relaxed_objective_, relaxed_dual_gap_ : float
        With ``relaxation``, the second objective, and a bound on its distance from its minimum over
        the weights of the given terms, each summed over the problems.
    probability_scale_ : float
        With ``probability``, the factor s in P = 1 / (1 + exp(-s f)) or, with more than two
        classes, in the softmax of s f.
    n_iter_ : int
        Number of rounds, summed over the problems.
    stop_reason_ : str
        Why the fit stopped: ``"optimal"``, ``"time-limit"``, ``"max-iter"``,
        ``"memory-limit"``, ``"interrupted"``, ``"precision"`` or, only with the paper's
        coordinate descent, ``"stalled"``.
    n_samples_fit_ : int
        Number of rows passed to fit.
    training_error_ : float
        Share of the training rows, by weight, that the model assigns to the wrong class.
    n_features_in_ : int
        Number of features. Not set for lists of objects.
    table_ : TableCoding
        The names and categories of the columns, if X is a data frame and all kernel families accept
        gaps, as with ``kernels="table"``. In ``support_vectors_``, categories are then numbers.

    Examples
    --------
    >>> from votedkernels import VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(200, random_state=0)
    >>> model = VotedKernelClassifier().fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-6 * model.objective_)
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        complexity_penalty: float | str = "auto",
        l1_penalty: float | str = "auto",
        l2_penalty: float = 0.0,
        l2_norm: str = "auto",
        relaxation: float | str | None = None,
        complexity: Any = "auto",
        centers: Any = None,
        solver: str = "column-generation",
        fit_intercept: bool = False,
        class_weight: Any = None,
        probability: bool = False,
        tol: float = 1e-6,
        max_iter: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.complexity_penalty = complexity_penalty
        self.l1_penalty = l1_penalty
        self.l2_penalty = l2_penalty
        self.l2_norm = l2_norm
        self.relaxation = relaxation
        self.complexity = complexity
        self.centers = centers
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability = probability
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
            ``Similarity``, a Dask array if the rows are on a cluster.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. A weight of 2 counts a row twice.

        Returns
        -------
        self
        """
        check_parameters(self)
        budget = Budget().for_seconds(self.time_limit)
        with (
            FitAttempt(self) as attempt,
            single_blas_thread(),
            showing_progress(self) as display,
        ):
            # With probabilities, half of the time is for the folds.
            own = budget.share(2) if self.probability else budget
            training = Training.prepare(self, X, y, sample_weight, budget=own)
            fit = OngoingFit(self, training, partial(FitProgress, self, X, y, display=display))
            fit.run(attempt)
            if self.probability:
                on_fold = None if display is None else display.step
                self._fit_probabilities(attempt, training, X, sample_weight, budget, on_fold)
            fit.progress.end()
            fit.warn()
        return self

    def _offers_probabilities(self) -> bool:
        if self.probability or hasattr(self, PROBABILITY_SCALE):
            return True
        # scikit-learn makes this the cause of its own AttributeError.
        raise AttributeError(
            "probabilities need probability=True, or VotedKernelClassifierCV, which always has them"
        )

    def _fit_probabilities(
        self,
        attempt: FitAttempt,
        training: Training,
        X: Any,
        sample_weight: Any,
        budget: Budget,
        on_fold: Callable[[str], None] | None,
    ) -> None:
        """Fit the probabilities; after Ctrl-C, the vote stays."""
        try:
            scale = scale_of_classifier(self, training, X, sample_weight, budget, on_fold=on_fold)
        except KeyboardInterrupt:
            attempt.keep({})
            raise
        attempt.publish({PROBABILITY_SCALE: scale})
