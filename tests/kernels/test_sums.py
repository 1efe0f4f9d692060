import os
import subprocess
import sys

import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, _native
from votedkernels._system.budget import Budget
from votedkernels.kernels import LocalColumns

pytestmark = pytest.mark.skipif(_native.loops is None, reason="there are no compiled loops")

FAMILIES = [
    Polynomial((1, 2, 3), gamma=0.3),
    Polynomial((2, 5), gamma=0.3, coef0=0.0),
    Polynomial(gamma=0.2),
    Polynomial((1, 4, 10), gamma=0.2, coef0=-0.5),
    Gaussian(unit=0.1),
    Gaussian((1e-6, 1.0, 20.0), unit=1.0),
]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compiled_loops_equal_numpy(family, n_jobs, monkeypatch):
    random = np.random.default_rng(0)
    X, centers = random.standard_normal((700, 6)), random.standard_normal((300, 6))
    v = np.where(random.random(700) < 0.4, random.standard_normal(700), 0.0)
    family.fit(X, np.ones(700))
    with monkeypatch.context() as patch:
        patch.setattr(_native, "loops", None)
        plain = LocalColumns([family], X, centers).correlate(v)
    size = np.abs(v) @ np.abs(LocalColumns([family], X, centers).take(
        np.repeat(np.arange(family.n_kernels), 300), np.tile(np.arange(300), family.n_kernels)
    ))  # fmt: skip
    some = np.array([299, 3, 258])
    for memory in (0, 2**30):  # base recomputed, base kept
        columns = LocalColumns([family], X, centers, for_bases=memory, budget=Budget(n_jobs=n_jobs))
        error = np.abs(columns.correlate(v) - plain) / (size.reshape(plain.shape) + 1e-290)
        assert error.max() < 1e-13
        np.testing.assert_allclose(columns.correlate(v, some), plain[:, some], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spoiled", ["rows", "first", "v", "out"])
def test_loops_refuse_what_is_outside_their_arrays(spoiled):
    given = {"rows": np.array([0, 3]), "v": np.ones(2), "first": 1, "out": np.zeros((3, 4))}
    loops, base = _native.loops, np.ones((4, 5))
    loops.add_stored_powers(base, *given.values())
    np.testing.assert_array_equal(given["out"], np.full((3, 4), 2.0))
    given[spoiled] = {
        "rows": np.array([0, 4]), "first": 2, "v": np.ones(3), "out": np.zeros((4, 4)),
    }[spoiled]  # fmt: skip
    with pytest.raises((ValueError, IndexError)):
        loops.add_stored_powers(base, *given.values())


def test_exponentials_are_exact_to_rounding():
    from support.exponentials import error_of_exponentials

    assert error_of_exponentials() < 2.5e-16
    out = np.empty(4)
    _native.loops.exponentials(np.array([[0.0, -708.0, -709.0, -1e300]]), out)
    assert out[0] == 1
    assert 0 < out[1] == out[2] == out[3] < 1e-307


def test_exponentials_are_as_exact_without_fused_multiply_add():
    command = (
        "from support.exponentials import error_of_exponentials; print(error_of_exponentials())"
    )
    generic = os.environ | {"VOTEDKERNELS_CPU": "generic", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", command], env=generic, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 2.5e-16


def test_some_centers_are_priced_as_among_all():
    random = np.random.default_rng(1)
    X = random.standard_normal((200, 3))
    family = Polynomial((1, 2, 3)).fit(X, np.ones(200))
    columns, v = LocalColumns([family], X, X), random.standard_normal(200)
    chosen = np.array([5, 100, 7])
    np.testing.assert_allclose(columns.correlate(v, chosen), columns.correlate(v)[:, chosen])


def test_high_degrees_need_no_compiled_loop():
    random = np.random.default_rng(2)
    X = random.standard_normal((50, 2))
    family = Polynomial((1, 12)).fit(X, np.ones(50))
    v = random.standard_normal(50)
    base = family.base(X, X)
    columns = LocalColumns([family], X, X)
    np.testing.assert_allclose(columns.correlate(v), [v @ base, v @ base**12])
