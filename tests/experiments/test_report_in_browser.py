"""The report in a real browser, if Chromium is installed."""

import subprocess

import pytest
from support.browser import CHROMIUM, HOSTILE, check_width, dump_dom
from support.synthetic_records import make_runs, write_records

from votedkernels.experiments import paper
from votedkernels.experiments.report import write_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    records = []
    for dataset in ("musk", "ocr49", *HOSTILE):
        for i, algorithm in enumerate([*paper.TABLE_ALGORITHMS, *HOSTILE]):
            for scaling in ("none", "range"):
                errors = [10 + i, 11, 12, 13 + i, 14]
                records += make_runs(dataset, algorithm, errors, scaling=scaling)
        records += make_runs(dataset, HOSTILE[0], [9] * 5, family="peers", scaling=HOSTILE[1])
    path = write_records(folder / "records.jsonl", records, note=HOSTILE[0])
    return write_report([path], folder / "out", commands=["x" * 300])[0]


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_horizontal_scrolling_and_nothing_runs(page, tmp_path, width):
    check_width(page, tmp_path, width)


def test_the_page_as_it_is_shows_its_verdicts(page, tmp_path):
    dom = dump_dom(page, tmp_path)
    assert "data-owned" not in dom
    assert "What the paper claims, and what we find" in dom
    assert dom.count("<svg") > 10


def test_it_prints(page, tmp_path):
    pdf = tmp_path / "report.pdf"
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={pdf}", page.as_uri(),
    ]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=180, check=True)
    assert pdf.read_bytes().startswith(b"%PDF")
