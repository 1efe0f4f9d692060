"""The scaffold of all solvers: whatever ends one, its best is verified and kept."""

import numpy as np
import pytest
from support.problems import make_problem

from votedkernels._system.budget import Budget
from votedkernels.exceptions import OutOfTime, SolverInterrupted
from votedkernels.problem import Terms
from votedkernels.solvers import SOLVERS, solve_by_column_generation
from votedkernels.solvers.rounds import Incumbent, Rounds


@pytest.fixture
def solved():
    problem = make_problem(30)
    return problem, solve_by_column_generation(problem, tol=1e-9)


def offering(rounds, solution, end):
    """A solver that finds a vote and then meets its end."""

    def body():
        rounds.begin()
        terms = solution.terms
        rounds.best.offer_vote(terms, rounds.problem.decision(terms))
        return end()

    return body


def raising(error):
    def end():
        raise error

    return end


@pytest.mark.parametrize(
    ("end", "reason"), [(lambda: "precision", "precision"), (raising(OutOfTime), "time-limit")]
)
def test_what_was_found_is_kept(solved, end, reason):
    problem, solution = solved
    rounds = Rounds(problem, tol=1e-9)
    found = rounds.run(offering(rounds, solution, end))
    assert (found.stop_reason, found.n_iter) == (reason, 1)
    assert found.objective == pytest.approx(solution.objective, rel=1e-9)


def test_an_interrupt_carries_the_best(solved):
    problem, solution = solved
    rounds = Rounds(problem, tol=1e-9)
    with pytest.raises(SolverInterrupted) as stop:
        rounds.run(offering(rounds, solution, raising(KeyboardInterrupt)))
    assert stop.value.solution.stop_reason == "interrupted"
    assert stop.value.solution.objective == pytest.approx(solution.objective, rel=1e-9)


def test_an_interrupt_on_a_part_of_the_rows_offers_its_vote(solved):
    problem, solution = solved
    rounds = Rounds(problem, tol=1e-9)
    with pytest.raises(SolverInterrupted) as stop:
        rounds.run(raising(SolverInterrupted(solution)))
    assert stop.value.solution.objective <= solution.objective * (1 + 1e-9)


def test_other_errors_are_not_hidden(solved):
    with pytest.raises(ZeroDivisionError):
        Rounds(solved[0], tol=1e-9).run(raising(ZeroDivisionError))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_deadline_that_has_passed_gives_the_empty_vote(solver):
    problem = make_problem(30).within(Budget(0.0))
    solution = SOLVERS[solver].solve(problem, tol=1e-6)
    assert solution.stop_reason == "time-limit"
    assert len(solution.terms.kernels) == 0


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "lp"])
def test_every_round_counts_and_the_last_one_moves(solver):
    seen = []
    solution = SOLVERS[solver].solve(
        make_problem(60), tol=0.0, max_iter=2, on_round=lambda state: seen.append(state.n_iter)
    )
    assert solution.n_iter == len(seen) == seen[-1] <= 2
    assert len(solution.terms.kernels) > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_can_stop_any_solver(solver):
    solution = SOLVERS[solver].solve(make_problem(60), tol=0.0, on_round=lambda state: True)
    assert (solution.stop_reason, solution.n_iter) == ("interrupted", 1)


def test_a_start_is_offered_even_when_time_is_up(solved):
    problem, solution = solved
    rounds = Rounds(problem.within(Budget(0.0)), tol=1e-9)
    decision = rounds.offer_start(solution.terms)
    np.testing.assert_allclose(decision, problem.decision(solution.terms))
    assert rounds.best.objective <= solution.objective * (1 + 1e-9)


def test_what_is_only_as_good_replaces_nothing():
    best = Incumbent(make_problem(4))
    votes = [Terms(np.array([0]), np.array([j]), np.array([0.5])) for j in range(2)]
    for terms in votes:
        best._keep(terms, 0.25)
        best.offer_dual(best.problem.w * (1 + terms.centers[0]), 0.125)
    assert (best.objective, best.dual_bound) == (0.25, 0.125)
    np.testing.assert_array_equal(best.terms.centers, [0])
    np.testing.assert_array_equal(best.dual, best.problem.w)
    best._keep(votes[1], 0.2)
    best.offer_dual(np.zeros(4), 0.15)
    assert (best.terms.centers, best.objective, best.dual_bound) == (1, 0.2, 0.15)
    assert not best.dual.any()


def test_what_a_solver_needs_to_start():
    needed = {name: solver.least_memory(1000) for name, solver in SOLVERS.items()}
    assert needed.pop("coordinate-descent") > 8 * 1000 * 40  # its first 40 columns, at least
    assert set(needed.values()) == {0}
