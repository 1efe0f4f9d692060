import platform
import re
from importlib.metadata import requires, version

import pytest

import votedkernels
from votedkernels import show_versions


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


def test_a_blas_is_named(printed):
    assert any(name.startswith("blas") for name in printed)


def test_what_is_missing_is_said(monkeypatch, capsys):
    monkeypatch.setattr("votedkernels._show_versions._DEPENDENCIES", ("no-such-package",))
    show_versions()
    assert "no-such-package: not installed" in capsys.readouterr().out
