"""The changes that `make mutants` makes are changes, and small ones."""

import ast

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
