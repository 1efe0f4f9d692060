"""Which tests look at a line: learnt by running them once, each of them watched by coverage.

Work is done in forks of a process that has imported what the tests need, apart from the package.
"""

import ast
import contextlib
import gc
import importlib
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "votedkernels"
HEAVY = (
    "coverage", "cvxpy", "highspy", "hypothesis.strategies", "numba", "pandas", "scipy.optimize",
    "scipy.stats", "sklearn.datasets", "sklearn.model_selection", "sklearn.pipeline",
    "sklearn.svm", "sklearn.utils.estimator_checks",
)  # fmt: skip
#: Coverage does not see compiled lines, and compiling takes long: they are tried as plain Python,
#: on the tests of this file that come to these lines.
COMPILED = {
    "solvers/_pivots.py": ("test_dense_simplex.py", "solvers/dense_simplex.py", "run_pivots")
}
#: Seconds for a test: these, and so many times what it took when it was watched.
PATIENCE, FACTOR = 40, 10
MEMORY = 8 * 2**30


def import_heavy():
    os.environ.update(SCIPY_ARRAY_API="1", OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    for name in HEAVY:
        importlib.import_module(name)
    gc.freeze()


def fork_all(tasks, jobs):
    """Do (key, work) pairs, each work in a fork; give (key, exit status, seconds) as they end."""
    tasks, running = iter(tasks), {}
    while True:
        while len(running) < jobs and (task := next(tasks, None)):
            key, work = task
            running[_fork(work)] = key, time.monotonic()
        if not running:
            return
        pid, status = os.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests may have left behind
        key, started = running.pop(pid)
        yield key, os.waitstatus_to_exitcode(status), time.monotonic() - started


def _fork(work):
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        import resource  # not on every system

        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        code = int(work())
    finally:
        os._exit(code)


def run_tests(folder, files, plugin, *, compiled=True):
    """Run files of tests on the package in a folder, in this process."""
    import numba

    numba.config.DISABLE_JIT = not compiled
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    os.chdir(ROOT)
    signal.alarm(3 * PATIENCE)  # a package that cannot even be imported in this time hangs
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--tb=no", *files], plugins=[plugin])


class Chosen:
    """Run the chosen tests, in this order; note the first that fails; do not shrink examples."""

    def __init__(self, seconds, note):
        self.seconds, self.note = seconds, note
        self.rank = {name: number for number, name in enumerate(seconds)}

    def pytest_sessionstart(self):
        from hypothesis import Phase, settings

        parent = settings.get_profile("votedkernels")
        settings.register_profile("mutants", parent, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        mine = [item for item in items if item.nodeid in self.rank]
        items[:] = sorted(mine, key=lambda item: self.rank[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        self.note.write_text(item.nodeid, encoding="utf-8")
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE + round(FACTOR * self.seconds[item.nodeid]))


class Watched:
    """Note which test executes which lines, and how long it takes."""

    def __init__(self, output):
        import coverage

        self.output, self.seconds = output, {}
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, source_pkgs=["votedkernels"]
        )
        self.coverage.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        signal.alarm(0)
        self.coverage.switch_context(item.location[0])  # fixtures may serve the whole file

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item):
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self, exitstatus):
        self.coverage.stop()
        if exitstatus != 0:
            return
        data, numbers, lines = self.coverage.get_data(), {}, {}
        for path in data.measured_files():
            name = path.partition("/votedkernels/")[2]
            lines[name] = {
                line: [numbers.setdefault(context, len(numbers)) for context in contexts if context]
                for line, contexts in data.contexts_by_lineno(path).items()
            }
        found = {"seconds": self.seconds, "contexts": list(numbers), "lines": lines}
        self.output.write_text(json.dumps(found), encoding="utf-8")


class Table:
    """What watching has told: seconds of tests, and the tests that execute a line of a file."""

    def __init__(self, paths):
        self.seconds, self.lines = {}, {}
        for path in paths:
            found = json.loads(path.read_text(encoding="utf-8"))
            self.seconds.update(found["seconds"])
            for name, lines in found["lines"].items():
                for line, numbers in lines.items():
                    tests = self.lines.setdefault(name, {}).setdefault(int(line), set())
                    for context in (found["contexts"][number] for number in numbers):
                        whole = "::" not in context
                        tests.update(found["seconds"] if whole else [context])

    def choose(self, name, line, budget):
        """Return the tests for a line, with their seconds: quick ones first, within a budget."""
        chosen, total = {}, 0.0
        for test in sorted(self.looking_at(name, line), key=self.seconds.get):
            total += self.seconds[test]
            if chosen and total > budget:
                break
            chosen[test] = self.seconds[test]
        return chosen

    def looking_at(self, name, line):
        """Return the tests that execute a line or, where it runs on import, what it defines."""
        if name in COMPILED:
            file, caller, word = COMPILED[name]
            return {test for test in self.mentioning(caller, word) if f"{file}::" in test}
        source = (PACKAGE / name).read_text(encoding="utf-8")
        around = [
            node for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno
        ]  # fmt: skip
        around.sort(key=lambda node: node.end_lineno - node.lineno)
        for first, last in [(line, line), *((node.lineno, node.end_lineno) for node in around)]:
            if tests := self.within(name, first, last):
                return tests
        constant = re.match(r"[A-Z_, ]+", source.splitlines()[line - 1])
        words = re.findall(r"[A-Z_]+", constant[0]) if constant else []
        tests = [self.mentioning(file, word) for word in words for file in self.lines]
        return set().union(*tests) or self.within(name, 1, 10**6)

    def mentioning(self, name, word):
        lines = (PACKAGE / name).read_text(encoding="utf-8").splitlines()
        numbers = [at for at, text in enumerate(lines, 1) if re.search(rf"\b{word}\b", text)]
        return set().union(*(self.lines[name].get(at, ()) for at in numbers))

    def within(self, name, first, last):
        lines = self.lines.get(name, {})
        return set().union(*(tests for at, tests in lines.items() if first <= at <= last))
