"""The committed record of bounds: what it must show, and that the page shows it."""

import json

import pytest
from support.paths import ROOT

FILE = ROOT / "benchmarks" / "results" / "bounds.jsonl"
EVERY = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
RECORDS = [record for record in EVERY if record["part"] == "bounds"]
CHOICES = [record for record in EVERY if record["part"] == "choice"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: f"{r['data']}-{r['rows']}")
def test_bounds_are_guaranteed_and_below_the_theorems(record):
    assert record["guaranteed"]
    assert record["compression"] < record["theorems"]
    if record["goal"] is not None:
        assert record["compression"] <= 1.2 * record["goal"]


def test_the_page_shows_the_record():
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    for record in RECORDS:
        numbers = (
            f"| {record['data']} | {record['rows']:,} | {record['compression']:.2f} "
            f"| {record['test error']:.2f} | {record['support']} |"
        )
        assert numbers in page, numbers
    for record in CHOICES:
        numbers = (
            f"| {record['data']} | {record['rows']} | {record['error by bound']:.3f} "
            f"| {record['error by folds']:.3f} | {record['bound']:.2f} "
            f"| {record['support by bound']} | {record['support by folds']} |"
        )
        assert numbers in page, numbers
    by_bound, by_folds = (
        100 * sum(record[f"error by {way}"] for record in CHOICES) / len(CHOICES)
        for way in ("bound", "folds")
    )
    assert f"mean test error of {by_bound:.1f} %" in page.replace("\n", " ")
    assert f"have {by_folds:.1f} %" in page
