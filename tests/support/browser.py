"""Pages in a real browser, if Chromium is installed."""

import re
import shutil
import subprocess

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
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
    """Return a page as the browser sees it after loading."""
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", "--dump-dom",
        path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    return done.stdout


def check_width(page, tmp_path, width):
    """Assert that a page needs no horizontal scrolling at a width, and that nothing in it runs."""
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
