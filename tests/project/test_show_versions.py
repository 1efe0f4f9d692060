import platform
import re
from importlib.metadata import requires, version

import pytest

import votedkernels
from votedkernels import _native, show_versions


@pytest.fixture
def printed(capsys):
    show_versions()
    return {
        name.strip(): value.strip()
        for name, separator, value in (
            line.partition(":") for line in capsys.readouterr().out.splitlines()
        )
        if separator
    }


def test_versions_are_those_in_use(printed):
    assert printed["votedkernels"] == votedkernels.__version__
    assert printed["python"].startswith(platform.python_version())


def test_every_runtime_dependency_is_listed(printed):
    runtime = [
        re.match(r"[\w.-]+", requirement).group()
        for requirement in requires("votedkernels")
        if "extra ==" not in requirement
    ]
    assert "highspy" in runtime
    for name in runtime:
        assert printed[name] == version(name)


@pytest.mark.parametrize("loops", [None, _native.loops])
def test_compiled_loops_are_named(loops, monkeypatch, capsys):
    monkeypatch.setattr(_native, "loops", loops)
    show_versions()
    name = "none" if loops is None else loops.CPU
    assert f"compiled loops: {name}\n" in capsys.readouterr().out


def test_a_blas_is_named(printed):
    assert any(name.startswith("blas") for name in printed)


def test_what_is_missing_is_said(monkeypatch, capsys):
    monkeypatch.setattr("votedkernels._show_versions._DEPENDENCIES", ("no-such-package",))
    show_versions()
    assert "no-such-package: not installed" in capsys.readouterr().out
