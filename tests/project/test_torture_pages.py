"""The pages about `make torture` and `make mutants` show their records."""

import json
import re
from collections import Counter

import mutants
import run
from support.paths import ROOT

MACHINE = re.compile(r"with Python [\d.]+ on \d+ cores")


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_page_on_reliability_is_that_of_the_records():
    """But for the machine, which is that of the last run."""
    results = json.loads(run.RESULTS.read_text(encoding="utf-8")).values()
    expected = run.page_of(sorted(results, key=lambda result: (result["number"], result["name"])))
    shown = page("reliability.md")
    assert MACHINE.search(shown)
    assert MACHINE.sub("", shown) == MACHINE.sub("", expected)


def test_the_page_on_mutants_adds_up():
    text = page("mutants.md")
    n_killed, n_mutants, share = re.search(r"\*\*(\d+) of (\d+) mutants .*\((.*)%\)", text).groups()
    rows = re.findall(r"^\| ([\w/]+\.py) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    survivors = Counter(re.findall(r"^\| ([\w/]+\.py):\d+ \|", text, re.MULTILINE))
    assert sum(int(total) for _, total, _ in rows) == int(n_mutants)
    assert sum(int(killed) for _, _, killed in rows) == int(n_killed)
    assert f"{100 * int(n_killed) / int(n_mutants):.1f}" == share
    assert {name: int(total) - int(killed) for name, total, killed in rows if total != killed} == (
        survivors
    )


def test_the_mutants_of_the_page_are_recorded():
    """Those of code that has changed since are recorded no less."""
    recorded = mutants.read_results()
    survived = {key[:3] for key, result in recorded.items() if not result["killed"]}
    killed = Counter(key[0] for key, result in recorded.items() if result["killed"])
    text = page("mutants.md")
    pattern = r"^\| ([\w/]+\.py):\d+ \| `(.*)` \| (.*?) \|"
    for name, code, change in re.findall(pattern, text, re.MULTILINE):
        assert (name, code.replace("\\|", "|"), change) in survived
    for name, n_killed in re.findall(r"^\| ([\w/]+\.py) \| \d+ \| (\d+) \|$", text, re.MULTILINE):
        assert killed[name] >= int(n_killed)
