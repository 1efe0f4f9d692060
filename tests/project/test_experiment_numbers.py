"""Verdicts and tables about the paper's experiments follow from the committed records."""

import csv
import re

import pytest
from support.paths import ROOT
from support.recorded_experiments import RESULTS, evidence_of, findings, group_of, records_of
from support.sentences import is_rounded

from votedkernels.experiments import report
from votedkernels.experiments.claims import FAILS, HOLDS, IN_PART
from votedkernels.experiments.tables import tabulate_peers_in_short

PAGE = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
VERDICTS = {"yes": HOLDS, "in part": IN_PART, "no": FAILS}
#: The claims, by words in the first column of the tables.
CLAIMS = {
    "outperforms": "outperforms both SVMs",
    "considerable": "is considerable",
    "no-difference": "no statistical difference",
    "svms-comparable": "often perform alike",
    "ten-times-sparser": "up to ten times sparser",
    "always-sparser": "always much sparser",
    "gaussian-errors": "comparable results",
    "gaussian-sparsity": "comparable sparsity",
    "extension": "better than the plain one",
}
#: The columns of both tables: kernels, scaling, objective.
PAPERS = (("polynomial", "none"), ("polynomial", "range"), ("gaussian", "range"))
EXTENDED = (("polynomial", "range"), ("gaussian", "range"), ("both", "range"))


def cells_of(row):
    return [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


def verdict_cells():
    """Yield each verdict on the page, with the finding that it sums up."""
    for objective, columns, first in (
        ("plain", PAPERS, "| the paper claims |"),
        ("extended", EXTENDED, "| the claim, or the question |"),
    ):
        for row in PAGE.partition(first)[2].partition("\n\n")[0].splitlines()[2:]:
            title, *cells = cells_of(row)
            (key,) = (key for key, words in CLAIMS.items() if words in title)
            for (family, scaling), cell in zip(columns, cells, strict=True):
                if cell:
                    name = f"{key}, {objective}, {family}, {scaling}"
                    yield pytest.param(key, objective, family, scaling, cell, id=name)


CELLS = list(verdict_cells())


def test_verdicts_were_found():
    assert len(CELLS) >= 6 * len(PAPERS + EXTENDED)
    assert {cell.values[0] for cell in CELLS} == set(CLAIMS)


@pytest.mark.parametrize(("key", "objective", "family", "scaling", "cell"), CELLS)
def test_a_verdict_is_that_of_the_records(key, objective, family, scaling, cell):
    (found,) = (
        f for f in findings()
        if (f.claim.key, f.objective, f.family, f.scaling) == (key, objective, family, scaling)
    )  # fmt: skip
    verdict = next(word for word in VERDICTS if cell.startswith(word))
    assert found.verdict == VERDICTS[verdict], found.words
    values = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", found.words)]
    if key == "no-difference":
        n_pairs, alike = re.search(r"are (\d+) comparisons .*: (\d+) without", found.words).groups()
        values.append(int(n_pairs) - int(alike))
    for shown in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", cell):
        assert any(is_rounded(value, shown) for value in values), f"{shown} is not in {found.words}"


# -- other classifiers ---------------------------------------------------------------------

CLASSIFIERS = {
    "`SVC`, Gaussian kernel": "SVC, Gaussian",
    "ensemble of `SVC`s, one per kernel, in two stages": "ensemble of SVMs, two stages",
    "`VotedKernelClassifierCV()`": "VKR, default search",
    "plain vote over polynomials and Gaussians": "VKR, tuned",
    "relevance vector machine": "RVM",
    "`VotedKernelClassifier()`": "VKR with defaults",
    "gradient boosting": "gradient boosting",
    "ensemble of `SVC`s in one stage": "ensemble of SVMs, one stage",
    "logistic regression": "logistic regression",
    "EasyMKL": "EasyMKL",
    "`VotedKernelClassifier()`, former defaults": "VKR, former defaults",
}


#: Of a classifier without support vectors, or whose time was not measured.
NONE = "\u2013"


def test_the_table_of_other_classifiers_is_that_of_the_records():
    """In the same order, with the columns but for the number of data sets with the lowest error."""
    groups = (group_of("peers", "standard", rule) for rule in ("literal", "per-run"))
    table = tabulate_peers_in_short(records_of(), *groups)
    page = (ROOT / "docs" / "when-to-use.md").read_text(encoding="utf-8")
    rows = page.partition("| classifier | settings |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(table.rows)
    for row, cells in zip(rows, table.rows, strict=True):
        title, *shown = cells_of(row)
        name, *values = (cell.text for cell in cells)
        assert CLASSIFIERS[title] == name
        del values[3]
        for text, value in zip(shown, values, strict=True):
            number = text.removesuffix(" %").removesuffix(" s")
            assert is_rounded(float(value), number) if number else value == NONE, (title, text)


# -- the report ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rendered():
    """Return the contents of the report, computed again, without its page and figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "render_page", lambda *_: "")
        for name in vars(report.panels):
            if name.startswith("panel_"):
                patch.setattr(report.panels, name, lambda *_: None)
        return report.render_report(evidence_of())


def close(shown, found):
    """Whether a number differs by at most one in its last digit, which rounding may decide."""
    if shown == found:
        return True
    digits = len(shown.partition(".")[2])
    return abs(float(shown) - float(found)) <= 1.01 * 10.0**-digits


def test_the_tables_of_the_report_are_those_of_the_records(rendered):
    text = (RESULTS / "tables.md").read_text(encoding="utf-8")
    number = r"(?<![\w.])(\d+(?:\.\d+)?)(?![\w.]*\w)"
    shown, found = re.split(number, text), re.split(number, rendered["tables.md"])
    assert shown[::2] == found[::2]
    assert all(map(close, shown[1::2], found[1::2]))


def test_the_data_of_the_report_have_the_rows_of_the_records(rendered):
    text = (RESULTS / "tables.csv").read_text(encoding="utf-8")
    shown, found = (list(csv.reader(part.splitlines())) for part in (text, rendered["tables.csv"]))
    assert [row[:5] for row in shown] == [row[:5] for row in found]
