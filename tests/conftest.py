"""Set up what must be in place before the first import of SciPy and scikit-learn."""

import os
from dataclasses import replace

# Without it scikit-learn skips its array API check, and a skip is a failure here.
os.environ["SCIPY_ARRAY_API"] = "1"

import pytest
from hypothesis import HealthCheck, settings
from support.running import (  # noqa: F401
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_report_header,
    pytest_sessionfinish,
)

from votedkernels.solvers import SOLVERS

# The same examples in every run, and no deadline: a loaded machine is not a failure.
settings.register_profile(
    "votedkernels",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("votedkernels")


@pytest.fixture
def recorded(monkeypatch):
    """A list that receives (problem, solution) of every problem a classifier solves."""
    seen = []
    for name, solver in list(SOLVERS.items()):

        def recording(problem, *, _solve=solver.solve, **kwargs):
            solution = _solve(problem, **kwargs)
            seen.append((problem, solution))
            return solution

        monkeypatch.setitem(SOLVERS, name, replace(solver, solve=recording))
    return seen
