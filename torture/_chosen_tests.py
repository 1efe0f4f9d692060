"""Find the tests that execute a line, by running all tests once under coverage.

The work is done in forks of a process that has imported everything except the package.
"""

import ast
import contextlib
import importlib
import json
import os
import re
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "votedkernels"
HEAVY = (
    "coverage", "cvxpy", "highspy", "hypothesis.strategies", "numba", "pandas", "scipy.stats",
    "sklearn.datasets", "sklearn.model_selection", "sklearn.svm", "sklearn.utils.estimator_checks",
)  # fmt: skip
#: Coverage does not see compiled lines, and compiling takes long: a file that is listed here is
#: tested as plain Python, by all tests of the other file.
COMPILED: dict[str, str] = {}
#: The time limit of a test: these seconds, plus this factor times its seconds under coverage.
PATIENCE, FACTOR = 40, 10
MEMORY = 8 * 2**30


def import_heavy():
    os.environ.update(SCIPY_ARRAY_API="1", OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    for name in HEAVY:
        importlib.import_module(name)


def fork_all(tasks, jobs):
    """Run the work of (key, work) pairs, each in a fork; yield (key, exit code) as they end."""
    tasks, running = iter(tasks), {}
    while True:
        while len(running) < jobs and (task := next(tasks, None)):
            running[_fork(task[1])] = task[0]
        if not running:
            return
        pid, status = os.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # end processes that the tests may have left behind
        yield running.pop(pid), os.waitstatus_to_exitcode(status)


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
    """Run test files in this process, on the package in a folder."""
    importlib.import_module("numba").config.DISABLE_JIT = not compiled
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    os.chdir(ROOT)
    signal.alarm(3 * PATIENCE)  # a package that is not imported in this time hangs
    options = ["-q", "-p", "no:cacheprovider", "--tb=no", f"--maxfail={plugin.maxfail}"]
    return pytest.main([*options, *files], plugins=[plugin])


class Chosen:
    """Run the chosen tests in order and note which one runs; do not shrink examples."""

    maxfail = 1

    def __init__(self, seconds, note):
        self.seconds, self.order, self.note = seconds, list(seconds), note

    def pytest_sessionstart(self):
        from hypothesis import Phase, settings

        parent = settings.get_profile("votedkernels")
        settings.register_profile("mutants", parent, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        mine = [item for item in items if item.nodeid in self.seconds]
        items[:] = sorted(mine, key=lambda item: self.order.index(item.nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        self.note.write_text(item.nodeid, encoding="utf-8")
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE + round(FACTOR * self.seconds[item.nodeid]))


class Watched:
    """Record which test executes which lines and how long it takes; leave out failing tests."""

    maxfail = 0

    def __init__(self, output):
        from coverage import Coverage

        self.output, self.seconds, self.failed = output, {}, set()
        self.coverage = Coverage(None, config_file=False, source_pkgs=["votedkernels"])
        self.coverage.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        signal.alarm(0)
        self.coverage.switch_context(item.location[0])  # the whole file may share a fixture

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item):
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        self.failed |= {report.nodeid} if report.failed else set()

    def pytest_sessionfinish(self):
        self.coverage.stop()
        data = self.coverage.get_data()
        files = {path.partition("/votedkernels/")[2]: path for path in data.measured_files()}
        lines = {name: data.contexts_by_lineno(path) for name, path in files.items()}
        passed = {test: self.seconds[test] for test in self.seconds.keys() - self.failed}
        self.output.write_text(json.dumps([passed, lines]), encoding="utf-8")


class Table:
    """The results of `Watched`: seconds of tests, and the tests that execute each line."""

    def __init__(self, paths):
        self.seconds, self.lines = {}, {}
        for path in paths:
            seconds, files = json.loads(path.read_text(encoding="utf-8"))
            self.seconds.update(seconds)
            # Whether a time limit is kept depends on the load of the machine.
            asked = {test for test in seconds if "time_limit" not in test}
            for name, lines in files.items():
                for line, contexts in lines.items():
                    tests = self.lines.setdefault(name, {}).setdefault(int(line), set())
                    for context in filter(None, contexts):
                        tests.update({context} & asked if "::" in context else asked)

    def choose(self, name, line, budget):
        """Return quick tests for a line, with their seconds; first one case of each test."""
        chosen, cases, ranked = {}, Counter(), []
        for test in sorted(self.looking_at(name, line), key=self.seconds.get):
            function = test.partition("[")[0]
            ranked.append((cases[function], self.seconds[test], test))
            cases[function] += 1
        for _, seconds, test in sorted(ranked):
            if not chosen or sum(chosen.values()) + seconds <= budget:
                chosen[test] = seconds
        return chosen

    def looking_at(self, name, line):
        """Return the tests that execute a line or, if it runs on import, what it defines."""
        if name in COMPILED:
            return {test for test in self.seconds if test.startswith(COMPILED[name])}
        source = (PACKAGE / name).read_text(encoding="utf-8")
        statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
        spans = [(node.lineno, node.end_lineno) for node in statements]
        around = [(first, last) for first, last in spans if first <= line <= last]
        if tests := self.within(name, line, line):
            return tests
        # Tests that execute no line at all check what the import has defined.
        still = self.seconds.keys() - set().union(
            *(self.within(name, 1, 10**6) for name in self.lines)
        )
        for first, last in sorted(around, key=lambda span: span[1] - span[0]):
            if tests := self.within(name, first, last):
                return tests | still
        words = re.findall(r"\b[A-Z_]{3,}\b", source.splitlines()[line - 1])
        tests = [self.mentioning(file, word) for word in words for file in self.lines]
        return (set().union(*tests) or self.within(name, 1, 10**6)) | still

    def mentioning(self, name, word):
        lines = (PACKAGE / name).read_text(encoding="utf-8").splitlines()
        numbers = [at for at, text in enumerate(lines, 1) if re.search(rf"\b{word}\b", text)]
        return set().union(*(self.lines[name].get(at, ()) for at in numbers))

    def within(self, name, first, last):
        lines = self.lines.get(name, {})
        return set().union(*(tests for at, tests in lines.items() if first <= at <= last))
