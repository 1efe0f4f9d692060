"""Ensembles of support vector machines, one per kernel: the paper's related work.

The paper names *Ensemble SVM* [1]_ as related: a predictor for each base kernel, and weights that
combine them, found in two stages or in one. It says that the single stage bears the most
resemblance to its own algorithm.

    two stages    each kernel has an SVC, with its own C chosen by cross-validation on the training
                  rows. The weights mu_k >= 0 minimise, over held-out decisions h_k of these rows,
                      mean_i max(0, 1 - y_i sum_k mu_k h_k(x_i)) + beta sum_k mu_k
    one stage     minimise C sum_i max(0, 1 - y_i (sum_k f_k(x_i) + b)) + 1/2 (sum_k |f_k|)^2, where
                  |f_k| is the norm of kernel k's space. This is an SVC on sum_k mu_k K_k with the
                  best mu in the simplex: fits of an SVC and mu_k ~ |f_k| alternate [2]_. Each K_k
                  is divided by its mean diagonal.

References
----------
.. [1] C. Cortes, M. Mohri, A. Rostamizadeh (2011). Ensembles of kernel predictors. UAI.
.. [2] Z. Xu, R. Jin, H. Yang, I. King, M. Lyu (2010). Simple and efficient multiple kernel learning
   by group lasso. ICML.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from ..kernels.base import FloatArray, IntArray, KernelFamily
from .algorithms import PENALTIES, SVC_MAX_ITER
from .outcomes import Outcomes
from .protocol import Split

COSTS = tuple(10.0**i for i in range(-2, 5))
#: Folds of the training rows for each kernel's C and for the decisions that are combined.
N_INNER_FOLDS = 3
#: The single stage ends at this relative duality gap, or after so many SVCs.
JOINT_GAP = 0.02
JOINT_ROUNDS = 60

#: Kernel matrices of the training, validation and test rows with the training rows.
Matrices = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Member:
    """The SVC of one kernel: its decisions on held-out training rows, and on the other rows."""

    held_out: FloatArray
    validation: FloatArray
    test: FloatArray
    support: IntArray
    predict_seconds: float


def run_two_stages(split: Split, families: Sequence[KernelFamily]) -> Outcomes:
    """Run the ensemble in two stages, for each beta."""
    out = Outcomes()
    started = time.perf_counter()
    members = [fit_member(matrices, split.y_train) for matrices in each_kernel(split, families)]
    held_out, validation, test = (
        np.column_stack([getattr(member, part) for member in members])
        for part in ("held_out", "validation", "test")
    )
    for beta in PENALTIES:
        mu = combine(held_out, split.y_train, beta)
        used = [member.support for member, weight in zip(members, mu, strict=True) if weight > 0]
        signs = [np.where(part @ mu > 0, 1, -1) for part in (validation, test)]
        n_support = len(np.unique(np.concatenate(used))) if used else 0
        out.add(split, {"l1_penalty": beta}, signs[0], signs[1], n_support)
    out.predict_seconds = sum(member.predict_seconds for member in members)
    out.fit_seconds = time.perf_counter() - started - out.predict_seconds
    return out


def fit_member(matrices: Matrices, y: IntArray) -> Member:
    """Choose C by the errors on held-out training rows, then fit all of them."""
    train, validation, test = matrices
    folds = list(StratifiedKFold(N_INNER_FOLDS, shuffle=True, random_state=0).split(train, y))
    best, least, held_out = COSTS[0], len(y) + 1, np.zeros(len(y))
    for C in COSTS:
        decisions = np.zeros(len(y))
        for rest, fold in folds:
            model = fit_svc(train[np.ix_(rest, rest)], y[rest], C)
            decisions[fold] = model.decision_function(train[np.ix_(fold, rest)])
        errors = int(np.sum(np.where(decisions > 0, 1, -1) != y))
        if errors < least:
            best, least, held_out = C, errors, decisions
    model = fit_svc(train, y, best)
    started = time.perf_counter()
    decisions_on = model.decision_function(validation), model.decision_function(test)
    return Member(held_out, *decisions_on, model.support_, time.perf_counter() - started)


def combine(decisions: FloatArray, y: IntArray, beta: float) -> FloatArray:
    """Return the weights of the second stage: a norm-1 SVM with weights >= 0 on the decisions."""
    m, p = decisions.shape
    found = linprog(
        np.concatenate([np.full(p, beta), np.full(m, 1 / m)]),
        A_ub=sparse.hstack([sparse.csr_array(-y[:, None] * decisions), -sparse.identity(m)]),
        b_ub=-np.ones(m),
    )
    return np.asarray(found.x[:p])


def run_one_stage(split: Split, families: Sequence[KernelFamily]) -> Outcomes:
    """Run the ensemble in one stage, for each C."""
    out = Outcomes()
    started = time.perf_counter()
    train, validation, test = zip(*each_kernel(split, families), strict=True)
    scales = [1 / np.diag(K).mean() for K in train]
    out.fit_seconds = time.perf_counter() - started
    mu = np.full(len(train), 1 / len(train))
    for C in COSTS:
        started = time.perf_counter()
        model, mu, status = fit_jointly(train, scales, split.y_train, C, mu)
        out.fit_seconds += time.perf_counter() - started
        started = time.perf_counter()
        signs = [model.predict(mix(parts, mu * scales)) for parts in (validation, test)]
        out.predict_seconds += time.perf_counter() - started
        out.add(split, {"C": C}, signs[0], signs[1], len(model.support_), status)
    return out


def fit_jointly(
    matrices: Sequence[FloatArray], scales: Sequence[float], y: IntArray, C: float, mu: FloatArray
) -> tuple[SVC, FloatArray, str]:
    """Alternate between an SVC and the weights of kernels; start from weights > 0.

    At the SVC of weights mu, with q_k = alpha' Y K_k Y alpha, the objective is sum(alpha) -
    1/2 sum_k mu_k q_k, and sum(alpha) - 1/2 max_k q_k is a lower bound on the best one.
    """
    mu = 0.99 * mu + 0.01 / len(mu)  # a weight of 0 would stay 0
    for _ in range(JOINT_ROUNDS):
        model = fit_svc(mix(matrices, mu * scales), y, C)
        alpha, support = model.dual_coef_.ravel(), model.support_
        block = np.ix_(support, support)
        q = np.array([s * alpha @ K[block] @ alpha for s, K in zip(scales, matrices, strict=True)])
        objective = np.abs(alpha).sum() - mu @ q / 2
        if (q.max() - mu @ q) / 2 <= JOINT_GAP * objective:
            return model, mu, "ok"
        norms = mu * np.sqrt(np.maximum(q, 0.0))
        mu, last = norms / norms.sum(), mu
    return model, last, "cap"


def mix(matrices: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Return the weighted sum of kernel matrices."""
    total = np.zeros_like(matrices[0])
    for weight, K in zip(weights, matrices, strict=True):
        if weight > 0:
            total += weight * K
    return total


def fit_svc(K: FloatArray, y: IntArray, C: float) -> SVC:
    """Fit SVC on a kernel matrix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SVC(kernel="precomputed", C=C, max_iter=SVC_MAX_ITER, cache_size=500).fit(K, y)


def each_kernel(split: Split, families: Sequence[KernelFamily]) -> Iterator[Matrices]:
    """Yield the matrices of one kernel after the other."""
    for family in families:
        fitted = family.fit(split.X_train, np.ones(len(split.y_train)))
        bases = [
            fitted.base(X, split.X_train) for X in (split.X_train, split.X_validation, split.X_test)
        ]
        for k in range(fitted.n_kernels):
            train, validation, test = (fitted.member(base, k) for base in bases)
            yield train, validation, test
