"""The trials of files, a few cases of each, so that they can still be run."""

import json
import os
import subprocess
import sys

import pytest
from support.paths import ROOT

FOLDER = ROOT / "torture"
SHARES = {
    "damaged_files": 0.001,
    "full_disks": 0.001,
    "hostile_archives": 0.001,
    "hostile_names": 0.06,
}


@pytest.mark.skipif(sys.platform != "linux", reason="the trials are for Linux")
@pytest.mark.parametrize("name", SHARES)
def test_a_trial_holds(name, tmp_path):
    path = [str(FOLDER), str(FOLDER.parent / "tests"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(FOLDER / "trials" / f"{name}.py"), "--share", str(SHARES[name])],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["failures"] == []
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith("mutant")]


def test_the_trial_of_kills_can_be_started():
    """A campaign takes too long here; test_experiments_records.py has one kill."""
    path = [str(FOLDER), str(FOLDER.parent / "tests"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(FOLDER / "trials" / "killed_campaigns.py"), "--help"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )
    assert done.returncode == 0, done.stderr
    assert "kill -9" in done.stdout
