"""What is recorded of a run, by stand-ins for solvers that report what no good solver would."""

from dataclasses import replace

import numpy as np
import pytest
from support.problems import make_problem

from votedkernels._system.budget import Budget
from votedkernels.problem import Solution, Terms
from votedkernels.solvers import trace
from votedkernels.solvers.rounds import Round


def solution_of(objective, bound, reason="optimal"):
    problem = make_problem(4)
    return Solution(problem.columns, Terms.none(), np.zeros(4), objective, bound, 1, reason)


def traced(monkeypatch, reports, ends, seconds_before=0.0):
    """Trace problems whose solver makes these reports, and ends with these solutions."""
    ends = iter(ends)

    def solve(solver, problem, *, on_round, **options):
        for number, report in enumerate(reports, 1):
            assert not on_round(Round(number, solution_of(*report)))
        return next(ends)

    monkeypatch.setattr(trace, "solve_problem", solve)
    problems = [make_problem(4), make_problem(4)]
    return trace.trace_solver(
        "stand-in", problems, Budget(), tol=1e-6, max_iter=None, seconds_before=seconds_before
    )


def test_values_are_the_best_so_far_and_the_last_are_those_of_the_model(monkeypatch):
    reports = [(0.8, 0.2), (0.9, 0.1), (0.6, 0.3), (0.7, 0.4)]
    found = traced(monkeypatch, reports, [solution_of(0.5, 0.5), solution_of(0.7, 0.25)])
    # While the second problem waits, its vote is empty, with F = 1 and no bound.
    first, second = [1.8, 1.8, 1.6, 1.6, 1.5], [1.3, 1.3, 1.1, 1.1, 1.2]
    np.testing.assert_allclose(found.objectives, [2.0, *first, *second])
    first, second = [0.2, 0.2, 0.3, 0.4, 0.5], [0.7, 0.7, 0.8, 0.9, 0.75]
    np.testing.assert_allclose(found.dual_bounds, [0.0, *first, *second])


def test_a_report_next_to_the_end_is_the_best_so_far(monkeypatch):
    reports = [(0.4, 0.3), (0.9, 0.1)]
    found = traced(monkeypatch, reports, [solution_of(0.4, 0.4), solution_of(0.4, 0.4)])
    np.testing.assert_allclose(found.objectives[-3:], [0.8, 0.8, 0.8])
    np.testing.assert_allclose(found.dual_bounds[-3:], [0.7, 0.7, 0.8])


def test_the_clock_starts_at_the_time_of_preparation(monkeypatch):
    ends = [solution_of(0.5, 0.5), solution_of(0.5, 0.5)]
    seconds = traced(monkeypatch, [(0.8, 0.2)], ends, seconds_before=1000.0).seconds
    assert seconds[0] == 1000.0
    assert (np.diff(seconds) >= 0).all()
    assert seconds[-1] < 2000.0


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [(("optimal", "optimal"), "optimal"), (("optimal", "max-iter"), "max-iter"),
     (("time-limit", "optimal"), "time-limit"), (("precision", "time-limit"), "precision")],
)  # fmt: skip
def test_the_reason_is_the_first_that_is_not_optimality(monkeypatch, reasons, expected):
    ends = [replace(solution_of(0.5, 0.5), stop_reason=reason) for reason in reasons]
    assert traced(monkeypatch, [], ends).stop_reason == expected
