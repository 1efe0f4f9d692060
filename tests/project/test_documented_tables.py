"""Tables in the documentation have the numbers of the record that is named next to them."""

import json
import re
from functools import cache
from statistics import mean

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from support.pages import pages
from support.paths import ROOT

from votedkernels import ContinuousGaussian, Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform
from votedkernels.experiments.evidence import load_evidence, name_of
from votedkernels.experiments.radii import tabulate_fixed
from votedkernels.experiments.records import read_records
from votedkernels.experiments.selection import make_groups
from votedkernels.experiments.unions import with_unions

NUMBER = r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
SCRIPT = re.compile(r"`benchmarks/(\w+)\.py`")
NAMED = re.compile(r"`((?:benchmarks|docs)/results/[\w-]+\.md)`")
TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)


#: Tables with sums of recorded numbers, or with sizes that were not run.
DERIVED = ("| rows | rounds | active samples |", "| rows | workers |")


def tables():
    """Yield each table of a record: its page, place, rows of cells, and the record."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for found in TABLE.finditer(text):
            record = record_of(text, found)
            if record is not None and not found[0].startswith(DERIVED):
                line = text.count("\n", 0, found.start()) + 1
                yield pytest.param(page, found[0], record, id=f"{page.stem}-{line}")


def record_of(text, table):
    """Return the record named next to a table, or that of the script named in its section."""
    section = text[: table.start()].rpartition("\n## ")[2]
    after = text[table.end() :].lstrip("\n*").partition("\n\n")[0]
    if named := NAMED.search(section.rstrip().rpartition("\n\n")[2]) or NAMED.match(after):
        return named[1]
    for script in reversed(SCRIPT.findall(section)):
        record = f"benchmarks/results/{script.replace('_', '-')}.md"
        return record if (ROOT / record).is_file() else None
    return None


def cells(row):
    return [cell.strip().strip("*") for cell in row.strip().strip("|").split("|")]


def numbers(text):
    return [
        (float(number.replace(",", "")), decimals(number)) for number in re.findall(NUMBER, text)
    ]


def decimals(number):
    return len(number.partition("e")[0].partition(".")[2])


@cache
def recorded(name):
    """Return the numbers of each row in all tables of a record, with the first cell of the row."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [
        (row, [value for value, _ in numbers(row)])
        for table in TABLE.findall(text)
        for row in table.splitlines()[2:]
    ]


TABLES = list(tables())


def test_tables_were_found():
    assert len(TABLES) >= 6


@pytest.mark.parametrize(("page", "table", "record"), TABLES)
def test_every_number_is_in_the_record(page, table, record):
    """In a row with the same first cell, if the record has one; to the digits that are shown."""
    for row in table.splitlines()[2:]:
        first, *others = cells(row)
        plain = first.replace(",", "").lower()
        rows = [there for there in recorded(record) if plain in there[0].replace(",", "").lower()]
        values = [value for _, there in rows or recorded(record) for value in there]
        for number, digits in numbers(" ".join(others)):
            assert any(abs(abs(number) - abs(value)) <= 0.51 * 10.0**-digits for value in values), (
                f"{page.name}: {number} in {row} is not in {record}"
            )


# -- tables from records of single fits ----------------------------------------------------

MIXED = {
    "breast cancer recurrence": "breast_cancer_recurrence",
    "chess": "chess",
    "credit": "credit_g",
    "mushroom": "mushroom",
    "vote": "vote",
}


@cache
def errors_on_tables(name, model):
    """Return the error in per cent by partition, with up to 400 training rows."""
    lines = (ROOT / "benchmarks/results/tables.jsonl").read_text(encoding="utf-8").splitlines()
    records = [record for record in map(json.loads, lines) if "run" not in record]
    return {
        record["partition"]: 100 * record["error"]
        for record in records
        if (record["data"], record["model"], record["rows"]) == (name, model, 400)
    }


@pytest.mark.parametrize("title", MIXED)
def test_errors_on_mixed_tables_are_those_of_the_record(title):
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {title} \|.*$", page, re.MULTILINE)
    shown = [value for value, _ in numbers(row[0])]
    ours = errors_on_tables(MIXED[title], "table")
    assert shown[0] == pytest.approx(mean(ours.values()), abs=0.006)
    for model, (error, difference, _) in (("trees", shown[1:4]), ("svc", shown[4:7])):
        theirs = errors_on_tables(MIXED[title], model)
        assert error == pytest.approx(mean(theirs.values()), abs=0.006)
        found = mean(ours[place] - theirs[place] for place in ours)
        assert difference == pytest.approx(found, abs=0.006)


# -- the paper's experiments ---------------------------------------------------------------

EXPERIMENTS = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
RESULTS = ROOT / "docs" / "results"
NAMES_OF_KINDS = {"polynomials": "polynomial", "Gaussians": "gaussian", "both": "both"}


@pytest.mark.parametrize(
    ("name", "shown"),
    re.findall(r"^\| `([\w/-]+)` \|.*?\| ([\d,]+ \| [\d,]+) \|$", EXPERIMENTS, re.M),
)
def test_the_runs_of_the_experiments_are_those_of_the_records(name, shown):
    records = read_records(RESULTS / f"{name}.jsonl.gz")
    found = len({record["seed"] for record in records}), len(records)
    assert found == tuple(int(number.replace(",", "")) for number in shown.split(" | "))


def test_all_records_of_the_experiments_are_listed():
    section = EXPERIMENTS.partition("\n## What was run\n")[2]
    listed = re.findall(r"^\| `([\w/-]+)` \|", section, re.MULTILINE)
    files = RESULTS.rglob("*.jsonl.gz")
    assert sorted(listed) == sorted(
        str(path.relative_to(RESULTS)).removesuffix(".jsonl.gz") for path in files
    )


@cache
def records_of(folder):
    return with_unions(load_evidence((RESULTS / folder).glob("*.jsonl.gz")).records)


@cache
def results_of(folder, rule):
    """Return the groups of results in a folder, by kind of kernel, with features in [-1, 1]."""
    return {g.family: g for g in make_groups(records_of(folder), rule) if g.scaling == "range"}


@pytest.mark.parametrize(
    ("folder", "row"),
    [
        (folder, row)
        for folder, heading in ((".", "Results"), ("yardstick", "Other data sets"))
        for row in re.findall(
            r"^\| (?:polynomials|Gaussians|both) \|.*\|$",
            EXPERIMENTS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0],
            re.MULTILINE,
        )
    ],
)
def test_mean_errors_of_the_experiments_are_those_of_the_records(folder, row):
    kind, name, *shown = cells(row)
    family = NAMES_OF_KINDS[kind]
    values = []
    for rule in ("literal", "per-run"):
        group = results_of(folder, rule)[family]
        part = group.on_partitions_of(group.algorithms)
        algorithm = next(a for a in part.algorithms if name_of(a) == name)
        values.append(mean(part.error(d, algorithm).mean for d in part.datasets))
        support = [part.support(d, algorithm).mean for d in part.datasets]
        values += [float(np.median(support))] if rule == "literal" else []
    error, n_support, by_run = values
    for text, value in zip(shown, (error, by_run, n_support), strict=True):
        number, digits = numbers(text)[0]
        assert number == pytest.approx(value, abs=0.51 * 10.0**-digits)


@pytest.mark.parametrize(
    "row", re.findall(r"^\| (?:1|0\.\d+|chosen by validation) \|.*\|$", EXPERIMENTS, re.MULTILINE)
)
def test_errors_at_each_radius_are_those_of_the_records(row):
    name, *shown = cells(row)
    for family, text in zip(("polynomial", "gaussian", "both"), shown, strict=True):
        table = tabulate_fixed(records_of("."), results_of(".", "literal")[family])
        found = {line[0].text: [cell.text for cell in line[1:]] for line in table.rows}
        error, support = map(float, found[name.removesuffix(" by validation")])
        (shown_error, _), (shown_support, _) = numbers(text)
        assert shown_error == error
        assert shown_support == pytest.approx(support, abs=0.51)


# -- tables that are calculated again -------------------------------------------------------


def rows_with(page, *, n_columns):
    """Return the numbers in each row of a page's tables with so many columns."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = [[value for value, _ in numbers(row)] for row in re.findall(r"^\|.*\|$", text, re.M)]
    return [row for row in found if len(row) == n_columns]


@pytest.mark.parametrize("row", rows_with("continuous-widths.md", n_columns=4))
def test_objectives_over_all_widths_are_those_of_the_page(row):
    penalty, continuum, grid, n_support = row
    X, y = make_waveform(300, random_state=0)
    kernels = ContinuousGaussian(0.01, 100.0), Gaussian(tuple(np.geomspace(0.01, 100.0, 41)))
    for kernel, objective in zip(kernels, (continuum, grid), strict=True):
        model = VotedKernelClassifier(kernel, complexity_penalty=0.0, l1_penalty=penalty).fit(X, y)
        assert model.objective_ == pytest.approx(objective, rel=1e-5)
        assert len(model.support_) == pytest.approx(n_support, rel=0.1)


@pytest.mark.parametrize("row", rows_with("coordinate-descent.md", n_columns=5))
def test_the_rule_of_the_paper_stalls_where_the_page_says(row):
    """Where exactly it stops depends on ties; that it stops far from the optimum does not."""
    penalty, optimum, stopped, _, _ = row
    X, y = make_waveform(400, random_state=0)
    settings = {
        "kernels": Polynomial(tuple(range(1, 11))),
        "complexity": "trace",
        "complexity_penalty": penalty,
        "l1_penalty": penalty / 10,
    }
    X = StandardScaler().fit_transform(X)
    best = VotedKernelClassifier(**settings).fit(X, y)
    assert best.objective_ == pytest.approx(optimum, abs=1e-4)
    with pytest.warns(ConvergenceWarning):
        stalled = VotedKernelClassifier(solver="coordinate-descent-paper", **settings).fit(X, y)
    assert stalled.stop_reason_ == "stalled"
    assert stalled.objective_ > 1.05 * best.objective_
    assert stopped > 1.05 * optimum
