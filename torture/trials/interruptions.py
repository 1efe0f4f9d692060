"""Ctrl-C and time limits at random moments."""

import json
import select
import signal
import subprocess
import sys
import time

import numpy as np
from _trial import Trial

N_EACH = 100
#: Seconds allowed from the signal to the end of fit, and in addition on a busy machine.
SECONDS, BUSY = 2.0, 0.5
FACTOR = 1.2
DEADLOCK = 60.0  # seconds

CHILD = """
import json, signal, sys, time, warnings
signal.signal(signal.SIGINT, signal.SIG_IGN)
import numpy as np
from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.exceptions import FitLimitError
warnings.simplefilter("ignore")
for line in sys.stdin:
    job = json.loads(line)
    random = np.random.default_rng(job["seed"])
    n = job["n"]
    X, y = random.standard_normal((n, 10)), random.integers(0, job["n_classes"], n)
    kernels = [Polynomial((1, 2, 3, 4)), Gaussian((0.3, 1.0))][:job["n_families"]]
    model = VotedKernelClassifier(
        kernels, complexity_penalty=1e-5, l1_penalty=1e-6, **job["options"]
    )
    raised = too_short = False
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("ready", flush=True)
        started = time.time()
        model.fit(X, y)
        ended = time.time()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that comes after the fit
    except KeyboardInterrupt:
        raised, ended = True, time.time()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except FitLimitError:
        too_short, ended = True, time.time()
    out = {"raised": raised, "too_short": too_short, "ended": ended, "seconds": ended - started,
           "fitted": hasattr(model, "objective_")}
    if out["fitted"]:
        out |= {"reason": model.stop_reason_, "objective": model.objective_,
                "bound": model.dual_bound_, "predicted": len(model.predict(X[:20])),
                "n_terms": model.term_weights_.shape[1]}
    again = model.set_params(complexity_penalty=1.0, time_limit=None).fit(X[:60], y[:60])
    out["again"] = again.stop_reason_
    print(json.dumps(out), flush=True)
"""


def main():
    trial = Trial(
        5,
        f"Ctrl-C and time_limit at random moments, {N_EACH} times each",
        f"back within {SECONDS:g} s of the signal, or {FACTOR} times the limit (both + {BUSY} s "
        "for a busy machine); the estimator usable; objective never above that of no vote; an "
        "error where the limit was too short for any vote",
    )
    random = np.random.default_rng((5, trial.options.seed))
    n = trial.count(N_EACH)
    stopped, n_short = {"signal": 0, "limit": 0}, 0
    slowest = {"signal": 0.0, "limit": 0.0}
    child = start()
    for number in range(2 * n):
        kind = "signal" if number % 2 else "limit"
        # Delays of the machine, and signals after the end of a fit, happen once; a bug happens
        # again.
        for _ in range(3):
            job, moment = draw(random, number, kind)
            result, late = run(child, job, moment, kind)
            trouble = (
                "the process died or hung" if result is None else judge(job, result, late, kind)
            )
            if result is None:
                child.kill()
                child = start()
            if trouble is None or "late" not in trouble:
                break
        if trouble is not None:
            trial.fail(f"case {number}, {kind} at {moment:.2f} s: {trouble} {job}")
        elif result.get("reason") != "optimal":
            stopped[kind] += 1
            slowest[kind] = max(slowest[kind], late)
            n_short += result["too_short"]
        trial.tell(f"{number + 1} of {2 * n}")
    child.kill()
    trial.end(
        f"{stopped['signal']} fits stopped by Ctrl-C, {slowest['signal']:.2f} s after it at most; "
        f"{stopped['limit']} by their limit, {slowest['limit']:.2f} s after it at most "
        f"({n_short} of them too short for any vote, with an error); all usable"
    )


def start():
    """Start a process that runs fits on request, and let it warm up."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    job = {"seed": 0, "n": 50, "n_classes": 2, "n_families": 2, "options": {}}
    run(child, job, 0.0, "limit")
    return child


def draw(random, number, kind):
    moment = float(10 ** random.uniform(-2, 0))
    solver = str(random.choice(["column-generation"] * 3 + ["coordinate-descent", "lp"]))
    n = 300 if solver == "lp" else int(random.choice([400, 1500, 6000]))
    options = {
        "solver": solver,
        "fit_intercept": bool(random.random() < 0.3),
        "n_jobs": int(random.integers(1, 3)),
        "time_limit": moment if kind == "limit" else None,
    }
    job = {"seed": number, "n": n, "n_classes": int(random.choice([2, 2, 3])), "options": options}
    return job | {"n_families": int(random.integers(1, 3))}, moment


def run(child, job, moment, kind):
    """Return the result of a job, and the seconds from the signal to its end."""
    try:
        child.stdin.write(json.dumps(job) + "\n")
        child.stdin.flush()
        if child.stdout.readline() != "ready\n":
            return None, 0.0
        sent = time.time()
        if kind == "signal":
            time.sleep(moment)
            sent = time.time()
            child.send_signal(signal.SIGINT)
        if not select.select([child.stdout], [], [], DEADLOCK)[0]:
            return None, 0.0
        result = json.loads(child.stdout.readline())
    except (BrokenPipeError, ValueError):
        return None, 0.0
    return result, result["ended"] - sent if kind == "signal" else result["seconds"] - moment


def judge(job, result, late, kind):
    """Return what is wrong, or None."""
    allowed = SECONDS if kind == "signal" else (FACTOR - 1) * job["options"]["time_limit"]
    n_problems = job["n_classes"] if job["n_classes"] > 2 else 1
    if result["again"] != "optimal":
        return f"the next fit ended as {result['again']}"
    if kind == "signal" and not result["raised"]:
        return "the signal came late" if late < 0 else "Ctrl-C was swallowed"
    if kind == "limit" and result["fitted"] == result["too_short"]:
        return "no model, or an error beside a model"
    if result["fitted"] and kind == "limit" and result["n_terms"] == 0:
        return "a model without votes, and no error"
    if result["fitted"]:
        if not 0 <= result["bound"] <= result["objective"] <= n_problems * (1 + 1e-12):
            return f"bound {result['bound']}, objective {result['objective']}"
        if result["predicted"] != 20:
            return "it does not predict"
        if kind == "limit" and result["reason"] not in ("time-limit", "optimal"):
            return f"it ended as {result['reason']}"
    if late > allowed + BUSY:
        return f"late by {late:.2f} s"
    return None


if __name__ == "__main__":
    sys.exit(main())
