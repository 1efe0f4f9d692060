"""Look at every page of the built documentation in Chromium, as ``make check-site`` does.

No page may scroll sideways on a telephone (390 px). No table may break inside words at 390 or
1280 px, and at 1280 px no table or code may be cut off. Headings must be in order, pictures need
alternative texts, and text needs a contrast of 4.5 to 1 (3 to 1 if large), in both themes.

A server lends the pages to the browser, which loads one after the other in a frame and posts what
it finds; `site_check.js` contains the checks.
"""

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.browser import CHROMIUM
from support.paths import ROOT

SITE = ROOT / "docs" / "_build" / "html"
SCRIPT = Path(__file__).with_suffix(".js")
#: A page that takes longer than this many seconds has failed.
PATIENCE = 120


def pages_of(site):
    """Return all pages of a site, relative to it, except those that no reader opens."""
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [name for name in found if not name.startswith("_")]


def check_pages(site, names):
    """Yield each page with its faults: pairs of a kind and a description."""
    with serving(site, names) as (address, answers), browsing(address):
        for _ in names:
            name, faults = answers.get(timeout=PATIENCE)
            yield name.lstrip("/"), [tuple(fault) for fault in faults]


@contextmanager
def serving(site, names):
    """Serve the site and the page that looks at it; yield its address and the queue of answers."""
    answers: queue.Queue = queue.Queue()
    addresses = json.dumps([f"/{name}" for name in names])
    host = (
        f"<!doctype html><body><script>{SCRIPT.read_text(encoding='utf-8')}\n"
        f"checkAll({addresses})</script>"
    )

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/__check__":
                super().do_GET()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(host.encode())

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answers.put(json.loads(body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    handler = partial(Handler, directory=str(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/__check__", answers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def browsing(address):
    """Open a page in Chromium, without a window, until the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--window-size=1400,1000", "--no-first-run", f"--user-data-dir={profile}", address,
        ]  # fmt: skip
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            browser.terminate()
            browser.wait(timeout=30)


def main():
    """Print what is wrong with each page; exit with code 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as index.html; all pages by default")
    parser.add_argument("--site", type=Path, default=SITE)
    arguments = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("not checked: Chromium is not installed (Debian: chromium)")
    if not (arguments.site / "index.html").is_file():
        raise SystemExit(f"{arguments.site} has no index.html; run `make docs` first")
    names = arguments.pages or pages_of(arguments.site)
    n_faults = 0
    for name, faults in check_pages(arguments.site, names):
        for kind, text in faults:
            print(f"{name}: {kind}: {text}", flush=True)
        n_faults += len(faults)
    print(f"{len(names)} pages, {n_faults} faults")
    raise SystemExit(bool(n_faults))


if __name__ == "__main__":
    main()
