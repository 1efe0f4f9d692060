"""Sentences in the documentation have the numbers of the records."""

import re

import pytest
from support import (
    sentences_on_benchmarks,
    sentences_on_decisions,
    sentences_on_experiments,
    sentences_on_regression,
    sentences_on_selection,
)
from support.pages import pages
from support.paths import ROOT
from support.sentences import check_sentence, pattern_of, text_of

TABLES = (
    sentences_on_selection,
    sentences_on_benchmarks,
    sentences_on_regression,
    sentences_on_experiments,
    sentences_on_decisions,
)
SENTENCES = [sentence for table in TABLES for sentence in table.SENTENCES]


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda s: f"{s.page}: {s.text[:40]}")
def test_the_numbers_of_a_sentence_are_those_of_the_records(sentence):
    values = sentence.values()
    if isinstance(values, bool):
        assert sentence.text in text_of(sentence.page), f"{sentence.page} says something else"
        assert values, f"{sentence.page}: this is no longer true: {sentence.text}"
    else:
        check_sentence(sentence.page, sentence.text, values)


# -- no number is left out -----------------------------------------------------------------

#: A number with a unit in which something is measured.
MEASURED = re.compile(
    r"(?<![\w.$^{])[-+\u2212]?\d[\d,]*(?:\.\d+)?(?: to \d[\d,.]*)? ?"
    r"(?:%|\u00b1|per cent|[mn]?s\b|seconds|minutes|hours|[KMG]i?B\b|points\b|times\b|support )"
)
#: Numbers with such a unit that were not measured, or that another test compares with a record.
OTHERS = {
    "CHANGELOG.md": ["execute less than 95 % of the statements"],
    "README.md": ["for the same 200 points"],
    "docs/index.md": ["for the same 200 points"],
    "docs/clusters.md": ["chunks of 10 to 200 MB"],
    "docs/datasets.md": ["a file above 50 MB"],
    "docs/guarantees.md": ["A vote with 0 support vectors"],
    "docs/mutants.md": ["mutants were killed ("],
    "docs/regression.md": ["70 % of their rows", "the plain 80 % interval"],
    "docs/reliability.md": ["The seconds of all trials add up to"],
    "docs/reproduction.md": ["differ at the 5 % level"],
    "docs/scaling-up.md": ['such as `"2GB"`. The default is 1 GiB'],
    "docs/tables.md": ["improve the criterion by 5 per cent"],
    "docs/when-to-use.md": ["differ at the 5 % level"],
    "benchmarks/README.md": ["its runs have taken 20 s", "the cap (`--cap`, 900 s)"],
}
PAGES = [str(page.relative_to(ROOT)) for page in pages()] + ["benchmarks/README.md", "CHANGELOG.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_measured_number_is_tested(page):
    """Outside tables and code, which other tests read."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$|^\|[^\n]*\|$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = " ".join(text.split())
    tested = [
        found.span()
        for sentence in SENTENCES
        if sentence.page == page
        for found in pattern_of(sentence.text).finditer(text)
    ]
    for words in OTHERS.get(page, ()):
        assert words in text, f"{page} no longer says: {words}"
        start = text.index(words)
        tested += [(start, start + len(words) + 5)]
    for found in MEASURED.finditer(text):
        assert any(start <= found.start() < end for start, end in tested), (
            f"{page}: no test compares {text[found.start() - 60 : found.end() + 40]!r} with a "
            "record; add the sentence to tests/support/sentences_on_*.py"
        )
