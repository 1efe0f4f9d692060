"""The numbers in `docs/regression.md` come from the committed records of its benchmarks."""

import re
from statistics import geometric_mean

import pytest
from support.paths import ROOT
from support.recorded import FIELDS, ratios_to_svr
from support.sentences_on_regression import ASIDE, DESIGN, quantile_ratios

PAGE = (ROOT / "docs" / "regression.md").read_text(encoding="utf-8")
MODELS = {"`VotedKernelRegressorCV()`": "search", '`prefer="sparse"`': "search, sparse"}
GROUPS = {"six of the design": DESIGN, "four held out": ASIDE, "all ten": DESIGN + ASIDE}
#: The largest number of training rows in each table.
ROWS = (500, 3000)
N_SHOWN = 9


def shown():
    """Yield each row of both tables: the number of rows, the data sets, the model and ratios."""
    group, tables = "", list(ROWS)
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
    mine = {d: of for d, of in ratios_to_svr(MODELS[model], rows).items() if d in GROUPS[group]}
    assert set(mine) == set(GROUPS[group])
    means = [geometric_mean(of[field] for of in mine.values()) for field in FIELDS]
    assert values == pytest.approx(means, abs=6e-4)


def quantile_rows():
    """Yield each row of the table of pinball losses: data sets, the other model, and ratios."""
    group = ""
    for row in re.findall(r"^\|(.*\| (?:trees|linear) (?:\| [\d.]+ ){5})\|$", PAGE, re.MULTILINE):
        title, against, *values = (cell.strip() for cell in row.split("|"))
        group = title or group
        yield pytest.param(group, against, list(map(float, values)), id=f"{group}, {against}")


def test_all_rows_of_quantiles_are_found():
    assert len(list(quantile_rows())) == 2 * len(GROUPS)


@pytest.mark.parametrize(("group", "against", "values"), list(quantile_rows()))
def test_ratios_of_pinball_losses_are_those_of_the_records(group, against, values):
    *losses, seconds = quantile_ratios(against, GROUPS[group])
    assert values[:-1] == pytest.approx(losses, abs=6e-4)
    assert values[-1] == pytest.approx(seconds, abs=6e-3)
