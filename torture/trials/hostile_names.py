"""Names that could run as code in pages, tables, spreadsheets, terminals and ONNX files."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from _commands import call
from _trial import Trial
from support.synthetic_records import make_runs, write_records

from votedkernels import Gaussian, Polynomial, Similarity, VotedKernelClassifier, load_model

OWN = "document.documentElement.dataset.owned=1"
NAMES = [
    f"<script>{OWN}</script>", f"\"><img src=x onerror='{OWN}'>", f"'-{OWN}-'",
    f"</title><svg onload={OWN}>", f"</style><script>{OWN}</script>", f"javascript:{OWN}",
    f"<!--<script>{OWN}</script>", "{{ 7 * 7 }}", "{% raw %}", "]]>", "&lt;script&gt;",
    "=cmd|' /C calc'!A0", "=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", "\n=1+1",
    "line\nbreak", "carriage\rreturn", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "bell\x07",
    "back\x08space", "\x7f", "\x9b31m", "\u202egnp.exe", "\u2028", "a|b", "`rm`",
    "[x](javascript:x)", "[red]x[/red]", "[/b]", ":smile:", "$\\frac{", "%s%n", "é漢字", "'", '"',
    "a,b", "\ufeffx",
]  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def main():
    trial = Trial(
        13,
        f"{len(NAMES)} hostile names of data sets, columns, classes, kernels and files",
        "escaped or neutralised; the page opened in Chromium runs nothing",
    )
    names = NAMES[:: max(1, round(len(NAMES) / trial.count(len(NAMES))))]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pages = [*check_reports(trial, names, folder), *check_notebooks(trial, names, folder)]
        check_tables(trial, names, folder)
        check_files(trial, names, folder)
        check_onnx(trial, names)
        seen = open_pages(trial, pages, folder)
    trial.end(
        f"{len(names)} names in {len(pages)} pages, in Markdown, CSV, terminal output, file names "
        f"and ONNX metadata: none is markup, formula or control sequence; {seen}"
    )


# -- pages -------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Collects the tags, attributes and scripts of a page."""

    # ruff: noqa: D102

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self._in_script = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script"

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts.append(data)


def check_page(trial, where, text, *, forbidden):
    page = Tags(text)
    for tag, attrs in page.found:
        runs = [name for name, value in attrs.items() if OWN in (value or "") and name[:2] == "on"]
        if tag in forbidden or runs or str(attrs.get("href", "")).startswith("javascript:"):
            trial.fail(f"{where}: a tag {tag} {attrs}")
    if any(OWN in script for script in page.scripts):
        trial.fail(f"{where}: a script was let in")


def check_reports(trial, names, folder):
    """Yield reports, each with some of the names in all places where names can be."""
    for start in range(0, len(names), 7):
        some = names[start : start + 7]
        records = []
        for i, name in enumerate(some):
            for algorithm in ("l2-svm", "vkr-trace", some[-i]):
                records += make_runs(name, algorithm, [10 + i, 11, 12, 13, 14])
            records += make_runs(name, name, [1, 2, 3, 4, 5], family="peers", scaling=name)
            records += make_runs("musk", name, [1, 2, 3, 4, 5], family=name, scaling=name)
        out = folder / f"report-{start}"
        path = write_records(folder / "r.jsonl", records, note=some[0], **{some[-1]: some[1:]})
        ended = call("report", path, "--output", out)
        if ended.code:
            trial.fail(f"report of {some}: {ended.err[-300:]}")
            continue
        page = (out / "report.html").read_text(encoding="utf-8")
        check_page(trial, f"report of {some}", page, forbidden={"script", "img", "iframe", "base"})
        check_text(trial, "tables.md", (out / "tables.md").read_text(encoding="utf-8"), html=True)
        check_csv(trial, "tables.csv", (out / "tables.csv").read_bytes())
        trial.tell(f"reports: {start} of {len(names)}")
        yield out / "report.html"


def check_text(trial, where, text, *, html=False):
    """Check that nothing can change a terminal and no tag is left."""
    wrong = {c for c in text if not c.isprintable() and c != "\n"}
    if wrong:
        trial.fail(f"{where}: {wrong} were let through")
    if html and any(f"<{tag}" in text for tag in ("script", "img", "svg", "!--")):
        trial.fail(f"{where}: a tag was let through")


def check_csv(trial, where, content):
    for row in csv.reader(io.StringIO(content.decode("utf-8"), newline="")):
        for cell in row:
            if cell.startswith(FORMULA) and not is_number(cell):
                trial.fail(f"{where}: {cell!r} is a formula")


def is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def check_notebooks(trial, names, folder):
    """Yield what a notebook shows of models with these names."""
    X, labels = small_table(names)
    for name in names:
        # Family names are part of parameter names, which scikit-learn does not escape.
        if not re.fullmatch(r"[\w .,:=/%-]+", name):
            try:
                VotedKernelClassifier([(name, Polynomial((1,)))]).fit(X, labels)
                trial.fail(f"a family may be called {name!r}")
            except ValueError as error:
                check_text(trial, "message", str(error))
    for start in range(0, len(names), 10):
        some = names[start : start + 10]
        families = [Similarity(np.inner, name=name, bound=100.0) for name in some]
        page = VotedKernelClassifier(families, tol=0.5).fit(X, labels)._repr_html_()
        where = f"notebook of {some}"
        check_page(trial, where, page, forbidden={"img", "iframe", "base"})
        path = folder / f"notebook-{start}.html"
        path.write_text(f"<!doctype html><meta charset=utf-8>{page}", encoding="utf-8")
        trial.tell(where[:60])
        yield path


def open_pages(trial, pages, folder):
    """Open the pages in a browser, if there is one."""
    if CHROMIUM is None:
        return "no Chromium here, so no page was opened"
    # Chromium puts a socket into TMPDIR, so its path must be short.
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    for page in pages:
        command = [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=5000", "--dump-dom",
            page.as_uri(),
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=180, check=False, env=environment
        )
        if done.returncode or "</html>" not in done.stdout:
            trial.fail(f"Chromium did not open {page.name}: {done.stderr[-200:]}")
        if "data-owned" in done.stdout.partition(">")[0] + done.stdout.partition("<body")[0]:
            trial.fail(f"{page.name} ran something")
        trial.tell(f"Chromium: {page.name}")
    return f"Chromium opened {len(pages)} pages and ran nothing"


# -- tables ------------------------------------------------------------------------------


def small_table(names):
    random = np.random.RandomState(0)
    X = random.randn(40, 2).round(3)
    return X, np.where(X[:, 0] > 0, names[0], names[-1])


def check_tables(trial, names, folder):
    """Fit, predict and inspect with hostile names of classes and columns."""
    for start in range(0, len(names), 3):
        some = [name for name in names[start : start + 3] if name.strip()]
        if len(some) < 2:
            continue
        X = np.random.RandomState(0).randn(60, 2).round(3)
        codes = np.arange(60) % len(some)
        columns = [some[0].strip() + " 1", some[1].strip() + " 2", some[0].strip()]
        rows = [[*x, some[code]] for x, code in zip(X.tolist(), codes, strict=True)]
        data, model, out = folder / "t.csv", folder / "t.model", folder / "p.csv"
        with open(data, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([columns, *rows])
        name = f"table of {some}"
        ended = call("fit", data, f"--target={columns[2]}", "--model", model, "--kernels",
                     "polynomial:1")  # fmt: skip
        if ended.code:
            trial.fail(f"{name}: fit: {ended.err[-300:]}")
            continue
        check_text(trial, f"{name}: fit", ended.out + ended.err)
        ended = call("predict", model, data, f"--keep={columns[2]}", "--output", out)
        check_text(trial, f"{name}: predict", ended.out + ended.err)
        check_csv(trial, f"{name}: predict", out.read_bytes() if ended.code == 0 else b"")
        if ended.code:
            trial.fail(f"{name}: predict: {ended.err[-300:]}")
        elif not labels_of(out) <= {as_written(text) for text in load_model(model).classes_}:
            trial.fail(f"{name}: predict: other labels, {labels_of(out)}")
        ended = call("predict", model, data, f"--keep={columns[2]}x")
        check_text(trial, f"{name}: unknown column", ended.err)
        for args in ([], ["--json"]):
            ended = call("inspect", model, *args)
            check_text(trial, f"{name}: inspect", ended.out + ended.err)
            if ended.code:
                trial.fail(f"{name}: inspect: {ended.err[-300:]}")
        trial.tell(name[:60])


def labels_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return {row["prediction"] for row in csv.DictReader(file)}


def as_written(label):
    """Return a label as docs/command-line.md promises: with an apostrophe before a formula."""
    return f"'{label}" if label.startswith(FORMULA) and not is_number(label) else str(label)


def check_files(trial, names, folder):
    """Use the names as file names."""
    X, y = small_table(["no", "yes"])
    rows = [f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), y, strict=True)]
    for number, name in enumerate(names):
        home = folder / f"files-{number}"
        home.mkdir()
        stem = name.replace("/", "_")[:100]
        data, model = home / f"{stem}.csv", home / stem
        data.write_text("\n".join(["a,b,y", *rows, ""]), encoding="utf-8")
        for args in (
            ["fit", data, "--target", "y", "--model", model, "--kernels", "polynomial:1"],
            ["predict", model, data, "--output", home / f"{stem}.out.csv"],
            ["inspect", model],
            ["predict", data, data],
            ["inspect", home / f"{stem}.missing"],
        ):
            ended = call(*args)
            check_text(trial, f"{args[0]} of a file {name!r}", ended.out + ended.err)
            # A table is not a model, and the other file does not exist.
            due = 2 if args[:2] == ["predict", data] or args[1].suffix == ".missing" else 0
            if ended.code != due:
                trial.fail(f"{args[0]} of a file {name!r}: {ended.code} {ended.err[-300:]}")
        if any(".part" in other for other in os.listdir(home)):
            trial.fail(f"an unfinished file is left beside {name!r}")
        trial.tell(f"files: {number} of {len(names)}")


def check_onnx(trial, names):
    """Export models whose features and classes have these names."""
    from votedkernels.onnx import to_onnx

    X, _ = small_table(names)
    for one, other in zip(names, [*names[1:], names[0]], strict=True):
        labels = np.where(X[:, 0] > 0, one, other)
        model = VotedKernelClassifier(Gaussian((1.0,)), tol=0.5).fit(X, labels)
        model.feature_names_in_ = np.array([one, other + " 2"], dtype=object)
        exported = to_onnx(model)
        found = {entry.key: entry.value for entry in exported.metadata_props}
        check_text(trial, f"ONNX metadata of {one!r}", "".join(found.values()))
        if json.loads(found["feature_names"]) != [one, other + " 2"]:
            trial.fail(f"ONNX metadata of {one!r}: {found}")
        trial.tell(f"ONNX: {one[:30]!r}")


if __name__ == "__main__":
    sys.exit(main())
