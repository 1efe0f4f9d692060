"""Fitting Dask arrays on a cluster of two local workers."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from copy import copy
from functools import partial

import joblib
import numpy as np
import psutil
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from votedkernels import (
    ContinuousGaussian,
    Gaussian,
    Polynomial,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels._system.budget import Budget
from votedkernels.complexity import Local, StableRank
from votedkernels.datasets import make_waveform
from votedkernels.distributed import columns as columns_module
from votedkernels.distributed import rows as rows_module
from votedkernels.estimators._ongoing_fit import FitProgress, OngoingFit
from votedkernels.exceptions import FitLimitError
from votedkernels.preparation.training import Training
from votedkernels.problem import solution as certificate
from votedkernels.solvers import solve_problem

pytest.importorskip("distributed", reason="Dask is not installed")
import dask
import dask.array as da
from distributed import Client, LocalCluster


def make_cluster(**options):
    dask.config.set({"distributed.scheduler.active-memory-manager.start": False})
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",  # told nothing, older ones listen to everybody
        **options,
    )


@pytest.fixture(scope="module")
def client():
    with make_cluster() as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def waveform():
    X, y = make_waveform(500, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def as_dask(X, y, n_chunks=3):
    size = -(-len(X) // n_chunks)
    return da.from_array(X, chunks=(size, 8)), da.from_array(y, chunks=size + 3)


def model_of(kernels=None, **options):
    kernels = Polynomial((1, 2, 3)) if kernels is None else kernels
    options = {"complexity_penalty": 5e-2, "l1_penalty": 1e-3, "tol": 1e-9, **options}
    return VotedKernelClassifier(kernels, **options)


# -- the answer is the local answer --------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernels": Gaussian((0.1, 1.0))},
        {"kernels": [("poly", Polynomial((2, 1), gamma=0.01)), ("rbf", Gaussian((0.3,)))]},
        {"fit_intercept": True, "class_weight": "balanced"},
        {"complexity": "dimension", "complexity_penalty": 1e-4},
        {"complexity": [0.5, 1.0, 3.0]},
        {"class_weight": {-1: 2.0}},
        {"complexity_penalty": "auto", "l1_penalty": "auto"},
        {"kernels": Polynomial((1, 2), coef0=-1.0)},
    ],
    ids=str,
)
def test_the_answer_is_the_local_one(client, waveform, options):
    local, remote = model_of(**options).fit(*waveform), model_of(**options)
    remote.fit(*as_dask(*waveform))
    assert remote.stop_reason_ == "optimal"
    assert remote.objective_ == pytest.approx(local.objective_, rel=1e-9)
    np.testing.assert_allclose(remote.complexities_, local.complexities_, rtol=1e-12)
    assert remote.kernel_names_ == local.kernel_names_
    np.testing.assert_array_equal(remote.support_, local.support_)
    np.testing.assert_array_equal(remote.support_vectors_, local.support_vectors_)
    rows = waveform[0][:50]
    np.testing.assert_allclose(
        remote.decision_function(rows), local.decision_function(rows), atol=1e-7
    )


def repeated(X, y, n=60):
    """Rows that occur up to nine times, some of them in two classes, and weights."""
    random = np.random.default_rng(0)
    rows = random.permutation(np.repeat(np.arange(n), random.integers(1, 10, n)))
    labels = np.where(random.random(len(rows)) < 0.05, y[0], y[rows])
    return X[rows], labels, random.integers(0, 4, len(rows)).astype(float)


@pytest.mark.parametrize("complexity", [StableRank(2.0, 100), Local(radius=0.05), "local"], ids=str)
@pytest.mark.parametrize("n_rows", [500, 2500])
def test_spectra_are_those_of_the_same_rows(client, complexity, n_rows):
    X, y = make_waveform(n_rows, random_state=3)
    # Beyond 2,000 distinct rows, local complexities are estimates from subsamples.
    given = repeated(X, y, 180) if n_rows == 500 else (X, y, None)
    estimator = model_of(Gaussian((0.1, 1.0, 10.0)), complexity=complexity)
    local = Training.prepare(estimator, *given, budget=Budget())
    remote = Training.prepare(estimator, *as_dask(*given[:2]), given[2], budget=Budget())
    np.testing.assert_allclose(remote.complexities, local.complexities, rtol=1e-9)
    np.testing.assert_allclose(remote.complexity_errors, local.complexity_errors, atol=1e-12)
    is_estimate = n_rows > 2000 and not isinstance(complexity, StableRank)
    assert (remote.complexity_errors > 0).any() == is_estimate


def terms_of(model):
    """The kernels and points of a model's terms, whatever their order."""
    points = model.support_vectors_[model.term_support_indices_]
    return sorted(zip(model.term_kernel_indices_, map(tuple, points), strict=True))


def size_of_votes(model, rows):
    """The largest sum |a K| + |b| at some rows."""
    sizes = copy(model)
    sizes.term_weights_ = np.abs(model.term_weights_)
    sizes.intercept_ = np.abs(model.intercept_)
    return np.abs(sizes.decision_function(rows)).max()


def relaxed_cases():
    X, y = make_waveform(160, random_state=4)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    three = np.digitize(X[:, 3] + X[:, 10], [-0.8, 0.8])
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    return {
        "two classes": ((X, y, None), {}),
        "three classes": ((X, three, weights), {"complexity": "stable-rank"}),
        "repeated rows": (repeated(X, three), {"relaxation": 1e-2}),
        "not definite": (
            (X, y, weights),
            {"kernels": Polynomial((1, 2), coef0=-1.0), "complexity": "stable-rank"},
        ),
        "own centres": ((X, y, None), {"centers": X[::9] + 0.1, "fit_intercept": True}),
    }


@pytest.mark.parametrize(
    ("case", "is_gathered"),
    [("two classes", True), ("three classes", True), *((case, False) for case in relaxed_cases())],
)
def test_the_relaxed_vote_is_the_local_one(client, monkeypatch, case, is_gathered):
    if not is_gathered:
        monkeypatch.setattr(columns_module, "MOST_VALUES_AT_HAND", 0)
    (X, y, weights), options = relaxed_cases()[case]
    options = {"relaxation": "auto", **options}
    kernels = options.pop("kernels", [Polynomial((1, 2)), Gaussian((0.3, 1.0))])
    local = model_of(kernels, **options).fit(X, y, weights)
    remote = model_of(kernels, **options).fit(*as_dask(X, y), weights)
    assert remote.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert remote.relaxed_objective_ == pytest.approx(local.relaxed_objective_, rel=1e-9)
    assert remote.relaxed_dual_gap_ <= 1e-9 * remote.relaxed_objective_
    assert terms_of(remote) == terms_of(local)
    np.testing.assert_allclose(
        remote.decision_function(X),
        local.decision_function(X),
        rtol=0,
        atol=1e-7 * size_of_votes(local, X),
    )


def test_a_relaxed_vote_after_the_time_limit(client, waveform, monkeypatch):
    monkeypatch.setattr(columns_module, "MOST_VALUES_AT_HAND", 0)
    model = model_of(relaxation="auto", time_limit=60.0)
    training = Training.prepare(model, *as_dask(*waveform), budget=Budget())
    fit = OngoingFit(model, training, partial(FitProgress, model, *waveform))
    fit.solve()
    fit.training = training.within(Budget(deadline=0.0))
    assert fit.attributes()["relaxed_dual_gap_"] < 1e-6


def test_many_rows_leave_most_on_the_workers(client):
    X, y = make_waveform(6000, random_state=1)
    local, remote = model_of(tol=1e-7).fit(X, y), model_of(tol=1e-7)
    training = Training.prepare(remote, *as_dask(X, y), budget=Budget())
    problem = training.problems(5e-2, 1e-3)[0]
    solution = solve_problem("column-generation", problem, tol=1e-7)
    assert solution.objective == pytest.approx(local.objective_, rel=1e-7)
    assert solution.gap <= 1e-7 * solution.objective
    assert training.columns.rows.n_fetched < 0.7 * len(X)


def test_many_classes_and_labels_of_strings(client, waveform):
    X, _ = waveform
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 3] + X[:, 10], [-0.8, 0.8])]
    local, remote = model_of().fit(X, y), model_of().fit(*as_dask(X, y))
    assert list(remote.classes_) == list(local.classes_)
    np.testing.assert_allclose(remote.class_objectives_, local.class_objectives_, rtol=1e-9)


def test_weights_and_repeated_rows(client, waveform):
    X, y = waveform
    X, y = np.concatenate([X, X[:100]]), np.concatenate([y, y[:100]])
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weights[:210] = 0  # a chunk without weight
    local = model_of().fit(X, y, weights)
    rows, labels = as_dask(X, y)
    for given in (weights, da.from_array(weights, chunks=90)):
        remote = model_of().fit(rows, labels, given)
        assert remote.objective_ == pytest.approx(local.objective_, rel=1e-9)
        np.testing.assert_array_equal(remote.support_vectors_, X[remote.support_])
        assert (weights[remote.support_] > 0).all()


def test_centers_of_ones_own(client, waveform):
    X, y = waveform
    local, remote = model_of(centers=X[::9]).fit(X, y), model_of(centers=X[::9])
    remote.fit(*as_dask(X, y))
    assert remote.objective_ == pytest.approx(local.objective_, rel=1e-9)
    np.testing.assert_array_equal(remote.support_, local.support_)
    drawn = model_of(centers=40, random_state=0).fit(*as_dask(X, y))
    again = model_of(centers=X[sorted(np.random.RandomState(0).permutation(500)[:40])]).fit(X, y)
    assert drawn.objective_ == pytest.approx(again.objective_, rel=1e-9)
    np.testing.assert_array_equal(drawn.support_vectors_, X[drawn.support_])


def test_kernels_too_large_for_double_precision_are_judged_as_in_one_process(client, monkeypatch):
    X, y = make_waveform(60, random_state=0)
    judged, true_values = [], certificate.extended_values
    monkeypatch.setattr(
        certificate, "extended_values", lambda *args: judged.append(1) or true_values(*args)
    )
    # Whatever vote the solver of this CPU ends with, doubt it.
    for estimate in ("rounding_error", "rounding_error_by_rows"):
        monkeypatch.setattr(certificate, estimate, lambda *args: np.inf)
    monkeypatch.setattr(certificate, "closer_rounding_error", lambda *args: np.inf)
    fitted = []
    for data in ((X * 1e3, y), as_dask(X * 1e3, y)):
        model = model_of(Polynomial((9,), gamma=1.0), complexity_penalty=0.0, tol=1e-9)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.append(model.fit(*data))
        # It depends on the CPU whether rounding lets a vote pass; if not, the user hears of it.
        proved = model.dual_gap_ <= 1e-9 * model.objective_
        assert model.stop_reason_ == ("optimal" if proved else "precision")
        told = [str(w.message) for w in caught if w.category is ConvergenceWarning]
        assert ["precision" in message for message in told] == ([] if proved else [True])
    assert len(judged) == 2
    assert max(model.dual_bound_ for model in fitted) <= min(model.objective_ for model in fitted)


# -- what goes wrong on a cluster ------------------------------------------------------------


class AtRound(logging.Handler):
    """Does something when the solver has come to a round."""

    def __init__(self, number, action):
        super().__init__(logging.DEBUG)
        self.number, self.action, self.done = number, action, False

    def emit(self, record):
        if not self.done and f"round {self.number}:" in record.getMessage():
            self.done = True
            self.action()

    def __enter__(self):
        logger = logging.getLogger("votedkernels")
        self.level = logger.level
        logger.setLevel(logging.DEBUG)
        logger.addHandler(self)
        return self

    def __exit__(self, *_):
        logger = logging.getLogger("votedkernels")
        logger.setLevel(self.level)
        logger.removeHandler(self)


def test_a_worker_killed_in_mid_fit_costs_a_retry(client, waveform):
    local = model_of().fit(*waveform)
    pids = list(client.run(os.getpid).values())
    with AtRound(2, lambda: os.kill(pids[0], signal.SIGKILL)) as kill:
        remote = model_of().fit(*as_dask(*waveform))
    assert kill.done
    client.wait_for_workers(2, timeout=60)
    assert set(client.run(os.getpid).values()) != set(pids)
    assert remote.objective_ == pytest.approx(local.objective_, rel=1e-9)


def test_a_design_matrix_outlives_a_worker(client, waveform, monkeypatch):
    monkeypatch.setattr(columns_module, "MOST_VALUES_AT_HAND", 0)
    X, y = waveform
    training = Training.prepare(model_of(Gaussian((1.0,))), *as_dask(X, y), budget=Budget())
    kernels, centers = np.zeros(300, np.intp), np.arange(300)
    matrix = np.square(training.columns.take(kernels, centers))
    design = training.columns.design(kernels, centers).mapped(np.square)
    v = np.linspace(0.0, 1.0, len(y))
    np.testing.assert_allclose(design.sums(v), v @ matrix)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    np.testing.assert_allclose(design.sums(v), v @ matrix)
    client.wait_for_workers(2, timeout=60)
    both = np.column_stack([matrix, np.ones(len(y))])
    rows = np.arange(100, 350)
    expected = np.triu((both[rows].T * v[rows]) @ both[rows])
    np.testing.assert_allclose(np.triu(design.products(v, rows)), expected)


def test_a_cluster_closed_in_mid_fit_is_named(client, waveform):
    another = Client(client.cluster)
    closed = pytest.raises(RuntimeError, match="closed during fit")
    with another.as_current(), AtRound(2, another.close), closed:
        model_of().fit(*as_dask(*waveform))


def test_a_time_limit_holds(client, waveform):
    started = time.perf_counter()
    model = model_of(time_limit=0.5, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises((ConvergenceWarning, FitLimitError), match=r"time.limit"):
            model.fit(*as_dask(*waveform, n_chunks=20))
    assert time.perf_counter() - started < 60
    assert not hasattr(model, "objective_")


def interrupt():
    raise KeyboardInterrupt


def test_ctrl_c_leaves_a_model(client, waveform):
    model = model_of()
    with AtRound(2, interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(*as_dask(*waveform))
    assert model.stop_reason_ == "interrupted"
    assert model.predict(waveform[0][:5]).shape == (5,)


def test_data_larger_than_the_memory_of_a_worker():
    n, width = 6_000, 8_000
    random = da.random.default_rng(0)
    X = random.standard_normal((n, width), chunks=(200, width))
    with make_cluster(memory_limit="380MB") as cluster, Client(cluster) as client:
        assert X.nbytes > max(
            w["memory_limit"] for w in client.scheduler_info()["workers"].values()
        )
        y = da.where(X[:, 0] + X[:, 1] > 0, 1, -1)
        model = model_of(
            Polynomial((1,), gamma=1.0), centers=10, random_state=0, complexity_penalty=0.0
        )
        model.set_params(l1_penalty=0.5, tol=1e-2).fit(X, y)
        assert model.stop_reason_ == "optimal"
        assert model.dual_gap_ <= 1e-2 * model.objective_
        assert len(model.support_) > 0


def test_nothing_listens_outside_the_machine(client):
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listening = {
        connection.laddr.ip
        for process in processes
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


# -- traffic -------------------------------------------------------------------------------


def traffic_of(n_rows):
    """Bytes sent and received in one pass over all columns, by the active samples."""
    X, y = make_waveform(n_rows, random_state=0)
    training = Training.prepare(model_of(), *as_dask(X, y), budget=Budget())
    problem, rows = training.problems(5e-2, 1e-3)[0], training.columns.rows
    u = np.zeros(n_rows)
    u[:300] = problem.w[:300]
    before = rows.traffic.sent, rows.traffic.received
    problem.price(u)
    first = rows.traffic.sent - before[0], rows.traffic.received - before[1]
    before = rows.traffic.sent, rows.traffic.received
    problem.price(0.5 * u)
    return first, (rows.traffic.sent - before[0], rows.traffic.received - before[1])


def test_bytes_grow_with_active_samples_and_not_with_rows(client):
    few, many = traffic_of(1000), traffic_of(8000)
    active, width, n_workers, n_kernels = 300, 21, 2, 3
    assert few[0][0] == many[0][0] == 8 * active * (width + 1) * n_workers
    assert few[1][0] == many[1][0] == 8 * active * n_workers  # the samples are there already
    per_chunk = 256 * 8 * (n_kernels + 1)
    assert many[0][1] <= 3 * per_chunk + 8 * active * width
    assert many[1][1] <= 3 * per_chunk


# -- bad input, before any work ----------------------------------------------------------------


@pytest.fixture
def no_work(monkeypatch):
    def refuse(*_):
        raise AssertionError("work was started")

    monkeypatch.setattr(rows_module.RemoteRows, "run", refuse)


@pytest.mark.usefixtures("no_work")
class TestBadInput:
    def test_unknown_chunks(self, client, waveform):
        X, y = as_dask(*waveform)
        with pytest.raises(ValueError, match=r"unknown length.*compute_chunk_sizes"):
            model_of().fit(X[X[:, 0] > 0], y)
        with pytest.raises(ValueError, match=r"y has chunks of unknown length"):
            model_of().fit(X, y[y > 0])

    def test_lengths_that_differ(self, client, waveform):
        X, y = as_dask(*waveform)
        with pytest.raises(ValueError, match="X has 500 rows and y has 499 entries"):
            model_of().fit(X, y[:-1])
        with pytest.raises(ValueError, match="sample_weight has 3 entries"):
            model_of().fit(X, y, da.ones(3))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model_of().fit(X, waveform[1][:-1])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"kernels": ContinuousGaussian()}, "not with ContinuousGaussian"),
            ({"kernels": Similarity(lambda A, B: A @ B.T)}, "not with Similarity"),
            ({"solver": "lp"}, "solver='column-generation'"),
            ({"solver": "coordinate-descent", "l2_penalty": 0.1}, "l2_penalty=0"),
            ({"complexity": "massart"}, "'massart' of Polynomial needs all pairs"),
            ({"complexity": Local(0.1, filter=True)}, "Local.filter=True. of Polynomial needs all"),
            ({"centers": 0}, "at least 1"),
        ],
    )
    def test_what_a_cluster_cannot_do(self, client, waveform, options, message, request):
        if "centers" in options:  # judged after the rows
            request.getfixturevalue("monkeypatch").undo()
        with pytest.raises(ValueError, match=message):
            model_of(**options).fit(*as_dask(*waveform))

    def test_what_is_no_table_of_numbers(self, client, waveform):
        X, y = as_dask(*waveform)
        with pytest.raises(ValueError, match="two dimensions"):
            model_of().fit(X[:, 0], y)
        with pytest.raises(ValueError, match="must hold numbers"):
            model_of().fit(X.astype(str), y)
        with pytest.raises(ValueError, match="no rows"):
            model_of().fit(X[:0], y[:0])

    def test_one_class(self, client, waveform):
        X, y = as_dask(*waveform)
        with pytest.raises(ValueError, match="only one class"):
            model_of().fit(X, da.ones_like(y))


def test_a_row_that_is_not_finite_is_named(client, waveform):
    X, y = waveform
    X = X.copy()
    X[331, 2] = np.nan
    with pytest.raises(ValueError, match="row 331 "):
        model_of().fit(*as_dask(X, y))


def test_no_cluster():
    code = """
        import dask.array as da
        from votedkernels import VotedKernelClassifier
        X = da.random.default_rng(0).standard_normal((20, 2), chunks=5)
        VotedKernelClassifier().fit(X, [0, 1] * 10)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: X is a Dask array, but no Dask cluster is running")


def test_model_selection_says_what_it_takes(client, waveform):
    with pytest.raises(TypeError, match=r"X\.compute\(\)"):
        VotedKernelClassifierCV().fit(*as_dask(*waveform))


# -- model selection -----------------------------------------------------------------------


def test_model_selection_on_a_cluster(client, waveform):
    X, y = waveform[0][:150], waveform[1][:150]
    search = VotedKernelClassifierCV(
        Polynomial((1, 2)), complexity_penalties=(1e-1, 1e-2), l1_penalties=(1e-2, 1e-3), cv=3
    )
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        search.set_params(n_jobs=-1).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected)


def test_complexities_count_centers_outside_the_rows(client, waveform):
    X, y = waveform
    centers = 10 * X[:3]
    local = model_of(centers=centers, complexity="trace", l1_penalty=0.1).fit(X, y)
    remote = model_of(centers=centers, complexity="trace", l1_penalty=0.1).fit(*as_dask(X, y))
    np.testing.assert_allclose(remote.complexities_, local.complexities_, rtol=1e-9)
    inside = model_of(complexity="trace", l1_penalty=0.1).fit(*as_dask(X, y))
    assert (remote.complexities_ > inside.complexities_).all()


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_centers_are_the_same_points_as_dense_ones(client, waveform, kind):
    X, y = waveform
    centers = np.where(np.abs(X[::9]) > 1, X[::9], 0.0)
    dense = model_of(centers=centers).fit(*as_dask(X, y))
    model = model_of(centers=kind(centers)).fit(*as_dask(X, y))
    assert model.objective_ == pytest.approx(dense.objective_, rel=1e-12)
    np.testing.assert_array_equal(model.support_, dense.support_)
    np.testing.assert_array_equal(model.support_vectors_, dense.support_vectors_)
    local = model_of(centers=kind(centers)).fit(X, y)
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
