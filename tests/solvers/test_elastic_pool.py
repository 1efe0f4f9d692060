"""The master of the elastic net, compared with the interior point method."""

from dataclasses import replace

import numpy as np
import pytest

from votedkernels import Gaussian
from votedkernels.kernels import LocalColumns
from votedkernels.problem import Problem
from votedkernels.problem.losses import EpsilonInsensitive, Hinge, Pinball
from votedkernels.solvers import (
    elastic_pool,
    solve_by_column_generation,
    solve_by_coordinate_descent,
)
from votedkernels.solvers.column_generation import new_master
from votedkernels.solvers.elastic_pool import ElasticPool, beyond
from votedkernels.solvers.rounds import Incumbent


def noisy_problem(seed, n=80, loss=None, penalty=3e-3, rho=1e-2, fit_intercept=False):
    """Labels of which a fifth are wrong (or noisy numbers), and Gaussians of three widths."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 4))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * random.standard_normal(n))
    y[random.random(n) < 0.2] *= -1
    targets = y if loss is None else X[:, 0] + 0.3 * random.standard_normal(n)
    w = random.uniform(0.2, 2.0, n)
    w /= w.sum()
    family = Gaussian((0.1, 1.0, 10.0), unit=1.0).fit(X, np.ones(n))
    columns = LocalColumns([family], X, X)
    squares = np.stack([w @ family.member(family.base(X, X), k) ** 2 for k in range(3)])
    return Problem.of_hinges(
        columns, (loss or Hinge()).hinges(targets, w), np.full(3, penalty),
        fit_intercept=fit_intercept, l2_penalty=rho, squares=squares,
    )  # fmt: skip


def solve(problem, **options):
    solution = solve_by_column_generation(problem, **options)
    again = problem.certify(solution.terms, solution.dual, solution.dual_terms)
    assert again == pytest.approx((solution.objective, solution.dual_bound), rel=1e-10)
    return solution


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", [None, EpsilonInsensitive(0.1), Pinball(0.2)])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_optimum_as_the_interior_point_method(seed, loss, fit_intercept):
    problem = noisy_problem(seed, loss=loss, fit_intercept=fit_intercept)
    quick = solve(problem, tol=1e-8)
    slow = solve_by_coordinate_descent(problem, tol=1e-8)
    assert quick.stop_reason == slow.stop_reason == "optimal"
    assert quick.objective == pytest.approx(slow.objective, rel=3e-8)


@pytest.mark.parametrize("rho", [1e-5, 1e-3, 1e-1, 10.0])
@pytest.mark.parametrize("penalty", [1e-4, 1e-2, 1.0])
def test_penalties_of_all_sizes(penalty, rho):
    problem = noisy_problem(0, penalty=penalty, rho=rho)
    assert solve(problem, tol=1e-6).gap <= 1e-6 * solve(problem, tol=1e-6).objective


def test_if_only_some_rows_are_covered_the_optimum_is_the_same(monkeypatch):
    problem = noisy_problem(1, n=200)
    everything = solve(problem, tol=1e-8)
    monkeypatch.setattr(elastic_pool, "FEW_ROWS", 10)
    some = solve(problem, tol=1e-8)
    assert some.objective == pytest.approx(everything.objective, rel=3e-8)


def test_rows_that_do_not_fit_in_memory_wait(monkeypatch):
    problem = noisy_problem(1, n=200)
    everything = solve(problem, tol=1e-6)
    monkeypatch.setattr(elastic_pool, "FEW_ROWS", 10)
    monkeypatch.setattr(ElasticPool, "_most_rows", 25)
    some = solve(problem, tol=1e-6)
    assert some.stop_reason == "optimal"
    assert some.objective == pytest.approx(everything.objective, rel=2e-6)


def test_a_pool_goes_on_with_other_penalties():
    problem = noisy_problem(2)
    pool = new_master(problem)
    assert isinstance(pool, ElasticPool)
    for penalty in (1e-2, 3e-3, 1e-3, 1e-2):
        other = replace(problem, penalties=np.full(3, penalty))
        warm = solve(other, tol=1e-7, master=pool)
        assert warm.objective == pytest.approx(solve(other, tol=1e-7).objective, rel=3e-7)


def test_a_copy_is_independent():
    problem = noisy_problem(3)
    pool = new_master(problem)
    solve(problem, tol=1e-6, master=pool)
    kernels, member, u = pool.kernels.copy(), pool.member.copy(), pool.u.copy()
    other = pool.copy()
    solve(replace(problem, penalties=np.full(3, 1e-4)), tol=1e-6, master=other)
    assert len(other.kernels) > len(kernels)
    assert np.array_equal(pool.kernels, kernels)
    assert np.array_equal(pool.member, member)
    assert np.array_equal(pool.u, u)


def test_the_matrix_is_the_same_whether_updated_or_computed_afresh():
    problem = noisy_problem(4)
    pool = new_master(problem)
    for penalty in (3e-2, 1e-2, 3e-3):
        solve(replace(problem, penalties=np.full(3, penalty)), tol=1e-7, master=pool)
        fresh = pool._products(pool._counted)
        assert pool._matrix == pytest.approx(fresh, abs=1e-10 * fresh.max())


def test_if_steps_fail_the_interior_point_method_takes_over(monkeypatch):
    problem = noisy_problem(5)
    optimum = solve(problem, tol=1e-7).objective
    monkeypatch.setattr(ElasticPool, "_length", lambda *_: 0.0)
    assert solve(problem, tol=1e-6).objective == pytest.approx(optimum, rel=2e-6)


def test_the_vote_it_offers_has_the_value_that_the_problem_states():
    problem = noisy_problem(6, fit_intercept=True)
    pool, best = ElasticPool(problem), Incumbent(problem)
    kernels, centers = np.divmod(np.arange(3 * 80), 80)
    pool.add(kernels, centers)
    u, _ = pool.improve(best, 1e-8, 1.0)
    bound = problem.dual_value(u, *problem.dual_parts(u, best.terms))
    assert best.objective == pytest.approx(
        problem.objective(best.terms, problem.decision(best.terms)), rel=1e-12
    )
    assert best.objective * (1 - 1e-7) <= bound <= best.objective


def test_what_lies_beyond_a_penalty():
    q, penalties = np.array([3.0, -3.0, 0.5, -1.0]), np.array([1.0, 2.0, 1.0, 1.0])
    assert beyond(q, penalties) == pytest.approx([2.0, -1.0, 0.0, 0.0])


def test_if_memory_is_full_idle_columns_make_room(monkeypatch):
    problem = noisy_problem(7)
    optimum = solve(problem, tol=1e-7)
    pool = ElasticPool(problem)
    pool.most = len(optimum.terms.kernels) + 40
    monkeypatch.setattr(elastic_pool, "COLUMNS_PER_ROUND", 30)
    found = solve(problem, tol=1e-6, master=pool)
    assert len(pool.kernels) <= pool.most
    assert found.stop_reason == "optimal"
    assert found.objective == pytest.approx(optimum.objective, rel=2e-6)
