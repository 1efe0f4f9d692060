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
#: By the largest number of training rows.
BASELINES = {500: "svr", 3000: "svr, intelex"}
#: The second table has only costs up to this, so many of them, where the grid ran in parts.
MOST_COST, N_COSTS = 100, 5
N_SHOWN = 9


def records(name):
    lines = (ROOT / "benchmarks" / "results" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def regressions(rows):
    """Return the records of fits to up to so many rows, by data set, partition and model.

    The parts of SVR's grid up to the largest cost of the page become one record.
    """
    found = [r for r in records("regression.jsonl") if r.get("rows") == rows]
    by_place = {(r["data"], r["partition"], r["model"]): r for r in found}
    parts = {}
    for r in found:
        label, _, cost = r["model"].partition(", C=")
        if cost and float(cost) <= MOST_COST:
            parts.setdefault((r["data"], r["partition"], label), []).append(r)
    for place, of in parts.items():
        assert len(of) == N_COSTS
        seconds = sum(r["seconds"] for r in of)
        by_place[place] = max(of, key=lambda r: r["score"]) | {"seconds": seconds}
    return by_place


@cache
def ratios(model, rows):
    """Return the ratios to SVR of each data set, as means of logarithms over its partitions."""
    found, baseline = regressions(rows), BASELINES[rows]
    by_data = {}
    for data, partition, label in found:
        if label == model and (data, partition, baseline) in found:
            mine, base = found[data, partition, label], found[data, partition, baseline]
            logs = [log(mine[field] / base[field]) for field in FIELDS]
            by_data.setdefault(data, []).append(logs)
    return {
        data: [mean(column) for column in zip(*of, strict=True)] for data, of in by_data.items()
    }


def shown():
    """Yield each row of both tables: the number of rows, the data sets, the model and ratios."""
    group, tables = "", list(BASELINES)
    for row in re.findall(r"^\|.*\| [\d.]+ \| [\d.]+ \| [\d.]+ \|$", PAGE, re.MULTILINE):
        title, model, *values = (cell.strip() for cell in row.strip("|").split("|"))
        if model not in MODELS:
            continue
        before, group = group, next((name for name in GROUPS if title.startswith(name)), group)
        if before == "all ten" != group:
            tables.pop(0)
        values = [float(value) for value in values]
        yield pytest.param(tables[0], group, model, values, id=f"{tables[0]}, {group}, {model}")


SHOWN = list(shown())


def test_all_rows_are_found():
    assert len(SHOWN) == N_SHOWN


@pytest.mark.parametrize(("rows", "group", "model", "values"), SHOWN)
def test_ratios_to_svr_are_those_of_the_records(rows, group, model, values):
    mine = {d: of for d, of in ratios(MODELS[model], rows).items() if d in GROUPS[group]}
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
