"""Memory limits, each in a separate process."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from _trial import Trial

N_LIMITS = 18
SMALLEST, LARGEST = 64e6, 4e9
EXCESS = 1.1
REFUSAL_SECONDS = 1.0

CHILD = """
import json, os, sys, threading, time, warnings
import numpy as np
from votedkernels import Gaussian, Polynomial, Similarity, VotedKernelClassifier
from votedkernels.datasets import make_waveform
from votedkernels.exceptions import FitLimitError
warnings.simplefilter("ignore")
job = json.loads(sys.argv[1])


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def dot(A, B):
    return A @ B.T / 21


kernels = {
    "polynomial": Polynomial((1, 2, 3)),
    "gaussian": Gaussian((0.1, 1.0)),
    "both": [Polynomial((1, 2)), Gaussian((0.1, 1.0))],
    "similarity": Similarity(dot),
}[job["kernels"]]
options = {"complexity_penalty": 1e-2, "l1_penalty": 1e-2, "n_jobs": job["n_jobs"],
           "complexity": job["complexity"]}
X, y = make_waveform(job["n"], random_state=0)
# What is compiled and imported at the first fit counts for no fit.
VotedKernelClassifier(kernels, **options).fit(X[:300], y[:300])
before = peak = resident()
done = threading.Event()


def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, resident())


watcher = threading.Thread(target=watch, daemon=True)
watcher.start()
model = VotedKernelClassifier(
    kernels, memory_limit=job["limit"], time_limit=job["seconds"], solver=job["solver"], **options
)
started = time.perf_counter()
refused = None
try:
    model.fit(X, y)
except FitLimitError as error:  # out of time, which says nothing about memory
    if "memory_limit" in str(error):
        refused = str(error)
except ValueError as error:
    refused = str(error)
seconds = time.perf_counter() - started
done.set()
watcher.join()
print(json.dumps({"extra": peak - before, "seconds": seconds, "refused": refused,
                  "reason": getattr(model, "stop_reason_", None)}))
"""


def main():
    trial = Trial(
        8,
        "memory_limit from 64 MB to 4 GB, each in its own process",
        "extra memory (peak resident set minus that after imports and compilation) at most "
        f"10 % above the limit, or refused in under {REFUSAL_SECONDS:g} s",
    )
    n = trial.count(N_LIMITS)
    jobs = [draw(np.random.default_rng((8, trial.options.seed, i)), i, n) for i in range(n)]
    worst, refused = 0.0, 0
    with ThreadPoolExecutor(2) as pool:
        for number, (job, result) in enumerate(zip(jobs, pool.map(run, jobs), strict=True)):
            trial.tell(f"{number + 1} of {n} limits")
            if isinstance(result, str):
                trial.fail(f"{job}: {result}")
            elif result["refused"] is not None:
                refused += 1
                if result["seconds"] > REFUSAL_SECONDS or "memory_limit" not in result["refused"]:
                    trial.fail(f"{job}: refused after {result['seconds']:.1f} s")
            else:
                share = result["extra"] / job["limit"]
                worst = max(worst, share)
                if share > EXCESS:
                    trial.fail(f"{job}: took {result['extra'] / 1e6:.0f} MB, {share:.2f} times")
    trial.end(f"{n - refused} fits took at most {worst:.2f} times their limit; refused: {refused}")


def draw(random, number, n):
    # The limits are spaced evenly; everything else is random.
    limit = SMALLEST * (LARGEST / SMALLEST) ** (number / max(1, n - 1))
    solver = "lp" if number % 6 == 5 else "column-generation"
    return {
        "limit": int(limit),
        "n": int(random.choice([1500, 3000, 6000])),
        "kernels": str(random.choice(["polynomial", "gaussian", "both", "similarity"])),
        "complexity": str(random.choice(["auto", "massart", "empirical"])),
        "n_jobs": int(random.integers(1, 3)),
        "solver": solver,
        "seconds": 5.0,
    }


def run(job):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(job)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr[-300:]}"
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
