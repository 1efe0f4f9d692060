"""Limits of time and memory, and Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.complexity import ComplexityMeasure
from votedkernels.datasets import make_waveform
from votedkernels.exceptions import FitLimitError


def noise(m, n_features=24):
    """Random labels: many rounds, large linear programs."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((m, n_features)), rng.choice([-1, 1], m)


# -- time --------------------------------------------------------------------------------


def fit_seconds(model, X, y):
    started, worked = time.perf_counter(), time.process_time()
    with pytest.warns(ConvergenceWarning, match=r"time-limit.*gap of .*time_limit"):
        model.fit(X, y)
    # A fit never waits, so what the clock has beyond its own work is other work on the machine.
    return min(time.perf_counter() - started, time.process_time() - worked)


def check_that_nothing_is_learned(model, X, y):
    """The limit is kept, and an error says that there is no model."""
    started = time.perf_counter()
    with pytest.raises(FitLimitError, match=r"time_limit=.* ended the fit.*larger time_limit"):
        model.fit(X, y)
    assert time.perf_counter() - started <= 1.2 * model.time_limit + 1.0
    assert not hasattr(model, "term_weights_")


def check_time_limit(model, X, y, n_problems=1):
    # A busy machine may delay a run between two looks at the clock; three in a row it does not.
    limit = 1.2 * model.time_limit + 0.3
    seconds = []
    while len(seconds) < 3 and not any(s <= limit for s in seconds):
        seconds.append(fit_seconds(model, X, y))
    assert min(seconds) <= limit, seconds
    assert model.stop_reason_ == "time-limit"
    assert model.objective_ <= n_problems * (1 + 1e-12)
    assert 0 <= model.dual_bound_ <= model.objective_
    assert model.dual_gap_ > model.tol * model.objective_
    assert model.predict(X[:5]).shape == (5,)


@pytest.mark.parametrize("time_limit", [0.3, 1.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_time_limit(time_limit, fit_intercept):
    model = VotedKernelClassifier(
        complexity_penalty=1e-5,
        l1_penalty=1e-6,
        time_limit=time_limit,
        fit_intercept=fit_intercept,
    )
    check_time_limit(model, *noise(1500))


@pytest.mark.parametrize("time_limit", [0.3, 1.0])
def test_time_limit_of_the_whole_lp(time_limit):
    model = VotedKernelClassifier(
        complexity_penalty=1e-4, l1_penalty=1e-5, solver="lp", time_limit=time_limit
    )
    check_that_nothing_is_learned(model, *noise(450))


@pytest.mark.parametrize("memory_limit", [None, "100MB"], ids=["kept", "in blocks"])
def test_time_limit_with_many_rows(memory_limit):
    # One pass over all columns takes longer than the limit.
    X, y = make_waveform(10_000, random_state=0)
    VotedKernelClassifier(max_iter=1, memory_limit=memory_limit).fit(X, y)  # load what is compiled
    model = VotedKernelClassifier(
        complexity_penalty=1e-4, l1_penalty=1e-5, time_limit=0.5, memory_limit=memory_limit
    )
    check_time_limit(model, X, y)


def test_time_limit_with_slow_complexities():
    X, y = make_waveform(6_000, random_state=0)
    model = VotedKernelClassifier([Polynomial(), Gaussian()], complexity="massart", time_limit=0.3)
    check_that_nothing_is_learned(model, X, y)


def test_too_small_a_limit_is_an_error_and_leaves_the_last_model():
    X, y = make_waveform(200, random_state=0)
    model = VotedKernelClassifier().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(FitLimitError):
        model.set_params(time_limit=1e-6).fit(X[:, :5], y)
    assert vars(model) == before | {"time_limit": 1e-6}


@pytest.mark.parametrize("time_limit", [0, 0.0, -1, "1s", True])
def test_a_limit_of_no_time_is_refused(time_limit):
    with pytest.raises(ValueError, match="time_limit must be a number of seconds > 0"):
        VotedKernelClassifier(time_limit=time_limit).fit(*make_waveform(40, random_state=0))


def test_time_limit_is_for_all_classes_together():
    X, _ = noise(1000)
    y = np.random.default_rng(1).integers(0, 6, 1000)
    model = VotedKernelClassifier(complexity_penalty=1e-5, l1_penalty=1e-6, time_limit=0.6)
    check_time_limit(model, X, y, n_problems=6)
    assert model.class_objectives_.shape == (6,)


def test_time_limit_that_is_not_reached_changes_nothing():
    X, y = make_waveform(150, random_state=0)
    plain = VotedKernelClassifier().fit(X, y)
    limited = VotedKernelClassifier(time_limit=100).fit(X, y)
    np.testing.assert_array_equal(plain.term_weights_, limited.term_weights_)


# -- Ctrl-C ------------------------------------------------------------------------------

INTERRUPTED_FIT = """
import json, signal, sys, time
import numpy as np
from votedkernels import VotedKernelClassifier

# Shells start jobs in the background with Ctrl-C ignored, and the tests may be such a job.
signal.signal(signal.SIGINT, signal.default_int_handler)

rng = np.random.default_rng(0)
m, parameters = int(sys.argv[1]), json.loads(sys.argv[2])
n_classes = parameters.pop("n_classes")
X, y = rng.standard_normal((m, 24)), rng.integers(0, n_classes, m)
model = VotedKernelClassifier(complexity_penalty=1e-5, l1_penalty=1e-6, **parameters)
print("ready", flush=True)
try:
    model.fit(X, y)
    raised = False
except KeyboardInterrupt:
    raised = True
seen = time.monotonic()
print(json.dumps({
    "raised": raised,
    "seen": seen,
    "stop_reason": getattr(model, "stop_reason_", None),
    "objective": getattr(model, "objective_", None),
    "dual_bound": getattr(model, "dual_bound_", None),
    "n_terms": model.term_weights_.shape[1] if hasattr(model, "term_weights_") else 0,
    "predicted": len(model.predict(X)) if hasattr(model, "term_weights_") else 0,
    "again": float(model.set_params(complexity_penalty=10.0).fit(X[:50], y[:50]).objective_),
}))
"""


def interrupted_fit(m, parameters, after):
    """Fit in another process, interrupt it after some seconds, and return what it has then."""
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED_FIT, str(m), json.dumps(parameters)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        time.sleep(after)
        sent = time.monotonic()  # the same clock in both processes
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 0, errors
    result = json.loads(output)
    assert result["raised"], "the fit ended before the signal, or swallowed it"
    assert result["seen"] - sent < 5  # a second or less on an idle machine
    return result


@pytest.mark.parametrize(
    ("m", "parameters"),
    [
        (1500, {"n_classes": 2}),
        (1500, {"n_classes": 2, "n_jobs": 2, "fit_intercept": True}),
        (800, {"n_classes": 4}),
        (500, {"n_classes": 2, "solver": "lp"}),
    ],
    ids=["default", "two threads", "four classes", "lp"],
)
@pytest.mark.parametrize("after", [0.8, 2.0])
def test_ctrl_c_keeps_the_best_model_and_goes_on(m, parameters, after):
    result = interrupted_fit(m, parameters, after)
    if parameters.get("solver") == "lp" and result["stop_reason"] is None:
        return  # the whole LP has no vote before its end, so that there is nothing to keep
    if result["stop_reason"] is None:  # a busy machine may not have got as far as a first vote
        result = interrupted_fit(m, parameters, 6 * after)
    assert result["stop_reason"] == "interrupted"
    assert result["n_terms"] > 0
    n_problems = 1 if parameters["n_classes"] == 2 else parameters["n_classes"]
    assert 0 <= result["dual_bound"] <= result["objective"] <= n_problems * (1 + 1e-12)
    assert result["predicted"] == m


# -- memory ------------------------------------------------------------------------------


def test_too_small_a_limit_says_how_much_is_needed():
    X, y = make_waveform(50, random_state=0)
    with pytest.raises(ValueError, match=r"memory_limit='1kB' is too small.*at least \d+MB"):
        VotedKernelClassifier(memory_limit="1kB").fit(X, y)
    with pytest.raises(ValueError, match=r"each of 2 threads"):
        VotedKernelClassifier(memory_limit=1000, n_jobs=2).fit(X, y)


def test_the_least_that_is_asked_for_is_enough():
    X, y = make_waveform(50, random_state=0)
    try:
        VotedKernelClassifier(memory_limit="1kB").fit(X, y)
    except ValueError as error:
        least = str(error).split("at least ")[1].split("MB")[0]
    VotedKernelClassifier(memory_limit=f"{least}MB").fit(X, y)


@pytest.mark.parametrize("kernels", [Polynomial((1, 2, 3)), Gaussian((0.3, 3.0))])
def test_a_limit_changes_how_and_not_what(kernels):
    X, y = make_waveform(2500, random_state=0)
    parameters = {"complexity_penalty": 1e-2, "l1_penalty": 1e-3, "tol": 1e-9}
    plain = VotedKernelClassifier(kernels, **parameters).fit(X, y)
    # The base alone is 50 MB.
    limited = VotedKernelClassifier(kernels, memory_limit="20MB", **parameters).fit(X, y)
    assert limited.objective_ == pytest.approx(plain.objective_, rel=2e-9)
    np.testing.assert_array_equal(limited.support_, plain.support_)


@pytest.mark.parametrize("complexity", ["auto", "massart"])
@pytest.mark.parametrize("limit", [40_000_000, 200_000_000])
def test_fit_allocates_no_more_than_its_limit(limit, complexity):
    X, y = make_waveform(4000, random_state=0)
    model = VotedKernelClassifier(
        complexity_penalty=1e-2, l1_penalty=1e-3, memory_limit=limit, complexity=complexity
    )
    tracemalloc.start()
    try:
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= limit


def test_a_whole_lp_beyond_the_limit_is_refused_before_it_is_built():
    X, y = make_waveform(1000, random_state=0)
    model = VotedKernelClassifier(solver="lp", memory_limit="100MB", time_limit=5)
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, MemoryError), match=r"memory_limit.*column-generation"):
            model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 100_000_000


def test_a_whole_lp_is_refused_before_complexities_are_measured():
    X, y = make_waveform(1000, random_state=0)

    class Never(ComplexityMeasure):
        def measure(self, gram, f, sample_weight):
            raise AssertionError("measured in vain")

    model = VotedKernelClassifier(solver="lp", memory_limit="100MB", complexity=Never())
    with pytest.raises(ValueError, match="memory_limit"):
        model.fit(X, y)
