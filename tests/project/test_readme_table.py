"""Tables about the default search come from the committed records of `benchmarks/selection.py`."""

import json
import re
import tomllib
from functools import cache
from statistics import mean, median, stdev

import pytest
from support.paths import ROOT

METHODS = {
    "`GridSearchCV(SVC())`, Gaussian kernel": "svc",
    "`VotedKernelClassifierCV()`": "ours",
    "`VotedKernelClassifierCV(committee=1)`": "ours, committee=1",
    '`VotedKernelClassifierCV(prefer="sparse")`': "ours, sparse",
    "relevance vector machine": "rvm",
    "logistic regression": "logistic",
    "gradient-boosted trees": "boosting",
}
MULTI = {"pendigits", "segment", "wine", "satimage", "vehicle", "yeast"}
ROW = r"\| ([\d.]+) % \|(?: ([+-][\d.]+) ± ([\d.]+))? \|(?: (\d+))? \|"
#: Pages with the table.
PAGES = ("README.md", "docs/index.md")


@cache
def folds(method):
    """Return the records of each of the 23 data sets, by partition and fold."""
    found = {}
    for line in (ROOT / "benchmarks/results/selection.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["method"] == method and record["data"] not in MULTI:
            place = record["partition"], record["fold"]
            found.setdefault(record["data"], {})[place] = record
    return found


def by_data_set(method, field):
    """Return the mean of a field over the folds of each data set."""
    return [mean(record[field] for record in of.values()) for of in folds(method).values()]


def differences(method):
    """Return by how much each data set's error exceeds that of SVC on the same folds, in points."""
    return [
        100 * mean(of[place]["error"] - folds("svc")[data][place]["error"] for place in of)
        for data, of in folds(method).items()
    ]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("title", METHODS)
def test_the_table_is_that_of_the_records(title, page):
    text = (ROOT / page).read_text(encoding="utf-8")
    row = re.search(re.escape(f"| {title} ") + ROW, text)
    assert row, f"{page} has no row for {title}"
    method = METHODS[title]
    errors = by_data_set(method, "error")
    assert len(errors) == 23
    assert float(row[1]) == pytest.approx(100 * mean(errors), abs=0.006)
    if method == "svc":
        assert row[2] is None
    else:
        found = differences(method)
        assert float(row[2]) == pytest.approx(mean(found), abs=0.006)
        assert float(row[3]) == pytest.approx(stdev(found) / len(found) ** 0.5, abs=0.006)
    kept = median(by_data_set(method, "support"))
    assert row[4] is None if kept < 0 else int(row[4]) == pytest.approx(kept, abs=0.51)


def ratios(method, field):
    """Return each data set's mean of a field, divided by that of SVC on the same folds."""
    return [
        mean(of[place][field] for place in of)
        / mean(folds("svc")[data][place][field] for place in of)
        for data, of in folds(method).items()
    ]


def test_the_search_takes_about_as_long_as_that_of_svc():
    assert 0.8 < median(ratios("ours", "fit_seconds")) < 1.25


WHEN_TO_USE = {
    "`VotedKernelClassifierCV()`": "ours",
    "`VotedKernelClassifierCV(committee=1)`": "ours, committee=1",
    '`VotedKernelClassifierCV(prefer="sparse")`': "ours, sparse",
    "`VotedKernelClassifier()`, untuned": "ours, untuned",
    "`SVC()`, untuned": "svc, untuned",
}


@pytest.mark.parametrize("title", WHEN_TO_USE)
def test_the_table_of_when_to_use_it_is_that_of_the_records(title):
    text = (ROOT / "docs" / "when-to-use.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {re.escape(title)} \|(.*)\|$", text, re.MULTILINE)
    error, difference, kept, ratio, time, longest = (cell.strip() for cell in row[1].split("|"))
    method = WHEN_TO_USE[title]
    assert float(error.split()[0]) == pytest.approx(
        100 * mean(by_data_set(method, "error")), abs=0.006
    )
    found = differences(method)
    assert [float(part) for part in difference.split(" ± ")] == pytest.approx(
        [mean(found), stdev(found) / len(found) ** 0.5], abs=0.006
    )
    assert int(kept) == pytest.approx(median(by_data_set(method, "support")), abs=0.51)
    assert float(ratio) == pytest.approx(median(ratios(method, "support")), abs=0.006)
    if time:
        seconds = ratios(method, "fit_seconds")
        assert float(time) == pytest.approx(median(seconds), abs=0.006)
        assert float(longest) == pytest.approx(max(seconds), abs=0.006)


def test_the_badges_are_true():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert f"badge/python-{'_|_'.join(versions)}-blue" in text
    assert f"badge/licence-{project['license'].replace('-', '--')}-blue" in text
    assert "badge/paper-arXiv_1509.04340-blue)](https://arxiv.org/abs/1509.04340)" in text
