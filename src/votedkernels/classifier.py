"""`VotedKernelClassifier`: the scikit-learn face of the library."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .complexity import measure_complexities
from .kernels import Gram, clone_families, is_named_list
from .kernels.base import FloatArray, IntArray, KernelFamily, take_rows
from .kernels.gram import BLOCK_BYTES, DEFAULT_MEMORY
from .memory import parse_memory
from .problem import Problem, Terms
from .progress import CallbackSupportMixin, FitProgress, with_callbacks
from .sample import CanonicalSample, canonical_sample
from .solution import Solution
from .solvers import SOLVERS, Round, SolverInterrupted
from .threads import single_blas_thread
from .training import (
    choose_centers,
    class_factors,
    validate_labels,
    validate_rows,
    validate_weights,
)


class VotedKernelClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    r"""Sparse vote of kernel functions from many families, with a proof of optimality.

    Learns ``f(x) = sum_kj a_kj K_k(x, c_j)`` by minimising

    .. math::
        F(a) = \sum_i w_i \max(0, 1 - y_i f(x_i)) + \sum_{kj} (\lambda r_k + \beta) |a_{kj}|

    where r_k is the Rademacher complexity of kernel k, or a bound of it. This is Voted Kernel
    Regularization (Cortes, Goyal, Kuznetsov and Mohri). Kernels need be neither symmetric nor
    positive definite. The fit ends when the duality gap, recomputed from the data, is at most
    ``tol * objective_``.

    Parameters
    ----------
    kernels : KernelFamily, list of them, or list of (name, KernelFamily), default=None
        The kernel families; None is ``Polynomial()``, degrees 1 to 10.
    complexity_penalty : float, default=1e-3
        Lambda, the price of a kernel's complexity.
    l1_penalty : float, default=1e-3
        Beta, the price of any weight. With ``complexity_penalty=0`` and one kernel this is
        the norm-1 SVM.
    complexity : str, complexity measure, array or list, default="auto"
        How r_k is measured: ``"trace"``, ``"dimension"``, ``"massart"``; ``"auto"`` is trace
        for families that declare themselves positive definite, else massart; an array gives
        the numbers, a list one measure per family.
    centers : int, array or list, default=None
        The points c_j: None for the training rows, a number of training rows to draw, or
        points of the user's own.
    solver : {"column-generation", "lp"}, default="column-generation"
        ``"lp"`` solves the paper's linear program whole; for small problems and checks.
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
        Extra memory that fit may allocate, such as ``"2GB"``; None is 1 GiB.
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
        The constants b. A problem in which no kernel got a weight has the constant of its
        heavier class here.
    kernels_ : list of KernelFamily
        The fitted families.
    kernel_names_, complexities_, penalties_ : per kernel: name, r_k and lambda r_k + beta
    kernel_mass_ : array of shape (n_kernels,)
        Sum of the absolute weights of each kernel.
    objective_, dual_bound_, dual_gap_ : float
        F of the model, the proved lower bound of the optimum, and their difference; sums over
        the one-vs-rest problems.
    class_objectives_, class_dual_bounds_, class_dual_gaps_ : array of shape (n_problems,)
    n_iter_ : int
        Rounds, summed over the problems.
    stop_reason_ : str
        ``"optimal"``, ``"time-limit"``, ``"max-iter"``, ``"interrupted"`` or ``"precision"``.
    n_features_in_ : int
        Number of features; not set for lists of objects.

    Examples
    --------
    >>> from votedkernels import VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(200, random_state=0)
    >>> model = VotedKernelClassifier(complexity_penalty=1e-2).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-6 * model.objective_)
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        complexity_penalty: float = 1e-3,
        l1_penalty: float = 1e-3,
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

    # -- learning ----------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the vote.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list of objects
            Training rows; a square kernel matrix for ``Precomputed()``; any objects for
            ``Similarity``.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; they count repetitions.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        self._check_parameters()
        deadline = None if self.time_limit is None else started + self.time_limit
        named = clone_families(self.kernels)
        families = [family for _, family in named]
        X = validate_rows(self, X, families, reset=True)
        classes, codes = validate_labels(X, y)
        weights = validate_weights(sample_weight, X, codes)
        sample = canonical_sample(X, codes, weights, pairwise=families[0].pairwise)
        with single_blas_thread():
            gram, center_numbers = self._build_gram(X, sample, named)
            gram.deadline = deadline
            complexities = measure_complexities(self.complexity, gram, sample.weights)
            penalties = self.complexity_penalty * complexities + self.l1_penalty
            factors = class_factors(self.class_weight, classes, sample)
            w = sample.weights * factors[sample.codes]
            w /= w.sum()
            problems = self._one_vs_rest(gram, sample.codes, w, penalties, len(classes))
            known = {
                "classes_": classes,
                "kernels_": families,
                "kernel_names_": gram.names,
                "complexities_": complexities,
                "penalties_": penalties,
            }

            def attributes(solutions: list[Solution]) -> dict[str, Any]:
                return known | self._describe(solutions, problems, X, center_numbers)

            interrupted = False
            try:
                solutions = self._solve(problems, classes, deadline, attributes, X, y)
            except _FitInterrupted as stop:
                solutions, interrupted = stop.solutions, True
        for name, value in attributes(solutions).items():
            setattr(self, name, value)
        if interrupted:
            raise KeyboardInterrupt
        self._warn(solutions, problems)
        return self

    def _check_parameters(self) -> None:
        for name in ("complexity_penalty", "l1_penalty"):
            value = getattr(self, name)
            if not _is_number(value) or not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
        if not _is_number(self.tol) or not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a finite number >= 0, got {self.tol!r}.")
        if self.time_limit is not None and not (
            _is_number(self.time_limit) and self.time_limit >= 0
        ):
            raise ValueError(
                f"time_limit must be a number of seconds >= 0, got {self.time_limit!r}."
            )
        if self.max_iter is not None and not (
            isinstance(self.max_iter, Integral) and self.max_iter >= 1
        ):
            raise ValueError(f"max_iter must be an integer >= 1 or None, got {self.max_iter!r}.")
        if self.solver not in SOLVERS:
            raise ValueError(
                f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {self.solver!r}."
            )
        if self.memory_limit is not None:
            parse_memory(self.memory_limit)

    def _build_gram(
        self, X: Any, sample: CanonicalSample, named: list[tuple[str | None, KernelFamily]]
    ) -> tuple[Gram, IntArray]:
        """Fit the families and bind them to rows and centres."""
        families = [family for _, family in named]
        rows = take_rows(X, sample.rows)
        for name, family in named:
            family.fit(rows, sample.weights)
            if name is not None:
                family.names_ = [f"{name}: {kernel}" for kernel in family.names_]
        centers, numbers = choose_centers(self, X, sample, families)
        n_jobs = effective_n_jobs(self.n_jobs)
        limit = DEFAULT_MEMORY if self.memory_limit is None else parse_memory(self.memory_limit)
        smallest = 2 * n_jobs * BLOCK_BYTES
        if limit < smallest:
            raise ValueError(
                f"memory_limit={self.memory_limit!r} is too small for one block of kernel values "
                f"in each of {n_jobs} threads; give at least {smallest / 1e6:.0f}MB."
            )
        gram = Gram(
            families,
            rows,
            centers,
            itself=sample.rows if families[0].pairwise else None,
            memory_limit=limit - smallest if self.memory_limit is not None else limit,
            n_jobs=n_jobs,
        )
        return gram, numbers

    def _one_vs_rest(
        self, gram: Gram, codes: IntArray, w: FloatArray, penalties: FloatArray, n_classes: int
    ) -> list[Problem]:
        positives = [1] if n_classes == 2 else range(n_classes)
        return [
            Problem(
                gram, np.where(codes == code, 1.0, -1.0), w, penalties, bool(self.fit_intercept)
            )
            for code in positives
        ]

    def _solve(
        self,
        problems: list[Problem],
        classes: Any,
        deadline: float | None,
        attributes: Callable[[list[Solution]], dict[str, Any]],
        X: Any,
        y: Any,
    ) -> list[Solution]:
        """Solve problem after problem; one that was not reached gets the empty vote."""
        solutions = [_unsolved(problem) for problem in problems]
        solve = SOLVERS[self.solver]
        progress = FitProgress(self, len(problems), X, y)
        for number, problem in enumerate(problems):
            name = "fit" if len(problems) == 1 else f"class {classes[number]!r} against the rest"

            def so_far(state: Round, number: int = number) -> dict[str, Any]:
                partial = list(solutions)
                partial[number] = _as_solution(state, problems[number])
                return attributes(partial)

            try:
                solutions[number] = solve(
                    problem,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    deadline=deadline,
                    on_round=progress.begin_problem(name, so_far),
                )
            except SolverInterrupted as stop:
                solutions[number] = stop.solution
                raise _FitInterrupted(solutions) from None
            if progress.end_problem() and number + 1 < len(problems):
                break
        progress.end()
        return solutions

    def _describe(
        self, solutions: list[Solution], problems: list[Problem], X: Any, center_numbers: IntArray
    ) -> dict[str, Any]:
        """Return the fitted attributes of a list of solutions."""
        gram = problems[0].gram
        keys = [s.terms.kernels * gram.n_centers + s.terms.centers for s in solutions]
        used = np.unique(np.concatenate(keys))
        weights = np.zeros((len(solutions), len(used)))
        for row, (key, solution) in enumerate(zip(keys, solutions, strict=True)):
            weights[row, np.searchsorted(used, key)] = solution.terms.weights
        kernels, centers = np.divmod(used, gram.n_centers)
        numbers = center_numbers[centers]
        support, positions = np.unique(numbers, return_inverse=True)
        order = np.lexsort((positions, kernels))
        objectives = np.array([s.objective for s in solutions])
        bounds = np.array([s.dual_bound for s in solutions])
        gaps = np.array([s.gap for s in solutions])
        source = X if self.centers is None or isinstance(self.centers, Integral) else gram.centers
        pairwise = gram.families[0].pairwise
        reasons = [s.stop_reason for s in solutions if s.stop_reason != "optimal"]
        return {
            "support_": support,
            "support_vectors_": np.empty((0, 0)) if pairwise else take_rows(source, support),
            "term_weights_": weights[:, order],
            "term_kernel_indices_": kernels[order],
            "term_support_indices_": positions[order],
            "intercept_": np.array(
                [_constant(s, p, len(solutions)) for s, p in zip(solutions, problems, strict=True)]
            ),
            "kernel_mass_": np.bincount(
                kernels, weights=np.abs(weights).sum(axis=0), minlength=gram.n_kernels
            ),
            "class_objectives_": objectives,
            "class_dual_bounds_": bounds,
            "class_dual_gaps_": gaps,
            "objective_": float(objectives.sum()),
            "dual_bound_": float(bounds.sum()),
            "dual_gap_": float(gaps.sum()),
            "n_iter_": int(sum(s.n_iter for s in solutions)),
            "stop_reason_": reasons[0] if reasons else "optimal",
        }

    def _warn(self, solutions: list[Solution], problems: list[Problem]) -> None:
        """Say what a user must know of the answer."""
        gap = max(s.gap / s.objective if s.objective > 0 else 0.0 for s in solutions)
        if not all(s.is_optimal(self.tol) for s in solutions):
            message = (
                f"The fit stopped ({self.stop_reason_}) at a relative duality gap of {gap:.2g}, "
                f"above tol={self.tol:.2g}."
            )
            if np.any(problems[0].penalties == 0):
                message += (
                    " Some kernels have no penalty, so nothing can be proved unless the objective "
                    "is 0; set l1_penalty > 0."
                )
            elif self.stop_reason_ == "precision":
                message += (
                    " Double precision allows no better here; scale the features, use larger "
                    "penalties or lower degrees, or accept a larger tol."
                )
            elif self.stop_reason_ in ("time-limit", "max-iter"):
                message += f" Give a larger {self.stop_reason_.replace('-', '_')}, or a larger tol."
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if self.complexity_penalty == 0 and self.l1_penalty == 0:
            warnings.warn(
                "complexity_penalty and l1_penalty are both 0: the solution is not unique, and "
                "nothing is proved about it unless the objective is 0.",
                UserWarning,
                stacklevel=3,
            )
        elif all(s.is_optimal(self.tol) and len(s.terms.kernels) == 0 for s in solutions):
            warnings.warn(
                "The penalties are so large that no kernel gets a weight: the model predicts the "
                "heavier class everywhere. Use smaller complexity_penalty and l1_penalty.",
                UserWarning,
                stacklevel=3,
            )

    # -- prediction --------------------------------------------------------------------

    def decision_function(self, X: Any) -> FloatArray:
        """Return the vote f(x).

        Parameters
        ----------
        X : rows, in the form they had at fit; for ``Precomputed()``, kernel values against
            all training rows

        Returns
        -------
        array of shape (n_samples,) for two classes, (n_samples, n_classes) for more
        """
        check_is_fitted(self)
        X = validate_rows(self, X, self.kernels_, reset=False)
        centers = self.support_ if self.kernels_[0].pairwise else self.support_vectors_
        gram = Gram(self.kernels_, X, centers, memory_limit=0)
        decision = gram.vote(
            self.term_kernel_indices_, self.term_support_indices_, self.term_weights_.T
        )
        decision += self.intercept_
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> Any:
        """Return the class of each row: the sign, or the largest, of `decision_function`."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    # -- scikit-learn's manners --------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get parameters; families of a named list appear as ``kernels__name__parameter``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and is_named_list(self.kernels):
            for name, family in self.kernels:
                params[f"kernels__{name}"] = family
                if hasattr(family, "get_params"):
                    for key, value in family.get_params(deep=True).items():
                        params[f"kernels__{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of families in a named list too."""
        if "kernels" in params:
            self.kernels = params.pop("kernels")
        nested = {key: params.pop(key) for key in list(params) if key.startswith("kernels__")}
        super().set_params(**params)
        if nested and self.kernels is None:
            raise ValueError(
                f"cannot set {next(iter(nested))} while kernels is None; "
                "pass the family, kernels=Polynomial(), to set its parameters."
            )
        if nested and not is_named_list(self.kernels):
            super().set_params(**nested)
        elif nested:
            self._set_named(nested)
        return self

    def _set_named(self, nested: dict[str, Any]) -> None:
        families = dict(self.kernels)
        for key, value in nested.items():
            name, _, parameter = key.removeprefix("kernels__").partition("__")
            if name not in families:
                raise ValueError(
                    f"Invalid parameter {key!r}: kernels has the families {list(families)}."
                )
            if parameter:
                families[name].set_params(**{parameter: value})
            else:
                families[name] = value
        self.kernels = list(families.items())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            families = [family for _, family in clone_families(self.kernels)]
        except (TypeError, ValueError):
            return tags
        tags.input_tags.pairwise = any(family.pairwise for family in families)
        tags.input_tags.sparse = all(family.accepts_sparse for family in families)
        tags.input_tags.string = all(family.accepts_objects for family in families)
        return tags


class _FitInterrupted(Exception):
    """Ctrl-C while a problem was solved; brings what was reached of all problems."""

    def __init__(self, solutions: list[Solution]) -> None:
        super().__init__()
        self.solutions = solutions


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _unsolved(problem: Problem) -> Solution:
    terms = problem.empty_vote()
    objective = problem.objective(terms, np.full(problem.n_rows, terms.intercept))
    return Solution(terms, np.zeros(problem.n_rows), objective, 0.0, 0, "interrupted")


def _as_solution(state: Round, problem: Problem) -> Solution:
    dual = np.zeros(problem.n_rows)
    return Solution(
        state.terms, dual, state.objective, state.dual_bound, state.n_iter, "interrupted"
    )


def _constant(solution: Solution, problem: Problem, n_problems: int) -> float:
    """Return the intercept; without terms, the constant of the heavier class.

    For more than two classes that constant is the difference of the class weights, so that
    the largest one belongs to the heaviest class.
    """
    terms: Terms = solution.terms
    if len(terms.kernels) or (problem.fit_intercept and n_problems == 1):
        return terms.intercept
    return float(problem.w @ problem.y)
