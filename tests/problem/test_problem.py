import warnings
from dataclasses import FrozenInstanceError, is_dataclass, replace
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.oracles import PlainProblem, by_linprog, dual_bound, objective

from votedkernels import Gaussian, Polynomial, Precomputed, Similarity, VotedKernelClassifier
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem, Solution, Terms
from votedkernels.problem.problem import Others
from votedkernels.solvers import CONVERGENT_SOLVERS, SOLVERS, Incumbent, SolverOptions
from votedkernels.solvers import __path__ as PATH

GRAM = LocalColumns([Precomputed().fit(np.eye(2), np.ones(2))], np.eye(2), np.arange(2))
FINITE = st.floats(-10, 10, allow_nan=False)
MODULES = [
    import_module(f"votedkernels.{name}")
    for name in [
        *(f"problem.{name}" for name in ("losses", "problem", "relaxed", "solution", "vote")),
        "guarantees.theorems",
        *(f"solvers.{module.name}" for module in iter_modules(PATH)),
        *(f"solvers.lp.{module.name}" for module in iter_modules([f"{PATH[0]}/lp"])),
    ]
]


def make_problem(K, y, penalty, *, w=None, fit_intercept=False):
    """A problem of one kernel, given by its matrix."""
    K, y = np.asarray(K, dtype=float), np.asarray(y, dtype=float)
    w = np.full(len(y), 1 / len(y)) if w is None else np.asarray(w, dtype=float)
    gram = LocalColumns([Precomputed().fit(K, w)], K, np.arange(K.shape[1]))
    return Problem(gram, y, w, np.array([float(penalty)]), fit_intercept)


def votes(problem, weights, intercept=0.0):
    n = problem.columns.n_centers
    return Terms(np.zeros(n, np.intp), np.arange(n), np.asarray(weights, float), intercept)


def quiet_fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


# -- facts by hand -----------------------------------------------------------------------


@pytest.mark.parametrize("solver", list(CONVERGENT_SOLVERS))
@pytest.mark.parametrize(("penalty", "optimum"), [(0.25, 0.25), (0.9, 0.9), (1.5, 1.0)])
def test_two_points_on_a_line(solver, penalty, optimum):
    # f(x_1) = a_1 - a_2 = -f(x_2), so F = (1 - (a_1 - a_2))_+ + L (|a_1| + |a_2|).
    problem = make_problem([[1, -1], [-1, 1]], [1, -1], penalty)
    # This corner is degenerate, and coordinate descent has no other way to the last digits.
    tol = 1e-10 if solver == "coordinate-descent" else 1e-12
    solution = SOLVERS[solver].solve(problem, tol=tol)
    assert solution.objective == pytest.approx(optimum, rel=tol)
    assert solution.dual_bound == pytest.approx(optimum, rel=tol)
    assert solution.stop_reason == "optimal"


@pytest.mark.parametrize("solver", list(CONVERGENT_SOLVERS))
def test_weights_move_the_optimum(solver):
    # One column that is 1 everywhere: f = a, and a in [-1, 1] costs 0.3 (1 + a) + 0.7 (1 - a).
    problem = make_problem(np.ones((2, 1)), [-1, 1], 0.1, w=[0.3, 0.7])
    solution = SOLVERS[solver].solve(problem, tol=1e-12)
    assert solution.objective == pytest.approx(0.6 + 0.1, rel=1e-12)
    np.testing.assert_allclose(solution.terms.weights, [1.0], rtol=1e-12)


@pytest.mark.parametrize("solver", list(CONVERGENT_SOLVERS))
def test_intercept_costs_nothing(solver):
    problem = make_problem(np.ones((2, 1)), [-1, 1], 0.1, w=[0.3, 0.7], fit_intercept=True)
    solution = SOLVERS[solver].solve(problem, tol=1e-12)
    assert solution.objective == pytest.approx(0.6, rel=1e-12)
    assert solution.terms.intercept == pytest.approx(1.0, rel=1e-9)


def test_objective_of_the_empty_vote():
    problem = make_problem(np.eye(3), [1, 1, -1], 0.5)
    assert problem.objective(Terms.none(), np.zeros(3)) == pytest.approx(1.0, rel=1e-13)
    assert problem.empty_vote().intercept == 0
    with_intercept = make_problem(np.eye(3), [1, 1, -1], 0.5, fit_intercept=True)
    empty = with_intercept.empty_vote()
    assert empty.intercept == 1
    assert with_intercept.objective(empty, np.ones(3)) == pytest.approx(2 / 3, rel=1e-13)


def test_dual_value_by_hand():
    # u = w gives sum_i u_i y_i K_i = 1, twice the penalty: half of sum u is proved.
    problem = make_problem([[1.0], [-1.0]], [1, -1], 0.5)
    u = problem.into_box(np.array([9.0, 9.0]))
    np.testing.assert_array_equal(u, [0.5, 0.5])
    correlation = problem.correlate(u)
    np.testing.assert_allclose(correlation, [[1.0]], rtol=1e-13)
    np.testing.assert_allclose(problem.excess(correlation), [[2.0]], rtol=1e-13)
    assert problem.dual_value(u, correlation) == pytest.approx(0.5, rel=1e-13)


def test_intercept_shrinks_the_heavier_class():
    problem = make_problem(np.eye(3), [1, 1, -1], 1.0, fit_intercept=True)
    u = problem.into_box(np.full(3, 1 / 3))
    np.testing.assert_allclose(u, [1 / 6, 1 / 6, 1 / 3], rtol=1e-13)
    np.testing.assert_array_equal(problem.into_box(np.array([0.1, 0.2, -1.0])), np.zeros(3))


def test_a_kernel_without_penalty_proves_nothing_unless_its_columns_vanish():
    problem = make_problem([[1.0, 0.0], [2.0, 0.0]], [1, 1], 0.0)
    u = problem.into_box(problem.w)
    assert problem.dual_value(u, problem.correlate(u)) == 0
    vanishing = make_problem([[1.0], [1.0]], [1, -1], 0.0)
    assert vanishing.dual_value(vanishing.w, vanishing.correlate(vanishing.w)) == 1


def test_terms_without_weight_are_left_out():
    terms = Terms(np.array([1, 0, 0]), np.array([2, 5, 1]), np.array([3.0, 0.0, -1.0]), 0.5)
    kept = terms.nonzero()
    np.testing.assert_array_equal(kept.kernels, [0, 1])
    np.testing.assert_array_equal(kept.centers, [1, 2])
    np.testing.assert_array_equal(kept.weights, [-1.0, 3.0])
    assert kept.intercept == 0.5


def test_problem_and_solution_cannot_be_changed():
    problem = make_problem(np.eye(2), [1, -1], 1.0)
    with pytest.raises(FrozenInstanceError):
        problem.y = np.ones(2)
    solution = Solution(GRAM, Terms.none(), np.zeros(2), 1.0, 0.9, 1, "optimal")
    with pytest.raises(FrozenInstanceError):
        solution.objective = 0.0


def test_gap_is_never_negative_and_relative_to_the_objective():
    solution = Solution(GRAM, Terms.none(), np.zeros(2), 0.5, 0.4, 1, "max-iter")
    assert solution.gap == pytest.approx(0.1)
    assert solution.is_optimal(0.21)
    assert not solution.is_optimal(0.19)
    rounded = Solution(GRAM, Terms.none(), np.zeros(2), 0.5, 0.5 + 1e-16, 1, "optimal")
    assert rounded.gap == 0


# -- the certificate ---------------------------------------------------------------------

PROBLEMS = st.tuples(
    st.integers(1, 6), st.integers(1, 5), st.floats(1e-6, 10), st.booleans(), st.integers(0, 999)
)


def draw(parameters):
    n, c, penalty, fit_intercept, seed = parameters
    rng = np.random.default_rng(seed)
    K, y = rng.uniform(-3, 3, (n, c)), rng.choice([-1.0, 1.0], n)
    w = rng.uniform(0.1, 1, n)
    return make_problem(K, y, penalty, w=w / w.sum(), fit_intercept=fit_intercept), rng


@given(PROBLEMS, hnp.arrays(float, 6, elements=FINITE), hnp.arrays(float, 6, elements=FINITE))
def test_weak_duality_holds_for_any_vote_and_any_dual_vector(parameters, a, u):
    problem, rng = draw(parameters)
    b = rng.normal() if problem.fit_intercept else 0.0
    terms = votes(problem, a[: problem.columns.n_centers], b)
    value, bound = problem.certify(terms, u[: problem.n_rows])
    assert 0 <= bound <= value * (1 + 1e-12)
    # In units of the box too: most u drawn above end at its corners.
    inside = rng.uniform(0, 1, problem.n_rows) * problem.w
    assert 0 <= problem.certify(terms, inside)[1] <= value * (1 + 1e-12)


@given(PROBLEMS, hnp.arrays(float, 6, elements=FINITE), hnp.arrays(float, 6, elements=FINITE))
def test_certificate_is_that_of_ten_plain_lines(parameters, a, u):
    problem, rng = draw(parameters)
    n, c = problem.n_rows, problem.columns.n_centers
    plain = PlainProblem(
        [problem.columns.X], problem.y, problem.w, problem.penalties, problem.fit_intercept
    )
    b = rng.normal() if problem.fit_intercept else 0.0
    value, bound = problem.certify(votes(problem, a[:c], b), u[:n])
    assert value == pytest.approx(objective(plain, [a[:c]], b), rel=1e-13)
    assert bound == pytest.approx(dual_bound(plain, u[:n]), rel=1e-12, abs=1e-300)


@given(PROBLEMS)
def test_no_vote_is_better_than_the_optimum(parameters):
    problem, _ = draw(parameters)
    plain = PlainProblem(
        [problem.columns.X], problem.y, problem.w, problem.penalties, problem.fit_intercept
    )
    optimum = by_linprog(plain)
    for name in CONVERGENT_SOLVERS:
        solution = SOLVERS[name].solve(problem, tol=1e-9)
        assert solution.objective == pytest.approx(optimum, rel=1e-7)
        assert solution.dual_bound <= optimum * (1 + 1e-7)


# -- properties of the optimum -----------------------------------------------------------

TABLE = np.random.default_rng(5).standard_normal((30, 3))
LABELS = np.where(TABLE[:, 0] + TABLE[:, 1] ** 2 > 0.8, 1, -1)
FAMILIES = {
    "polynomial": Polynomial((1, 2, 3)),
    "gaussian": Gaussian((0.3, 3.0)),
    "list": [Polynomial((1, 2)), Gaussian((1.0,))],
}
PENALTY = st.floats(-4, -0.5).map(lambda exponent: 10**exponent)


@pytest.mark.parametrize("family", FAMILIES)
@given(st.permutations(range(30)), PENALTY, st.booleans())
def test_permutation_of_samples_gives_the_same_model(family, order, penalty, fit_intercept):
    model = VotedKernelClassifier(
        FAMILIES[family], complexity_penalty=penalty, fit_intercept=fit_intercept
    )
    first = quiet_fit(model, TABLE, LABELS)
    decision, value, support = first.decision_function(TABLE), first.objective_, first.support_
    order = np.array(order)
    second = quiet_fit(model, TABLE[order], LABELS[order])
    np.testing.assert_allclose(second.decision_function(TABLE), decision, rtol=1e-9, atol=1e-11)
    assert second.objective_ == value
    np.testing.assert_array_equal(np.sort(order[second.support_]), support)


@pytest.mark.parametrize("family", FAMILIES)
@given(
    hnp.arrays(int, 30, elements=st.integers(0, 3)).filter(lambda s: len(set(LABELS[s > 0])) == 2),
    PENALTY,
)
def test_duplicating_a_sample_equals_its_weight_exactly(family, counts, penalty):
    model = VotedKernelClassifier(FAMILIES[family], complexity_penalty=penalty)
    weighted = quiet_fit(model, TABLE, LABELS, sample_weight=counts)
    decision, value = weighted.decision_function(TABLE), weighted.objective_
    repeated = quiet_fit(model, np.repeat(TABLE, counts, axis=0), np.repeat(LABELS, counts))
    np.testing.assert_array_equal(repeated.decision_function(TABLE), decision)
    assert repeated.objective_ == value


@given(st.integers(-8, 8), PENALTY, st.sampled_from(["trace", "massart"]))
def test_scaling_a_kernel_and_its_l1_penalty_changes_nothing(exponent, penalty, complexity):
    factor = 10.0**exponent

    def fit(c):
        kernel = Similarity(lambda A, B: c * (A @ B.T + 1) ** 2, positive_definite=True)
        return quiet_fit(
            VotedKernelClassifier(
                kernel,
                complexity=complexity,
                complexity_penalty=penalty,
                l1_penalty=c * penalty / 3,
                tol=1e-9,
            ),
            TABLE,
            LABELS,
        )

    one, scaled = fit(1.0), fit(factor)
    assert scaled.objective_ == pytest.approx(one.objective_, rel=2e-9)
    np.testing.assert_allclose(scaled.penalties_, factor * one.penalties_, rtol=1e-12)
    assert scaled.dual_bound_ == pytest.approx(one.dual_bound_, rel=2e-9)
    np.testing.assert_allclose(
        scaled.decision_function(TABLE), one.decision_function(TABLE), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("solver", list(CONVERGENT_SOLVERS))
def test_at_the_threshold_all_weights_are_zero_and_below_it_one_is_not(family, solver):
    def fit(factor):
        # L_k is in proportion to lambda when beta is 0.
        return quiet_fit(
            VotedKernelClassifier(
                FAMILIES[family],
                complexity_penalty=factor,
                l1_penalty=0.0,
                solver=solver,
                tol=1e-10,
            ),
            TABLE,
            LABELS,
        )

    # max |sum_i w_i y_i K| / L at lambda = 1, from plain arrays.
    unit = fit(1.0)
    scale = 1 / (3 * TABLE.var())
    base, square = TABLE @ TABLE.T * scale, ((TABLE[:, None] - TABLE[None]) ** 2).sum(-1) * scale
    matrices = []
    for member in unit.kernel_names_:
        number = float(member.split("=")[1].rstrip(")"))
        gaussian = member.startswith("gaussian")
        matrices.append(np.exp(-number * square) if gaussian else (base + 1) ** number)
    threshold = max(
        np.abs(LABELS @ K / 30).max() / L for K, L in zip(matrices, unit.penalties_, strict=True)
    )
    at = fit(threshold * (1 + 1e-12))
    assert len(at.support_) == 0
    assert at.objective_ == pytest.approx(1.0, rel=1e-13)
    below = fit(threshold * 0.99)
    assert len(below.support_) >= 1
    assert below.objective_ < 1


def test_more_penalty_never_lowers_the_optimum():
    values = [
        quiet_fit(
            VotedKernelClassifier(complexity_penalty=p, l1_penalty=p, tol=1e-9), TABLE, LABELS
        ).objective_
        for p in np.logspace(-5, 1, 13)
    ]
    assert (np.diff(values) >= -1e-9).all()
    assert values[0] < 0.1 < 0.9 < values[-1]


def test_another_centre_can_lower_the_optimum():
    # Sample points are not enough for the l1 norm: the sum of two columns may be the better one.
    X = np.array([[-1.0], [0.0], [1.0]])
    y = np.array([-1, 1, -1])
    model = VotedKernelClassifier(Gaussian((1.0,), unit=1.0), l1_penalty=0.05, tol=1e-9)
    own = quiet_fit(model, X, y).objective_
    more = np.vstack([X, [[-1.6], [1.6], [0.01]]])
    wider = quiet_fit(model.set_params(centers=more), X, y).objective_
    assert wider < own * (1 - 1e-6)


@pytest.mark.parametrize(
    ("fit_intercept", "w", "intercept"),
    [(False, [0.5, 0.5], 0.0), (True, [0.5, 0.5], 1.0), (True, [0.4, 0.6], -1.0)],
)
def test_the_empty_vote_has_no_terms(fit_intercept, w, intercept):
    terms = make_problem(np.eye(2), [1, -1], 1.0, w=w, fit_intercept=fit_intercept).empty_vote()
    assert [len(part) for part in (terms.kernels, terms.centers, terms.weights)] == [0, 0, 0]
    assert terms.intercept == intercept


def test_a_gap_of_zero_is_optimal_at_any_tolerance():
    best = Incumbent(make_problem(np.eye(2), [1, -1], 1.0))
    best.offer_dual(np.full(2, 0.5), 1.0)
    assert best.is_optimal(0.0)
    best.objective = 1.25
    assert best.is_optimal(0.2)
    assert not best.is_optimal(0.19)


@pytest.mark.parametrize("solver", list(CONVERGENT_SOLVERS))
def test_a_column_of_zeros_changes_nothing(solver):
    K = [[1, 0, -1], [-1, 0, 1]]
    solution = SOLVERS[solver].solve(make_problem(K, [1, -1], 0.25), tol=1e-10)
    assert solution.objective == pytest.approx(0.25, rel=1e-9)
    assert solution.stop_reason == "optimal"


@pytest.mark.parametrize("short", [1e-9, 1e-7, 2e-6])
def test_a_vote_that_almost_separates_is_stretched(short):
    # Every hinge is 1e-9: at a penalty of 1e-12 that is all of F.
    problem = make_problem(np.eye(2), [1, -1], 1e-12, fit_intercept=True)
    weights = np.array([1.0, -1.0]) * (1 - short)
    best = Incumbent(problem)
    best.offer_vote(votes(problem, weights), np.array([1.0, -1.0]) * (1 - short))
    if short < 1e-6:
        assert best.objective == pytest.approx(2e-12, rel=1e-9)
        np.testing.assert_allclose(best.terms.weights, [1.0, -1.0], rtol=1e-13)
        assert (np.abs(best.terms.weights) >= 1).all()
    else:  # too far from the margin to be rounding
        assert best.objective == pytest.approx(short, rel=1e-5)
    # One that separates already is left alone, and so is its intercept.
    exact = Incumbent(problem)
    exact.offer_vote(votes(problem, [1.0, -1.0], 0.0), np.array([1.0, -1.0]))
    np.testing.assert_array_equal(exact.terms.weights, [1.0, -1.0])


def test_a_stretched_vote_takes_its_intercept_along():
    problem = make_problem(np.ones((2, 1)), [1, 1], 1e-12, fit_intercept=True)
    best = Incumbent(problem)
    best.objective = 1.0  # as if the constant were not known
    best.offer_vote(votes(problem, [0.25], 0.75 - 1e-8), np.full(2, 1 - 1e-8))
    decision = best.terms.weights[0] + best.terms.intercept
    assert 1 <= decision <= 1 + 1e-14


def test_no_vote_worse_than_none_is_returned():
    problem = make_problem(np.eye(2), [1, -1], 10.0)
    best = Incumbent(problem)
    best.terms, best.objective = votes(problem, [1.0, -1.0]).nonzero(), 20.0
    solution = best.verified(3, "optimal", 1e-6)
    assert (solution.objective, solution.stop_reason, solution.n_iter) == (1.0, "precision", 3)
    assert len(solution.terms.kernels) == 0


def test_records_cannot_be_changed():
    members = [member for module in MODULES for member in vars(module).values()]
    records = {member for member in members if isinstance(member, type) and is_dataclass(member)}
    assert {Problem, Solution, Terms} < records
    assert [record for record in records if not record.__dataclass_params__.frozen] == []


def test_only_what_has_no_default_must_be_given():
    assert SolverOptions.__required_keys__ == {"tol"}
    assert Others.__required_keys__ == set()


def test_columns_that_may_not_vote_cost_an_elastic_net_nothing():
    # Over the penalty of 1 are 2 and -1; only the first may vote: 2^2 / (0.5 * 8).
    problem = make_problem(np.eye(3), [1, -1, 1], 1.0)
    problem = replace(
        problem, l2_penalty=0.5, squares=np.array([[8.0, 4.0, 2.0]]),
        allowed=np.array([[True, True, False]]),
    )  # fmt: skip
    assert problem.cost_of_excess(np.array([[3.0, 0.5, -2.0]])) == 1.0


def test_the_pull_and_the_square_of_the_hybrid_norm():
    random = np.random.default_rng(0)
    X = random.standard_normal((6, 2))
    family = Gaussian((0.5, 1.0, 2.0), unit=1.0).fit(X, np.ones(6))
    rows = np.array([4, 0, 2])
    gram = LocalColumns([family], X, X[rows])
    problem = Problem(
        gram, np.ones(6), np.full(6, 1 / 6), np.ones(3), l2_penalty=0.3, center_rows=rows
    )
    terms = Terms(np.array([0, 2, 0]), np.array([1, 2, 0]), np.array([1.0, -2.0, 0.5]))
    distances = ((X[rows][:, None] - X[rows][None]) ** 2).sum(axis=2)
    K = np.exp(-np.array([0.5, 1.0, 2.0])[:, None, None] * distances)
    a = np.array([[0.5, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -2.0]])
    pull = 0.3 * np.einsum("kl,klj->kj", a, K)
    np.testing.assert_allclose(problem.norm_gradient(terms), pull)
    assert problem.square(terms, pull) == pytest.approx(np.sum(a * pull))
    decision = problem.decision(terms)
    plain = replace(problem, l2_penalty=0.0).objective(terms, decision)
    assert problem.objective(terms, decision) == pytest.approx(plain + 0.5 * np.sum(a * pull))
    u = random.uniform(0, 1 / 6, 6)
    correlation, square = problem.dual_parts(u, terms)
    np.testing.assert_allclose(correlation, problem.correlate(u) - pull)
    assert square == pytest.approx(np.sum(a * pull))


@pytest.mark.parametrize("square", [0.0, 0.1, 50.0])
def test_the_bound_of_a_pair_is_the_best_of_its_multiples(square):
    problem = make_problem(np.eye(3), [1, -1, 1], 0.1)
    u = np.array([0.3, 0.2, 0.1])
    for correlation in (np.array([[0.05, 0.1, -0.02]]), np.array([[0.05, -0.4, 0.02]])):
        most = min(1.0, 0.1 / np.abs(correlation).max())
        shrinks = np.linspace(0, most, 10001)
        values = shrinks * u.sum() - 0.5 * shrinks**2 * square
        assert problem.dual_value(u, correlation, square) == pytest.approx(values.max(), rel=1e-6)
