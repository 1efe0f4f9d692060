"""The report: complete, self-contained, and the same for the same records."""

import csv
import html
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from support.synthetic_records import make_record, make_runs, settings_of, write_records

from votedkernels.exceptions import RecordError
from votedkernels.experiments import figures, paper
from votedkernels.experiments.report import write_report
from votedkernels.experiments.statistics import friedman_test
from votedkernels.experiments.table_formats import escape_markdown, neutralise

HOSTILE = "<script>document.title='owned'</script>"


def make_campaign(datasets=("musk", "ocr49", "german"), seeds=(0, 1)):
    """Return polynomial, Gaussian and peer records with random figures."""
    rng = np.random.default_rng(0)
    records = []
    for family in ("polynomial", "gaussian", "both"):
        for algorithm in (*paper.EXPECTED[family], paper.EXTENSION):
            settings = settings_of(algorithm)
            if family == "gaussian":
                settings = [
                    {"gamma" if k == "degree" else k: v for k, v in setting.items()}
                    for setting in settings
                ]
            n = len(settings)
            mass = [[0.5, 0.25, 0.0]] * n if algorithm.startswith("vkr") else None
            records += [
                make_record(
                    dataset,
                    algorithm,
                    run,
                    seed,
                    family=family,
                    settings=settings,
                    validation_errors=rng.integers(5, 30, n).tolist(),
                    test_errors=rng.integers(5, 30, n).tolist(),
                    n_support=rng.integers(1, 200, n).tolist(),
                    mass=mass,
                    gap=1e-5 if mass else None,
                )
                for dataset in datasets
                for seed in seeds
                for run in range(5)
            ]
    for algorithm, n_support in (("logistic-regression", -1), ("vkr-cv", 17)):
        for dataset in datasets:
            records += make_runs(
                dataset, algorithm, rng.integers(5, 30, 5).tolist(), n_support, family="peers"
            )
    return records


def report(tmp_path, records, **kwargs):
    path = write_records(tmp_path / "records.jsonl", records, note="made up")
    page, markdown, table = write_report([path], tmp_path / "out", **kwargs)
    return (
        page.read_text(encoding="utf-8"),
        markdown.read_text(encoding="utf-8"),
        table.read_text(encoding="utf-8"),
    )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return report(tmp_path_factory.mktemp("report"), make_campaign())


class Tags(HTMLParser):
    """Collects all tags with their attributes, and whether they are closed in order."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_page_is_well_formed_and_loads_nothing(campaign):
    page = Tags(campaign[0])
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "image"}
    for _, attrs in page.tags:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action"):
            assert attrs.get(name, "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)
    assert "http://" not in campaign[0]
    assert "https://" not in campaign[0]
    assert "@import" not in campaign[0]
    assert not re.search(r"url\((?!#)", campaign[0])


def test_every_link_has_its_target_and_every_id_is_one(campaign):
    page = Tags(campaign[0])
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    used = {
        attrs[name][1:]
        for _, attrs in page.tags
        for name in ("href", "xlink:href")
        if name in attrs
    } | set(re.findall(r"url\(#([^)]+)\)", campaign[0]))
    assert used <= set(ids)
    outside_figures = [name for name in ids if not re.match(r"f[0-9a-f]{8}-", name)]
    assert len(outside_figures) == len(set(outside_figures))


def test_page_has_what_it_promises(campaign):
    text = campaign[0]
    for words in (
        "What the paper claims, and what we find", "What was run", "How to reproduce it", "Caveats",
        "Polynomial kernels", "Gaussian kernels", "Polynomial and Gaussian kernels",
        "Gaussian, extended", "Other classifiers", "logistic regression",
        "optimistic", "What is missing", "made up", "prefers-color-scheme", "@media print",
    ):  # fmt: skip
        assert words in text
    for claim in paper.CLAIMS.values():
        assert html.escape(claim.rule).replace("&#x27;", "&#39;") in text
    assert text.count("<svg viewBox") > 3 * 2 * 3


def test_same_records_give_the_same_bytes(tmp_path, campaign):
    again = report(tmp_path, make_campaign()[::-1])
    assert again == campaign


def test_another_process_gives_the_same_bytes(tmp_path, campaign):
    path = write_records(tmp_path / "records.jsonl", make_campaign(), note="made up")
    code = (
        "import sys; from votedkernels.experiments.report import write_report; "
        "write_report([sys.argv[1]], sys.argv[2])"
    )
    out = tmp_path / "out"
    subprocess.run([sys.executable, "-c", code, str(path), str(out)], check=True)
    assert (out / "report.html").read_text(encoding="utf-8") == campaign[0]


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_page_and_markdown_have_the_same_numbers(campaign):
    page, markdown, table = campaign
    rows = read_csv(table)
    assert rows
    words = [" ".join(w.split()) for w in Tags(page).words]
    lines = markdown.splitlines()
    for row in rows:
        number = row["value"]
        assert re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", number)
        assert any(number in w for w in words)
        starts = "| " + row["row"].replace(": ", " | ")
        assert any(line.startswith(starts) and number in line for line in lines)
    # Check each cell of the table of errors from record to page.
    first = [r for r in rows if r["row"] == "musk" and r["column"] == "VKR2, ours"][:2]
    mean, sd = (r["value"] for r in first)
    assert f"{mean} ({sd})" in words
    assert f"{mean} ({sd})" in markdown


def test_numbers_are_the_papers_and_ours(tmp_path):
    records = make_runs("musk", "l2-svm", [10, 12, 14, 9, 5], n_support=33)
    _, markdown, table = report(tmp_path, records)
    found = {
        (r["column"], r["figure"]): r["value"]
        for r in read_csv(table)
        if r["table"].startswith("Test error") and r["selection"] == "literal"
    }
    assert found["L2-SVM, ours", "mean"] == "10.00"
    assert found["L2-SVM, ours", "sd"] == f"{np.std([10, 12, 14, 9, 5], ddof=1):.2f}"
    assert found["L2-SVM, paper", "mean"] == "15.34"
    assert found["L2-SVM, paper", "sd"] == "2.23"
    assert "| musk | 10.00 (3.39) | 15.34 (2.23) |" in markdown


def test_hostile_names_are_text(tmp_path):
    names = [HOSTILE, "a|b", "=1+1", "$\\frac{", '"><img src=x onerror=alert(1)>', "x\ny"]
    records = []
    for name in names:
        for i, algorithm in enumerate([*paper.TABLE_ALGORITHMS, f"{HOSTILE}|$^", "=cmd()"]):
            mass = [[1.0, 2.0]] if algorithm.startswith("vkr") else None
            for run in make_runs(name, algorithm, [10 + i, 11, 12 + i, 13, 14]):
                records.append({**run, "mass": mass and mass * len(run["settings"])})
        records += make_runs(name, HOSTILE, [1, 2, 3, 4, 5], family="peers", scaling=HOSTILE)
    page, markdown, table = report(tmp_path, records)
    tags = Tags(page)
    assert not {tag for tag, _ in tags.tags} & {"script", "img"}
    assert not any(name.startswith("on") for _, attrs in tags.tags for name in attrs)
    assert "<script" not in markdown
    assert "a\\|b" in markdown
    rows = read_csv(table)
    assert {"'=1+1", HOSTILE} <= {row["row"] for row in rows}
    assert not any(
        value.startswith(("=", "+", "@", "-")) for row in rows for value in list(row.values())[:-1]
    )


def test_nothing_in_the_tables_can_change_a_terminal(tmp_path):
    records = make_runs("\x1b[31mred\x07", "l2-svm", [10, 11, 12, 13, 14])
    page, markdown, table = report(tmp_path, records)
    for text in (markdown, table):
        assert all(c.isprintable() or c == "\n" for c in text)
        assert "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}" in text.replace("\\", "")
    assert "red" in page


def test_half_a_sign_in_a_name_is_written_as_its_number(tmp_path):
    """JSON can express it, but UTF-8 cannot."""
    records = make_runs("half \ud800", "l2-svm", [10, 11, 12, 13, 14])
    path = write_records(tmp_path / "records.jsonl", records)
    page, *_ = write_report([path], tmp_path / "out")
    assert "half \\ud800" in page.read_text(encoding="utf-8")


def test_negative_numbers_stay_numbers(campaign):
    values = [row["value"] for row in read_csv(campaign[2])]
    assert any(value.startswith("-") for value in values)
    assert not any(value.startswith("'") for value in values)


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x"])
def test_formulas_are_neutralised(text):
    assert neutralise(text) == f"'{text}"
    assert neutralise(f"a{text}") == f"a{text}"


@pytest.mark.parametrize("control", ["\t", "\r", "\n", "\x1b"])
def test_controls_are_replaced(control):
    assert neutralise(f"{control}=1") == "\N{REPLACEMENT CHARACTER}=1"


def test_markdown_stays_on_its_line():
    assert escape_markdown("a|b\n# c *d* [e](f) <g>") == (r"a\|b # c \*d\* \[e\](f) &lt;g&gt;")


@pytest.mark.parametrize("keep", [1, 3, 7, 23])
def test_part_of_the_records_is_reported(tmp_path, keep):
    page, markdown, _ = report(tmp_path, make_campaign()[:keep])
    assert "What is missing" in page
    assert "provisional" in page
    assert markdown


def test_torn_last_line_is_left_out(tmp_path):
    records = make_campaign()
    path = write_records(tmp_path / "records.jsonl", records)
    content = path.read_text(encoding="utf-8")
    path.write_text(content[: len(content) * 2 // 3], encoding="utf-8")
    (page, *_) = write_report([path], tmp_path / "out")
    assert "What is missing" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("missing", ["l2-svm", "l1-svm", "vkr-trace"])
def test_missing_algorithms_are_fine(tmp_path, missing):
    records = [r for r in make_campaign(("musk", "ocr49")) if r["algorithm"] != missing]
    page, markdown, _ = report(tmp_path, records)
    assert f"{paper.NAMES[missing]} 0" in page
    assert "verdicts are provisional" in page
    assert "verdicts are provisional" in markdown
    assert f"{paper.NAMES[missing]} 0" in markdown


def test_peers_alone_are_fine(tmp_path):
    records = [r for r in make_campaign() if r["family"] == "peers"]
    page, _, table = report(tmp_path, records)
    assert "What the paper claims" not in page
    columns = {
        row["column"]
        for row in read_csv(table)
        if "logistic" in row["row"] and row["table"] == "Other classifiers"
    }
    assert columns == {"Test error, %", "Fit, s", "Predict, s"}


def test_peers_in_short(tmp_path):
    errors = {"rvm": {"musk": 10, "german": 20}, "vkr-all": {"musk": 12, "german": 18}}
    counts = {"musk": 5, "german": 8}
    records = [
        record
        for algorithm, found in errors.items()
        for dataset, error in found.items()
        for record in make_runs(dataset, algorithm, [error] * 5, counts[dataset], family="peers")
    ]
    records += make_runs("ocr49", "rvm", [1] * 5, 1, family="peers")  # not run by both algorithms
    records += make_runs("musk", "logistic-regression", [40] * 5, -1, family="peers")
    records += make_runs("german", "logistic-regression", [12] * 5, -1, family="peers")
    _, markdown, table = report(tmp_path, records)
    short = [row for row in read_csv(table) if row["table"] == "Other classifiers in short"]
    values = {(row["row"], row["column"]): row["value"] for row in short}
    for name, error, lowest, support in (
        ("RVM", "15.00", "1", "6.5"),
        ("VKR, tuned", "15.00", "0", "6.5"),
        ("logistic regression", "26.00", "1", None),
    ):
        assert values[name, "Mean error, %"] == values[name, "Chosen run by run, %"] == error
        assert values[name, "Lowest on"] == lowest
        assert values.get((name, "Support vectors, median")) == support
    assert "Over 2 data sets." in markdown


def test_peers_without_a_common_data_set_have_no_summary(tmp_path):
    records = make_runs("musk", "rvm", [9] * 5, family="peers")
    records += make_runs("german", "vkr-all", [9] * 5, family="peers")
    _, markdown, _ = report(tmp_path, records)
    assert "in short" not in markdown


def test_commands_are_shown(tmp_path):
    page, _, _ = report(tmp_path, make_campaign(("musk",), (0,)), commands=["run <it>"])
    assert "<pre>run &lt;it&gt;</pre>" in page


def test_nothing_is_left_half_written(tmp_path, monkeypatch):
    path = write_records(tmp_path / "records.jsonl", make_runs("musk", "l2-svm", [9] * 5))
    out = tmp_path / "out"
    write_report([path], out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    write_records(path, make_runs("musk", "l2-svm", [20] * 5))

    def fail(*args):
        raise OSError("no space left")

    monkeypatch.setattr("votedkernels._system.atomic_files.os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_report([path], out)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_errors_are_one_line(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        write_report([tmp_path / "nowhere.jsonl"], tmp_path)
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"some": "thing"}) + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match="not a file of votedkernels records"):
        write_report([other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_compressed_records_are_read(tmp_path, campaign):
    import gzip

    path = write_records(tmp_path / "records.jsonl", make_campaign(), note="made up")
    packed = tmp_path / "records.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (page, *_) = write_report([packed], tmp_path / "out")
    assert page.read_text(encoding="utf-8") == campaign[0]


def test_templates_are_part_of_the_package():
    import votedkernels.experiments as package

    folder = Path(package.__file__).parent / "templates"
    assert {p.name for p in folder.iterdir()} == {"report.html.j2"}


def test_drawing_leaves_matplotlibs_settings_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    figures.draw_error_against_support({"l2-svm": (100.0, 5.0, 1.0)}, {})
    assert dict(matplotlib.rcParams) == before


def test_figures_take_the_pages_colours():
    test = friedman_test([[1, 2, 3, 4]] * 11)
    for svg in (
        figures.draw_critical_difference(test, ["a", "b", "c", "d"]),
        figures.draw_error_against_support({"l2-svm": (100.0, 5.0, 1.0)}, {"l2-svm": (90.0, 4.0)}),
        figures.draw_weight_shares({"vkr-trace": [0.5, 0.5]}, ["1", "2"], "degree"),
    ):
        assert "currentColor" in svg
        assert "var(--series-" in svg
        assert "#0a0b" not in svg
        assert "#0102" not in svg
        assert svg.startswith("<svg viewBox=")
        assert "<text" in svg  # searchable, and in the page's font
