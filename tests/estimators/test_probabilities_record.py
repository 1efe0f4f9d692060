"""The committed record of probabilities: what it must show, and that the page shows it."""

import re

import pytest
from support.paths import ROOT

RESULTS = (ROOT / "benchmarks" / "results" / "probabilities.md").read_text(encoding="utf-8")
TABLE = [line for line in RESULTS.splitlines() if line.startswith("| ")]


def test_all_yardstick_data_sets_are_in_the_table():
    names = [line.split(" | ")[0].strip("| ") for line in TABLE[2:]]
    assert len([name for name in names if not name.startswith("mean")]) == 18


@pytest.mark.parametrize("kind", ["two classes", "more classes"])
def test_means_are_at_most_those_of_calibrated_machines(kind):
    (line,) = [line for line in TABLE if line.startswith(f"| mean, {kind} |")]
    _, _, *values = [cell.strip() for cell in line.strip("| ").split("|")]
    log_loss, log_loss_svc, brier, brier_svc, _, _, time = map(float, values)
    assert log_loss <= log_loss_svc
    assert brier <= brier_svc
    assert time <= 1 / 3


def test_the_page_shows_the_record():
    page = (ROOT / "docs" / "probabilities.md").read_text(encoding="utf-8")
    for line in TABLE:
        assert line in page
    for gain in re.findall(r"[+-]0\.\d{4} ± 0\.\d{4}", RESULTS):
        assert gain in page
