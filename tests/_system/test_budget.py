import math
import time

import pytest

from votedkernels._system.budget import UNLIMITED, Budget
from votedkernels.exceptions import OutOfTime


def test_there_is_no_limit_by_default():
    budget = Budget()
    assert not budget.is_late
    assert budget.seconds_left == math.inf
    assert budget.memory == UNLIMITED
    assert budget.share(3) is budget
    assert budget.for_seconds(None) == budget
    budget.check_time()


def test_a_deadline_that_has_passed_ends_work():
    late = Budget(time.perf_counter() - 1)
    assert late.is_late
    assert late.seconds_left == 0
    with pytest.raises(OutOfTime):
        late.check_time()


def test_pieces_of_work_share_the_time_left():
    budget = Budget(n_jobs=2).for_seconds(30)
    share = budget.share(3)
    assert share.seconds_left == pytest.approx(10, abs=0.5)
    assert share.n_jobs == 2
    assert budget.seconds_left == pytest.approx(30, abs=0.5)  # itself unchanged


def test_a_budget_cannot_be_changed():
    with pytest.raises(AttributeError):
        Budget().deadline = 0.0
