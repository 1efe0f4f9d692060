"""The lower bounds of pyproject.toml: stated for all, the same everywhere, and tested as pinned."""

import ast
import re
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.paths import ROOT

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONFIGURATION["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What is run on this repository, not what the package runs with: always the newest is good.
TOOLS = {"lint", "docs", "bench", "coverage", "recipes", "release"}
ENTRIES = [
    pytest.param(entry, id=f"{extra}-{entry}")
    for extra, entries in {"core": PROJECT["dependencies"], **EXTRAS}.items()
    for entry in entries
]


def bounds(entries):
    """Return name -> lower bound, and insist on one bound for a name."""
    found = {}
    for requirement in map(Requirement, entries):
        (specifier,) = requirement.specifier
        name, bound = canonicalize_name(requirement.name), Version(specifier.version)
        assert found.setdefault(name, bound) == bound, f"{name} has two bounds"
    return found


def pinned():
    lines = (ROOT / "tests" / "oldest-constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    assert len({name for name, _ in pairs}) == len(pairs)
    return {canonicalize_name(name): Version(version) for name, version in pairs}


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_dependency_has_a_lower_bound_and_no_upper_one(entry):
    requirement = Requirement(entry)
    assert [specifier.operator for specifier in requirement.specifier] == [">="]
    assert requirement.marker is None


def test_a_package_has_the_same_bound_wherever_it_is_named():
    every = [*PROJECT["dependencies"], *(entry for extra in EXTRAS.values() for entry in extra)]
    assert "dask" in bounds(every)


def test_what_users_may_install_comes_with_the_tests():
    promised = {name for extra in EXTRAS.keys() - TOOLS for name in bounds(EXTRAS[extra])}
    assert promised <= set(bounds(EXTRAS["test"]))


def test_the_oldest_dependencies_are_the_lower_bounds():
    assert pinned() == bounds([*PROJECT["dependencies"], *EXTRAS["test"]])


def test_the_oldest_dependencies_are_what_make_and_ci_install():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^OLDEST := tests/oldest-constraints\.txt$", makefile, re.MULTILINE)
    assert re.search(r"--constraint \$\(OLDEST\) --editable '\.\[test\]'", makefile)
    assert "make test-oldest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_types_are_checked_alike_whether_or_not_optional_packages_are_installed():
    """``make lint`` installs no extra but its own, so mypy must not look into optional packages."""
    overrides = CONFIGURATION["tool"]["mypy"]["overrides"]
    skipped = {
        module.removesuffix(".*")
        for override in overrides
        if override.get("ignore_missing_imports")
        for module in override["module"]
    }
    typed = {"numpy"}
    unknown = _imported_by_the_package() - skipped - set(sys.stdlib_module_names) - typed
    assert unknown == {"votedkernels"}


def _imported_by_the_package():
    names = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module.split(".")[0])
    return names
