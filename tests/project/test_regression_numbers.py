"""The numbers in `docs/regression.md` come from the committed records of its benchmarks."""

import json
import re
from functools import cache
from math import exp, log
from statistics import mean

import pytest
from support.paths import ROOT

PAGE = (ROOT / "docs" / "regression.md").read_text(encoding="utf-8")
MODELS = {"`VotedKernelRegressorCV()`": "search", '`prefer="sparse"`': "search, sparse"}
DESIGN = {"yacht", "autompg6", "diabetes_progression", "concrete", "abalone", "kin8nm"}
ASIDE = {"airfoil", "winequality_red", "ccpp", "california_housing"}
GROUPS = {"six of the design": DESIGN, "four held out": ASIDE, "all ten": DESIGN | ASIDE}
FIELDS = ("mae", "n_support", "seconds")


def records(name):
    lines = (ROOT / "benchmarks" / "results" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def ratios(model, rows, baseline):
    """Return the ratios to the baseline of each data set, as means of logarithms."""
    found = {
        (r["data"], r["partition"], r["model"]): r
        for r in records("regression.jsonl")
        if r.get("rows") == rows
    }
    by_data = {}
    for data, partition, label in found:
        base = found.get((data, partition, baseline))
        if label == model and base is not None:
            mine = found[data, partition, label]
            logs = [log(mine[field] / base[field]) for field in FIELDS]
            by_data.setdefault(data, []).append(logs)
    return {
        data: [mean(column) for column in zip(*of, strict=True)] for data, of in by_data.items()
    }


def shown():
    """Yield each row of the table of up to 500 rows: its group of data sets, model and ratios."""
    group = ""
    for row in re.findall(r"^\|.*\| [\d.]+ \| [\d.]+ \| [\d.]+ \|$", PAGE, re.MULTILINE):
        title, model, *values = (cell.strip() for cell in row.strip("|").split("|"))
        if model in MODELS:
            group = next((name for name in GROUPS if title.startswith(name)), group)
            yield pytest.param(group, model, [float(v) for v in values], id=f"{group}, {model}")


SHOWN = list(shown())


def test_all_rows_are_found():
    assert len(SHOWN) == 6


@pytest.mark.parametrize(("group", "model", "values"), SHOWN)
def test_ratios_to_svr_are_those_of_the_records(group, model, values):
    mine = {d: of for d, of in ratios(MODELS[model], 500, "svr").items() if d in GROUPS[group]}
    assert set(mine) == GROUPS[group]
    means = [exp(mean(column)) for column in zip(*mine.values(), strict=True)]
    assert values == pytest.approx(means, abs=6e-4)


@pytest.mark.parametrize(
    ("pattern", "rows", "tuning_rows"),
    [
        (r"took ([\d.]+) CPU seconds, and SVR took ([\d.]+) \(", 20_000, 1000),
        (r"the vote took ([\d.]+) seconds, SVR ([\d.]+),", 20_000, 4000),
        (r"the vote took ([\d.]+) seconds, and SVR ([\d.]+)\.", 4000, 1000),
    ],
)
def test_seconds_of_one_fit_are_those_of_the_last_record(pattern, rows, tuning_rows):
    record = [
        r for r in records("regression-speed.jsonl")
        if (r["rows"], r["tuning_rows"]) == (rows, tuning_rows)
    ][-1]  # fmt: skip
    found = re.search(pattern, PAGE.replace("\n", " "))
    assert found, pattern
    assert float(found[1]) == pytest.approx(record["seconds"], abs=0.06)
    assert float(found[2]) == pytest.approx(record["svr_seconds"], abs=0.06)
