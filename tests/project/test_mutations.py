"""The changes that `make mutants` makes are changes, and small ones."""

import ast
import json

import _chosen_tests
import mutants
import pytest
from _mutations import find_sites, mutate

SOURCE = '''
"""A docstring with 1 < 2."""
LIMIT: int = 3
Pair = tuple[int, int]
def f(x: list[int], y: float = 0.0) -> bool:
    if not x or len(x) >= LIMIT:
        raise ValueError(f"{len(x) + 1}")
    return max(x) - y < 2 * x[-1]
'''


def changed_lines(site):
    before = ast.unparse(ast.parse(SOURCE)).splitlines()
    after = mutate(SOURCE, site).splitlines()
    return [(a, b) for a, b in zip(before, after, strict=True) if a != b]


def test_every_site_changes_one_line_and_still_compiles():
    sites = find_sites(SOURCE)
    for site in sites:
        assert len(changed_lines(site)) == 1, site
        compile(mutate(SOURCE, site), "mutant", "exec")
    assert len({mutate(SOURCE, site) for site in sites}) == len(sites)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("3 -> 4", "LIMIT: int = 4"),
        ("and <-> or", "    if not x and len(x) >= LIMIT:"),
        ("drop Not", "    if x or len(x) >= LIMIT:"),
        ("GtE -> Gt", "    if not x or len(x) > LIMIT:"),
        ("max -> min", "    return min(x) - y < 2 * x[-1]"),
        ("Sub -> Add", "    return max(x) + y < 2 * x[-1]"),
        ("Lt -> LtE", "    return max(x) - y <= 2 * x[-1]"),
        ("drop USub", "    return max(x) - y < 2 * x[1]"),
    ],
)
def test_changes(change, line):
    (site,) = [site for site in find_sites(SOURCE) if site.change == change]
    assert changed_lines(site)[0][1] == line


def test_messages_annotations_and_docstrings_stay():
    touched = {changed_lines(site)[0][0] for site in find_sites(SOURCE)}
    assert not any("raise" in line or "docstring" in line or "Pair" in line for line in touched)


MODULE = """LIMIT = 3
def f(x, y=0):
    if x < LIMIT:
        return (
            x + y
        )
    return y
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(_chosen_tests, "PACKAGE", tmp_path)
    (tmp_path / "module.py").write_text(MODULE)
    seconds = {"a.py::slow": 9.0, "a.py::quick": 0.1, "a.py::other": 1.0, "b.py::late": 5.0}
    slow, quick, fixture = "a.py::slow", "a.py::quick", "a.py"
    lines = {1: [""], 2: [""], 3: [slow, quick, ""], 4: [slow], 7: [fixture]}
    found = [seconds, {"module.py": lines}]
    (tmp_path / "found.json").write_text(json.dumps(found))
    return _chosen_tests.Table([tmp_path / "found.json"])


@pytest.mark.parametrize(
    ("line", "tests"),
    [
        (3, ["a.py::quick", "a.py::slow"]),
        (5, ["a.py::slow"]),  # a part of the statement of line 4
        (1, ["a.py::quick", "a.py::slow"]),  # the lines that mention the constant
        (2, ["a.py::quick", "a.py::other", "b.py::late", "a.py::slow"]),  # the function's
        (7, ["a.py::quick", "a.py::other", "b.py::late", "a.py::slow"]),  # a fixture of the file
    ],
)
def test_tests_that_look_at_a_line(table, line, tests):
    assert list(table.choose("module.py", line, budget=100)) == tests


def test_tests_within_a_budget(table):
    assert list(table.choose("module.py", 3, budget=9.05)) == ["a.py::quick"]
    table.seconds["a.py::quick[2]"] = 0.05
    table.lines["module.py"][3].add("a.py::quick[2]")
    expected = ["a.py::quick[2]", "a.py::slow", "a.py::quick"]  # one case of each test comes first
    assert list(table.choose("module.py", 3, budget=10)) == expected
    assert list(table.choose("module.py", 4, budget=1)) == ["a.py::slow"]  # one at least


def test_sites_have_keys_that_outlast_changes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "PACKAGE", tmp_path)
    path = tmp_path / "module.py"
    path.write_text("a = 1 + 1\nb = 2\n")
    before = mutants.sites_of(path)
    assert set(before) == {
        ("module.py", "a = 1 + 1", "Add -> Sub", 0), ("module.py", "a = 1 + 1", "1 -> 2", 0),
        ("module.py", "a = 1 + 1", "1 -> 2", 1), ("module.py", "b = 2", "2 -> 3", 0),
    }  # fmt: skip
    path.write_text("c = x\na = 1 + 1\nb = 2\n")
    assert set(mutants.sites_of(path)) == set(before)


def test_the_sample_is_of_every_module_and_the_same_each_time():
    chosen = mutants.sample(500)
    assert len(set(chosen)) == 500
    assert chosen == mutants.sample(500)
    assert chosen[:20] == mutants.sample(20)
    rooms = {module.partition("/")[0] for module in mutants.MODULES}
    assert {key[0].partition("/")[0] for key in chosen} == rooms


def test_the_page_counts_and_lists_survivors_with_their_reason():
    one, two, *_ = mutants.sites_of(mutants.PACKAGE / "problem" / "problem.py")
    results = [
        {**dict(zip(mutants.KEY, key, strict=True)), "killed": killed}
        for key, killed in [(one, True), (two, False)]
    ]
    page = mutants.page_of(results, {two[:3]: "because"})
    assert "1 of 2 mutants were killed (50.0%)" in page
    survivors = page.partition("## Survivors")[2]
    assert two[2] in survivors
    assert survivors.count("because") == 1
    assert "not explained" in mutants.page_of(results, {})


def test_reasons_are_of_code_that_is_there():
    known = {key[:3] for path in mutants.files() for key in mutants.sites_of(path)}
    assert set(mutants.read_reasons()) <= known
