"""Change the code in 500 places, one at a time, and see whether the tests notice.

The tests of the modules that are changed run on each mutant, quick ones first; one that they fail
on, or that takes several times as long, is killed. Survivors are listed with their line.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _mutations import find_sites, mutate

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "votedkernels"
#: What is changed, and the tests that look at it, quick ones first.
MODULES = {
    "problem.py": ["test_problem.py", "test_certificate.py", "test_hybrid_norm.py"],
    "certificate.py": ["test_certificate.py", "test_hybrid_norm.py"],
    "bounds.py": ["test_bounds.py"],
    "complexity": [
        "test_complexity.py", "test_complexity_empirical.py", "test_complexity_local.py",
    ],
    "solvers": [
        "test_dense_simplex.py", "test_ladder.py", "test_barrier.py", "test_coordinate_descent.py",
        "test_continuous_gaussian.py", "test_path.py", "test_hybrid_norm.py", "test_limits.py",
        "test_optimum.py",
    ],
}  # fmt: skip
#: Seconds for all tests of one mutant.
LIMIT = 240


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, help="file of JSON lines, one for each mutant")
    options = parser.parse_args()
    everything = [
        (path, site, tests)
        for name, tests in MODULES.items()
        for path in sorted((PACKAGE / name).rglob("*.py") if "." not in name else [PACKAGE / name])
        for site in find_sites(path.read_text(encoding="utf-8"))
    ]
    chosen = random.Random(options.seed).sample(everything, min(options.mutants, len(everything)))
    started, results = time.monotonic(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(judge, chosen):
            results.append(result)
            if options.output:
                with options.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
            tell(results, len(chosen), started)
    killed = sum(result["killed"] for result in results)
    print(f"{killed} of {len(results)} mutants killed ({killed / len(results):.1%}); survivors:")
    for result in results:
        if not result["killed"]:
            print(f"  {result['file']}:{result['line']}  {result['change']}   {result['code']}")


def tell(results, n_mutants, started):
    killed = sum(result["killed"] for result in results)
    minutes = (time.monotonic() - started) / 60
    print(
        f"\r{len(results)}/{n_mutants}, {killed} killed, {minutes:.0f} min", end="",
        file=sys.stderr, flush=True,
    )  # fmt: skip


def judge(mutant):
    """Run the tests on a copy of the package with one change."""
    path, site, tests = mutant
    source = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            PACKAGE, Path(folder) / "votedkernels", ignore=shutil.ignore_patterns("__pycache__")
        )
        target = Path(folder) / "votedkernels" / path.relative_to(PACKAGE)
        target.write_text(mutate(source, site), encoding="utf-8")
        killed, by = False, None
        for test in tests:
            if not passes(ROOT / "tests" / test, folder):
                killed, by = True, test
                break
    return {
        "file": str(path.relative_to(PACKAGE)), "line": site.line, "change": site.change,
        "code": source.splitlines()[site.line - 1].strip(), "killed": killed, "by": by,
    }  # fmt: skip


def passes(test, folder):
    """Whether a file of tests passes on the package in a folder, within the limit."""
    environment = {**os.environ, "PYTHONPATH": folder, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(test)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return process.wait(LIMIT) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False


if __name__ == "__main__":
    main()
