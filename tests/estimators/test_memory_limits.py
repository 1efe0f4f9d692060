"""What fit allocates under a limit, where pools and spectra would take more."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier, voted_kernel_path
from votedkernels.complexity import Local
from votedkernels.datasets import make_waveform
from votedkernels.estimators import _ongoing_fit
from votedkernels.solvers import descent_pool


def peak_of(model, X, y):
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("solver", ["coordinate-descent", "column-generation"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_pools_keep_to_the_limit(solver, fit_intercept):
    # Narrow kernels at small penalties: every row gets a weight, and every row is on the margin.
    X, y = make_waveform(1500, random_state=0)
    model = VotedKernelClassifier(
        Gaussian((30.0,)), complexity_penalty=1e-4, l1_penalty=1e-4, solver=solver,
        fit_intercept=fit_intercept, memory_limit=25_000_000, time_limit=15,
    )  # fmt: skip
    assert peak_of(model, X, y) <= model.memory_limit
    assert model.stop_reason_ == "memory-limit"
    assert 0 < len(model.support_) < 1500
    assert 0 <= model.dual_bound_ <= model.objective_ < 1


def test_classes_that_are_solved_together_keep_to_the_limit_and_use_it(monkeypatch):
    X, _ = make_waveform(1000, random_state=0)
    y = np.digitize(X[:, 0], [-1, -0.5, 0, 0.5, 1])
    model = VotedKernelClassifier(
        Gaussian((30.0,)), complexity_penalty=1e-4, l1_penalty=1e-4, memory_limit=40_000_000
    )
    assert peak_of(model, X, y) <= model.memory_limit
    assert model.stop_reason_ == "memory-limit"
    assert 0 <= model.dual_bound_ <= model.objective_ < 6
    together = model.objective_
    monkeypatch.setattr(_ongoing_fit, "can_solve_together", lambda *_: False)
    with pytest.warns(ConvergenceWarning, match="memory-limit"):
        assert together <= 1.01 * model.fit(X, y).objective_


def test_the_warning_names_the_limit():
    X, y = make_waveform(600, random_state=0)
    model = VotedKernelClassifier(
        Gaussian((30.0,)), complexity_penalty=1e-4, l1_penalty=1e-4, memory_limit=17_000_000,
        solver="coordinate-descent",
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"too small for the solver's columns on 600 rows.*\d+MB"):
        model.fit(X, y)
    model.set_params(memory_limit=19_000_000)
    with pytest.warns(ConvergenceWarning, match=r"memory-limit.*Use a larger memory_limit"):
        model.fit(X, y)


@pytest.mark.parametrize("solver", ["coordinate-descent", "column-generation"])
def test_a_limit_with_room_changes_no_model(solver):
    X, y = make_waveform(800, random_state=0)
    options = {"complexity_penalty": 1e-3, "l1_penalty": 1e-4, "solver": solver, "tol": 1e-9}
    plain = VotedKernelClassifier(Polynomial((1, 2)), **options).fit(X, y)
    limited = VotedKernelClassifier(Polynomial((1, 2)), memory_limit="30MB", **options).fit(X, y)
    assert plain.stop_reason_ == limited.stop_reason_ == "optimal"
    assert limited.objective_ == pytest.approx(plain.objective_, rel=3e-9)


def test_paths_tell_the_reason_in_full():
    X, y = make_waveform(1500, random_state=0)
    path = voted_kernel_path(
        X, y, Gaussian((30.0,)), complexity_penalties=[1e-4], l1_penalties=[1e-4],
        memory_limit=20_000_000, time_limit=30,
    )  # fmt: skip
    assert path.stop_reasons.ravel().tolist() == ["memory-limit"]


def test_few_rows_on_the_margin_still_lead_to_the_optimum(monkeypatch):
    # With fewer rows in the linear system than are on the margin, digits are lost, not the way.
    X, y = make_waveform(200, random_state=0)
    model = VotedKernelClassifier(
        Gaussian((1.0,)), complexity_penalty=1e-3, l1_penalty=1e-3, solver="coordinate-descent"
    ).fit(X, y)
    monkeypatch.setattr(descent_pool, "most_rows", lambda *sizes: 3)
    cramped = VotedKernelClassifier(
        Gaussian((1.0,)), complexity_penalty=1e-3, l1_penalty=1e-3, solver="coordinate-descent",
        tol=1e-4,
    ).fit(X, y)  # fmt: skip
    assert cramped.objective_ == pytest.approx(model.objective_, rel=1e-3)
    assert cramped.dual_bound_ <= model.objective_ * (1 + 1e-9)


def test_sizes_of_pools():
    pool_bytes = descent_pool.pool_bytes
    assert pool_bytes(100, 10, 10) < pool_bytes(100, 11, 10) < pool_bytes(200, 11, 10)
    for memory in (10**6, 10**7, 10**9):
        n = descent_pool.most_columns(1000, memory, 3000)
        assert n == 3000 or pool_bytes(1000, n + 1, min(1000, n + 1)) > memory
        assert n == 1 or pool_bytes(1000, n, min(1000, n)) <= memory
        rows = descent_pool.most_rows(1000, n, memory)
        assert rows >= min(n, 1000) - 1
        assert rows == 1000 or pool_bytes(1000, n, rows + 1) > memory


# -- spectra -----------------------------------------------------------------------------


def test_spectra_keep_to_the_limit():
    X, y = make_waveform(2000, random_state=0)
    model = VotedKernelClassifier(Gaussian((0.1, 1.0)), complexity="local", memory_limit=40_000_000)
    assert peak_of(model, X, y) <= model.memory_limit
    assert model.stop_reason_ == "optimal"
    assert (model.complexity_errors_ > 0).all()  # they were estimated
    exact = VotedKernelClassifier(Gaussian((0.1, 1.0)), complexity="local").fit(X, y)
    assert (exact.complexity_errors_ == 0).all()
    np.testing.assert_allclose(model.complexities_, exact.complexities_, rtol=0.2)


def test_spectra_without_room_are_refused_before_any_work():
    X, y = make_waveform(900, random_state=0)
    model = VotedKernelClassifier(Gaussian((0.1,)), complexity=Local(0.01), memory_limit="18MB")
    message = r"too small for the complexity measure on \d+ rows; use at least (\d+)MB"
    with pytest.raises(ValueError, match=message) as refused:
        model.fit(X, y)
    least = str(refused.value).split("at least ")[1].rstrip(".")
    model.set_params(memory_limit=least)
    assert peak_of(model, X, y) <= 1.05e6 * int(least[:-2])
    assert (model.complexity_errors_ == 0).all()
