"""The model does not depend on how many workers compute it, or where."""

import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from joblib import Parallel, delayed
from support.same_model import KERNELS, LOOPS, fit

from votedkernels import _native


@pytest.fixture(autouse=True)
def restore_the_loops():
    yield
    _native.loops = LOOPS


@pytest.fixture(params=list(KERNELS))
def name(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["numpy", "compiled"])
def compiled(request):
    return request.param


@cache
def expected(name, compiled):
    return fit(name, compiled=compiled)


def assert_same(result, expected):
    decision, support, n_iter = result
    np.testing.assert_allclose(decision, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(support, expected[1])
    assert n_iter == expected[2]


def test_again(name, compiled):
    assert_same(fit(name, compiled=compiled), expected(name, compiled))


def test_compiled_loops_find_the_same_optimum(name):
    decision, support, _ = expected(name, True)
    np.testing.assert_allclose(decision, expected(name, False)[0], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(support, expected(name, False)[1])


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_n_jobs(name, compiled, n_jobs):
    assert_same(fit(name, n_jobs, compiled), expected(name, compiled))


@pytest.mark.parametrize(
    ("name", "method", "n_jobs"),
    [("polynomial", "fork", 1), ("both", "fork", 1), ("both", "fork", 2), ("both", "spawn", 2)],
)
def test_worker_processes(name, method, n_jobs):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no start method {method!r} on this platform")
    fit(name, 2, True)  # threads and compiled code of the parent's must not harm a forked child
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        results = [pool.submit(fit, name, n_jobs, compiled) for compiled in (False, True)]
        for compiled, result in zip((False, True), results, strict=True):
            assert_same(result.result(timeout=120), expected(name, compiled))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_concurrent_threads(name, compiled, n_jobs):
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: fit(name, n_jobs, compiled), range(4)):
            assert_same(result, expected(name, compiled))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend):
    results = Parallel(n_jobs=2, backend=backend)(
        delayed(fit)(name, 1, True) for name in ("both", "both")
    )
    for result in results:
        assert_same(result, expected("both", True))


FRESH = """
import json
from support import same_model
decision, support, n_iter = same_model.fit("polynomial")
print(json.dumps([decision.tolist(), support.tolist(), n_iter]))
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_fresh_process_with_any_number_of_blas_threads(threads, monkeypatch):
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, threads)
    code = f"import sys; sys.path[:0] = {sys.path!r}\n" + FRESH
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    decision, support, n_iter = json.loads(done.stdout)
    assert_same((decision, support, n_iter), fit("polynomial"))
