"""Everything public is in the reference, and says what it takes and what it returns."""

import inspect
import pkgutil
import re
from dataclasses import is_dataclass
from importlib import import_module

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import Validator, validate
from support.paths import ROOT

import votedkernels
from votedkernels.complexity import ComplexityMeasure
from votedkernels.kernels import KernelFamily

DOCS = ROOT / "docs"
#: numpydoc's names for: no docstring, no summary, parameters missing or unknown, no returns, no
#: yields.
REQUIRED = {"GL08", "SS01", "PR01", "PR02", "RT01", "YD01"}
#: Parts of scikit-learn, and ours only where it is too old to have them.
STAND_INS = {"CallbackSupportMixin", "with_callbacks"}


def listed_in(page):
    """Full names in the autosummary tables of a page."""
    module, names, inside = "", [], False
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif line.startswith(".. autosummary::"):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and re.fullmatch(r"   \w+", line):
            names.append(f"{module}.{line.strip()}")
    return names


def get(full_name):
    module, _, name = full_name.rpartition(".")
    return getattr(import_module(module), name)


def everything_public():
    """Full names in every ``__all__`` of the package, but what it only hands on from elsewhere."""
    found = ["votedkernels"]
    found += [m.name for m in pkgutil.walk_packages(votedkernels.__path__, "votedkernels.")]
    return [
        f"{module}.{name}"
        for module in found
        for name in getattr(import_module(module), "__all__", ())
        if name not in {"__version__", *STAND_INS}
        and getattr(get(f"{module}.{name}"), "__module__", "votedkernels").startswith(
            "votedkernels"
        )
    ]


REFERENCE = listed_in("api.rst")
INSIDE = listed_in("internals.rst")


def test_both_pages_were_read():
    assert "votedkernels.VotedKernelClassifier" in REFERENCE
    assert "votedkernels.kernels.KernelFamily" in INSIDE


@pytest.mark.parametrize("name", REFERENCE + INSIDE)
def test_what_is_listed_exists(name):
    get(name)


def test_dir_shows_what_users_may_use():
    modules = {"datasets", "exceptions", "onnx"}
    assert {*votedkernels.__all__, *modules} == set(dir(votedkernels))
    assert modules <= {name.split(".")[1] for name in REFERENCE if name.count(".") > 1}


def test_nothing_is_listed_twice():
    names = REFERENCE + INSIDE
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", everything_public())
def test_everything_public_is_listed(name):
    listed = [get(other) for other in REFERENCE + INSIDE]
    assert any(get(name) is other for other in listed), f"list {name} in docs/api.rst"


@pytest.mark.parametrize("name", [n for n in everything_public() if n.count(".") == 1])
def test_what_users_import_is_in_the_reference(name):
    assert any(get(name) is get(other) for other in REFERENCE), f"list {name} in docs/api.rst"


def documented_parts():
    """Functions and classes of the reference, and the methods of classes that users call.

    Methods of kernel families and complexity measures are called by solvers.
    """
    for name in REFERENCE:
        thing = get(name)
        if callable(thing):
            yield name
        if inspect.isclass(thing) and not issubclass(thing, KernelFamily | ComplexityMeasure):
            yield from (f"{name}.{method}" for method in own_methods(thing))


def own_methods(cls):
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "__func__", member)  # of class methods
        if (
            not name.startswith("_")
            and inspect.isfunction(function)
            and function.__module__.startswith("votedkernels")
        ):
            yield name


@pytest.mark.parametrize("name", list(documented_parts()))
def test_docstrings_tell_parameters_and_returns(name):
    wrong = [error for error in validate(name)["errors"] if error[0] in REQUIRED]
    if tells_its_parameters_as_attributes(name):
        wrong = [error for error in wrong if error[0] != "PR01"]
    assert not wrong


def tells_its_parameters_as_attributes(name):
    """Whether it is a record that users read and never make, such as `GeneralizationBound`."""
    if not is_dataclass(thing := Validator._load_obj(name)):
        return False
    attributes = NumpyDocString(inspect.getdoc(thing))["Attributes"]
    told = {one.strip() for attribute in attributes for one in attribute.name.split(",")}
    return set(inspect.signature(thing).parameters) <= told


@pytest.mark.parametrize("name", INSIDE)
def test_what_contributors_use_says_what_it_is(name):
    thing = get(name)
    if callable(thing):
        assert inspect.getdoc(thing)
