"""The files for hosts out of reach from here: at least they parse, and name what exists."""

import re
import tomllib

import pytest
import yaml
from support.paths import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FILES = [*WORKFLOWS, ROOT / ".readthedocs.yaml"]
PRE_COMMIT = ROOT / ".pre-commit-config.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def parsed(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in parsed(workflow)["jobs"].values() for step in job["steps"]]


def named(paths):
    return pytest.mark.parametrize("path", paths, ids=[path.name for path in paths])


def test_there_are_workflows_for_tests_docs_and_releases():
    assert [path.stem for path in WORKFLOWS] == ["docs", "release", "tests"]


@named(FILES)
def test_a_comment_says_that_it_has_not_been_exercised(path):
    assert path.read_text(encoding="utf-8").startswith("# Not exercised: ")


@named(WORKFLOWS)
def test_a_workflow_says_when_it_runs_and_with_which_rights(path):
    workflow = parsed(path)
    assert workflow[True]  # YAML 1.1 reads the key "on" as a boolean
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


@named(WORKFLOWS)
def test_actions_are_pinned_to_a_major_version(path):
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@(release/)?v\d+", action), action


@named(WORKFLOWS)
def test_what_they_make_and_install_exists(path):
    commands = "\n".join(step.get("run", "") for step in steps(path))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"^make (\S+)", commands, re.MULTILINE)) <= set(targets)
    extras = PROJECT["optional-dependencies"]
    assert set(re.findall(r"'\.\[(\w+)\]'", commands)) <= set(extras)


def test_tests_run_on_all_systems_and_all_versions_that_are_promised():
    matrix = parsed(ROOT / ".github/workflows/tests.yml")["jobs"]["newest"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == promised


def test_the_oldest_dependencies_are_tested_with_the_oldest_python():
    job = parsed(ROOT / ".github/workflows/tests.yml")["jobs"]["oldest"]
    versions = [step["with"]["python-version"] for step in job["steps"] if "with" in step]
    assert [f">={version}" for version in versions] == [PROJECT["requires-python"]]
    assert any("make test-oldest" in step.get("run", "") for step in job["steps"])


def test_only_the_job_that_publishes_may_ask_for_an_identity():
    jobs = parsed(ROOT / ".github/workflows/release.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "permissions" not in jobs["build"]
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_read_the_docs_builds_what_make_docs_builds():
    config = parsed(ROOT / ".readthedocs.yaml")
    assert config["version"] == 2
    assert (ROOT / config["sphinx"]["configuration"]).is_file()
    assert config["sphinx"]["fail_on_warning"] is True
    (install,) = config["python"]["install"]
    assert set(install["extra_requirements"]) <= set(PROJECT["optional-dependencies"])


def test_hooks_before_a_commit_are_checks_of_make_lint():
    (repository,) = parsed(PRE_COMMIT)["repos"]
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    tools = "\n".join(PROJECT["optional-dependencies"]["lint"])
    assert len(repository["hooks"]) == 4
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program, *words = hook["entry"].split()
        assert " ".join([program.replace(".venv/bin", "$(BIN)"), *words[:1]]) in lint
        assert program.removeprefix(".venv/bin/") in tools
