"""Similarity functions that misbehave."""

import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
from _dense import Recorder, Untrue, fit_and_check
from _trial import Trial

from votedkernels import Polynomial, Similarity, VotedKernelClassifier
from votedkernels.exceptions import FitLimitError
from votedkernels.kernels import local_columns

N_FITS = 120
SECONDS = 2.0
#: Small blocks, so that a function is called often and can change its results.
local_columns.BLOCK_ROWS, local_columns.BLOCK_CENTERS = 16, 8
Similarity.rows_at_once = 16


class Mine(Exception):
    """An error that a user defined."""


def main():
    warnings.simplefilter("ignore")
    trial = Trial(
        15,
        "hostile similarity functions: NaN in one block, changing shapes, exceptions, writing "
        "into their input, slow",
        "a ValueError that names the kernel; exceptions of the function itself pass through; data "
        f"unharmed; interruptible within {SECONDS:g} s",
    )
    recorder = Recorder()
    n, counts = trial.count(N_FITS), dict.fromkeys(CASES, 0)
    names = list(CASES)
    for number in range(n):
        name = names[number % len(names)]
        random = np.random.default_rng((15, trial.options.seed, number))
        try:
            CASES[name](random, recorder)
            counts[name] += 1
        except Untrue as untruth:
            trial.fail(f"case {number}, {name}: {untruth}")
        except Exception as error:
            trial.fail(f"case {number}, {name}: {type(error).__name__}: {error}")
        trial.tell(f"{number + 1} of {n} cases")
    trial.end("; ".join(f"{name}: {count}" for name, count in counts.items()))


def dot(A, B):
    return np.asarray(A) @ np.asarray(B).T


def data(random, n=50):
    X = random.standard_normal((n, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def model_of(random, function, **options):
    kernels = Similarity(function, name="crooked")
    if random.random() < 0.3:
        kernels = [Polynomial((2,)), kernels]
    # Without memory for the matrix, the function is called block by block during the fit.
    memory = None if random.random() < 0.5 else 4 * local_columns.BLOCK_BYTES + 1
    options = {"n_jobs": 1, "memory_limit": memory} | options
    return VotedKernelClassifier(kernels, **options)


def must_be_named(model, X, y):
    """Fit, which must raise a ValueError that names the kernel, and must not change X."""
    before = X.copy()
    try:
        model.fit(X, y)
    except ValueError as error:
        if "crooked" not in str(error):
            raise Untrue(f"the kernel is not named: {error}") from None
    else:
        raise Untrue("no error")
    if not np.array_equal(X, before):
        raise Untrue("X was changed")


def on_call(random, spoil):
    """Return a function that is correct except for one of its first calls."""
    calls, bad = [], int(random.integers(0, 4))
    lock = threading.Lock()

    def function(A, B):
        with lock:
            calls.append(1)
            number = len(calls) - 1
        values = dot(A, B)
        return spoil(values) if number >= bad else values

    return function


def value_in_one_block(random, recorder):
    value = random.choice([np.nan, np.inf, -np.inf])

    def spoil(values):
        values = values.copy()
        values[-1, -1] = value
        return values

    X, y = data(random)
    must_be_named(model_of(random, on_call(random, spoil)), X, y)


def changing_shape(random, recorder):
    spoils = [lambda v: v[:-1], lambda v: v[:, :-1], lambda v: v[..., None], lambda v: v.ravel()]
    spoil = spoils[int(random.integers(0, 4))]
    X, y = data(random)
    must_be_named(model_of(random, on_call(random, spoil)), X, y)


def no_numbers(random, recorder):
    spoils = [lambda v: v.astype(str), lambda v: v * 1j, lambda v: None, lambda v: v.tolist()[0]]
    spoil = spoils[int(random.integers(0, 4))]
    X, y = data(random)
    must_be_named(model_of(random, on_call(random, spoil)), X, y)


def exception(random, recorder):
    def spoil(values):
        raise Mine("out of words")

    X, y = data(random)
    model = model_of(random, on_call(random, spoil), n_jobs=int(random.integers(1, 3)))
    try:
        model.fit(X, y)
    except Mine:
        return
    raise Untrue("the function's own exception was swallowed")


def broken_at_prediction(random, recorder):
    broken = []

    def function(A, B):
        return dot(A, B) * (np.nan if broken else 1.0)

    X, y = data(random)
    model = VotedKernelClassifier(Similarity(function, name="crooked")).fit(X, y)
    broken.append(True)
    try:
        model.predict(X)
    except ValueError as error:
        if "crooked" in str(error):
            return
    raise Untrue("a prediction of NaN, or an error without the kernel's name")


def writing(random, recorder):
    """Standardise the input in place, as careless code does; the result must not change."""

    def careless(A, B):
        A -= 1.0
        B -= 1.0
        A *= 2.0
        return A @ B.T

    def careful(A, B):
        return 2.0 * (np.asarray(A) - 1.0) @ (np.asarray(B) - 1.0).T

    X, y = data(random)
    before = X.copy()
    centers = X[:20].copy() if random.random() < 0.3 else None
    options = {"centers": centers, "n_jobs": int(random.integers(1, 3))}
    model = model_of(random, careless, **options)
    fit_on(model, recorder, X, y, careful)
    decisions = model.decision_function(X)
    if not np.array_equal(X, before):
        raise Untrue("X was changed")
    if centers is not None and not np.array_equal(centers, before[:20]):
        raise Untrue("centers was changed")
    if not np.array_equal(decisions, model.decision_function(X)):
        raise Untrue("the model changes when it is asked")


def fit_on(model, recorder, X, y, sound):
    """Fit with the bad function; compare with the correct one."""
    recorder.seen.clear()
    model.fit(X, y)
    for family in model.kernels_:
        if isinstance(family, Similarity):
            family.function = sound
    expected = model.decision_function(X.copy())
    twin = VotedKernelClassifier(**(model.get_params(deep=False) | {"kernels": model.kernels_}))
    fit_and_check(recorder, twin, X.copy(), y)
    if not np.isclose(twin.objective_, model.objective_, rtol=1e-6):
        raise Untrue(f"objective {model.objective_}, and {twin.objective_} without writing")
    if not np.allclose(expected, twin.decision_function(X), atol=1e-6):
        raise Untrue("decisions differ from those without writing")


def writing_into_objects(random, recorder):
    """Write to arrays that are objects in a list."""

    def careless(A, B):
        for a in A:
            a += 1.0
        return np.array([[float(a @ b) for b in B] for a in A])

    X, y = data(random)
    rows = [row.copy() for row in X]
    VotedKernelClassifier(Similarity(careless, name="crooked")).fit(rows, y).predict(rows)
    if not all(np.array_equal(a, b) for a, b in zip(rows, X, strict=True)):
        raise Untrue("an object of X was changed")


def slow(random, recorder):
    """Take a millisecond per value, for 2,500 values in blocks of 800; a time limit must hold."""

    def sleepy(A, B):
        time.sleep(1e-3 * len(A) * len(B))
        return dot(A, B)

    X, y = data(random)
    model = model_of(random, sleepy, time_limit=0.5)
    started = time.perf_counter()
    with suppress(FitLimitError):  # as required if no vote was found in time
        model.fit(X, y)
    seconds = time.perf_counter() - started
    if seconds > SECONDS:
        raise Untrue(f"a time limit of 0.5 s took {seconds:.1f} s")
    if hasattr(model, "objective_") and not 0 <= model.dual_bound_ <= model.objective_ <= 1 + 1e-12:
        raise Untrue(f"bounds {model.dual_bound_} and {model.objective_}")


SLOW_FIT = """
import signal, time, numpy as np
from votedkernels import Similarity, VotedKernelClassifier
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have turned it off
X = np.random.default_rng(0).standard_normal((300, 3))
def sleepy(A, B):
    for _ in A:
        time.sleep(0.05)
    return A @ B.T
model = VotedKernelClassifier(Similarity(sleepy), n_jobs=JOBS)
print("ready", flush=True)
try:
    model.fit(X, X[:, 0] > 0)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def interrupted(random, recorder):
    text = SLOW_FIT.replace("JOBS", str(int(random.integers(1, 3))))
    child = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        if child.stdout.readline() != "ready\n":
            raise Untrue("the fit did not start")
        time.sleep(random.uniform(0.2, 1.5))
        child.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        if child.stdout.readline() != "stopped\n":
            raise Untrue("Ctrl-C was swallowed")
        if time.perf_counter() - sent > SECONDS:
            raise Untrue(f"Ctrl-C took {time.perf_counter() - sent:.1f} s")
    finally:
        child.kill()
        child.wait()


CASES = {
    "NaN or infinity in one block": value_in_one_block,
    "changing shape": changing_shape,
    "not numbers": no_numbers,
    "exception": exception,
    "NaN at prediction": broken_at_prediction,
    "writing into a table": writing,
    "writing into objects": writing_into_objects,
    "slow": slow,
    "slow, Ctrl-C": interrupted,
}


if __name__ == "__main__":
    sys.exit(main())
