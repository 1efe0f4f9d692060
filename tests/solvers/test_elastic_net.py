"""The elastic net: l1 and squared weights together, for any similarity."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votedkernels import (
    EditDistance,
    Gaussian,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    voted_kernel_path,
)
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem, Terms
from votedkernels.problem.solution import extended_values
from votedkernels.solvers import solve_by_column_generation


class LookUp:
    def __init__(self, matrix):
        self.matrix = matrix

    def __call__(self, rows, centers):
        return self.matrix[np.ix_(rows, centers)]


def random_problem(seed):
    """Similarities that are neither symmetric nor definite, of sizes from 1e-2 to 1e2."""
    random = np.random.default_rng(seed)
    n, m, p = (int(random.integers(*ends)) for ends in ((6, 40), (4, 30), (1, 4)))
    sizes = 10.0 ** random.uniform(-2, 2, p)
    values = [size * random.standard_normal((n, m)) for size in sizes]
    families = [Similarity(LookUp(K), name=f"k{k}") for k, K in enumerate(values)]
    rows = np.arange(n)
    columns = LocalColumns([f.fit(rows, np.ones(n)) for f in families], rows, np.arange(m))
    y = random.choice([-1.0, 1.0], n)
    y[:2] = -1.0, 1.0
    w = random.uniform(0.2, 2.0, n)
    w /= w.sum()
    penalties = 10.0 ** random.uniform(-4, -0.5) * sizes * random.uniform(1, 2, p)
    problem = Problem(
        columns, y, w, penalties, seed % 3 == 0, l2_penalty=10.0 ** random.uniform(-4, 0),
        squares=np.stack([w @ K**2 for K in values]),
    )  # fmt: skip
    return problem, values


def by_clarabel(problem, values):
    """The optimum, in weights times s, so that Clarabel sees columns of one size."""
    f, price = cvxpy.Variable() if problem.fit_intercept else 0.0, 0.0
    for K, penalty, squares in zip(values, problem.penalties, problem.squares, strict=True):
        b = cvxpy.Variable(K.shape[1])
        f = f + (K / np.sqrt(squares)) @ b
        price += (penalty / np.sqrt(squares)) @ cvxpy.abs(b)
        price += 0.5 * problem.l2_penalty * cvxpy.sum_squares(b)
    loss = problem.w @ cvxpy.pos(1 - cvxpy.multiply(problem.y, f))
    model = cvxpy.Problem(cvxpy.Minimize(loss + price))
    tolerances = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    model.solve(solver=cvxpy.CLARABEL, max_iter=500, **tolerances)
    return float(model.value)


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_of_an_independent_solver(seed):
    problem, values = random_problem(seed)
    solution = solve_by_column_generation(problem, tol=1e-8)
    optimum = by_clarabel(problem, values)
    assert solution.stop_reason == "optimal"
    assert solution.objective == pytest.approx(optimum, rel=1e-7)
    assert solution.dual_bound <= optimum * (1 + 1e-9)
    assert solution.gap <= 1e-8 * solution.objective
    again = problem.certify(solution.terms, solution.dual, solution.dual_terms)
    assert again == pytest.approx((solution.objective, solution.dual_bound), rel=1e-12)
    assert extended_values(problem, solution) == pytest.approx(again, rel=1e-9)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_no_dual_vector_proves_more_than_any_vote_costs(seed, other):
    (problem, _), random = random_problem(seed), np.random.default_rng(other)
    member = random.random((problem.columns.n_kernels, problem.columns.n_centers)) < 0.5
    kernels, centers = np.nonzero(member)
    weights = random.standard_normal(len(kernels)) / np.sqrt(problem.squares[kernels, centers])
    u = problem.w * random.uniform(-0.5, 1.5, problem.n_rows)
    value, bound = problem.certify(Terms(kernels, centers, weights), u)
    assert bound <= value * (1 + 1e-12)


def words(n=60):
    random = np.random.default_rng(0)
    X = ["".join(random.choice(list("acgt"), random.integers(4, 12))) for _ in range(n)]
    return X, np.array(["gc" in text or "tt" in text for text in X])


@pytest.mark.parametrize("solver", ["column-generation", "coordinate-descent"])
def test_strings_under_the_norm_of_the_weights(solver):
    X, y = words()
    family = EditDistance((1.0, 3.0))
    model = VotedKernelClassifier(family, l2_penalty=1e-2, solver=solver, tol=1e-7).fit(X, y)
    assert model.stop_reason_ == "optimal"
    # F, recomputed from the published weights
    weights, kernels = model.term_weights_[0], model.term_kernel_indices_
    fitted = model.kernels_[0]
    base = fitted.base(X, model.support_vectors_)
    values = fitted.columns(base, kernels, model.term_support_indices_)
    signs = np.where(y, 1, -1)
    value = np.mean(np.maximum(0, 1 - signs * (values @ weights)))
    value += model.penalties_[kernels] @ np.abs(weights)
    value += 0.5 * 1e-2 * (values**2).mean(axis=0) @ weights**2
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_rescaling_a_kernel_and_its_price_changes_nothing():
    X, y = words()

    def length_alike(A, B, size=1.0):
        return np.array([[size * np.exp(-abs(len(a) - len(b))) for b in B] for a in A])

    first, second = (
        VotedKernelClassifier(
            Similarity(lambda A, B, s=size: length_alike(A, B, s)), complexity=[size],
            complexity_penalty=1e-3, l1_penalty=0.0, l2_penalty=1e-2, tol=1e-9,
        ).fit(X, y)
        for size in (1.0, 1e3)
    )  # fmt: skip
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-7)


def test_auto_is_the_norm_that_applies():
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = X[:, 0] * X[:, 1] > 0
    options = {"l1_penalty": 1e-3, "l2_penalty": 1e-2, "complexity_penalty": 0.0, "tol": 1e-8}

    def objective(kernels, **more):
        return VotedKernelClassifier(kernels, **options, **more).fit(X, y).objective_

    gaussian = Gaussian((0.3, 1.0))
    assert objective(gaussian) == objective(gaussian, l2_norm="rkhs")
    assert objective(gaussian) != pytest.approx(objective(gaussian, l2_norm="weights"), rel=1e-3)
    assert objective(gaussian, centers=X[:9]) == objective(
        gaussian, centers=X[:9], l2_norm="weights"
    )
    indefinite = Similarity(lambda A, B: np.tanh(A @ B.T))
    assert objective(indefinite) == objective(indefinite, l2_norm="weights")
    with pytest.raises(ValueError, match=r"l2_norm='rkhs' needs positive definite.*'weights'"):
        objective(indefinite, l2_norm="rkhs")
    with pytest.raises(ValueError, match="l2_norm must be 'auto', 'rkhs' or 'weights'"):
        objective(gaussian, l2_norm="l2")


@pytest.mark.parametrize("l2_norm", ["rkhs", "weights"])
def test_a_path_is_its_single_fits(l2_norm):
    X = np.random.default_rng(1).standard_normal((60, 2))
    y = X[:, 0] * X[:, 1] > 0
    options = {"l2_penalty": 1e-3, "l2_norm": l2_norm, "tol": 1e-8}
    lambdas = [1e-1, 1e-2, 1e-3]
    path = voted_kernel_path(X, y, complexity_penalties=lambdas, l1_penalties=[1e-4], **options)
    for number, penalty in enumerate(lambdas):
        single = VotedKernelClassifier(
            complexity_penalty=penalty, l1_penalty=1e-4, solver="coordinate-descent", **options
        ).fit(X, y)
        assert path.objectives[number, 0, 0] == pytest.approx(single.objective_, rel=1e-7)


def test_a_search_over_l2_penalties():
    X, y = words()
    search = VotedKernelClassifierCV(
        EditDistance((1.0, 3.0)), complexity_penalties=[1e-2], l1_penalties=[1e-3, 1e-4],
        l2_penalties=[0.0, 1e-2, 1.0], cv=3,
    ).fit(X, y)  # fmt: skip
    assert set(search.best_params_) == {"complexity_penalty", "l1_penalty", "l2_penalty"}
    assert len(search.cv_results_["params"]) == 6
    chosen = search.chosen_classifier()
    assert chosen.l2_penalty == search.best_params_["l2_penalty"]
    assert chosen.fit(X, y).objective_ == pytest.approx(search.objective_, rel=1e-6)
    with pytest.raises(ValueError, match="l2_penalties must hold finite numbers >= 0"):
        VotedKernelClassifierCV(EditDistance(), l2_penalties=[-1.0]).fit(X, y)
