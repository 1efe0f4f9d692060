"""`VotedKernelClassifier`: the scikit-learn face of the library."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from .._system.blas_threads import single_blas_thread
from ..distributed import is_dask, prepare_training
from ..exceptions import SolverInterrupted
from ..preparation.training import Training
from ..preparation.validation import check_parameters
from ..problem import Problem, Solution
from ..solvers import SOLVERS, Incumbent, Round, check_memory_of_full_lp, solve_problem
from ._fit_attempt import FitAttempt
from ._fitted_attributes import check_limits, describe_solutions, warn_user
from ._html_attributes import ReadableAttributesMixin
from ._named_families import NamedFamiliesMixin
from ._progress import CallbackSupportMixin, FitProgress, with_callbacks
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
    kernels : KernelFamily, list of them, or list of (name, KernelFamily), default=None
        The kernel families; None is ``[Polynomial((1, 2, 3)), Gaussian()]``.
    complexity_penalty : float, default=1e-2
        Lambda, the price of a kernel's complexity.
    l1_penalty : float, default=3e-3
        Beta, the price of any weight. With ``complexity_penalty=0`` and one kernel this is
        the norm-1 SVM.
    l2_penalty : float, default=0.0
        Rho, the price of the squared norms in the kernels' own spaces: adds
        ``rho/2 sum_k a_k^T K_k a_k``, as in a support vector machine, to the sums above (the
        hybrid norm). For positive definite kernels and training rows as centres, with
        ``solver="coordinate-descent"``. Matrices and functions that are declared positive
        definite are checked, on up to 2,000 rows before the fit and on all columns in use
        during it; one with a negative eigenvalue is an error.
    complexity : str, complexity measure, array or list, default="auto"
        How r_k is measured: ``"trace"``, ``"dimension"``, ``"local"``, ``"empirical"``,
        ``"massart"``, or an object such as ``Local(radius=0.1)``; ``"auto"`` is trace for
        families that declare themselves positive definite, else massart; an array gives the
        numbers, a list one measure per family.
    centers : int, array or list, default=None
        The points c_j: None for the training rows, a number of training rows to draw, or
        points of the user's own.
    solver : str, default="column-generation"
        ``"lp"`` solves the paper's linear program whole, for small problems and checks;
        ``"coordinate-descent"`` needs no LP solver; ``"coordinate-descent-paper"`` is the
        paper's rule, which stalls before the optimum and says so.
    fit_intercept : bool, default=False
        Whether to add a constant b, not penalised, to f.
    class_weight : dict or "balanced", default=None
        Factors of the classes in the loss.
    tol : float, default=1e-6
        Stop when the duality gap is at most ``tol * objective_``.
    max_iter : int, default=None
        Rounds at most per class; None for no limit.
    time_limit : float, default=None
        Seconds of wall time for the whole call of fit. The best model so far is kept, with
        its gap and a ConvergenceWarning.
    memory_limit : int or str, default=None
        Extra memory that fit may allocate, such as ``"2GB"``; None is 1 GiB for kernel values
        and whatever the solver needs. Where a limit leaves no room for more columns, the best
        model so far is kept, with its gap and a ConvergenceWarning.
    n_jobs : int, default=None
        Threads for evaluating kernels; None is 1. The model does not depend on it.
    random_state : int or RandomState, default=None
        For drawing centres when ``centers`` is an int.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_ : array of shape (n_support,)
        Training rows that got a vote (numbers of given centres, when ``centers`` is an array).
    support_vectors_ : array of shape (n_support, n_features), or list of objects
        Those rows; empty for a precomputed kernel.
    term_weights_ : array of shape (n_problems, n_terms)
        The weights a_kj. One problem for two classes, one per class for more.
    term_kernel_indices_ : array of shape (n_terms,)
        The kernel of each term.
    term_support_indices_ : array of shape (n_terms,)
        The row of ``support_vectors_`` of each term.
    intercept_ : array of shape (n_problems,)
        The constants b. With ``fit_intercept``, ``objective_`` is that of these constants; of
        several problems in which no kernel got a weight, all with the same b, the one of the
        heaviest class has the next larger number, so that this class is predicted. Without
        ``fit_intercept``, such a problem has the difference of its class weights here, and
        ``objective_`` is that of f = 0.
    kernels_ : list of KernelFamily
        The fitted families.
    kernel_names_, complexities_, penalties_ : per kernel: name, r_k and lambda r_k + beta
    complexity_errors_ : array of shape (n_kernels,)
        Standard errors of measures that estimate (``"empirical"``, ``"local"`` on many rows).
    kernel_mass_ : array of shape (n_kernels,)
        Sum of the absolute weights of each kernel.
    objective_, dual_bound_, dual_gap_ : float
        F of the model, the proved lower bound on the optimum, and their difference; sums over
        the one-vs-rest problems.
    class_objectives_, class_dual_bounds_, class_dual_gaps_ : array of shape (n_problems,)
    n_iter_ : int
        Rounds, summed over the problems.
    stop_reason_ : str
        ``"optimal"``, ``"time-limit"``, ``"max-iter"``, ``"memory-limit"``, ``"interrupted"``,
        ``"precision"`` or, by the paper's coordinate descent only, ``"stalled"``.
    n_features_in_ : int
        Number of features; not set for lists of objects.

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
        complexity_penalty: float = 1e-2,
        l1_penalty: float = 3e-3,
        l2_penalty: float = 0.0,
        complexity: Any = "auto",
        centers: Any = None,
        solver: str = "column-generation",
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
        self.complexity_penalty = complexity_penalty
        self.l1_penalty = l1_penalty
        self.l2_penalty = l2_penalty
        self.complexity = complexity
        self.centers = centers
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the vote.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list of objects
            Training rows; a square kernel matrix for ``Precomputed()``; any objects for
            ``Similarity``; a Dask array for rows on a cluster.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; they count repetitions.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        check_parameters(self, SOLVERS)
        deadline = None if self.time_limit is None else started + self.time_limit
        with FitAttempt(self) as attempt, single_blas_thread():
            options: dict[str, Any] = {"deadline": deadline}
            prepare = prepare_training if is_dask(X) else Training.prepare
            if self.solver == "lp" and not is_dask(X):
                options["check_size"] = partial(
                    check_memory_of_full_lp, memory_limit=self.memory_limit
                )
            training = prepare(self, X, y, sample_weight, **options)
            problems = training.problems(self.complexity_penalty, self.l1_penalty, self.l2_penalty)
            solutions = [_unsolved(problem) for problem in problems]

            def describe(partial: list[Solution]) -> dict[str, Any]:
                return describe_solutions(training, problems, partial)

            progress = FitProgress(self, len(problems), X, y)
            try:
                self._solve(problems, solutions, deadline, progress, describe)
            except KeyboardInterrupt:
                if any(len(solution.terms.kernels) for solution in solutions):
                    attempt.keep(describe(solutions))
                raise
            check_limits(self, solutions)
            attempt.publish(describe(solutions))
            progress.end()
            warn_user(problems, solutions, self.tol)
        return self

    def _solve(
        self,
        problems: list[Problem],
        solutions: list[Solution],
        deadline: float | None,
        progress: FitProgress,
        describe: Callable[[list[Solution]], dict[str, Any]],
    ) -> None:
        """Replace the solutions one by one; problems that are not reached keep theirs."""
        for number, problem in enumerate(problems):

            def so_far(state: Round, number: int = number) -> dict[str, Any]:
                return describe([*solutions[:number], state.solution, *solutions[number + 1 :]])

            on_round = progress.begin_problem(f"problem {number}", so_far)
            end = share_of_time(deadline, len(problems) - number)
            self._solve_one(problem, number, solutions, end, on_round=on_round)
            if progress.end_problem():
                return
        # Problems that were stopped at their share of the time get what the others have left.
        late = [n for n, solution in enumerate(solutions) if solution.stop_reason == "time-limit"]
        for place, number in enumerate(late):
            if deadline is None or time.perf_counter() >= deadline:
                return
            end = share_of_time(deadline, len(late) - place)
            options = {"start": solutions[number].terms}
            if problems[number].continuum is not None:  # its terms are of other widths
                options = {}
            self._solve_one(problems[number], number, solutions, end, **options)

    def _solve_one(
        self,
        problem: Problem,
        number: int,
        solutions: list[Solution],
        deadline: float | None,
        **options: Any,
    ) -> None:
        """Solve one problem until a deadline; Ctrl-C leaves its best solution in the list."""
        before = solutions[number]
        try:
            found = solve_problem(
                self.solver,
                problem,
                tol=self.tol,
                max_iter=None if self.max_iter is None else self.max_iter - before.n_iter,
                deadline=deadline,
                **options,
            )
        except SolverInterrupted as stop:
            solutions[number] = before.improved_by(stop.solution, self.tol)
            raise KeyboardInterrupt from None
        solutions[number] = before.improved_by(found, self.tol)


def share_of_time(deadline: float | None, n_left: int) -> float | None:
    """Return when the first of so many problems must end for each to get as much time."""
    if deadline is None:
        return None
    now = time.perf_counter()
    return now + (deadline - now) / n_left


def _unsolved(problem: Problem) -> Solution:
    return Incumbent(problem).solution(0, "interrupted")
