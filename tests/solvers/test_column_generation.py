"""Column generation: how many rounds, when it gives up, and which columns it looks at."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from support.problems import make_problem, random_problem

from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels.problem import Prices, Problem
from votedkernels.solvers import column_generation, rounds, solve_by_column_generation
from votedkernels.solvers import master as master_module
from votedkernels.solvers.column_generation import (
    price_candidates,
    rounding_to_penalty,
)
from votedkernels.solvers.coordinate_descent import solve_by_coordinate_descent
from votedkernels.solvers.descent_pool import DescentPool
from votedkernels.solvers.master import Master
from votedkernels.solvers.rounds import Incumbent


@pytest.mark.parametrize(
    ("solve", "usual"), [(solve_by_column_generation, 70), (solve_by_coordinate_descent, 93)]
)
def test_small_problems_take_few_rounds(solve, usual):
    solutions = [solve(random_problem(seed), tol=1e-8) for seed in range(20)]
    assert all(solution.gap <= 1e-7 * solution.objective for solution in solutions)
    assert sum(solution.n_iter for solution in solutions) <= 2 * usual


@pytest.fixture
def told(monkeypatch):
    """Rounds that find no better vote; their bounds are those of the list that this gives."""
    bounds = []

    def price(problem, u):
        return Prices(bounds.pop(0), np.zeros((2, problem.columns.n_centers)), None)

    monkeypatch.setattr(Problem, "price", price)
    monkeypatch.setattr(column_generation, "improve", lambda master, best: master.problem.w)
    monkeypatch.setattr(Master, "add_worst", lambda *args: True)
    return bounds


@pytest.mark.parametrize(
    ("growth", "n_iter"), [(1.0, 21), (1 + 4e-8, 21), (1 + 2e-6, 60), (1.01, 60)]
)
def test_it_gives_up_when_neither_bound_moves(told, growth, n_iter):
    told += list(0.01 * growth ** np.arange(60))
    solution = solve_by_column_generation(make_problem(20), tol=1e-6, max_iter=60)
    assert solution.n_iter == n_iter
    assert solution.stop_reason == ("precision" if n_iter < 60 else "max-iter")


@pytest.mark.parametrize(("shrink", "n_iter"), [(1.0, 22), (1 - 4e-8, 22), (1 - 2e-6, 60)])
def test_a_vote_that_gets_better_is_a_reason_to_go_on(told, monkeypatch, shrink, n_iter):
    told += [0.0] * 60
    objectives = iter(0.5 * shrink ** np.arange(60))

    def improve(master, best):
        best.objective = next(objectives)
        return master.problem.w

    monkeypatch.setattr(column_generation, "improve", improve)
    solution = solve_by_column_generation(make_problem(20), tol=1e-6, max_iter=60)
    assert solution.n_iter == n_iter
    assert solution.stop_reason == ("precision" if n_iter < 60 else "max-iter")


@pytest.mark.parametrize("growth", [1.0, 1.01])
def test_it_gives_up_sooner_where_rounding_breaks_every_constraint(told, growth):
    told += list(0.01 * growth ** np.arange(60))
    problem = make_problem(20, penalty=1e-17)
    solution = solve_by_column_generation(problem, tol=1e-6, max_iter=60)
    assert (solution.n_iter, solution.stop_reason) == (4, "precision")


def test_rounding_to_penalty():
    problem = make_problem(20)
    largest, eps = problem.columns.largest(), np.finfo(float).eps
    for penalties in ([1e-3, 1e-9], [1e-9, 1e-3], [0.0, 1e-5]):
        priced = replace(problem, penalties=np.array(penalties))
        worst = max(k / L for k, L in zip(largest, penalties, strict=True) if L > 0)
        assert rounding_to_penalty(priced) == pytest.approx(worst * eps)
    assert rounding_to_penalty(replace(problem, penalties=np.zeros(2))) == 0


@pytest.mark.parametrize(("cheap", "called"), [(0, True), (2 * 40 * 5, True), (2 * 40 * 40, False)])
def test_candidates_are_priced_where_a_pass_is_not_cheap(monkeypatch, cheap, called):
    problem, calls = make_problem(40), []
    monkeypatch.setattr(column_generation, "CHEAP_PASS", cheap)
    monkeypatch.setattr(
        column_generation, "price_candidates", lambda master, best, u, *_: calls.append(1) or u
    )
    solution = solve_by_column_generation(problem, tol=1e-6)
    assert solution.stop_reason == "optimal"
    assert bool(calls) is called


@pytest.mark.parametrize("numbered", [False, True])
def test_candidates_are_the_worst_centres_until_none_is_violated(monkeypatch, numbered):
    monkeypatch.setattr(column_generation, "FEWEST_CANDIDATES", 5)
    problem = make_problem(60)
    u = problem.into_box(problem.w)
    excess = problem.excess(problem.correlate(u))
    centers = np.random.default_rng(0).permutation(60)[:30] if numbered else None
    seen = excess if centers is None else excess[:, centers]
    master, best = Master(problem), Incumbent(problem)
    after = price_candidates(master, best, u, Prices(0.0, seen, centers), 1e-6)
    worst = np.argsort(-seen.max(axis=0), kind="stable")[:5]
    candidates = worst if centers is None else centers[worst]
    assert set(master.centers) <= set(candidates)
    left = problem.excess(problem.correlate(problem.into_box(after)))[:, candidates]
    assert left.max() <= 1 + 1e-7
    assert best.objective < 1


def test_a_twentieth_of_many_centres_are_candidates(monkeypatch):
    monkeypatch.setattr(column_generation, "FEWEST_CANDIDATES", 2)
    problem, chosen = make_problem(100), []
    monkeypatch.setattr(
        Master, "add_worst", lambda self, excess, tol, centers: chosen.append(centers)
    )
    u = problem.into_box(problem.w)
    excess = problem.excess(problem.correlate(u))
    price_candidates(Master(problem), Incumbent(problem), u, Prices(0.0, excess, None), 1e-6)
    assert [len(centers) for centers in chosen] == [5]


@pytest.mark.parametrize("solver", ["column_generation", "coordinate_descent"])
def test_a_part_of_the_rows_is_asked_first_where_there_is_no_start(monkeypatch, solver):
    module = import_module(f"votedkernels.solvers.{solver}")
    asked = []
    monkeypatch.setattr(
        module, "solve_subsample", lambda *args, smallest, **_: asked.append(smallest)
    )
    problem, solve = make_problem(40), getattr(module, f"solve_by_{solver}")
    solution = solve(problem, tol=1e-6)
    assert asked == [module.SMALLEST_SUBSAMPLE]
    again = solve(problem, tol=1e-6, start=solution.terms)
    assert len(asked) == 1
    assert again.objective == pytest.approx(solution.objective, rel=1e-5)
    assert again.n_iter <= 4  # the first finds no better vote, and maybe the last digits


def test_what_was_found_is_kept_where_every_lp_fails(monkeypatch):
    problem = make_problem(fit_intercept=True)
    expected = solve_by_column_generation(problem, tol=1e-9)
    best = Incumbent(problem)
    best.offer_vote(expected.terms, problem.decision(expected.terms))
    best.offer_dual(expected.dual, expected.dual_bound)
    monkeypatch.setattr(DescentPool, "_offer", lambda pool, best, found: None)
    monkeypatch.setattr(rounds, "Incumbent", lambda problem: best)
    monkeypatch.setattr(master_module, "solve_lp", lambda *args, **kwargs: None)
    found = solve_by_column_generation(problem, tol=1e-15, max_iter=2)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    assert found.dual_bound == pytest.approx(expected.dual_bound, rel=1e-9)


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_features_of_large_scale_get_a_vote(seed):
    # Sums that must cancel to 1e-17 of their terms: beyond proof, not beyond use.
    random = np.random.default_rng(seed)
    X = random.uniform(0, 300, (100, 5))
    y = X[:, 0] + X[:, 1] - X[:, 2] + 60 * random.standard_normal(100) > 100
    model = VotedKernelClassifier(
        [Polynomial((2,), gamma=1.0)], complexity_penalty=0.0, l1_penalty=1e-6
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.score(X, y) > 0.9
    assert 0 < model.objective_ < 0.2


@pytest.mark.parametrize(
    ("coarseness", "rounding", "goes_on"), [(0, 0.0, False), (1, 0.0, True), (1, 10.0, False)]
)
def test_coordinate_descent_goes_on_where_units_were_too_coarse(
    monkeypatch, coarseness, rounding, goes_on
):
    problem, calls = make_problem(), []
    master = Master(problem)
    master.coarseness = coarseness
    monkeypatch.setattr(Master, "add_worst", lambda *args: False)
    monkeypatch.setattr(column_generation, "rounding_to_penalty", lambda problem: rounding)
    monkeypatch.setattr(
        column_generation,
        "descend",
        lambda rounds, start: calls.append(rounds.best),
    )
    found = solve_by_column_generation(problem, tol=1e-9, master=master)
    assert len(calls) == goes_on
    assert goes_on or found.stop_reason == "precision"
