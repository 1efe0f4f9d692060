"""The certificate against exact rational arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.regressions import random_regression

from votedkernels._system.budget import Budget
from votedkernels.kernels import Gaussian, LocalColumns, Polynomial
from votedkernels.problem import Problem, Terms
from votedkernels.problem import solution as certificate
from votedkernels.problem.solution import (
    Solution,
    closer_rounding_error,
    extended_values,
    rounding_error,
    rounding_error_by_rows,
    verify,
)
from votedkernels.solvers import solve_by_column_generation


def exact_values(problem, solution, degrees):
    """F and D in rational numbers, from the data as stored."""
    X = [[Fraction(value) for value in row] for row in problem.columns.X.tolist()]
    y = [Fraction(value) for value in problem.y.tolist()]
    w = [Fraction(value) for value in problem.w.tolist()]
    L = [Fraction(value) for value in problem.penalties.tolist()]
    u = [Fraction(value) for value in problem.into_box(solution.dual).tolist()]
    base = [[sum(a * b for a, b in zip(p, q, strict=True)) + 1 for q in X] for p in X]
    terms = [
        (int(k), int(j), Fraction(a))
        for k, j, a in zip(
            solution.terms.kernels,
            solution.terms.centers,
            solution.terms.weights.tolist(),
            strict=True,
        )
    ]
    f = [sum(a * base[i][j] ** degrees[k] for k, j, a in terms) for i in range(len(y))]
    loss = sum(wi * max(0, 1 - yi * fi) for wi, yi, fi in zip(w, y, f, strict=True))
    objective = loss + sum(L[k] * abs(a) for k, _, a in terms)
    excess = max(
        abs(sum(u[i] * y[i] * base[i][j] ** degree for i in range(len(y)))) / L[k]
        for k, degree in enumerate(degrees)
        for j in range(len(y))
    )
    return float(objective), float(sum(u) / max(1, excess))


@pytest.mark.parametrize("size", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("seed", range(4))
def test_values_and_their_errors_are_as_exact_arithmetic_says(seed, size):
    random = np.random.default_rng(seed)
    degrees = (1, 2, 5)
    X = size * random.standard_normal((25, 3))
    y = np.where(random.random(25) < 0.5, 1.0, -1.0)
    gram = LocalColumns([Polynomial(degrees, gamma=1.0).fit(X, np.ones(25))], X, X)
    problem = Problem(gram, y, np.full(25, 1 / 25), np.full(3, 1e-3))
    solution = solve_by_column_generation(problem, tol=1e-6)
    objective, bound = exact_values(problem, solution, degrees)
    upper, lower = extended_values(problem, solution)
    plain = problem.certify(solution.terms, solution.dual)
    closer = closer_rounding_error(problem, solution)
    # The values enclose the true ones; how closely, depends on how much cancels in the votes.
    finer = float(np.finfo(np.longdouble).eps / np.finfo(np.float64).eps)
    room = 2 * finer * closer
    most = objective * (1 + 1e-15) + room * solution.objective
    assert objective * (1 - 1e-15) <= upper <= most
    assert bound * (1 - 1e-15 - room) <= lower <= bound * (1 + 1e-15)
    assert abs(plain[0] - objective) <= closer * objective
    assert plain[1] - bound <= closer * objective
    assert closer <= 1.01 * rounding_error(problem, solution)


@pytest.mark.parametrize("seed", range(9))
def test_extended_values_of_regressions_are_those_of_the_problem(seed):
    problem, _ = random_regression(seed)
    solution = solve_by_column_generation(problem, tol=1e-6)
    plain = problem.certify(solution.terms, solution.dual)
    assert extended_values(problem, solution) == pytest.approx(plain, rel=1e-9, abs=1e-12)
    if solution.objective > 0:  # the error is relative to it
        assert 0 <= closer_rounding_error(problem, solution) <= 1e-9


def test_a_proof_is_not_stopped_by_a_deadline():
    random = np.random.default_rng(0)
    X = 1e4 * random.standard_normal((30, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    gram = LocalColumns([Polynomial((9,), gamma=1.0).fit(X, np.ones(30))], X, X)
    problem = Problem(gram, y, np.full(30, 1 / 30), np.full(1, 1e-6))
    solution = solve_by_column_generation(problem, tol=1e-6)
    late = problem.within(Budget(0.0))
    assert verify(late, solution, 1e-6).gap == pytest.approx(solution.gap, abs=1e-6)


def small_problem(penalty=1e-3, n=30):
    random = np.random.default_rng(1)
    X = random.standard_normal((n, 2))
    y = np.where(X[:, 0] + random.standard_normal(n) > 0, 1.0, -1.0)
    gram = LocalColumns([Polynomial((1, 3), gamma=1.0).fit(X, np.ones(n))], X, X)
    return Problem(gram, y, np.full(n, 1 / n), np.array([penalty, 2 * penalty]))


def test_a_large_problem_has_its_bound_lowered_by_the_error(monkeypatch):
    monkeypatch.setattr(certificate, "EXTENDED_VALUES", 0)
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    assert verify(problem, solution, 1e-6) is solution
    doubt = rounding_error_by_rows(problem, solution)
    assert 0 < doubt < min(1e-6, rounding_error(problem, solution))
    spoilt = replace(solution, dual_bound=solution.objective)
    checked = verify(problem, spoilt, doubt)
    assert checked.dual_bound == spoilt.dual_bound - doubt * solution.objective
    assert checked.objective == solution.objective
    # Where the error exceeds all, nothing is proved.
    for estimate in ("rounding_error", "rounding_error_by_rows"):
        monkeypatch.setattr(certificate, estimate, lambda *args: 3.0)
    checked = verify(problem, spoilt, 1e-6)
    assert (checked.dual_bound, checked.stop_reason) == (0.0, "precision")


@pytest.mark.parametrize(
    ("doubt", "gap", "believed"),
    [(0.9e-7, 0, True), (1.1e-7, 0, False), (0.9e-4, 1e-2, True), (1.1e-4, 1e-2, False)],
)
def test_rounding_is_looked_into_where_it_comes_near_the_tolerance(
    monkeypatch, doubt, gap, believed
):
    for estimate in ("rounding_error", "rounding_error_by_rows"):
        monkeypatch.setattr(certificate, estimate, lambda *args: doubt)
    monkeypatch.setattr(certificate, "EXTENDED_VALUES", 0)
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    solution = replace(solution, dual_bound=solution.objective * (1 - gap))
    assert (verify(problem, solution, 1e-6) is solution) is believed


def test_the_first_look_is_the_formula():
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    largest = np.abs([problem.columns.take(np.full(30, k), np.arange(30)) for k in range(2)])
    largest = largest.max(axis=(1, 2))
    eps = 100 * np.finfo(float).eps
    votes = np.abs(solution.terms.weights) @ largest[solution.terms.kernels] / solution.objective
    prices = solution.dual.sum() * (largest / problem.penalties).max()
    assert rounding_error(problem, solution) / eps == pytest.approx(max(votes, prices))
    nothing_proved = replace(solution, dual=np.zeros(30))
    assert rounding_error(problem, nothing_proved) / eps == pytest.approx(votes)
    # and with the hybrid norm, of which there is a part for the vote and one for the bound
    problem = replace(problem, l2_penalty=0.5, center_rows=np.arange(30))
    solution = replace(solution, dual_terms=Terms(np.array([1]), np.array([2]), np.array([-3.0])))
    total = 0.0
    for terms in (solution.terms, solution.dual_terms):
        mass = np.array([np.abs(terms.weights[terms.kernels == k]).sum() for k in range(2)])
        total += largest @ mass**2 / solution.objective + (mass * largest / problem.penalties).max()
    expected = max(votes, prices) + 0.5 * total
    assert rounding_error(problem, solution) / eps == pytest.approx(expected, rel=1e-12)


def test_the_closer_look_is_the_formula():
    problem = small_problem(penalty=1e-2)
    solution = solve_by_column_generation(problem, tol=1e-6)
    eps = 100 * np.finfo(float).eps
    terms = solution.terms
    columns = problem.columns.take(terms.kernels, terms.centers)
    error = eps * np.abs(columns) @ np.abs(terms.weights)
    within = problem.y * (columns @ terms.weights) < 1 + error
    assert not within.all()
    of_objective = problem.w[within] @ error[within] / solution.objective
    # A dual vector of nothing leaves the objective's error alone.
    nothing = replace(solution, dual=np.zeros(30))
    assert closer_rounding_error(problem, nothing) / eps == pytest.approx(of_objective / eps)
    values = np.array([problem.columns.take(np.full(30, k), np.arange(30)) for k in range(2)])
    u = problem.into_box(solution.dual)
    excess = np.abs((u * problem.y) @ values) / problem.penalties[:, None]
    sizes = u @ np.abs(values) / problem.penalties[:, None]
    too_high = (excess + eps * sizes).max() - max(1.0, excess.max())
    expected = max(of_objective, too_high) / eps
    assert closer_rounding_error(problem, solution) / eps == pytest.approx(expected, rel=0.01)


def test_the_first_look_knows_kernels_with_large_penalties_or_none():
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    # Values far below their penalties, and a vote of next to nothing: the bound's error is largest.
    tiny = replace(solution.terms, weights=1e-30 * solution.terms.weights)
    solution = replace(solution, terms=tiny, dual=np.full(30, 1 / 30), objective=1.0)
    largest, eps = problem.columns.largest(), 100 * np.finfo(float).eps
    for penalties in (np.array([1e6, 2e6]), np.array([0.0, 2e6])):
        ratios = largest[penalties > 0] / penalties[penalties > 0]
        found = rounding_error(replace(problem, penalties=penalties), solution)
        assert ratios.max() < 1
        assert found / eps == pytest.approx(ratios.max(), rel=1e-9)


def test_the_closer_look_knows_the_intercept():
    # The intercept lifts all rows of one class clearly above their margin: no error is at stake.
    problem = replace(small_problem(), fit_intercept=True, y=np.repeat([1.0, -1.0], 15))
    term = Terms(np.array([0]), np.array([0]), np.array([1e-3]), 100.0)
    solution = Solution(problem.columns, term, np.zeros(30), 1.0, 0.0, 1, "precision")
    sizes = np.abs(problem.columns.take(term.kernels, term.centers)) @ np.abs(term.weights)
    eps = 100 * np.finfo(float).eps
    expected = problem.w[15:] @ sizes[15:]
    assert closer_rounding_error(problem, solution) / eps == pytest.approx(expected, rel=1e-9)


def test_a_dual_vector_far_within_its_limits_adds_no_error():
    problem = small_problem(penalty=1e6)
    term = Terms(np.array([0]), np.array([0]), np.array([1e-3]))
    solution = Solution(problem.columns, term, problem.w, 1.0, 0.0, 1, "precision")
    without = replace(solution, dual=np.zeros(30))
    closer = closer_rounding_error(problem, solution)
    assert 0 < closer == closer_rounding_error(problem, without) < 1e-12


@pytest.mark.parametrize(("bound", "reason"), [(0.5, "optimal"), (0.499, "precision")])
def test_a_gap_of_exactly_the_tolerance_is_optimal(monkeypatch, bound, reason):
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    assert solution.stop_reason == "optimal"
    for estimate in ("rounding_error", "rounding_error_by_rows"):
        monkeypatch.setattr(certificate, estimate, lambda *args: 1.0)
    monkeypatch.setattr(certificate, "closer_rounding_error", lambda *args: 1.0)
    monkeypatch.setattr(certificate, "extended_values", lambda *args: (1.0, bound))
    assert verify(problem, solution, 0.5).stop_reason == reason


@pytest.mark.parametrize(("closer", "believed"), [(0.1, True), (0.1 + 1e-9, False)])
def test_an_error_as_large_as_allowed_is_allowed(monkeypatch, closer, believed):
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    for estimate in ("rounding_error", "rounding_error_by_rows"):
        monkeypatch.setattr(certificate, estimate, lambda *args: 1.0)
    monkeypatch.setattr(certificate, "closer_rounding_error", lambda *args: closer)
    assert (verify(problem, solution, 1.0) is solution) is believed  # a tenth of the tolerance


def test_where_nothing_is_lost_nothing_is_checked():
    problem = small_problem()
    nothing = Solution(problem.columns, Terms.none(), np.zeros(30), 0.0, 0.0, 1, "optimal")
    assert verify(problem, nothing, 1e-6) is nothing


@pytest.mark.parametrize(("most", "extended"), [(2 * 30 * 30, True), (2 * 30 * 30 - 1, False)])
def test_values_are_extended_where_they_are_not_too_many(monkeypatch, most, extended):
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    monkeypatch.setattr(certificate, "EXTENDED_VALUES", most)
    for estimate in ("rounding_error", "rounding_error_by_rows"):
        monkeypatch.setattr(certificate, estimate, lambda *args: 1e-3)
    monkeypatch.setattr(certificate, "closer_rounding_error", lambda *args: 1e-3)
    monkeypatch.setattr(certificate, "extended_values", lambda *args: (0.75, 0.5))
    checked = verify(problem, solution, 1e-6)
    assert ((checked.objective, checked.dual_bound) == (0.75, 0.5)) is extended
    assert checked.stop_reason == "precision"


def test_kernels_that_lose_digits_prove_no_more_than_they_do():
    """Squared distances of 1e2 between rows of squared norm 1e10 lose eight digits."""
    random = np.random.default_rng(0)
    X = np.column_stack([1e5 * random.standard_normal(20), 5 * random.standard_normal((20, 2))])
    X[10:, 0] = X[:10, 0] + random.standard_normal(10)
    family = Gaussian((1e-6, 1e5)).fit(X, np.ones(20))
    growth = family.error_growth(X)
    assert growth[0] == pytest.approx(1, abs=1e-5)
    assert 1e3 < growth[1] < 1e6
    wide = X.astype(np.longdouble)
    squares = ((wide[:, None] - wide[None]) ** 2).sum(axis=-1) * family.unit_
    base, eps = family.base(X, X), certificate.ULPS * np.finfo(float).eps
    errors = [np.abs(family.member(base, k) - np.exp(-family.gammas_[k] * squares)).max()
              for k in range(2)]  # fmt: skip
    assert errors[1] > eps  # the growth is needed
    assert (errors <= eps * growth).all()
    narrow = Gaussian((1e-3, 1e9)).fit(X, np.ones(20))  # rows near the origin are not subtracted
    np.testing.assert_allclose(narrow.error_growth(X), [1.0, 1e5], rtol=1e-4)

    y, w = np.repeat([-1.0, 1.0], 10), np.full(20, 0.05)
    problem = Problem(LocalColumns([family], X, X), y, w, np.full(2, 1e-7), fit_intercept=True)
    solution = solve_by_column_generation(problem, tol=1e-6)
    u = problem.into_box(solution.dual).astype(np.longdouble)
    K = [np.exp(-gamma * squares) for gamma in family.gammas_]
    worst = max(1.0, *(np.abs((u * y) @ values).max() / 1e-7 for values in K))
    assert solution.dual_bound <= u.sum() / worst + 1e-9 * solution.objective


@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_the_look_at_each_row_is_between_the_actual_sums_and_the_first_look(coef0):
    problem = small_problem()
    X = problem.columns.X
    family = Polynomial((1, 3), gamma=0.7, coef0=coef0).fit(X, np.ones(30))
    problem = replace(problem, columns=LocalColumns([family], X, X))
    solution = solve_by_column_generation(problem, tol=1e-6)
    closer, by_rows = (
        closer_rounding_error(problem, solution),
        rounding_error_by_rows(problem, solution),
    )
    assert closer <= 1.01 * by_rows <= 1.02 * rounding_error(problem, solution)
    v = problem.signed(solution.dual)
    actual = problem.columns.correlate_sizes(np.abs(v)).max(axis=1)
    assert (actual <= 1.0001 * problem.columns.largest_sums(v)).all()


def test_a_few_outliers_do_not_spoil_the_certificate(monkeypatch):
    monkeypatch.setattr(certificate, "EXTENDED_VALUES", 0)
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 3))
    X[:2] *= 300
    y = np.where(X[:, 0] + random.standard_normal(200) > 0, 1.0, -1.0)
    columns = LocalColumns([Polynomial((1, 3), gamma=1.0).fit(X, np.ones(200))], X, X)
    problem = Problem(columns, y, np.full(200, 1 / 200), np.array([1e-2, 1e2]))
    solution = solve_by_column_generation(problem, tol=1e-6)
    assert (
        rounding_error(problem, solution) > 1e-6 > 1e2 * rounding_error_by_rows(problem, solution)
    )
    assert solution.stop_reason == "optimal"
    exact = certificate.extended_values(problem, solution)
    assert (solution.objective, solution.dual_bound) == pytest.approx(exact, rel=1e-9)


def test_the_look_at_each_row_counts_all_hinges_of_a_row():
    problem = small_problem()
    twice = np.repeat(np.arange(30), 2)
    both = replace(
        problem, y=problem.y[twice], w=problem.w[twice] / 2, hinge_rows=twice, goals=np.ones(60)
    )
    solution = solve_by_column_generation(problem, tol=1e-6)
    halves = replace(solution, dual=solution.dual[twice] / 2)
    found = rounding_error_by_rows(both, halves)
    assert found == pytest.approx(rounding_error_by_rows(problem, solution), rel=1e-12)


def test_there_is_no_look_at_each_row_with_a_squared_norm():
    problem = small_problem()
    solution = solve_by_column_generation(problem, tol=1e-6)
    assert rounding_error_by_rows(replace(problem, l2_penalty=0.5), solution) == np.inf
