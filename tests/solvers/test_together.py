"""Problems that are solved together find what each finds alone, from passes that they share."""

import itertools
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from votedkernels import Gaussian, Polynomial, Threshold, VotedKernelClassifier
from votedkernels._system.budget import Budget
from votedkernels.exceptions import LPFailed, SeveralInterrupted
from votedkernels.kernels import LocalColumns
from votedkernels.preparation.training import Training
from votedkernels.solvers import (
    can_solve_together,
    column_generation,
    groups_in_memory,
    solve_by_column_generation,
    solve_together,
    together,
)

KERNELS = {
    "kernels": lambda: [Polynomial((1, 2)), Gaussian((0.1, 1.0))],
    "with rules": lambda: [Gaussian((1.0,)), Threshold()],
}


def problems_of(kernels="kernels", n=600, n_classes=6, **options):
    X, y = make_blobs(n, 5, centers=n_classes, cluster_std=4.0, random_state=0)
    model = VotedKernelClassifier(KERNELS[kernels](), **options)
    training = Training.prepare(model, X, y, budget=Budget())
    return training.problems(1e-3, 1e-3)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("cheap", [0, 10**9], ids=["with candidates", "without"])
def test_together_as_alone(kernels, fit_intercept, cheap, monkeypatch):
    monkeypatch.setattr(column_generation, "CHEAP_PASS", cheap)
    problems = problems_of(kernels, fit_intercept=fit_intercept)
    for problem, found in zip(problems, solve_together(problems, tol=1e-9), strict=True):
        alone = solve_by_column_generation(problem, tol=1e-9)
        assert found.stop_reason == alone.stop_reason == "optimal"
        assert found.objective == pytest.approx(alone.objective, rel=2e-9)
        assert found.dual_bound == pytest.approx(alone.dual_bound, rel=2e-9)
        objective, bound = problem.certify(found.terms, found.dual)
        assert found.objective == pytest.approx(objective, rel=1e-12)
        assert found.dual_bound == pytest.approx(bound, rel=1e-12)


def count_values(monkeypatch):
    """Return lists of the values that passes compute, and of those that one pass for all needs.

    The second list has an entry for each pass over all centres.
    """
    computed, needed = [], []

    def summing(self, v, centers=None):
        n_centers = self.n_centers if centers is None else len(centers)
        computed.append(self.n_kernels * n_centers * np.count_nonzero(v))
        return sum_kernels(self, v, centers)

    def summing_several(self, vectors):
        n_rows = np.count_nonzero(vectors.any(axis=0))
        needed.append(self.n_kernels * self.n_centers * n_rows)
        computed.append(needed[-1])
        return sum_several(self, vectors)

    sum_kernels, sum_several = LocalColumns.sum_kernels, LocalColumns.sum_several
    monkeypatch.setattr(LocalColumns, "sum_kernels", summing)
    monkeypatch.setattr(LocalColumns, "sum_several", summing_several)
    return computed, needed


def test_a_pass_computes_each_value_once_for_all_classes(monkeypatch):
    problems = problems_of(n=2000, n_classes=12)
    computed, needed = count_values(monkeypatch)
    solutions = solve_together(problems, tol=1e-6)
    assert sum(computed) <= 1.2 * sum(needed)
    computed.clear()
    alone = [solve_by_column_generation(problem, tol=1e-6) for problem in problems]
    assert sum(needed) < 0.7 * sum(computed)
    assert sum(s.objective for s in solutions) == pytest.approx(sum(s.objective for s in alone))


def test_a_class_that_the_subsample_lacks_starts_from_nothing():
    problems = problems_of(n=400)
    rare = np.flatnonzero(problems[0].y > 0)[1:]
    problems[0].y[rare] = -1.0
    for problem, found in zip(problems, solve_together(problems, tol=1e-9), strict=True):
        assert found.stop_reason == "optimal"
        alone = solve_by_column_generation(problem, tol=1e-9)
        assert found.objective == pytest.approx(alone.objective, rel=2e-9)


def test_reports_and_ends_of_each_problem():
    problems, reported, ended = problems_of(), [], []
    solutions = solve_together(
        problems,
        tol=1e-6,
        on_rounds=[
            partial(lambda number, state: reported.append((number, state.n_iter)), number)
            for number in range(len(problems))
        ],
        on_end=ended.append,
    )
    assert sorted(ended) == list(range(len(problems)))
    for number, solution in enumerate(solutions):
        assert [n for who, n in reported if who == number] == list(range(1, solution.n_iter + 1))


def test_one_problem_may_stop_before_the_others():
    problems = problems_of()
    stop_second = [None, lambda state: state.n_iter == 2, *[None] * (len(problems) - 2)]
    solutions = solve_together(problems, tol=1e-12, on_rounds=stop_second)
    assert solutions[1].n_iter == 2
    assert solutions[1].stop_reason == "interrupted"
    assert {solution.stop_reason for solution in solutions[2:]} == {"optimal"}


def test_max_iter_holds_for_each_problem():
    solutions = solve_together(problems_of(), tol=1e-12, max_iter=2)
    assert max(solution.n_iter for solution in solutions) == 2


def test_no_time_at_all():
    late = [problem.within(Budget(deadline=0.0)) for problem in problems_of()]
    for solution in solve_together(late, tol=1e-6):
        assert solution.stop_reason == "time-limit"
        assert solution.objective <= 1


def test_a_deadline_within_a_pass_keeps_the_votes_so_far(monkeypatch):
    problems = problems_of()
    passes = itertools.count()
    sum_several = LocalColumns.sum_several

    def late(self, vectors):
        if self.n_rows == problems[0].n_rows and next(passes) == 1:
            self = self.within(Budget(deadline=0.0))
        return sum_several(self, vectors)

    monkeypatch.setattr(LocalColumns, "sum_several", late)
    for problem, solution in zip(problems, solve_together(problems, tol=1e-12), strict=True):
        assert solution.stop_reason in ("time-limit", "optimal")
        assert 0 < solution.dual_bound <= solution.objective < 1
        objective, bound = problem.certify(solution.terms, solution.dual)
        assert solution.objective == pytest.approx(objective, rel=1e-12)
        assert solution.dual_bound == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("n_rows", [200, 600], ids=["subsample", "all rows"])
def test_ctrl_c_keeps_the_best_vote_of_each_problem(n_rows, monkeypatch):
    problems, improve = problems_of(), column_generation.improve
    counts = itertools.count()

    def interrupted(master, best):
        if master.problem.n_rows == n_rows and next(counts) == 8:
            raise KeyboardInterrupt
        return improve(master, best)

    monkeypatch.setattr(column_generation, "improve", interrupted)
    with pytest.raises(SeveralInterrupted) as stop:
        solve_together(problems, tol=1e-12)
    assert len(stop.value.solutions) == len(problems)
    for problem, solution in zip(problems, stop.value.solutions, strict=True):
        assert solution.stop_reason in ("interrupted", "optimal")
        assert len(solution.terms.kernels) > 0
        objective, bound = problem.certify(solution.terms, solution.dual)
        assert solution.objective == pytest.approx(objective, rel=1e-12)
        assert solution.dual_bound == pytest.approx(bound, rel=1e-12)


def test_ctrl_c_in_a_pass_keeps_the_best_vote_of_each_problem(monkeypatch):
    problems = problems_of()

    def interrupted(self, vectors):
        if self.n_rows == problems[0].n_rows:
            raise KeyboardInterrupt
        return sum_several(self, vectors)

    sum_several = LocalColumns.sum_several
    monkeypatch.setattr(LocalColumns, "sum_several", interrupted)
    with pytest.raises(SeveralInterrupted) as stop:
        solve_together(problems, tol=1e-12)
    for solution in stop.value.solutions:
        assert solution.stop_reason == "interrupted"
        assert len(solution.terms.kernels) > 0
        assert solution.objective < 1


def test_problems_whose_programs_fail_descend(monkeypatch):
    problems, improve = problems_of(), column_generation.improve

    def failing(master, best):
        if master.problem.n_rows == 600 and np.array_equal(master.problem.y, problems[1].y):
            raise LPFailed
        return improve(master, best)

    monkeypatch.setattr(column_generation, "improve", failing)
    solutions = solve_together(problems, tol=1e-6)
    for problem, solution in zip(problems, solutions, strict=True):
        assert solution.stop_reason == "optimal"
        objective, _ = problem.certify(solution.terms, solution.dual)
        assert solution.objective == pytest.approx(objective, rel=1e-12)


def test_as_many_problems_together_as_memory_holds(monkeypatch):
    problems = problems_of()
    each = together.bytes_of_turn(problems[0])
    assert list(groups_in_memory(problems)) == [range(6)]
    for memory, expected in [(8 * each, [4, 2]), (2 * each, [1] * 6), (0, [1] * 6)]:
        little = [problem.within(Budget(memory=memory)) for problem in problems]
        assert list(map(len, groups_in_memory(little))) == expected
    monkeypatch.setattr(together, "MOST_BYTES", 3 * each)
    assert list(groups_in_memory(problems)) == [range(3), range(3, 6)]


def test_memory_is_divided_once(monkeypatch):
    seen = {}

    def watched(rounds, start, master):
        seen.setdefault(rounds.problem.n_rows, set()).add(rounds.problem.budget.memory)
        return generate_columns(rounds, start, master)

    generate_columns = together.generate_columns
    monkeypatch.setattr(together, "generate_columns", watched)
    solve_together([p.within(Budget(memory=6 * 10**9)) for p in problems_of()], tol=1e-3)
    assert seen == {200: {10**9}, 600: {10**9}}


def test_groups_of_a_fit_find_the_same(monkeypatch):
    X, y = make_blobs(300, 5, centers=5, cluster_std=4.0, random_state=0)
    model = VotedKernelClassifier(KERNELS["kernels"](), complexity_penalty=1e-3, tol=1e-9)
    whole = model.fit(X, y).class_objectives_
    monkeypatch.setattr(together, "bytes_of_turn", lambda _: together.MOST_BYTES // 3)
    np.testing.assert_allclose(model.fit(X, y).class_objectives_, whole, rtol=2e-9)
    assert model.stop_reason_ == "optimal"


def test_only_linear_programs_over_columns_at_hand_are_shared():
    problems = problems_of()
    assert can_solve_together("column-generation", problems)
    assert not can_solve_together("lp", problems)
    assert not can_solve_together("column-generation", problems[:1])
