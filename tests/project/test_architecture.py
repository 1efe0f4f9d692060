"""The architecture page says what the package is: its folders, and the modules of one fit."""

import re
import tomllib

import pytest
from support.paths import ROOT
from support.walk import short_name, walk

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "_static" / "one-fit.svg").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "votedkernels"


def section(title):
    """The text under a heading, up to the next one of its level or above."""
    level, _, _ = title.partition(" ")
    _, _, rest = PAGE.partition(f"\n{title}")
    return re.split(rf"^#{{1,{len(level)}}} ", rest, flags=re.MULTILINE)[0]


def folders_listed():
    """The folders in the first column of the table, line by line."""
    lines = re.findall(r"^\| (`[^|]+) \|", section("## The folders"), re.MULTILINE)
    return [sorted(re.findall(r"`(\w+)(?:/|\.py)`", line)) for line in lines]


def test_folders_are_in_the_order_that_import_linter_enforces():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    folders = [sorted(re.findall(r"votedkernels\.(\w+)", layer)) for layer in reversed(layers)]
    assert folders_listed() == folders


def test_every_folder_of_the_package_is_on_the_page():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    listed = {folder for line in folders_listed() for folder in line}
    assert folders - listed == {"datasets"}
    assert "`datasets/`" in section("## The folders")


def test_the_picture_shows_folders_that_exist():
    named = re.findall(r'class="room"[^>]*>([^<]+)<', PICTURE)
    for folder in {word.strip() for name in named for word in name.split(",")}:
        assert (PACKAGE / folder).is_dir() or (PACKAGE / "solvers" / folder).is_dir(), folder


@pytest.mark.parametrize(("number", "method"), [(0, "fit"), (1, "predict")])
def test_modules_of_a_fit_are_those_it_goes_through(number, method):
    """If this fails, ``python tests/support/walk.py`` prints the new list."""
    text = section(f"### `{method}`")
    modules = re.findall(r"^\| \d+ \| `([\w.]+)` \|", text, re.MULTILINE)
    assert set(modules) == set(map(short_name, walk()[number]))
    assert text.startswith(f": {len(modules)} modules\n")
