import re
import warnings

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.svm import SVC

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
)
from votedkernels._system.budget import Budget
from votedkernels.exceptions import FitLimitError
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem, Terms
from votedkernels.problem.solution import extended_values, rounding_error, verify
from votedkernels.solvers import solve_by_column_generation, solve_by_coordinate_descent


def random_problem(seed, l2_penalty=None):
    random = np.random.default_rng(seed)
    n = int(random.integers(6, 40))
    X = random.standard_normal((n, int(random.integers(1, 4))))
    y = np.where(X[:, 0] + random.standard_normal(n) > 0, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    w = random.uniform(0.2, 2.0, n)
    family = Polynomial((1, 2, 3), gamma=0.3) if seed % 2 else Gaussian((0.3, 3.0), unit=1.0)
    center_rows = np.sort(random.permutation(n)[: max(3, n // 2)]) if seed % 3 else np.arange(n)
    gram = LocalColumns([family.fit(X, np.ones(n))], X, X[center_rows])
    penalties = 10.0 ** random.uniform(-4, -1) * random.uniform(1, 2, gram.n_kernels)
    if l2_penalty is None:
        l2_penalty = 10.0 ** random.uniform(-4, 0)
    return Problem(
        gram, y, w / w.sum(), penalties, seed % 5 == 0,
        l2_penalty=l2_penalty, center_rows=center_rows,
    )  # fmt: skip


def matrices(problem):
    """K_k(x_i, c_j) for each kernel."""
    n = problem.columns.n_centers
    return [
        problem.columns.take(np.full(n, k), np.arange(n)) for k in range(problem.columns.n_kernels)
    ]


def by_clarabel(problem):
    """The optimum, by a solver that nobody here wrote."""
    f, price = cvxpy.Variable() if problem.fit_intercept else 0.0, 0.0
    for K, penalty in zip(matrices(problem), problem.penalties, strict=True):
        a = cvxpy.Variable(K.shape[1])
        eigenvalues, vectors = np.linalg.eigh(K[problem.center_rows])
        root = np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T
        f = f + K @ a
        price += penalty * cvxpy.norm1(a)
        price += 0.5 * problem.l2_penalty * cvxpy.sum_squares(root @ a)
    loss = problem.w @ cvxpy.pos(1 - cvxpy.multiply(problem.y, f))
    model = cvxpy.Problem(cvxpy.Minimize(loss + price))
    tolerances = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    model.solve(solver=cvxpy.CLARABEL, max_iter=500, **tolerances)
    assert model.status == cvxpy.OPTIMAL
    return float(model.value)


def objective_by_hand(problem, terms):
    f, price = np.full(problem.n_rows, terms.intercept), 0.0
    for k, K in enumerate(matrices(problem)):
        a = np.zeros(K.shape[1])
        a[terms.centers[terms.kernels == k]] = terms.weights[terms.kernels == k]
        f = f + K @ a
        price += problem.penalties[k] * np.abs(a).sum()
        price += 0.5 * problem.l2_penalty * a @ K[problem.center_rows] @ a
    return problem.w @ np.maximum(0, 1 - problem.y * f) + price


def moons(n=120, seed=0):
    random = np.random.default_rng(seed)
    angle, y = random.uniform(0, np.pi, n), np.where(np.arange(n) % 2, 1, -1)
    X = np.c_[np.cos(angle) + 0.5 * (y > 0), y * np.sin(angle)]
    return X + 0.3 * random.standard_normal((n, 2)), y


def hybrid(kernels=None, **params):
    return VotedKernelClassifier(
        Gaussian() if kernels is None else kernels,
        **({"solver": "coordinate-descent", "l2_penalty": 1e-3} | params),
    )


# -- the solver --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_it_finds_the_optimum_of_an_independent_solver(seed):
    problem = random_problem(seed)
    solution = solve_by_coordinate_descent(problem, tol=1e-8)
    optimum = by_clarabel(problem)
    assert solution.stop_reason == "optimal"
    assert solution.objective == pytest.approx(optimum, rel=1e-7)
    assert solution.dual_bound <= optimum * (1 + 1e-9)
    assert solution.gap <= 1e-8 * solution.objective
    assert solution.objective == pytest.approx(
        objective_by_hand(problem, solution.terms), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_certificate_can_be_recomputed_from_the_data(seed):
    problem = random_problem(seed)
    solution = solve_by_coordinate_descent(problem, tol=1e-6)
    again = problem.certify(solution.terms, solution.dual, solution.dual_terms)
    assert again == pytest.approx((solution.objective, solution.dual_bound), rel=1e-12)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_no_pair_proves_more_than_any_vote_costs(seed, other):
    problem, random = random_problem(seed), np.random.default_rng(other)

    def random_terms():
        member = random.random((problem.columns.n_kernels, problem.columns.n_centers)) < 0.5
        kernels, centers = np.nonzero(member)
        return Terms(kernels, centers, random.standard_normal(len(kernels)))

    u = problem.w * random.uniform(-0.5, 1.5, problem.n_rows)
    value, bound = problem.certify(random_terms(), u, random_terms())
    assert bound <= value * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_tiny_square_is_the_plain_problem(seed):
    problem = random_problem(seed, l2_penalty=1e-12)
    plain = solve_by_column_generation(random_problem(seed, l2_penalty=0.0), tol=1e-9)
    assert solve_by_coordinate_descent(problem, tol=1e-8).objective == pytest.approx(
        plain.objective, rel=1e-6
    )


def test_the_best_objective_never_rises_and_max_iter_is_kept():
    X, y = moons(200)
    gram = LocalColumns([Gaussian(unit=1.0).fit(X, np.ones(200))], X, X)
    problem = Problem(
        gram, y.astype(float), np.full(200, 1 / 200), np.full(7, 1e-4),
        l2_penalty=1e-3, center_rows=np.arange(200),
    )  # fmt: skip
    objectives = []

    def on_round(state):
        objectives.append(state.solution.objective)
        return False

    solution = solve_by_coordinate_descent(problem, tol=1e-9, max_iter=4, on_round=on_round)
    assert solution.stop_reason == "max-iter"
    assert solution.n_iter == len(objectives) == 4
    assert (np.diff(objectives) <= 1e-15).all()
    assert 0 < solution.dual_bound <= solution.objective
    late = problem.within(Budget(0.0))
    assert solve_by_coordinate_descent(late, tol=1e-6).stop_reason == "time-limit"


@pytest.mark.parametrize("room", [True, False], ids=["recomputed", "too large for that"])
def test_a_doubtful_bound_is_recomputed_or_lowered(room, monkeypatch):
    if not room:
        monkeypatch.setattr("votedkernels.problem.solution.EXTENDED_VALUES", 0)
    random = np.random.default_rng(0)
    X = 1e4 * random.standard_normal((30, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    gram = LocalColumns([Polynomial((5,), gamma=1.0).fit(X, np.ones(30))], X, X)
    problem = Problem(
        gram, y, np.full(30, 1 / 30), np.full(1, 1e-3), l2_penalty=1e-3, center_rows=np.arange(30)
    )
    solution = solve_by_coordinate_descent(problem, tol=1e-6)
    assert solution.dual_bound <= by_clarabel_scaled(problem) * (1 + 1e-6)
    doubt = rounding_error(problem, solution)
    assert doubt > 1e-6
    again = verify(problem, solution, 1e-6)
    if not room:
        assert again.dual_bound <= max(0.0, solution.dual_bound - 0.9 * doubt * solution.objective)


@pytest.mark.parametrize("seed", range(10))
def test_extended_precision_gives_the_same_values(seed):
    problem = random_problem(seed)
    solution = solve_by_coordinate_descent(problem, tol=1e-3)
    values = problem.certify(solution.terms, solution.dual, solution.dual_terms)
    assert extended_values(problem, solution) == pytest.approx(values, rel=1e-9)
    assert problem.objective(solution.terms, problem.decision(solution.terms)) > values[1] > 0


def test_what_rounding_hides_is_proved_in_extended_precision():
    # A bound lowered by what rounding might do proves 2e-7 only.
    random = np.random.default_rng(0)
    X = random.standard_normal((25, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, 0)
    penalties = {"complexity_penalty": 0.0, "l1_penalty": 3e-6, "l2_penalty": 2e-3}
    model = hybrid(Polynomial((2, 5, 6)), tol=1e-8, **penalties)
    model.fit(X, y)
    assert model.dual_gap_ <= 1e-8 * model.objective_


def by_clarabel_scaled(problem):
    """The optimum for one kernel of any size: in a = b / max |K|."""
    K = matrices(problem)[0]
    size = np.abs(K).max()
    a = cvxpy.Variable(K.shape[1])
    eigenvalues, vectors = np.linalg.eigh(K / size)
    root = np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T
    loss = problem.w @ cvxpy.pos(1 - cvxpy.multiply(problem.y, (K / size) @ a))
    price = problem.penalties[0] / size * cvxpy.norm1(a)
    square = 0.5 * problem.l2_penalty / size * cvxpy.sum_squares(root @ a)
    return float(cvxpy.Problem(cvxpy.Minimize(loss + price + square)).solve(cvxpy.CLARABEL))


# -- the classifier ----------------------------------------------------------------------


def test_without_much_l1_it_is_a_support_vector_machine():
    X, y = moons()
    model = hybrid(
        Gaussian((1.0,), unit=1.0), complexity_penalty=0.0, l1_penalty=1e-6, l2_penalty=1e-2,
        fit_intercept=True,
    ).fit(X, y)  # fmt: skip
    assert model.stop_reason_ == "optimal"
    svc = SVC(C=1 / (1e-2 * len(y)), gamma=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), svc.decision_function(X), atol=2e-3, rtol=2e-3
    )


def test_it_votes_with_fewer_rows_than_without_l1():
    X, y = moons(200)
    sizes = [
        len(hybrid(Gaussian((1.0,)), complexity_penalty=0.0, l1_penalty=beta).fit(X, y).support_)
        for beta in (1e-7, 1e-3, 1e-2)
    ]
    assert sizes[0] > sizes[1] > sizes[2] > 0


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("centers", [None, 30])
def test_attributes_are_those_of_a_proved_optimum(fit_intercept, centers):
    X, y = moons()
    model = hybrid(fit_intercept=fit_intercept, centers=centers, random_state=0).fit(X, y)
    assert model.stop_reason_ == "optimal"
    assert 0 <= model.dual_gap_ <= 1e-6 * model.objective_
    assert model.objective_ - model.dual_bound_ == pytest.approx(model.dual_gap_)
    weights, kernels = model.term_weights_[0], model.term_kernel_indices_
    value = np.mean(np.maximum(0, 1 - y * model.decision_function(X)))
    value += model.penalties_[kernels] @ np.abs(weights)
    points = model.support_vectors_[model.term_support_indices_]
    for k in np.unique(kernels):
        mine = kernels == k
        family = model.kernels_[0]
        K = family.member(family.base(points[mine], points[mine]), int(k))
        value += 0.5 * 1e-3 * weights[mine] @ K @ weights[mine]
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_no_l2_penalty_is_the_plain_answer():
    X, y = moons()
    plain = VotedKernelClassifier(Gaussian(), solver="coordinate-descent").fit(X, y)
    zero = hybrid(l2_penalty=0.0).fit(X, y)
    np.testing.assert_array_equal(zero.term_weights_, plain.term_weights_)
    assert zero.objective_ == plain.objective_
    assert zero.dual_bound_ == plain.dual_bound_


def test_more_classes_and_repeated_rows():
    X, y = moons()
    labels = np.where(X[:, 0] > 0.8, "right", np.where(y > 0, "up", "down"))
    weight = np.where(np.arange(len(y)) % 3, 1.0, 2.0)
    twice = np.r_[np.arange(len(y)), np.flatnonzero(weight == 2)]
    weighted = hybrid(Gaussian(unit=1.0)).fit(X, labels, sample_weight=weight)
    repeated = hybrid(Gaussian(unit=1.0)).fit(X[twice], labels[twice])
    assert weighted.class_objectives_.shape == (3,)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-12
    )


def test_a_kernel_matrix_gives_the_same_model():
    X, y = moons()
    X = np.r_[X, X[:10]]
    y = np.r_[y, -y[:10]]  # the same point in both classes
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    given_matrix = hybrid(Precomputed(positive_definite=True), complexity_penalty=0.0).fit(K, y)
    computed = hybrid(Gaussian((1.0,), unit=1.0), complexity_penalty=0.0).fit(X, y)
    assert given_matrix.objective_ == pytest.approx(computed.objective_, rel=1e-6)
    np.testing.assert_allclose(
        given_matrix.decision_function(K), computed.decision_function(X), atol=1e-2
    )


def test_a_guarantee_is_one_of_the_weights():
    X, y = moons(300)
    model = hybrid(Gaussian((0.3, 1.0), unit=1.0), l2_penalty=1e-2).fit(X, y)
    bound = model.generalization_bound(X, y)
    assert bound.is_guarantee
    assert bound.value > np.mean(model.predict(X) != y)


def test_it_is_a_parameter():
    model = hybrid(l2_penalty=0.5)
    assert clone(model).get_params()["l2_penalty"] == 0.5
    assert re.search("l2_penalty=0.5", repr(model))


def test_penalties_that_are_too_large_leave_no_vote():
    X, y = moons()
    with pytest.warns(UserWarning, match="so large that no kernel"):
        model = hybrid(l1_penalty=10.0).fit(X, y)
    assert model.objective_ == pytest.approx(1.0)
    assert model.dual_gap_ <= 1e-12


# -- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "1", True, None])
def test_a_bad_l2_penalty(value):
    with pytest.raises(ValueError, match="l2_penalty must be a finite number >= 0"):
        hybrid(l2_penalty=value).fit(*moons())


@pytest.mark.parametrize("solver", ["lp", "coordinate-descent-paper"])
def test_other_solvers_refuse(solver):
    with pytest.raises(ValueError, match=r"use solver='column-generation'"):
        hybrid(solver=solver).fit(*moons())


def test_kernels_that_are_not_positive_definite_are_refused():
    X, y = moons()
    kernels = [Gaussian(), Similarity(lambda a, b: float(np.tanh(a @ b)))]
    with pytest.raises(ValueError, match="positive definite"):
        hybrid(kernels, l2_norm="rkhs").fit(X, y)
    with pytest.raises(ValueError, match="precomputed is not known to be"):
        hybrid(Precomputed(), l2_norm="rkhs").fit(X @ X.T, y)


def test_centers_of_ones_own_are_refused():
    X, y = moons()
    with pytest.raises(ValueError, match=r"centers=None or a number"):
        hybrid(centers=X[:10], l2_norm="rkhs").fit(X, y)


def test_a_kernel_without_l1_penalty_is_refused():
    with pytest.raises(ValueError, match=r"set l1_penalty > 0"):
        hybrid(complexity_penalty=0.0, l1_penalty=0.0).fit(*moons())


def test_limits_leave_a_model_or_raise():
    X, y = moons(300)
    with pytest.raises(FitLimitError, match="time_limit"):
        hybrid(time_limit=1e-6, complexity=np.ones(7)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert hybrid(max_iter=1).fit(X, y).stop_reason_ == "max-iter"
