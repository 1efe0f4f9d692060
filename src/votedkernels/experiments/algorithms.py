"""The algorithms of the paper; each runs all its settings on one split.

    l2-svm           SVC with one kernel; kernel and C
    l1-svm           the norm-1 SVM with one kernel; kernel and beta
    vkr-dimension    the vote over all kernels, complexity by dimension (the paper's VKR2)
    vkr-trace        the same, complexity by trace (the paper's VKRc)
    vkr-local        the same, local complexity, which differs between Gaussian kernels
    vkr-extended     the same, local complexity with a radius that is one more setting: the paper's
                     extended objective (its equation 2)

Kernels are (x.y + 1)^k for k = 1..10, or exp(-gamma ||x - y||^2) for gamma = 1e-6..1, or both
kinds together. An SVM has one kernel, so it is not run again for both kinds (see `unions`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from .._system.budget import Budget, single_blas_thread
from ..complexity.local import measure_at_radii
from ..estimators.classifier import VotedKernelClassifier
from ..estimators.path import as_path, solve_grids, vote_of_path
from ..kernels import Gaussian, Polynomial
from ..kernels.base import FloatArray, KernelFamily
from ..preparation.training import Training
from .outcomes import Outcomes
from .protocol import Split

DEGREES = tuple(range(1, 11))
GAMMAS = tuple(10.0**i for i in range(-6, 1))
PENALTIES = tuple(10.0**-i for i in range(7))
#: The radii of local complexities. The eigenvalues mu_j sum to at most 1, so at radius 1 nothing is
#: cut off, and r_k is sqrt(2) times the trace bound. At a radius below all eigenvalues, r_k depends
#: on their number alone, as the bound by dimension does.
RADII = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
COSTS = tuple(10.0**i for i in range(-4, 8))
SVC_MAX_ITER = 10**6
#: The relative duality gap of votes, and the time limit of a path in seconds.
TOL = 1e-4
PATH_SECONDS = 600.0

Algorithm = Callable[[Split], Outcomes]


def make_family(family: str, members: Any = None) -> KernelFamily:
    """Return the paper's kernels of one kind: all of them, or the given members."""
    if family == "gaussian":
        return Gaussian(GAMMAS if members is None else members, unit=1.0)
    return Polynomial(DEGREES if members is None else members, gamma=1.0, coef0=1.0)


def make_kernels(family: str) -> list[KernelFamily]:
    """Return the families over which a vote is taken."""
    kinds = ("polynomial", "gaussian") if family == "both" else (family,)
    return [make_family(kind) for kind in kinds]


def members_of(family: str) -> tuple[str, tuple[float, ...]]:
    """Return the parameter of this kind of kernel and its values, simplest kernel first."""
    return ("gamma", GAMMAS) if family == "gaussian" else ("degree", DEGREES)


# -- votes -------------------------------------------------------------------------------


def run_vote(split: Split, family: str, complexity: str) -> Outcomes:
    """Run the vote over all kernels for every pair of penalties."""
    return run_path(
        split, make_kernels(family), complexity_penalties=PENALTIES, complexity=complexity
    )


def run_extended_vote(split: Split, family: str) -> Outcomes:
    """Run the vote over all kernels for every radius and pair of penalties."""
    out = Outcomes(mass=[])
    kernels = make_kernels(family)
    started = time.perf_counter()
    try:
        by_radius: list[Any] = list(complexities_at_radii(split, kernels))
    except ValueError:  # a kernel overflows; each path records that
        by_radius = ["local"] * len(RADII)
    out.fit_seconds = time.perf_counter() - started
    for radius, complexities in zip(RADII, by_radius, strict=True):
        part = run_path(split, kernels, complexity_penalties=PENALTIES, complexity=complexities)
        for setting in part.settings:
            setting["radius"] = radius
        out.extend([part])
    return out


def complexities_at_radii(split: Split, kernels: Any) -> FloatArray:
    """Return the local complexities at each radius (rows) of each kernel (columns)."""
    model = VotedKernelClassifier(kernels, complexity="trace")
    with single_blas_thread():
        training = Training.prepare(model, split.X_train, split.y_train, budget=Budget())
        return measure_at_radii(training.columns, training.weights, RADII)


def run_l1_svm(split: Split, family: str) -> Outcomes:
    """Run the norm-1 SVM for every kernel and beta."""
    out = Outcomes()
    name, values = members_of(family)
    for value in values:
        part = run_path(split, make_family(family, (value,)), complexity_penalties=(0.0,))
        for setting in part.settings:
            del setting["complexity_penalty"]
            setting[name] = value
        out.extend([part])
    return out


def run_path(
    split: Split,
    kernels: Any,
    *,
    complexity_penalties: tuple[float, ...],
    complexity: Any = "trace",
) -> Outcomes:
    """Run a whole grid of penalties, each fit starting from the last."""
    started = time.perf_counter()
    out = Outcomes(mass=[])
    try:
        path = solve_path(split, kernels, complexity_penalties, complexity)
    except ValueError:  # a kernel overflows, or a class is missing
        for lam in complexity_penalties:
            for beta in PENALTIES:
                out.add_failure(split, {"complexity_penalty": lam, "l1_penalty": beta})
        out.fit_seconds = time.perf_counter() - started
        out.mass = None
        return out
    out.fit_seconds = time.perf_counter() - started
    started = time.perf_counter()
    validation, test = (path_decisions(path, X) for X in (split.X_validation, split.X_test))
    out.predict_seconds = time.perf_counter() - started
    masses = path_masses(path)
    gaps = path.dual_gaps[..., 0] / np.maximum(path.objectives[..., 0], 1e-300)
    for i, lam in enumerate(complexity_penalties):
        for j, beta in enumerate(PENALTIES):
            stopped = path.stop_reasons[i, j, 0] not in ("optimal", "precision")
            out.add(
                split,
                {"complexity_penalty": lam, "l1_penalty": beta},
                np.where(validation[i, j] > 0, 1, -1),
                np.where(test[i, j] > 0, 1, -1),
                path.n_support[i, j],
                "cap" if stopped else "imprecise" if gaps[i, j] > TOL else "ok",
            )
            assert out.mass is not None
            out.mass.append([float(f"{mass:.4g}") for mass in masses[i, j]])
    out.gap = float(gaps.max())
    return out


def solve_path(
    split: Split, kernels: Any, complexity_penalties: tuple[float, ...], complexity: Any
) -> Any:
    """Return what `voted_kernel_path` returns, within a time limit that a path rarely needs."""
    budget = Budget().for_seconds(PATH_SECONDS)
    model = VotedKernelClassifier(kernels, complexity=complexity, tol=TOL)
    lambdas, betas = np.array(complexity_penalties), np.array(PENALTIES)
    with single_blas_thread():
        training = Training.prepare(model, split.X_train, split.y_train, budget=budget)
        grids = solve_grids(training, lambdas, betas, model, pass_over_imprecise=True)
    return as_path(training, grids, lambdas, betas)


def path_decisions(path: Any, X: FloatArray) -> FloatArray:
    """Return the decisions of all models of a two-class path, (n_lambda, n_beta, n_rows)."""
    return np.moveaxis(vote_of_path(path).decide(X)[..., 0], 0, -1)


def path_masses(path: Any) -> FloatArray:
    """Return the sum of |weights| of each kernel, (n_lambda, n_beta, n_kernels)."""
    sizes = np.abs(path.weights[:, :, 0, :])
    n_kernels = len(path.kernel_names)
    return np.stack(
        [sizes[..., path.term_kernel_indices == k].sum(axis=-1) for k in range(n_kernels)], axis=-1
    )


# -- SVC ---------------------------------------------------------------------------------


def run_l2_svm(split: Split, family: str) -> Outcomes:
    """Run SVC for every kernel and C.

    The kernel matrix is computed once for all C. If no multiplier is at its bound C, larger values
    of C have the same solution and are not solved. If the iterations are capped and two values of C
    yield the same multipliers to the last bit, the bound has no effect on them, and larger values,
    which would repeat them, are not solved either.
    """
    out = Outcomes()
    name, values = members_of(family)
    kernels = make_family(family).fit(split.X_train, np.ones(len(split.y_train)))
    bases = [
        kernels.base(X, split.X_train) for X in (split.X_train, split.X_validation, split.X_test)
    ]
    for k, value in enumerate(values):
        started = time.perf_counter()
        with np.errstate(over="ignore"):
            train, validation, test = (kernels.member(base, k) for base in bases)
        out.fit_seconds += time.perf_counter() - started
        model, free, multipliers = None, False, np.zeros(0)
        for C in COSTS:
            setting = {name: value, "C": C}
            if not free:
                started = time.perf_counter()
                model, status = fit_svc(train, split.y_train, C)
                out.fit_seconds += time.perf_counter() - started
                if model is not None:
                    before, multipliers = multipliers, model.dual_coef_.ravel()
                    within = bool(np.abs(multipliers).max(initial=0.0) < C)
                    free = within and (status == "ok" or np.array_equal(before, multipliers))
            if model is None:
                out.add_failure(split, setting)
                continue
            started = time.perf_counter()
            predictions = model.predict(validation), model.predict(test)
            out.predict_seconds += time.perf_counter() - started
            out.add(split, setting, *predictions, len(model.support_), status)
    return out


def fit_svc(K: FloatArray, y: Any, C: float) -> tuple[Any, str]:
    """Return the model (None if the fit failed) and its status."""
    if not np.isfinite(K).all():
        return None, "failed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = SVC(kernel="precomputed", C=C, max_iter=SVC_MAX_ITER, cache_size=500).fit(K, y)
        except ValueError:
            return None, "failed"
    return model, "cap" if model.fit_status_ else "ok"


def _svms(family: str) -> dict[str, Algorithm]:
    """Return the support vector machines, which have one kernel."""
    return {
        "l2-svm": partial(run_l2_svm, family=family),
        "l1-svm": partial(run_l1_svm, family=family),
    }


def _votes(family: str, *complexities: str) -> dict[str, Algorithm]:
    """Return the votes over all kernels: one for each complexity measure, and the extended one."""
    votes: dict[str, Algorithm] = {
        f"vkr-{complexity}": partial(run_vote, family=family, complexity=complexity)
        for complexity in complexities
    }
    return {**votes, "vkr-extended": partial(run_extended_vote, family=family)}


#: By the kind of kernel, then by name.
ALGORITHMS = {
    "polynomial": {**_svms("polynomial"), **_votes("polynomial", "dimension", "trace")},
    "gaussian": {**_svms("gaussian"), **_votes("gaussian", "trace", "local")},
    "both": _votes("both", "trace"),
}
