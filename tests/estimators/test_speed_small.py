import json
import subprocess
import sys

import pytest

SMALL_FIT = """
import json, sys, time
from votedkernels import {names}
from votedkernels.datasets import make_waveform

X, y = make_waveform(200, random_state=0)
# What the clock has beyond our own work is other work on the machine.
def seconds(since):
    return min(time.perf_counter() - since[0], time.process_time() - since[1])

started = time.perf_counter(), time.process_time()
model = VotedKernelClassifier({arguments}).fit(X, y)
fit = seconds(started)
started = time.perf_counter(), time.process_time()
model.predict(X)
print(json.dumps({{
    "fit": fit,
    "predict": seconds(started),
    "numba": "numba" in sys.modules,
    "stop_reason": model.stop_reason_,
}}))
"""


@pytest.mark.parametrize("arguments", ["", "Gaussian()", "solver='lp', kernels=Gaussian((1.0,))"])
def test_small_fit_in_a_fresh_process_waits_for_no_compiler(arguments):
    code = SMALL_FIT.format(names="Gaussian, VotedKernelClassifier", arguments=arguments)
    runs = []
    # The best of a few: other work on the machine is not what is measured.
    while len(runs) < 3 and not any(run["fit"] < 0.3 and run["predict"] < 0.1 for run in runs):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        )
        runs.append(json.loads(done.stdout))
    assert not any(run["numba"] for run in runs)
    assert {run["stop_reason"] for run in runs} == {"optimal"}
    assert min(run["fit"] for run in runs) < 0.3, runs
    assert min(run["predict"] for run in runs) < 0.1, runs


def test_import_loads_neither_a_compiler_nor_a_plotting_library():
    code = "import sys, votedkernels; print(*{'numba', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []
