"""Run the numerical tests under the arithmetic of other CPUs: python tests/support/arithmetics.py.

OpenBLAS has one set of routines per kind of CPU, which add in different orders, and
OPENBLAS_CORETYPE chooses among them. VOTEDKERNELS_CPU=generic chooses loops for a CPU without fused
multiply-add, and NumPy can be told to do without its vector instructions. Each arithmetic is run
with as many BLAS threads as `ARITHMETICS` says or, with --all, with one and with two. Arguments
that this file does not know go to pytest. One line per arithmetic shows the result.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

CORES = ("SkylakeX", "Haswell", "Zen", "Nehalem", "Prescott")
#: Their names in OpenBLAS, if it uses the routines of a similar CPU.
ALSO_CALLED = {"Zen": "Haswell", "Prescott": "Katmai"}
#: Compiled code, threads of BLAS.
ARITHMETICS = (("native", 2), ("generic", 1))
#: Folders and files without numbers that depend on sums, or only with time limits and
#: processes.
LEFT_OUT = re.compile(
    r"(_system|cli|datasets|display|experiments|onnx|persistence|project|support)/|"
    r"estimators/test_(callbacks|html|limits|limited|memory|sklearn|speed)"
)
TESTS = Path(__file__).resolve().parents[1]

PROBE = """
import json, numpy, scipy.linalg, threadpoolctl
numpy.ones((200, 200)) @ numpy.ones((200, 200))
try:
    from numpy._core import _multiarray_umath as umath
except ImportError:  # before NumPy 2
    from numpy.core import _multiarray_umath as umath
print(json.dumps({
    "cores": [info.get("architecture") for info in threadpoolctl.threadpool_info()],
    "dispatched": [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]],
}))
"""


def environment(core, compiled, threads):
    """Return the variables that choose this arithmetic."""
    chosen = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": str(threads)}
    if compiled == "generic":
        chosen["NUMBA_CPU_NAME"] = chosen["VOTEDKERNELS_CPU"] = "generic"
        chosen["NPY_DISABLE_CPU_FEATURES"] = " ".join(probe({})["dispatched"])
    return chosen


def probe(chosen):
    """Return what NumPy and OpenBLAS do with these variables; None if they cannot run."""
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(
        command, env=os.environ | chosen, capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else None


def run(files, chosen, pytest_args):
    """Run the files; return pytest's last line of counts and the failures."""
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", *pytest_args, *files]
    done = subprocess.run(
        command, env=os.environ | chosen, cwd=TESTS.parent, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = (done.stdout + done.stderr).splitlines()
    counts = [line for line in lines if re.match(r"=*\s*\d+ (passed|failed|error)", line)]
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode != 0 and not failures:
        failures = lines[-20:]
    return (counts or [f"pytest ended with {done.returncode}"])[-1].strip("= "), failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="one and two threads for each")
    parser.add_argument("--core", choices=CORES, action="append", help="only this one")
    options, pytest_args = parser.parse_known_args()
    places = [path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")]
    files = sorted(str(TESTS / place) for place in places if not LEFT_OUT.match(place))
    arithmetics = product(("native", "generic"), (1, 2)) if options.all else ARITHMETICS
    failed = False
    for core, (compiled, threads) in product(options.core or CORES, list(arithmetics)):
        chosen = environment(core, compiled, threads)
        name = f"{core:9} {compiled:8} {threads} BLAS thread{'s' if threads > 1 else ''}"
        seen = probe(chosen)
        if seen is None or not {core, ALSO_CALLED.get(core)} & set(seen["cores"]):
            print(f"{name}: not run, this CPU or this NumPy cannot do it", flush=True)
            continue
        started = time.monotonic()
        counts, failures = run(files, chosen, pytest_args)
        print(f"{name}: {counts.split(' in ')[0]} ({time.monotonic() - started:.0f} s)", flush=True)
        print(*(f"    {line}" for line in failures), sep="\n", end="\n" if failures else "")
        failed = failed or bool(failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
