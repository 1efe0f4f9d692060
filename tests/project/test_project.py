"""What the files around the package say must be true of the package."""

import doctest
import pkgutil
import re
import tomllib
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files

import pytest
from support.paths import ROOT

import votedkernels


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def makefile_targets():
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))


def test_version_is_the_installed_one():
    assert votedkernels.__version__ == version("votedkernels")


def test_version_is_the_latest_of_the_changelog():
    latest = re.search(r"^## \[([^\]]+)\]", read("CHANGELOG.md"), flags=re.MULTILINE)
    assert latest.group(1) == votedkernels.__version__


def test_version_is_the_one_to_cite():
    assert f"\nversion: {votedkernels.__version__}\n" in read("CITATION.cff")


def test_package_says_that_it_is_typed():
    assert files("votedkernels").joinpath("py.typed").is_file()


def test_everything_public_exists():
    for name in votedkernels.__all__:
        assert hasattr(votedkernels, name), name


def test_everything_public_is_in_the_reference():
    listed = set(re.findall(r"^   (\w+)$", read("docs/api.rst"), flags=re.MULTILINE))
    assert set(votedkernels.__all__) - {"__version__"} <= listed


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_make_targets_that_are_named_exist(name):
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)", _code_of(name)))
    assert named
    assert named <= makefile_targets()


def _code_of(name):
    """The text of a script, or what a Markdown file sets as code: prose may "make sure"."""
    text = read(name)
    return (
        "\n".join(re.findall(r"```.*?```|`[^`]+`", text, re.DOTALL)) if name[-3:] == ".md" else text
    )


def test_make_targets_are_phony():
    phony = re.search(r"^\.PHONY: (.*)$", read("Makefile"), flags=re.MULTILINE).group(1).split()
    assert set(phony) == makefile_targets()


def test_extras_that_make_installs_exist():
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    installed = set(re.findall(r"\.installed-([a-z]+)", read("Makefile")))
    assert installed <= set(extras)


def module_names():
    return [module.name for module in pkgutil.walk_packages(votedkernels.__path__, "votedkernels.")]


@pytest.mark.parametrize("name", module_names())
def test_docstring_examples_are_true(name):
    assert doctest.testmod(import_module(name)).failed == 0


def test_readme_pictures_and_links_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", read("README.md")):
        if not target.startswith(("http://", "https://")):
            assert (ROOT / target).is_file(), target
