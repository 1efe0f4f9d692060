"""``export``: from a model file written by ``fit`` to decisions in onnxruntime."""

import csv
import json
import os
import sys

import numpy as np
import pytest

from votedkernels import EditDistance, Similarity, VotedKernelClassifier, load_model, save_model
from votedkernels.cli import main

WHY = "exported files are run by onnxruntime: pip install 'votedkernels[onnx]' onnxruntime"
onnxruntime = pytest.importorskip("onnxruntime", reason=WHY)
pytest.importorskip("skl2onnx", reason=WHY)


def quick(args):
    """Options that make a fit short, unless a test is about the search."""
    is_fit = args[0] == "fit" and not {"--cv", "--no-cv", "-h", "--help"} & set(args)
    return ("--no-cv", "--no-held-out") if is_fit else ()


@pytest.fixture
def call(capsys):
    """Return a function that runs a command and returns exit code, output and error output."""

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([*map(str, args), *quick(args)])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


@pytest.fixture
def train(tmp_path):
    X = np.random.RandomState(0).randn(80, 3) * [1, 10, 0.1] + [0, 0, 1000]
    labels = np.array(["no", "so so", "yes"])[np.digitize(X[:, 0] * X[:, 1], [-1.0, 1.0])]
    path = tmp_path / "train.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "a", "b", "c", "class"])
        writer.writerows([i, *x, label] for i, (x, label) in enumerate(zip(X, labels, strict=True)))
    return path


@pytest.fixture
def model(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    code, _, err = call("fit", train, "--target", "class", "--drop", "id", "--model", path)
    assert code == 0, err
    return path


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_one_line(result, words):
    code, out, err = result
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("votedkernels: ")
    assert words in err


@pytest.mark.parametrize("scaling", ["standard", "range", "none"])
def test_the_file_decides_as_predict_does(call, train, tmp_path, scaling):
    path, graph = tmp_path / "m.safetensors", tmp_path / "m.onnx"
    fit = ("fit", train, "--target", "class", "--drop", "id", "--kernels", "all")
    assert call(*fit, "--scaling", scaling, "--model", path)[0] == 0
    code, out, err = call("export", path, graph)
    assert code == 0
    assert err == f"Saved the ONNX model to {graph}.\n"
    for words in ("a, b, c", "label, scores", "no, so so, yes", str(graph.stat().st_size)):
        assert words in out
    assert call("predict", path, train, "--output", tmp_path / "p.csv")[0] == 0
    due = read_csv(tmp_path / "p.csv")
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map["feature_names"])
    assert names == ["a", "b", "c"]
    X = np.array([[float(row[name]) for name in names] for row in read_csv(train)])
    label, scores = session.run(None, {"X": X})
    assert label.tolist() == [row["prediction"] for row in due]
    votes = [[float(row[f"decision_{c}"]) for c in ("no", "so so", "yes")] for row in due]
    np.testing.assert_allclose(scores, votes, rtol=1e-9, atol=1e-9)


def test_options_reach_the_graph(call, model, tmp_path):
    graph = tmp_path / "m.onnx"
    args = ("--input-name", "rows", "--no-scores", "--opset", 15)
    code, out, _ = call("export", model, graph, *args)
    assert code == 0
    assert "scores" not in out
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_inputs()] == ["rows"]
    assert [value.name for value in session.get_outputs()] == ["label"]


def test_a_model_without_names_of_features(call, tmp_path):
    X = np.random.RandomState(0).randn(40, 2)
    save_model(VotedKernelClassifier().fit(X, X[:, 0] > 0), tmp_path / "m")
    code, out, _ = call("export", tmp_path / "m", tmp_path / "m.onnx")
    assert code == 0
    assert "2 features without names" in out


def test_errors_are_told_in_one_line_and_leave_nothing(call, model, train, tmp_path):
    def save(kernel, name):
        rows = ["ab", "ba", "abc", "bac"]
        save_model(VotedKernelClassifier(kernel).fit(rows, [0, 1, 0, 1]), tmp_path / name)
        return tmp_path / name

    def same(A, B):
        return np.array([[float(a[0] == b[0]) for b in B] for a in A])

    function, strings = save(Similarity(same), "function"), save(EditDistance(), "strings")
    graph = tmp_path / "m.onnx"
    graph.write_bytes(b"older")
    before = files_in(tmp_path)
    content = model.read_bytes()
    for args, words in [
        ((model, tmp_path), "is a directory"),
        ((model, tmp_path / "no" / "m.onnx"), "there is no folder"),
        ((model, model), "is the model file; use another path"),
        ((tmp_path / "none", graph), "No such file"),
        ((train, graph), "not a model file"),
        ((function, graph), "a model with Similarity cannot be exported: it calls a Python"),
        ((strings, graph), "a model with EditDistance cannot be exported: it compares strings"),
        ((model, graph, "--opset", 12), "opset 12 is too old"),
        ((model, graph, "--opset", 999), "999"),
        ((model, graph, "--input-name", "label"), "input_name is 'label'"),
    ]:
        assert_one_line(call("export", *args), words)
        assert files_in(tmp_path) == before
        assert graph.read_bytes() == b"older"
        assert model.read_bytes() == content


def test_writing_that_fails_leaves_the_older_file(call, model, tmp_path, monkeypatch):
    graph = tmp_path / "m.onnx"
    graph.write_bytes(b"older")
    before = files_in(tmp_path)

    def full(descriptor):
        raise OSError(28, "No space left on device", str(graph))

    monkeypatch.setattr(os, "fsync", full)
    assert_one_line(call("export", model, graph), "No space left on device")
    assert files_in(tmp_path) == before
    assert graph.read_bytes() == b"older"


def test_a_missing_package_is_told_with_the_extra_that_brings_it(
    call, model, tmp_path, monkeypatch
):
    for loaded in [m for m in sys.modules if m.startswith("votedkernels.onnx")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    assert_one_line(call("export", model, tmp_path / "m.onnx"), "pip install 'votedkernels[onnx]'")
    assert load_model(model).classes_.tolist() == ["no", "so so", "yes"]
