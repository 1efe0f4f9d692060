"""Try an installed wheel in an environment without a checkout, as ``make check-release`` does.

Run with ``python -I``, so that only the installed package is found. The script fits, saves and
loads a model, in Python and by the command, and stops with an error if anything is missing.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import metadata, version
from pathlib import Path

import votedkernels
from votedkernels import VotedKernelClassifierCV, load_model, save_model
from votedkernels.datasets import load_breastcancer


def main():
    """Try the library and the command."""
    package = Path(votedkernels.__file__).parent
    assert "site-packages" in package.parts, package
    assert version("votedkernels") == votedkernels.__version__
    assert metadata("votedkernels")["License-Expression"] == "BSD-3-Clause"
    X, y = load_breastcancer(return_X_y=True)
    model = VotedKernelClassifierCV().fit(X[:200] / 10, y[:200])
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder, "model.safetensors")
        save_model(model, saved)
        assert (load_model(saved).predict(X / 10) == model.predict(X / 10)).all()
        command = Path(sys.executable).with_name("votedkernels")
        shown = subprocess.run([command, "inspect", saved], capture_output=True, check=True)
        assert b"VotedKernelClassifierCV" in shown.stdout
    print(f"votedkernels {votedkernels.__version__} works from {package}")


if __name__ == "__main__":
    main()
