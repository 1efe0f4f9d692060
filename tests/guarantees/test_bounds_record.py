"""The committed record of bounds: what it must show, and that the page shows it."""

import json

import pytest
from support.paths import ROOT

FILE = ROOT / "benchmarks" / "results" / "bounds.jsonl"
RECORDS = [
    record
    for record in map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
    if record["part"] == "bounds"
]


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
