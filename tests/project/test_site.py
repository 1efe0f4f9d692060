"""The checks of `make check-site` find each fault, and the main pages of the site have none."""

import pytest
from support.browser import CHROMIUM
from support.paths import ROOT
from support.site_check import SITE, check_pages, pages_of

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
GOOD = """<!doctype html><html><head><style>{style}</style></head><body><article>
<h1>Title</h1><h2>Part</h2><p>Text</p>{more}</article></body></html>"""
NARROW = "table {width: 3em; table-layout: fixed} td {overflow-wrap: anywhere}"
#: A kind of fault, a style and a body that have it.
FAULTS = {
    "scrolls sideways": ("", "<p style='width: 600px'>wide</p>"),
    "cut off": ("pre {overflow-x: auto}", f"<pre>{'long ' * 400}</pre>"),
    "broken word": (NARROW, "<table><tr><td>Incomprehensibility</td></tr></table>"),
    "headings": ("", "<h4>Below nothing</h4>"),
    "no alternative text": ("", "<img src='picture.svg'>"),
    "missing picture": ("", "<img src='nowhere.png' alt='nothing'>"),
    "contrast": ("p {color: #999}", ""),
}
DARK = "html[data-theme=dark] body {background: black}"
SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"


@pytest.fixture(scope="module")
def faulty_pages(tmp_path_factory):
    """The faults found on a page without any, and on one page for each kind."""
    site = tmp_path_factory.mktemp("site")
    (site / "picture.svg").write_text(SVG)
    made = {"good": ("", "<table><tr><td>a word</td></tr></table>"), "dark": (DARK, ""), **FAULTS}
    names = {f"{kind.replace(' ', '-')}.html": kind for kind in made}
    for name, kind in names.items():
        style, more = made[kind]
        (site / name).write_text(GOOD.format(style=style, more=more))
    return {names[name]: faults for name, faults in check_pages(site, list(names))}


@pytest.mark.parametrize("kind", FAULTS)
def test_each_kind_of_fault_is_found(kind, faulty_pages):
    assert {found for found, _ in faulty_pages[kind]} == {kind}


def test_a_page_without_faults_passes(faulty_pages):
    assert faulty_pages["good"] == []


def test_dark_text_in_the_dark_theme_is_found(faulty_pages):
    assert faulty_pages["dark"]
    for kind, text in faulty_pages["dark"]:
        assert kind == "contrast"
        assert text.startswith("dark")


@pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="run `make docs` to build the site")
def test_the_first_pages_of_the_built_site_have_no_faults():
    """`make check-site` looks at all pages."""
    names = ["index.html", "user-guide.html", "getting-started.html", "gallery/index.html"]
    assert set(names) <= set(pages_of(SITE))
    assert {name: faults for name, faults in check_pages(SITE, names) if faults} == {}


def test_what_a_reader_types_is_found_in_the_right_page():
    """The search ranks titles first, so these words are in titles or headings."""
    words = {
        "progress": "progress.md",
        "probabilities": "probabilities.md",
        "regression": "regression.md",
        "missing values": "tables.md",
    }
    for word, page in words.items():
        lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
        headings = [line.lower() for line in lines if line.startswith("#")]
        assert any(word in heading for heading in headings), word
