"""Every decision has a page with its five parts, and the index lists them all."""

import re

import pytest
from support.paths import ROOT

FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "index.md"})
#: How the five parts of a page begin, in their order.
PARTS = ("Question", "Tried|Considered", "Measured", "Decision", "Look again when")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_is_short_and_has_its_five_parts(page):
    text = page.read_text(encoding="utf-8")
    assert 15 <= len(text.splitlines()) <= 40
    places = [re.search(rf"^\*\*({part})\b", text, re.MULTILINE) for part in PARTS]
    assert all(places), page
    starts = [place.start() for place in places]
    assert starts == sorted(starts)


def test_index_lists_every_page_once():
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"\[\]\(([\w-]+\.md)\)", index)
    assert sorted(listed) == [page.name for page in PAGES]
    tree = index.partition("```{toctree}")[2].partition("```")[0]
    assert sorted(re.findall(r"^[\w-]+$", tree, re.MULTILINE)) == [page.stem for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page):
    named = re.findall(r"`((?:benchmarks|docs)/[\w/.-]+\.\w+)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).is_file()] == []


#: Where the numbers of a page come from: a record, another page or a file of code; or nowhere.
SOURCE = re.compile(
    r"no results file|`(?:benchmarks|docs)/[\w/.-]+`|\]\(\.\./[\w-]+\.md|`[\w/]+\.py`"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_where_its_numbers_come_from(page):
    text = page.read_text(encoding="utf-8")
    measured = text.partition("**Measured")[2].partition("\n**Decision")[0]
    if re.search(r"(?<![\w`])\d", measured):
        assert SOURCE.search(measured), f"name the record, or write (once; no results file): {page}"
