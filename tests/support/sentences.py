"""Sentences of the documentation with numbers that come from records.

A sentence has ``{}`` in the place of each number, which is in digits or, up to twelve, in words.
The numbers are compared with those of the records, rounded to the digits that the page shows. So a
test says what to write after a record has been renewed.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from support.paths import ROOT

WORDS = (
    "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip
NUMBER = rf"([-+\u2212]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|(?i:{'|'.join(WORDS)}))"


def text_of(page: str) -> str:
    """Return a page as one line."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def pattern_of(sentence: str) -> re.Pattern[str]:
    """Return what finds a sentence, with its numbers as groups."""
    return re.compile(r"(?<![\w.])" + NUMBER.join(map(re.escape, sentence.split("{}"))))


def written(value: float, shown: str) -> str:
    """Return a number in the form in which another one is shown."""
    if shown.lower() in WORDS:
        return WORDS[round(value)] if 0 <= round(value) < len(WORDS) else str(round(value))
    digits = len(shown.partition(".")[2])
    sign = "+" if shown.startswith("+") or (value > 0 and shown[0] in "-\u2212") else ""
    text = f"{value:{sign},.{digits}f}"
    text = text if "," in shown or abs(value) >= 10_000 else text.replace(",", "")
    return text.replace("-", "\u2212") if shown.startswith("\u2212") else text


def is_rounded(value: float, shown: str) -> bool:
    """Whether a number is shown to its last digit; a tie may be rounded up or down."""
    if shown.lower() in WORDS:
        return WORDS.index(shown.lower()) == value
    plain = shown.replace(",", "").replace("\u2212", "-")
    digits = len(plain.partition("e")[0].partition(".")[2])
    return abs(float(plain) - value) <= 0.501 * 10.0**-digits


def check_sentence(page: str, sentence: str, values: Sequence[float]) -> None:
    """Check that a page has a sentence, with these values as its numbers."""
    found = pattern_of(sentence).findall(text_of(page))
    assert found, f"{page} no longer says: {sentence}"
    for numbers in found:
        shown = [numbers] if isinstance(numbers, str) else list(numbers)
        assert len(shown) == len(values), f"{page}: {len(values)} numbers for {sentence}"
        right = [
            was if is_rounded(value, was) else written(value, was)
            for value, was in zip(values, shown, strict=True)
        ]
        parts = sentence.split("{}")
        wanted = "".join(part + number for part, number in zip(parts, [*right, ""], strict=True))
        assert shown == right, f"{page}: write {wanted!r}, as the records say"


class Sentence(NamedTuple):
    """A sentence of a page, and what calculates its numbers, or whether it is true."""

    page: str
    text: str
    values: Callable[[], Sequence[float] | bool]
