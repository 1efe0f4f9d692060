"""The trials of `make torture` that are about numbers, a few cases of each."""

import json
import os
import subprocess
import sys

import pytest
from support.paths import ROOT

#: Trials and the share of their cases that takes a few seconds.
SHARES = {
    "random_problems": 0.002,
    "random_regressions": 0.004,
    "random_tables": 0.02,
    "probabilities": 0.03,
    "bounds": 0.003,
    "exact_arithmetic": 0.01,
    "failing_highs": 0.05,
    "extreme_numbers": 0.01,
    "interruptions": 0.02,
    "memory_limits": 0.01,
    "leaks": 0.005,
    "determinism": 0.1,
    "hostile_kernels": 0.07,
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and sends signals")
@pytest.mark.parametrize("name", SHARES)
def test_a_share_of_a_trial(name):
    script = ROOT / "torture" / "trials" / f"{name}.py"
    path = [str(ROOT / "torture"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(script), "--share", str(SHARES[name])],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["failures"] == []
    assert result["shown"]
