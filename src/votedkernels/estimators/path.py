"""`voted_kernel_path`: models for a whole grid of penalties, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .._system.budget import Budget, single_blas_thread
from ..distributed import refuse_dask
from ..exceptions import SolverInterrupted
from ..kernels import clone_families
from ..kernels.base import FloatArray
from ..preparation.training import Training
from ..preparation.validation import check_parameters, check_penalties
from ..problem import Vote
from ..solvers.grid import Grid, solve_grid
from ..solvers.grid_order import DEFAULT_PENALTIES
from ._fitted_attributes import published_constants
from ._ongoing_fit import GridWatch, showing_progress
from .classifier import VotedKernelClassifier


def voted_kernel_path(
    X: Any,
    y: Any,
    kernels: Any = None,
    *,
    complexity_penalties: Any = None,
    l1_penalties: Any = None,
    sample_weight: Any = None,
    **params: Any,
) -> Bunch:
    """Fit the vote for every pair of penalties, with warm starts.

    Parameters
    ----------
    X, y : training data, as for `VotedKernelClassifier.fit`
    kernels : as for `VotedKernelClassifier`
    complexity_penalties, l1_penalties : array-like, default=None
        The grid. None means 1, 0.1, ..., 1e-6.
    sample_weight : array-like of shape (n_samples,), default=None
    **params
        Other parameters of `VotedKernelClassifier`: l2_penalty, l2_norm, complexity, centers,
        fit_intercept, class_weight, tol, max_iter, time_limit, memory_limit, n_jobs, random_state,
        verbose.

    Returns
    -------
    path : Bunch
        ``complexity_penalties`` (n_l,), ``l1_penalties`` (n_b,);
        ``objectives``, ``dual_bounds``, ``dual_gaps``, ``intercepts``, ``n_iter`` and
        ``stop_reasons``, of shape (n_l, n_b, n_problems);
        ``weights`` (n_l, n_b, n_problems, n_terms) of all terms that any of the models uses;
        ``term_kernel_indices`` and ``term_support_indices`` (n_terms,);
        ``support`` and ``support_vectors``, the training rows of these terms;
        ``n_support`` (n_l, n_b), the number of support vectors of each model;
        ``classes``, ``kernel_names``, ``complexities``.

    Examples
    --------
    >>> from votedkernels import voted_kernel_path
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> path = voted_kernel_path(X, y, complexity_penalties=[1e-1, 1e-2], l1_penalties=[1e-2])
    >>> path.objectives.shape
    (2, 1, 1)
    """
    estimator = VotedKernelClassifier(kernels, **params)
    check_parameters(estimator)
    budget = Budget().for_seconds(estimator.time_limit)
    if estimator.solver != "column-generation":
        raise ValueError(
            "voted_kernel_path supports only solver='column-generation', got "
            f"solver={estimator.solver!r}."
        )
    refuse_continuum(kernels, "voted_kernel_path")
    refuse_dask(X, "voted_kernel_path")
    lambdas = check_penalties(complexity_penalties, "complexity_penalties", DEFAULT_PENALTIES)
    betas = check_penalties(l1_penalties, "l1_penalties", DEFAULT_PENALTIES)
    with single_blas_thread(), showing_progress(estimator, "voted_kernel_path") as display:
        training = Training.prepare(estimator, X, y, sample_weight, budget=budget)
        n_points = training.n_problems * len(lambdas) * len(betas)
        watch = GridWatch(display, n_points)
        grids = solve_grids(training, lambdas, betas, estimator, on_point=watch)
        if display is not None:
            display.finish(f"{watch.n_done} of {n_points} points solved")
    return as_path(training, grids, lambdas, betas)


def refuse_continuum(kernels: Any, user: str) -> None:
    """Raise for a continuous family: its columns differ from one pair of penalties to the next."""
    if any(family.is_continuous for _, family in clone_families(kernels)):
        raise ValueError(
            f"{user} uses one set of columns for its whole grid, but ContinuousGaussian chooses "
            "its own for each pair of penalties; use VotedKernelClassifier (with GridSearchCV to "
            "choose penalties), or Gaussian."
        )


def solve_grids(
    training: Training,
    lambdas: FloatArray,
    betas: FloatArray,
    estimator: Any,
    *,
    pass_over_imprecise: bool = False,
    order: list[tuple[int, int]] | None = None,
    on_point: Callable[[], None] | None = None,
) -> list[Grid]:
    """Solve the grid of each one-vs-rest problem within its share of the time."""
    problems = training.problems(float(lambdas[0]), float(betas[0]), estimator.l2_penalty)
    try:
        return [
            solve_grid(
                problem.within(problem.budget.share(len(problems) - number)),
                training.complexities,
                lambdas,
                betas,
                tol=estimator.tol,
                max_iter=estimator.max_iter,
                pass_over_imprecise=pass_over_imprecise,
                order=order,
                on_point=on_point,
            )
            for number, problem in enumerate(problems)
        ]
    except SolverInterrupted:
        raise KeyboardInterrupt from None


def as_path(training: Training, grids: list[Grid], lambdas: FloatArray, betas: FloatArray) -> Bunch:
    """Join the grids of all problems over one set of terms."""
    constants = np.stack([grid.intercepts for grid in grids], axis=-1)
    empty = np.stack([~(grid.weights != 0).any(axis=-1) for grid in grids], axis=-1)
    constants = published_constants(training.problems(0.0, 0.0), constants, empty)
    vote = Vote.gather(grids, constants, training.columns, training.centers)
    objectives = np.stack([grid.objectives for grid in grids], axis=-1)
    dual_bounds = np.stack([grid.dual_bounds for grid in grids], axis=-1)
    return Bunch(
        complexity_penalties=lambdas,
        l1_penalties=betas,
        objectives=objectives,
        dual_bounds=dual_bounds,
        dual_gaps=np.maximum(0.0, objectives - dual_bounds),
        intercepts=vote.intercepts,
        n_iter=np.stack([grid.n_iter for grid in grids], axis=-1),
        stop_reasons=np.stack([grid.stop_reasons for grid in grids], axis=-1),
        weights=vote.weights,
        term_kernel_indices=vote.kernels,
        term_support_indices=vote.places,
        term_levels=vote.levels,
        support=vote.support,
        support_vectors=vote.points,
        n_support=vote.count_points(),
        classes=training.classes,
        kernels=vote.families,
        kernel_names=training.columns.names,
        complexities=training.complexities,
    )


def vote_of_path(path: Bunch) -> Vote:
    """Return the votes of all models, with axes (lambda, beta, problem)."""
    return Vote(
        families=path.kernels,
        support=path.support,
        points=path.support_vectors,
        kernels=path.term_kernel_indices,
        places=path.term_support_indices,
        levels=path.term_levels,
        weights=path.weights,
        intercepts=path.intercepts,
    )
