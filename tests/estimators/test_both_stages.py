"""Both stages of relaxed fits against solvers that nobody here wrote, on 300 random problems.

The problems are written out from their definitions. Clarabel solves both. Where it has no answer
to the first one, a linear program, SCIP solves that or, on two of the problems, HiGHS. The second
one is, given the terms,

    min_{z, b}  sum_i w_i phi(1 - y_i f_i) + rho/2 |z|^2,      f = sum_t a_t K_t + b,  a = W z

where phi(h), the rounded hinge, is half of Huber's function of max(0, h).
"""

import warnings
from contextlib import suppress

import cvxpy
import numpy as np
import pytest
from support.campaign import draw_case
from support.oracles import NoAnswer, by_clarabel, by_linprog, by_scip

from votedkernels import Gaussian, Polynomial

N_PROBLEMS, N_CHUNKS = 300, 10
RHOS = (1e-1, 1e-2, 1e-3, 1e-4)
RIDGES = 10.0 ** np.arange(-10, -3)
ACCURATE = {"solver": "CLARABEL", "tol_gap_rel": 1e-11, "tol_gap_abs": 1e-13, "tol_feas": 1e-11}


def first_stage(plain):
    for solve in (by_clarabel, by_scip):
        with suppress(NoAnswer, cvxpy.SolverError):
            return solve(plain)
    return by_linprog(plain)


def root_of(M):
    """U with U^T U = M and the smallest ridge that makes it positive definite."""
    for ridge in RIDGES:
        try:
            return np.linalg.cholesky(M + ridge * np.trace(M) * np.eye(len(M))).T
        except np.linalg.LinAlgError:
            continue
    raise AssertionError("no ridge suffices")


def whitened(plain, kernels, centers, definite):
    """B = K W at all rows."""
    parts = []
    for k in np.unique(kernels):
        K, mine = plain.matrices[k], centers[kernels == k]
        if definite[k]:
            M = K[np.ix_(mine, mine)]
            U = root_of(np.abs(np.diagonal(M)).mean() * (M + M.T) / 2)
            parts.append(np.linalg.solve(U.T, K[:, mine].T).T)
        else:
            sizes = np.sqrt(plain.w @ K[:, mine] ** 2)
            parts.append(K[:, mine] / np.where(sizes > 0, sizes, 1.0))
    return np.hstack(parts)


def second_stage(plain, B, rho):
    z, b = cvxpy.Variable(B.shape[1]), cvxpy.Variable()
    h = 1 - cvxpy.multiply(plain.y, B @ z + b)
    loss = plain.w @ cvxpy.huber(cvxpy.pos(h)) / 2
    problem = cvxpy.Problem(cvxpy.Minimize(loss + rho / 2 * cvxpy.sum_squares(z)))
    problem.solve(**ACCURATE)
    return problem.value


def kernels_that_are_definite(case):
    return np.concatenate([
        np.full(len(np.atleast_1d(getattr(family, "degrees", getattr(family, "gammas", 0)))),
                isinstance(family, Polynomial | Gaussian))
        for family in case.families
    ])  # fmt: skip


def differences(seed):
    """How far both objectives are from the solver's, and the gaps, relative to the objectives."""
    case, rho = draw_case(seed), RHOS[seed % len(RHOS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.classifier(relaxation=rho).fit(case.X, case.y, case.sample_weight)
        first = model.objective_ / first_stage(case.plain) - 1
        if not hasattr(model, "relaxed_objective_"):
            return first, model.dual_gap_ / model.objective_, 0.0, 0.0
        alive = np.arange(len(case.y))
        if case.sample_weight is not None:
            alive = np.flatnonzero(case.sample_weight)
        centers = np.searchsorted(alive, model.support_[model.term_support_indices_])
        kernels = model.term_kernel_indices_
        B = whitened(case.plain, kernels, centers, kernels_that_are_definite(case))
        second = model.relaxed_objective_ / second_stage(case.plain, B, rho) - 1
    gap = model.relaxed_dual_gap_ / model.relaxed_objective_
    return first, model.dual_gap_ / model.objective_, second, gap


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_both_stages_reach_the_optimum_of_another_solver(chunk):
    failures = []
    for seed in range(chunk, N_PROBLEMS, N_CHUNKS):
        first, first_gap, second, second_gap = differences(seed)
        if not (abs(first) <= 1e-6 and abs(second) <= 1e-6 and max(first_gap, second_gap) <= 1e-6):
            failures.append((seed, first, first_gap, second, second_gap))
    assert not failures, "(seed, difference and gap of the first stage, and of the second)"
