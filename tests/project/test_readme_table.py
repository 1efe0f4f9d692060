"""Tables about the default search come from the committed records of `benchmarks/selection.py`."""

import re
import tomllib
from statistics import mean, median

import pytest
from support.paths import ROOT
from support.recorded import by_data_set, differences, mean_and_error, ratios

METHODS = {
    "`GridSearchCV(SVC())`, Gaussian kernel": "svc",
    "`VotedKernelClassifierCV()`": "ours",
    "`VotedKernelClassifierCV(committee=1)`": "ours, committee=1",
    '`VotedKernelClassifierCV(prefer="sparse")`': "ours, sparse",
    "relevance vector machine": "rvm",
    "logistic regression": "logistic",
    "gradient-boosted trees": "boosting",
}
ROW = r"\| ([\d.]+) % \|(?: ([+-][\d.]+) ± ([\d.]+))? \|(?: (\d+))? \|"
#: Pages with the table.
PAGES = ("README.md", "docs/index.md")


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
        found = mean_and_error(differences(method).values())
        assert (float(row[2]), float(row[3])) == pytest.approx(found, abs=0.006)
    kept = median(by_data_set(method, "support"))
    assert row[4] is None if kept < 0 else int(row[4]) == pytest.approx(kept, abs=0.51)


def test_the_search_takes_about_as_long_as_that_of_svc():
    assert 0.8 < median(ratios("ours", "fit_seconds").values()) < 1.25


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
    found = mean_and_error(differences(method).values())
    assert tuple(map(float, difference.split(" ± "))) == pytest.approx(found, abs=0.006)
    assert int(kept) == pytest.approx(median(by_data_set(method, "support")), abs=0.51)
    assert float(ratio) == pytest.approx(median(ratios(method, "support").values()), abs=0.006)
    if time:
        seconds = ratios(method, "fit_seconds").values()
        assert float(time) == pytest.approx(median(seconds), abs=0.006)
        assert float(longest) == pytest.approx(max(seconds), abs=0.006)


def test_the_badges_are_true():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert f"badge/python-{'_|_'.join(versions)}-blue" in text
    assert f"badge/licence-{project['license'].replace('-', '--')}-blue" in text
    assert "badge/paper-arXiv_1509.04340-blue)](https://arxiv.org/abs/1509.04340)" in text
