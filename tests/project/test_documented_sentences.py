"""Sentences in the documentation have the numbers of the records."""

import pytest
from support import (
    sentences_on_benchmarks,
    sentences_on_experiments,
    sentences_on_regression,
    sentences_on_selection,
)
from support.sentences import check_sentence, text_of

TABLES = (
    sentences_on_selection,
    sentences_on_benchmarks,
    sentences_on_regression,
    sentences_on_experiments,
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
