"""``fit``, ``predict`` and ``inspect``: from a table to a model to decisions."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from votedkernels import Similarity, VotedKernelClassifier, load_model, read_summary, save_model
from votedkernels.cli import main, tables
from votedkernels.datasets import load_ionosphere

HEADER = "id,a,b,class\n"


def quick(args):
    """Options that make a fit short, unless a test is about the search."""
    is_fit = args[0] == "fit" and not {"--cv", "--no-cv", "-h", "--help"} & set(args)
    return ("--no-cv", "--no-held-out") if is_fit else ()


@pytest.fixture
def call(capsysbinary):
    """Return a function that runs a command and returns exit code, output and error output."""

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([*map(str, args), *quick(args)])
        printed = capsysbinary.readouterr()
        return ended.value.code, printed.out.decode(), printed.err.decode()

    return run


def table(n=60, *, labels=("no", "yes"), seed=0):
    random = np.random.RandomState(seed)
    X = random.randn(n, 2).round(4)
    codes = np.digitize(X[:, 0] * X[:, 1], [0.0, 0.5][: len(labels) - 1])
    rows = [
        f"row {i},{a!r},{b!r},{labels[c]}\n"
        for i, ((a, b), c) in enumerate(zip(X.tolist(), codes, strict=True))
    ]
    return HEADER + "".join(rows)


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(table(), encoding="utf-8")
    return path


@pytest.fixture
def model(call, train, tmp_path):
    """Return a model file fitted to ``train``."""
    path = tmp_path / "m.safetensors"
    args = ("--target", "class", "--drop", "id", "--kernels", "polynomial:1-3")
    code, _, err = call("fit", train, "--model", path, *args)
    assert code == 0, err
    return path


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def columns_of(text, *names):
    return np.array([[float(row[name]) for name in names] for row in read_csv(text)])


# -- fit ----------------------------------------------------------------------------------


def test_fit_tells_what_it_fitted_and_saves_it(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    code, out, err = call("fit", train, "--target", "class", "--drop", "id", "--model", path)
    assert code == 0
    assert f"Saved the model to {path}." in err
    model = load_model(path)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.classes_.tolist() == ["no", "yes"]
    for name, value in {
        "rows": 60,
        "features": 2,
        "classes": "no, yes",
        "support vectors": len(model[-1].support_),
        "terms": model[-1].term_weights_.shape[1],
        "objective": f"{model[-1].objective_:.6g}",
    }.items():
        assert any(line.split("  ")[0].strip() == name or name in line for line in out.splitlines())
        assert f"{value}" in out
    assert "(optimal)" in out
    assert files_in(tmp_path) == ["m.safetensors", "train.csv"]


@pytest.mark.parametrize("scaling", ["standard", "range", "none"])
def test_the_model_includes_the_scaling(call, train, tmp_path, scaling):
    path = tmp_path / "m.safetensors"
    args = ("--target", "class", "--drop", "id", "--scaling", scaling, "--model", path)
    assert call("fit", train, *args)[0] == 0
    due = {"standard": "StandardScaler", "range": "MinMaxScaler", "none": None}[scaling]
    assert read_summary(path)["scaling"] == due


def test_labels_written_as_integers_are_integers(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    for labels, due in [
        (("-1", "1"), [-1, 1]),
        (("0", "01"), ["0", "01"]),
        (("a", "1"), ["1", "a"]),
        (("x", "y", "z"), ["x", "y", "z"]),
    ]:
        train.write_text(table(labels=labels), encoding="utf-8")
        args = ("--target", "class", "--drop", "id", "--model", path, "--kernels", "gaussian")
        assert call("fit", train, *args)[0] == 0
        assert load_model(path).classes_.tolist() == due


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        (["polynomial:2,4"], ["polynomial(degree=2)", "polynomial(degree=4)"]),
        (["polynomial:1-2", "gaussian:0.5"], None),
        (["all"], None),
    ],
)
def test_kernels_are_named_in_few_words(call, train, tmp_path, specs, names):
    path = tmp_path / "m.safetensors"
    chosen = [word for spec in specs for word in ("--kernels", spec)]
    args = ("--target", "class", "--drop", "id", "--model", path, *chosen)
    assert call("fit", train, *args)[0] == 0
    found = [kernel["name"] for kernel in read_summary(path)["kernels"]]
    assert len(found) == {"polynomial:2,4": 2, "polynomial:1-2": 3, "all": 17}[specs[0]]
    assert names is None or found == names


def test_default_penalties_are_shown_by_their_word(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    assert call("fit", train, "--target", "class", "--drop", "id", "--model", path)[0] == 0
    code, out, _ = call("inspect", path)
    assert code == 0
    assert re.search(r"complexity penalty +auto", out)
    assert re.search(r"l1 penalty +auto", out)
    assert re.search(r"l2 penalty +0", out)


def test_fit_can_choose_the_penalties(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    args = ("--target", "class", "--drop", "id", "--kernels", "gaussian:1", "--cv", "--seed", 3)
    code, out, _ = call("fit", train, *args, "--model", path)
    assert code == 0
    summary = read_summary(path)
    assert summary["classifier"] == "VotedKernelClassifierCV"
    score = re.search(r"accuracy (0\.\d+) ", out)[1]
    error = re.search(r"cross-validated error +(0\.\d+)", out)[1]
    assert float(score) + float(error) == pytest.approx(1.0, abs=1e-3)


def test_what_a_user_must_know_of_the_fit_is_told(call, train, tmp_path):
    args = ("--target", "class", "--drop", "id", "--kernels", "gaussian", "--l1-penalty", 100)
    code, _, err = call("fit", train, *args, "--model", tmp_path / "m.safetensors", "--allow-empty")
    assert code == 0
    assert "note: The penalties are so large that no kernel gets a weight" in err


def test_an_empty_model_is_not_saved_unless_asked_for(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    args = ("--target", "class", "--drop", "id", "--kernels", "gaussian", "--l1-penalty", 100)
    code, out, err = call("fit", train, *args, "--model", path)
    assert code == 2
    assert out == ""
    assert "no kernel got a weight" in err.splitlines()[-1]
    assert "--allow-empty" in err.splitlines()[-1]
    assert not path.exists()
    assert call("fit", train, *args, "--model", path, "--allow-empty")[0] == 0
    assert path.exists()


@pytest.mark.parametrize("more", [(), ("--cv",)], ids=["plain", "search"])
def test_a_limit_too_short_for_a_model_is_an_error(call, train, tmp_path, more):
    path = tmp_path / "m.safetensors"
    args = ("--target", "class", "--drop", "id", "--time-limit", "1e-6", *more)
    code, _, err = call("fit", train, *args, "--model", path)
    assert code == 2
    assert "use a larger time_limit" in err.splitlines()[-1]
    assert not path.exists()


# -- predict ------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [("no", "yes"), ("low", "middle", "high"), ("0", "1", "2")])
def test_decisions_are_those_of_the_model(call, train, tmp_path, labels, monkeypatch):
    train.write_text(table(200, labels=labels), encoding="utf-8")
    path, new, out = tmp_path / "m.safetensors", tmp_path / "new.csv", tmp_path / "out.csv"
    args = ("--target", "class", "--drop", "id", "--model", path, "--kernels", "gaussian")
    assert call("fit", train, *args)[0] == 0
    new.write_text(table(3000, labels=labels, seed=1), encoding="utf-8")
    monkeypatch.setattr(tables, "CELLS", 4 * tables.BLOCK)
    code, printed, err = call("predict", path, new, "--output", out, "--keep", "id")
    assert (code, printed) == (0, "")
    assert err == "note: 1 column ignored: class\n"
    rows = read_csv(out.read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == [f"row {i}" for i in range(3000)]
    X = columns_of(new.read_text(encoding="utf-8"), "a", "b")
    model = load_model(path)
    votes = [name for name in rows[0] if name.startswith("decision")]
    assert votes == (
        ["decision"] if len(labels) == 2 else [f"decision_{label}" for label in model.classes_]
    )
    with pytest.warns(UserWarning, match="feature names"):
        decisions = model.decision_function(X)
    found = columns_of(out.read_text(encoding="utf-8"), *votes)
    np.testing.assert_array_equal(found, decisions.reshape(found.shape))
    with pytest.warns(UserWarning, match="feature names"):
        assert [row["prediction"] for row in rows] == model.predict(X).astype(str).tolist()


@pytest.mark.parametrize("option", ["--probabilities", "--cv"])
@pytest.mark.parametrize("labels", [("no", "yes"), ("low", "middle", "high")])
def test_probabilities_are_those_of_the_model(call, train, tmp_path, labels, option):
    train.write_text(table(80, labels=labels), encoding="utf-8")
    path = tmp_path / "m.safetensors"
    args = ("--target", "class", "--drop", "id", "--model", path, "--kernels", "gaussian")
    assert call("fit", train, *args, option)[0] == 0
    code, printed, _ = call("predict", path, train, "--probabilities")
    assert code == 0
    model = load_model(path)
    found = columns_of(printed, *(f"probability_{label}" for label in model.classes_))
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_allclose(
            found, model.predict_proba(columns_of(train.read_text(encoding="utf-8"), "a", "b"))
        )


def test_a_model_without_probabilities_says_how_to_get_them(call, model, train):
    code, printed, err = call("predict", model, train, "--probabilities")
    assert (code, printed) == (2, "")
    assert "has no probabilities; fit it without penalties, or with --probabilities" in err


def test_pieces_of_any_size_give_the_same(call, model, train, monkeypatch):
    expected = call("predict", model, train)[1]
    for cells in (1, 13, 40):
        monkeypatch.setattr(tables, "CELLS", cells)
        out = call("predict", model, train)[1]
        np.testing.assert_allclose(columns_of(out, "decision"), columns_of(expected, "decision"))
        predictions = [[row["prediction"] for row in read_csv(t)] for t in (out, expected)]
        assert predictions[0] == predictions[1]


def test_columns_are_found_by_name(call, model, train, tmp_path):
    expected = call("predict", model, train)[1]
    other = tmp_path / "other.csv"
    rows = [f"{row['b']},x,{row['a']}" for row in read_csv(train.read_text(encoding="utf-8"))]
    other.write_text("b,extra,a\n" + "\n".join(rows), encoding="utf-8")
    code, out, err = call("predict", model, other)
    assert (code, out) == (0, expected)
    assert err == "note: 1 column ignored: extra\n"


def test_standard_input_and_output(call, model, train, monkeypatch):
    expected = call("predict", model, train)[1]
    stream = io.TextIOWrapper(io.BytesIO(train.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert call("predict", model, "-", "--output", "-")[1] == expected


def test_a_reader_that_has_seen_enough_is_no_error(model, train, tmp_path):
    big = tmp_path / "big.csv"
    big.write_text(table(20_000), encoding="utf-8")
    code = "import sys; from votedkernels.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "predict", str(model), str(big)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"prediction,decision\n"
    process.stdout.close()
    errors = process.stderr.read().decode()
    assert errors == "note: 2 columns ignored: id, class\n"
    assert process.wait(60) == 0


def test_parquet_in_and_out(call, model, train, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(tables, "CELLS", 40)
    frame = pandas.read_csv(train)
    source, result = tmp_path / "train.parquet", tmp_path / "out.parquet"
    frame["sometimes"] = [None] * 50 + ["=x"] * 10
    frame.to_parquet(source)
    args = ("--target", "class", "--drop", "id", "--drop", "sometimes", "--model")
    again = tmp_path / "again.safetensors"
    assert call("fit", source, *args, again, "--kernels", "polynomial:1-3")[0] == 0
    monkeypatch.setattr(tables, "CELLS", 10**6)
    csv_out = call("predict", model, train)[1]
    monkeypatch.setattr(tables, "CELLS", 40)
    keep = ("--keep", "id", "--keep", "sometimes")
    assert call("predict", again, source, "--output", result, *keep)[0] == 0
    found = pandas.read_parquet(result)
    np.testing.assert_allclose(found["decision"], columns_of(csv_out, "decision")[:, 0])
    assert found["prediction"].tolist() == [row["prediction"] for row in read_csv(csv_out)]
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["sometimes"].tolist()[-1] == "=x"
    out = call("predict", again, source, *keep)[1]
    assert [row["sometimes"] for row in read_csv(out)] == [""] * 50 + ["'=x"] * 10


def test_texts_that_look_like_formulas_are_made_harmless(call, tmp_path, train):
    path = tmp_path / "m.safetensors"
    train.write_text(table(labels=("=1+1", "-2")), encoding="utf-8")
    args = ("--target", "class", "--drop", "id", "--model", path, "--kernels", "gaussian")
    assert call("fit", train, *args)[0] == 0
    data = tmp_path / "new.csv"
    texts = ["=cmd()", "+1", "-2.5e3", "-x", "@x", '"\tx"', "plain", '"a ""q"", b"', '"two\nlines"',
             '"one\r=1"']  # fmt: skip
    rows = "".join(f"{text},0.5,{(-1) ** i}\n" for i, text in enumerate(texts))
    data.write_text("=name,a,b\n" + rows, encoding="utf-8")
    code, out, _ = call("predict", path, data, "--keep", "=name")
    assert code == 0
    found = read_csv(out)
    assert [row["'=name"] for row in found] == [
        "'=cmd()", "+1", "-2.5e3", "'-x", "'@x", "'\tx", "plain", 'a "q", b', "two\nlines",
        "one\r=1",
    ]  # fmt: skip
    assert {row["prediction"] for row in found} <= {"'=1+1", "-2"}


def test_a_model_without_names_takes_columns_in_order(call, tmp_path):
    X, y = load_ionosphere(return_X_y=True)
    model, data = tmp_path / "m.safetensors", tmp_path / "new.csv"
    save_model(VotedKernelClassifier(l1_penalty=0.1).fit(X[:, 2:6], y), model)
    data.write_text("w,x,y,z,name\n1,2,3,4,five\n", encoding="utf-8")
    code, out, _ = call("predict", model, data, "--keep", "name")
    assert code == 0
    assert read_csv(out)[0]["name"] == "five"
    code, _, err = call("predict", model, data)
    assert code == 2
    assert "5 columns besides --keep, but the model needs 4" in err


# -- inspect ------------------------------------------------------------------------------


def test_inspect_tells_what_the_file_holds(call, model):
    code, out, err = call("inspect", model)
    assert (code, err) == (0, "")
    for words in ("no, yes", "a, b", "StandardScaler", "polynomial(degree=2)", "dual gap", "numpy"):
        assert words in out
    code, out, _ = call("inspect", model, "--json")
    assert code == 0
    assert json.loads(out) == read_summary(model)


def test_inspect_prints_nothing_that_could_change_the_terminal(call, tmp_path):
    X, y = load_ionosphere(return_X_y=True)
    model = VotedKernelClassifier(l1_penalty=0.1).fit(X, np.where(y > 0, "\x1b[31mred", "[b]x[/b]"))
    save_model(model, tmp_path / "m")
    out = call("inspect", tmp_path / "m")[1]
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert "[b]x[/b]" in out


HOSTILE = "\x1b[31m[/b]"


def test_fit_and_predict_print_nothing_that_could_change_the_terminal(call, tmp_path, train):
    path = tmp_path / "m.safetensors"
    train.write_text(table(labels=(HOSTILE, "b", "c")), encoding="utf-8")
    args = ("--target", "class", "--drop", "id", "--model", path, "--kernels", "gaussian")
    code, out, err = call("fit", train, *args)
    assert code == 0, err
    assert "\\x1b[31m[/b], b, c" in out
    data = tmp_path / "new.csv"
    data.write_text(f"a,b,{HOSTILE}\n1,2,x\n", encoding="utf-8")
    code, _, err = call("predict", path, data)
    assert (code, err) == (0, "note: 1 column ignored: \\x1b[31m[/b]\n")
    data.write_text(f"a,{HOSTILE}\n1,2\n", encoding="utf-8")
    code, _, err = call("predict", path, data)
    assert code == 2
    assert "the columns are a, \\x1b[31m[/b]." in err
    assert "\x1b" not in out + err


@pytest.mark.parametrize("name", ["[red]x", "\x1b[31m"])
def test_names_of_files_are_no_markup(call, train, tmp_path, name):
    path = tmp_path / name
    args = ("--target", "class", "--drop", "id", "--kernels", "polynomial:1")
    code, _, err = call("fit", train, "--model", path, *args)
    assert code == 0
    assert name.replace("\x1b", "\\x1b") in err
    assert path.is_file()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_standard_output_is_told(model, train):
    program = "from votedkernels.cli import main; main()"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program, "predict", model, train], stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == [
        "votedkernels: standard output: No space left on device"
    ]


def test_numbers_beside_what_only_python_strips(call, model, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("a,b\n1,2\n3,\x1f4\n", encoding="utf-8")
    assert_one_line(call("predict", model, data), r"line 3: '\x1f4' in column b is not a finite")


def test_rows_that_overflow_are_named(call, model, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("a,b\n1,2\n1e308,1e308\n", encoding="utf-8")
    assert_one_line(call("predict", model, data), "new.csv, lines 2 to 3: kernel polynomial")


def test_a_label_that_would_fill_the_memory(call, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("a,class\n1,x\n2,y\n3," + "z" * 5000 + "\n", encoding="utf-8")
    result = call("fit", data, "--target", "class", "--model", tmp_path / "m")
    assert_one_line(result, "line 4: the class label has 5000 characters; at most 1000")
    assert files_in(tmp_path) == ["new.csv"]


# -- errors -------------------------------------------------------------------------------


def assert_one_line(result, words):
    code, _, err = result
    lines = [line for line in err.splitlines() if not line.startswith("note:")]
    assert code == 2
    assert len(lines) == 1
    assert lines[0].startswith("votedkernels: ")
    assert words in lines[0]


BAD_TABLES = {
    "empty": ("", "bad.csv: the file is empty."),
    "blank": ("\n\n\n", "bad.csv: the file is empty."),
    "header only": (HEADER, "bad.csv: there are no rows after the header."),
    "short row": (
        HEADER + "x,1,2,no\n\nx,1,2\n",
        "line 4: 3 fields, but the header has 4",
    ),
    "long row": (HEADER + "x,1,2,no,\n", "bad.csv, line 2: 5 fields"),
    "after quoted lines": (HEADER + '"x\n\n",1,2,no\nx,1,b,no\n', "line 5: 'b' in column b is not"),
    "text": (HEADER + "x,1,2,no\nx,one,2,no\n", "line 3: 'one' in column a is not a finite number"),
    "infinite": (HEADER + "x,inf,2,no\n", "line 2: 'inf' in column a is not a finite number"),
    "nan": (HEADER + "x,1,NaN,no\n", "line 2: 'NaN' in column b is not a finite number"),
    "underscore": (HEADER + "x_x,1,2,no\nx,1_0,2,no\n", "line 3: '1_0' in column a"),
    "missing": (HEADER + "x,1,2,no\nx, ,2,no\n", "line 3: column a is empty, and missing values"),
    "repeated": ("id,a,b,a,class\n", "line 1: there are two columns named 'a'"),
    "unnamed": ("id,a,b,,class\n", "line 1: column 4 has no name"),
    "nul": (HEADER + "x,1,2,no\nx,1\0,2,no\n", "line 3: contains a NUL byte"),
    "quote": (HEADER + 'x,1,2,no\n"x,1,2,no\n', "line 3: unexpected end of data"),
    "not utf-8": ((HEADER + "x,1,2,no\n").encode() + b"\xff,1,2,no\n", "line 3: not UTF-8 text"),
    "no column": ("id,a,class\nx,1,no\n", "there is no column 'b'; the columns are id, a, class"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(call, model, tmp_path, name):
    content, words = BAD_TABLES[name]
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    out.write_text("what was there", encoding="utf-8")
    before = files_in(tmp_path)
    assert_one_line(call("predict", model, bad, "--output", out, "--keep", "id"), words)
    assert out.read_text(encoding="utf-8") == "what was there"
    if name not in ("no column", "nan", "missing"):  # fit takes tables with gaps
        args = ("--target", "class", "--drop", "id", "--model", tmp_path / "new.safetensors")
        assert_one_line(call("fit", bad, *args), words)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "args", "words"),
    [
        (table(), ["--target", "klass"], "no column 'klass'; did you mean 'class'? the columns"),
        (table(), ["--target", "class", "--drop", "nr"], "there is no column 'nr'"),
        (table(), ["--target", "class"], "column id looks like an ID or free text, with 60"),
        (table(), ["--target", "class", "--numeric", "id"], "'row 0' in column id is not a finite"),
        (table(labels=("no", "no")), ["--target", "class", "--drop", "id"], "all 60 rows belong"),
        (
            HEADER + "x,1,2,\n",
            ["--target", "class", "--drop", "id"],
            "line 2: column class is",
        ),
        (table(), ["--target", "a", "--drop", "b", "--drop", "id", "--drop", "class"], "no column"),
        (
            table(),
            ["--target", "class", "--drop", "id", "--kernels", "cubic"],
            "'cubic' is not a valid kernel",
        ),
        (table(), ["--target", "class", "--drop", "id", "--kernels", "polynomial:5-1"], "5-1' is"),
        (table(), ["--target", "class", "--drop", "id", "--kernels", "gaussian:-1"], "positive"),
        (table(), ["--target", "class", "--cv", "--l1-penalty", "1"], "--cv chooses the penalties"),
        (
            table(6),
            ["--target", "class", "--drop", "id", "--cv"],
            "needs 5 of each class; use --no-cv",
        ),
        (
            table(),
            ["--target", "a", "--drop", "id", "--drop", "class"],
            "59 distinct values",
        ),
        (
            HEADER + "".join(f"x,{i % 7},{i % 60 / 4},yes\n" for i in range(300)),
            ["--target", "b", "--drop", "id", "--drop", "class"],
            "60 distinct values in 300 rows, too many for class labels; use another column",
        ),
        (
            HEADER + "x,1e200,1,no\nx,2e200,1,yes\n",
            ["--target", "class", "--drop", "id", "--scaling", "none"],
            "overflow",
        ),
        (table(), ["--target", "class", "--time-limit", "0"], "0.0 is not in the range x>0"),
        (table(), [], "Missing option '--target'"),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_bad_fits(call, tmp_path, train, content, args, words):
    train.write_text(content, encoding="utf-8")
    assert_one_line(call("fit", train, "--model", tmp_path / "m.safetensors", *args), words)
    assert files_in(tmp_path) == ["train.csv"]


def test_byte_order_mark_and_windows_line_ends(call, model, train):
    expected = call("predict", model, train, "--keep", "id")[1]
    train.write_bytes(b"\xef\xbb\xbf" + train.read_bytes().replace(b"\n", b"\r\n"))
    assert call("predict", model, train, "--keep", "id")[1] == expected


def test_bad_places(call, model, train, tmp_path):
    fit = ("fit", train, "--target", "class", "--drop", "id", "--model")
    other = tmp_path / "table.xlsx"
    other.touch()
    newer = tmp_path / "newer.safetensors"
    newer.write_bytes(model.read_bytes().replace(b'"version":"1"', b'"version":"9"'))
    strings = tmp_path / "strings.safetensors"
    kernel = Similarity(lambda A, B: np.array([[float(a == b) for b in B] for a in A]), name="same")
    save_model(VotedKernelClassifier(kernel).fit(["a", "b"], [0, 1]), strings)
    before = files_in(tmp_path)
    for args, words in [
        ((*fit, tmp_path), "is a directory"),
        ((*fit, tmp_path / "no" / "m"), "there is no folder"),
        (("fit", other, *fit[2:], tmp_path / "m2"), "unknown extension '.xlsx'"),
        (("fit", tmp_path / "x.csv", *fit[2:], tmp_path / "m2"), "No such file"),
        (("predict", tmp_path / "m", train), "No such file"),
        (("predict", tmp_path, train), "this is a folder"),
        (("predict", train, train), "not a model file"),
        (("predict", newer, train), "format version '9'"),
        (("predict", strings, train), "functions={'same': ...}"),
        (("predict", model, tmp_path), "is a directory; use the path of a table"),
        (("predict", model, other), "unknown extension '.xlsx'"),
        (("predict", model, train, "--output", other), "unknown extension '.xlsx'"),
        (("predict", model, train, "--output", tmp_path / "n" / "o.csv"), "there is no folder"),
        (("predict", model, train, "--keep", "x"), "there is no column 'x'"),
        (("predict", model, train, "--keep", "id", "--keep", "id"), "two columns named 'id'"),
        (("inspect", tmp_path), "this is a folder"),
        (("inspect", newer), "format version '9'"),
    ]:
        assert_one_line(call(*args), words)
        assert files_in(tmp_path) == before
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    assert_one_line(call("predict", model, folder), "is a directory; use the path of a table")
    assert_one_line(call("predict", model, train, "--output", folder), "is a directory")
    assert files_in(tmp_path) == sorted([*before, "folder.csv"])


def test_an_error_late_in_the_file_leaves_nothing(call, model, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "CELLS", 40)
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    bad.write_text(table(500) + "row,1,x,no\n", encoding="utf-8")
    assert_one_line(call("predict", model, bad, "--output", out), "line 502: 'x' in column b")
    assert not out.exists()
    assert files_in(tmp_path) == ["bad.csv", "m.safetensors", "train.csv"]


def test_an_interrupt_leaves_nothing(call, model, train, tmp_path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    before = files_in(tmp_path)
    monkeypatch.setattr(import_module("votedkernels.cli.predict"), "decide", interrupt)
    code, _, err = call("predict", model, train, "--output", tmp_path / "out.csv")
    assert code == 130
    assert err.split("stopped; ")[1] == f"{tmp_path / 'out.csv'} was not written.\n"
    assert files_in(tmp_path) == before


def test_bad_parquet(call, model, tmp_path, train):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "bad.parquet"
    for content, words in [
        (b"PAR1", "not a Parquet file"),
        ({"a": [1.0], "b": ["x"]}, "column b has type"),
        ({"a": [1.0, None], "b": [1, 2]}, "row 2: column a is empty, and missing values"),
        ({"a": [1.0, np.inf], "b": [1, 2]}, "row 2: column a is not a finite number"),
        ({"a": [1.0]}, "there is no column 'b'"),
        ({"a": [], "b": []}, "there are no rows"),
    ]:
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            pandas.DataFrame(content).to_parquet(path)
        assert_one_line(call("predict", model, path, "--output", tmp_path / "o.parquet"), words)
        assert not (tmp_path / "o.parquet").exists()


def test_without_pyarrow_one_line_tells_what_to_install(call, model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1")
    assert_one_line(call("predict", model, path), "pip install 'votedkernels[parquet]'")
