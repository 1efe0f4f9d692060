"""pytest hooks: a random order on demand, and a last line that says what was not tested.

With ``--shuffle SEED``, files and the tests within each file run in random order. Files stay
together, because what a file sets up once (a cluster, a browser) takes seconds.
"""

from collections import Counter
from random import Random

import pytest

# Words in a reason to skip: what is missing, and how to have it tested.
MISSING = {
    "esolver": ("QSopt_ex", "apt install qsopt-ex"),
    "glpsol": ("GLPK", "apt install glpk-utils"),
    "lp_solve": ("lp_solve", "apt install lp-solve"),
    "Chromium": ("Chromium", "apt install chromium"),
    "aeon": ("aeon", "pip install aeon"),
    "grakel": ("GraKeL", "pip install grakel"),
    "parasail": ("parasail", "pip install parasail"),
    "shared/data/uci": ("the paper's data", "put the files into ../shared/data/uci"),
}


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in random order")


def pytest_report_header(config):
    seed = config.getoption("--shuffle")
    return None if seed is None else f"random order: --shuffle {seed}"


def pytest_collection_modifyitems(config, items):
    seed = config.getoption("--shuffle")
    if seed is not None:
        random = Random(seed)
        place = {path: random.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (place[item.path], random.random()))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    result = yield  # pytest's own summary is printed here
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not session.config.option.collectonly:
        skipped = terminal.stats.get("skipped", [])
        terminal.write_line(not_tested([str(report.longrepr[2]) for report in skipped]))
    return result


def not_tested(reasons):
    """Return the line for these reasons, one for each skipped test."""
    if not reasons:
        return "not tested: nothing, no test was skipped"
    counts: Counter[tuple[str, str | None]] = Counter()
    ways: dict[str, list[str]] = {}
    for reason in reasons:
        known = (known for words, known in MISSING.items() if words in reason)
        counts[next(known, (reason.removeprefix("Skipped: "), None))] += 1
    listed = sorted(counts, key=lambda missing: (-counts[missing], missing[0]))
    for _, way in listed:
        if way is not None:
            command, _, package = way.rpartition(" ")
            ways.setdefault(command, []).append(package)
    line = "not tested: " + ", ".join(f"{what} ({counts[what, way]})" for what, way in listed)
    commands = [f"{command} {' '.join(packages)}" for command, packages in ways.items()]
    return f"{line}; to have it tested: {'; '.join(commands)}" if commands else line
