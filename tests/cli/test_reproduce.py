"""``votedkernels reproduce`` and ``votedkernels report``, used as in a terminal."""

import gzip
import json
from contextlib import suppress
from importlib import import_module

import numpy as np
import pytest

from votedkernels.cli import main
from votedkernels.experiments.records import read_records
from votedkernels.experiments.runner import run_unit

FILES = ["report.html", "tables.csv", "tables.md"]


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("VOTEDKERNELS_DATA", raising=False)


def run(capsys, *args):
    """Return (exit code, standard output, standard error)."""
    try:
        main([str(arg) for arg in args])
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    out, err = capsys.readouterr()
    return code, out, err


def reproduce(capsys, folder, *args):
    return run(
        capsys, "reproduce", "--dataset", "ionosphere", "--algorithm", "vkr-dimension",
        "--output", folder, *args,
    )  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("VOTEDKERNELS_DATA", raising=False)
        with suppress(SystemExit):
            main(["reproduce", "--dataset", "ionosphere", "--algorithm", "vkr-dimension",
                  "--algorithm", "l1-svm", "--output", str(folder)])  # fmt: skip
    return folder


def test_it_records_and_reports(done):
    assert sorted(path.name for path in done.iterdir()) == ["records.jsonl", *FILES]
    assert len(read_records(done / "records.jsonl")) == 10
    assert "ionosphere" in (done / "report.html").read_text()


def test_the_header_tells_the_versions(done):
    header = json.loads((done / "records.jsonl").read_text().splitlines()[0])
    assert {"python", "votedkernels", "numpy", "scikit-learn"} <= set(header["versions"])


def test_again_does_nothing_twice(done, capsys):
    before = (done / "records.jsonl").read_bytes()
    code, _, err = reproduce(capsys, done)
    assert code == 0
    assert "5 of 5 units are already recorded" in err
    assert (done / "records.jsonl").read_bytes() == before


def test_the_report_is_recomputed_from_the_records_alone(done, tmp_path, capsys):
    packed = tmp_path / "records.jsonl.gz"
    packed.write_bytes(gzip.compress((done / "records.jsonl").read_bytes()))
    code, _, err = run(capsys, "report", packed, "--output", tmp_path / "again")
    assert code == 0
    assert "report.html" in err
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == FILES
    for name in ("tables.md", "tables.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (done / name).read_bytes()


@pytest.mark.parametrize("name", ["[/b]", "[red]x"])
def test_the_name_of_the_folder_is_no_markup(done, tmp_path, capsys, name):
    code, _, err = run(capsys, "report", done / "records.jsonl", "--output", tmp_path / name)
    assert code == 0
    assert f"{name}/report.html" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--dataset", "iris"], "iris"),
        (["--kernels", "sigmoid"], "sigmoid"),
        (["--scaling", "log"], "log"),
        (["--seeds", "0"], "seeds"),
        (["--jobs", "-1"], "jobs"),
        (["--algorithm", "perceptron"], "perceptron"),
        (["--dataset", "ocr49"], "ocr49"),
    ],
)
def test_bad_options_are_one_line_before_any_work(args, message, tmp_path, capsys):
    code, out, err = run(capsys, "reproduce", "--output", tmp_path / "out", *args)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_other_data_sets_come_from_the_data_folder(tmp_path, capsys):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2))
    lines = [f"{a},{b},{1 if a > b else -1}" for a, b in X]
    (tmp_path / "mine.csv").write_text("\n".join(["a,b,target", *lines]))
    code, _, err = run(
        capsys, "reproduce", "--kernels", "both", "--dataset", "mine", "--algorithm", "vkr-trace",
        "--data-dir", tmp_path, "--output", tmp_path / "out",
    )  # fmt: skip
    assert code == 0, err
    assert len(read_records(tmp_path / "out" / "records.jsonl")) == 5
    assert "mine" in (tmp_path / "out" / "report.html").read_text()


HEADER = ",".join(f"f{i}" for i in range(34)) + ",target\n"
ROW = ",".join(["0.5"] * 34)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "ionosphere.csv"),
        (HEADER + ROW + ",1\n" + "0.5,1\n", "line 3"),
        (HEADER + ROW + ",1\n" + ROW.replace("0.5", "text", 1) + ",-1\n", "line 3"),
        (HEADER + (ROW + ",1\n") * 4, "ionosphere.csv"),
    ],
    ids=["empty", "ragged", "text", "one class"],
)
def test_bad_data_files_are_named_with_their_line(content, message, tmp_path, capsys):
    (tmp_path / "ionosphere.csv").write_text(content)
    code, _, err = reproduce(capsys, tmp_path / "out", "--data-dir", tmp_path)
    assert code == 2
    assert message in err
    assert str(tmp_path / "ionosphere.csv") in err.replace("\n", "")
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written_is_an_error(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    code, _, err = reproduce(capsys, blocked / "out")
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert blocked.read_text() == "mine"
    code, _, err = reproduce(capsys, blocked)
    assert code == 2
    assert blocked.read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nonsense\n", "line 1"),
        ('{"format": "votedkernels-records", "version": 7}\n', "version 7"),
        ("", "empty"),
    ],
)
def test_records_of_others_are_refused(content, message, tmp_path, capsys):
    records = tmp_path / "records.jsonl"
    records.write_text(content)
    code, _, err = run(capsys, "report", records, "--output", tmp_path / "out")
    assert code == 2
    assert message in err
    assert str(records) in err.replace("\n", "")
    assert not (tmp_path / "out" / "report.html").exists()
    if content:
        code, _, err = reproduce(capsys, tmp_path)
        assert code == 2
        assert records.read_text() == content


def test_records_that_are_not_there(tmp_path, capsys):
    code, _, err = run(capsys, "report", tmp_path / "none.jsonl")
    assert code == 2
    assert "none.jsonl" in err


def test_ctrl_c_leaves_a_report_and_goes_on_later(tmp_path, capsys, monkeypatch):
    module = import_module("votedkernels.cli.reproduce")

    def stop_after_two(units, file, **options):
        for unit in units[:2]:
            file.append({**run_unit(unit), "finished": "now"})
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run_units", stop_after_two)
    code, _, err = reproduce(capsys, tmp_path)
    assert code == 130
    assert "Run the same command again to continue" in err.replace("\n", " ")
    assert (tmp_path / "report.html").is_file()
    monkeypatch.undo()
    assert len(read_records(tmp_path / "records.jsonl")) == 2
    assert reproduce(capsys, tmp_path)[0] == 0
    assert len(read_records(tmp_path / "records.jsonl")) == 5
