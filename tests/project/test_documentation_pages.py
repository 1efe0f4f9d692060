"""What the pages show is what a reader gets: code runs and prints that, commands exist."""

import contextlib
import io
import os
import re
import shlex
import sys
import tomllib

import click
import pytest
from support.pages import ROOT, agrees, blocks, commands, pages, promised_in_comments

from votedkernels.cli import group, main

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
#: Pages with code that is to be run, in the order of the blocks, under one set of names.
WITH_CODE = [page for page in pages() if any(b.language == "python" for b in blocks(page))]
COMMANDS = [
    pytest.param(command, id=f"{page.name}: {command}")
    for page in pages()
    for command in commands(page)
]


def names_of(found):
    return [page.name for page in found]


def run_python(block, names):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block.compiled(), names)
    return printed.getvalue()


def run_command(line):
    with contextlib.redirect_stdout(io.StringIO()) as printed, pytest.raises(SystemExit) as ended:
        main(shlex.split(line)[1:])
    assert not ended.value.code, line
    return printed.getvalue()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of its own for what pages write."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("page", WITH_CODE, ids=names_of(WITH_CODE))
def test_page_runs_and_prints_what_it_shows(page):
    names = {"__name__": "page"}
    for block in blocks(page):
        if block.language == "python" and block.is_runnable:
            printed = run_python(block, names)
        elif block.language == "console" and block.code.startswith("$ votedkernels"):
            printed = "".join(map(run_command, block.code.replace("$ ", "").splitlines()))
        else:
            continue
        promised = block.output
        if promised is None and (comments := promised_in_comments(block.code)):
            promised = "\n".join(comments) + "\n"
        if promised is not None:
            assert agrees(printed, promised), f"{page}, line {block.line} prints:\n{printed}"


def test_pages_were_found():
    assert {"README.md", "getting-started.md", "choosing.md"} <= set(names_of(WITH_CODE))
    assert len(COMMANDS) > 20


def test_the_user_guide_has_a_line_for_each_page_in_reading_order():
    text = (ROOT / "docs" / "user-guide.md").read_text(encoding="utf-8")
    lines = re.findall(r"^- \[\]\(([\w-]+)\.md\): .+\.$", text, re.MULTILINE)
    trees = re.findall(r"```\{toctree\}\n(?::[^\n]*\n)*\n(.*?)```", text, re.DOTALL)
    assert lines == " ".join(trees).split()
    assert len(lines) > 15


def test_the_first_page_shows_what_its_code_prints():
    """Each block that prints is followed by what it prints."""
    for block in blocks(ROOT / "docs" / "getting-started.md"):
        if "print(" in block.code or block.code.startswith("$ votedkernels"):
            assert block.output, block.code


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_given_as_printed(line):
    """They are not run where that takes long: what they name must exist."""
    part = next(p for p in map(str.strip, line.split("|")) if not p.startswith(("zcat", "head")))
    program, *words = shlex.split(part)
    CHECKS[os.path.basename(program)](words)


def check_make(words):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {word for word in words if "=" not in word} <= set(targets)


def check_pip(words):
    assert words[0] == "install"
    for word in words[1:]:
        package, extras = re.fullmatch(r"(\.|votedkernels)(?:\[([a-z,]+)\])?", word).groups()
        assert set((extras or "").split(",")) - {""} <= set(EXTRAS), package


def check_python(words):
    if words[0] == "-m":
        assert words[1] in sys.stdlib_module_names
    else:
        assert (ROOT / words[0]).is_file()


def check_votedkernels(words):
    if words[0].startswith("--"):
        assert words in (["--help"], ["--version"])
        return
    context = click.Context(group.votedkernels)
    command = group.votedkernels.get_command(context, words[0])
    command.make_parser(click.Context(command)).parse_args(words[1:])


CHECKS = {
    "make": check_make,
    "pip": check_pip,
    "python": check_python,
    "python3": check_python,
    "votedkernels": check_votedkernels,
}
