"""The report in a real browser, if Chromium is installed."""

import re
import shutil
import subprocess

import pytest
from support.synthetic_records import make_runs, write_records

from votedkernels.experiments import paper
from votedkernels.experiments.report import write_report

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

HOSTILE = (
    "<script>document.documentElement.dataset.owned = 1</script>",
    "\"><img src=x onerror='document.documentElement.dataset.owned = 1'>",
    "a-name-without-any-place-to-break-it-that-is-much-wider-than-a-telephone-is",
)
# A frame posts to the page around it: a window can be wider than requested, a frame cannot.
PROBE = """<script>
addEventListener("load", () => setTimeout(() => parent.postMessage(JSON.stringify({
  scroll: document.documentElement.scrollWidth, width: innerWidth,
  owned: document.documentElement.dataset.owned ?? "no",
  font: getComputedStyle(document.body).fontFamily.length > 0}), "*"), 200));
</script>"""


def dump_dom(path, tmp_path):
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", "--dump-dom",
        path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    return done.stdout


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
    text = page.read_text(encoding="utf-8").replace("<details>", "<details open>")
    (tmp_path / "probed.html").write_text(
        text.replace("</body>", f"{PROBE}</body>"), encoding="utf-8"
    )
    host = tmp_path / "host.html"
    host.write_text(
        "<!doctype html><p id='answer'></p><script>addEventListener('message', e => "
        "{document.getElementById('answer').textContent = 'ANSWER' + e.data})</script>"
        f"<iframe src='probed.html' style='border:0;width:{width}px;height:800px'></iframe>",
        encoding="utf-8",
    )
    dom = dump_dom(host, tmp_path)
    answer = re.search(r'ANSWER\{"scroll":(\d+),"width":(\d+),"owned":"(\w+)"', dom)
    assert answer, dom[:2000]
    assert int(answer[2]) == width
    assert int(answer[1]) <= width
    assert answer[3] == "no"


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
