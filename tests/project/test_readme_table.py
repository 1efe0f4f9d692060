"""The table of the README comes from the committed records of `benchmarks/selection.py`."""

import json
import re
from statistics import mean, median

import pytest
from support.paths import ROOT

METHODS = {
    "`GridSearchCV(SVC())`, Gaussian kernel, 49 settings": "svc",
    "`VotedKernelClassifierCV()`": "ours",
    "`VotedKernelClassifierCV(committee=1)`": "ours, committee=1",
    '`VotedKernelClassifierCV(prefer="sparse")`': "ours, sparse",
}


def by_data_set(method, field):
    """Return the mean of a field over the folds of each of the 23 data sets."""
    values = {}
    for line in (ROOT / "benchmarks/results/selection.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["method"] == method and record["data"] not in MULTI:
            values.setdefault(record["data"], []).append(record[field])
    return [mean(of_one) for of_one in values.values()]


MULTI = {"pendigits", "segment", "wine", "satimage", "vehicle", "yeast"}


@pytest.mark.parametrize("title", METHODS)
def test_errors_and_support_vectors_are_those_of_the_records(title):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    row = re.search(re.escape(f"| {title} |") + r" ([\d.]+) % \| (\d+) \|", text)
    assert row, f"the README has no row for {title}"
    errors = by_data_set(METHODS[title], "error")
    assert len(errors) == 23
    assert float(row[1]) == pytest.approx(100 * mean(errors), abs=0.006)
    assert int(row[2]) == pytest.approx(median(by_data_set(METHODS[title], "support")), abs=0.51)
