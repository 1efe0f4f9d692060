"""The command line helps: it notices what is meant, and says what to do."""

import os
import pty
import re
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV

from votedkernels import (
    Gaussian,
    VotedKernelClassifier,
    load_model,
    save_model,
)
from votedkernels.cli import main
from votedkernels.cli.suggestions import did_you_mean

QUICK = ("--kernels", "gaussian:1", "--no-cv", "--no-held-out")


@pytest.fixture
def call(capsys):
    """Return a function that runs a command and returns exit code, output and error output."""

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


def rows(n=60, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 2)).round(4)
    return [f"{a!r},{b!r},{'yes' if a * b > 0 else 'no'}" for a, b in X.tolist()]


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("\n".join(["age,weight,sick", *rows()]), encoding="utf-8")
    return path


@pytest.fixture
def model(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    assert call("fit", train, "--target", "sick", "--model", path, *QUICK)[0] == 0
    return path


def refusal(result):
    code, out, err = result
    assert (code, out) == (2, "")
    (line,) = (line for line in err.splitlines() if not line.startswith("note:"))
    return line


def test_similar_names():
    assert did_you_mean("Sick", ["age", "sick"]) == "did you mean 'sick'? "
    assert did_you_mean("zzz", ["age", "sick"]) == ""


def test_a_misspelt_column(call, train, tmp_path):
    line = refusal(call("fit", train, "--target", "scik", "--model", tmp_path / "m"))
    assert "there is no column 'scik'; did you mean 'sick'? the columns are age, weight" in line


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_other_separators_are_noticed(call, train, tmp_path, sign):
    train.write_text(train.read_text().replace(",", sign), encoding="utf-8")
    args = ("--target", "sick", "--model", tmp_path / "m.safetensors", *QUICK)
    code, _, err = call("fit", train, *args)
    assert code == 0
    assert re.search("separated by (semicolons|tabs|vertical bars), not by commas", err)


def test_a_semicolon_in_a_name_is_not_a_separator(call, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(['"age;days",weight,sick', *rows()]), encoding="utf-8")
    args = ("--target", "sick", "--model", tmp_path / "m.safetensors", *QUICK)
    code, _, err = call("fit", path, *args)
    assert (code, "separated" in err) == (0, False)


@pytest.mark.parametrize(
    ("header", "change", "words"),
    [
        ("age,weight,sick", ("0", "x", 9), "not a finite number; leave the column out with --drop"),
        ("age,weight,sick", (".", ",", 0), "fields, but the header has 3"),
        ("age;weight;sick", (".", ",", 0), "write decimals with a point, not with a comma"),
    ],
)
def test_fields_that_are_not_numbers(call, tmp_path, header, change, words):
    old, new, first = change
    path = tmp_path / "t.csv"
    lines = [line.replace(",", ";") if ";" in header else line for line in rows(12)]
    lines[first:] = [line.replace(old, new) for line in lines[first:]]
    path.write_text("\n".join([header, *lines]), encoding="utf-8")
    err = call("fit", path, "--target", "sick", "--model", tmp_path / "m", *QUICK)[2]
    assert words in err.splitlines()[-1]


def test_kinds_of_columns_and_gaps_are_shown_and_can_be_overruled(call, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.safetensors"
    lines = [f"{line},{'ab'[n % 2]},{n % 3}" for n, line in enumerate(rows(20))]
    lines.append(",1,no,NA,0")
    path.write_text("\n".join(["age,weight,sick,town,group", *lines]), encoding="utf-8")
    args = ("--target", "sick", "--model", model, "--l1-penalty", "0.01", "--no-held-out")
    code, _, err = call("fit", path, *args, "--categorical", "group")
    assert code == 0, err
    assert "2 numeric columns (age, weight); 2 categorical columns (town, group)" in err
    assert "2 gaps: 1 in age, 1 in town" in err
    path.write_text("group,town,weight,age\n9,c,,1\n", encoding="utf-8")
    code, out, _ = call("predict", model, path)
    assert code == 0
    assert len(out.splitlines()) == 2
    code, out, _ = call("explain", model, path)
    assert "row 1" in out
    _, out, _ = call("inspect", model)
    assert "threshold(age)" in out
    assert "(x0)" not in out
    assert "--kernels is for tables of numbers" in refusal(
        call("fit", _with_text(tmp_path), "--target", "sick", "--model", model, "--kernels", "all")
    )


def test_dates_are_numbers_of_days_and_can_be_categories(call, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.safetensors"
    days = np.datetime64("2024-02-20") + np.arange(40)
    lines = [f"{day},{day}T06:00:00Z,{'yes' if n > 20 else 'no'}" for n, day in enumerate(days)]
    lines[3] = "NA,,no"
    path.write_text("\n".join(["day,time,late", *lines]), encoding="utf-8")
    args = ("fit", path, "--target", "late", "--model", model, "--l1-penalty", "0.01")
    code, _, err = call(*args, "--no-held-out")
    assert code == 0, err
    assert "2 date columns (day, time)" in err
    assert "2 gaps: 1 in day, 1 in time" in err
    path.write_text("time,day\n2024-01-02,2024-01-01\n2024-05-01 10:30,2024-05-02\n")
    assert [line.split(",")[0] for line in call("predict", model, path)[1].split()] == [
        "prediction", "no", "yes",
    ]  # fmt: skip
    path.write_text("\n".join(["day,time,late", *lines, "2024-02-31,2024-01-01,no"]))
    assert "column day looks like an ID or free text" in refusal(call(*args)), "no such day"
    code, _, err = call(*args, "--no-held-out", "--categorical", "day")
    assert code == 0, err
    assert "1 date column (time); 1 categorical column (day)" in err


def test_all_columns_of_free_text_are_named_at_once(call, tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{line},C{n},some text {n}" for n, line in enumerate(rows(60))]
    path.write_text("\n".join(["age,weight,sick,customer,free text", *lines]), encoding="utf-8")
    err = refusal(call("fit", path, "--target", "sick", "--model", tmp_path / "m"))
    assert "customer (60 different values), free text (60 different values)" in err
    assert "--drop customer --drop 'free text'" in err


def _with_text(folder):
    path = folder / "text.csv"
    lines = [f"{line},{'ab'[n % 2]}" for n, line in enumerate(rows(20))]
    path.write_text("\n".join(["age,weight,sick,town", *lines]), encoding="utf-8")
    return path


def test_ids_are_noticed(call, tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{100 + n},{7 * n},{line}" for n, line in enumerate(rows(20))]
    path.write_text("\n".join(["nr,patient_id,age,weight,sick", *lines]), encoding="utf-8")
    args = ("--target", "sick", "--model", tmp_path / "m.safetensors", *QUICK)
    code, _, err = call("fit", path, *args)
    assert code == 0
    assert "column nr looks like an ID" in err
    assert "if it is one, leave it out with --drop patient_id" in err
    assert "column age" not in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m.pkl", "not a pickle, which can run code when it is read; use m.safetensors"),
        ("m.joblib", "use m.safetensors"),
        ("m.onnx", "use 'votedkernels export' for one"),
        ("m.csv", "not a table"),
    ],
)
def test_other_extensions_are_refused(call, train, tmp_path, name, words):
    line = refusal(call("fit", train, "--target", "sick", "--model", tmp_path / name))
    assert words in line
    assert not (tmp_path / name).exists()


def test_a_directory_is_called_a_directory(call, train, tmp_path):
    fit = ("--target", "sick", "--model")
    assert "is a directory" in refusal(call("fit", tmp_path, *fit, tmp_path / "m"))
    assert "is a directory" in refusal(call("fit", train, *fit, tmp_path))
    more = (*fit, tmp_path / "m", "--report", tmp_path)
    assert "is a directory" in refusal(call("fit", train, *more))


def test_the_search_is_the_default_and_tells_its_error(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    args = ("--target", "sick", "--model", path, "--kernels", "gaussian:0.3,1")
    code, out, _ = call("fit", train, *args)
    assert code == 0
    assert "VotedKernelClassifierCV" in out
    assert re.search(r"cross-validated error +0\.\d{4}", out)
    assert hasattr(load_model(path), "predict_proba")


def test_a_plain_fit_tells_its_error_on_held_out_rows(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    args = ("--target", "sick", "--model", path, "--kernels", "gaussian:1", "--l1-penalty", 0.01)
    code, out, _ = call("fit", train, *args)
    assert code == 0
    training, held_out = (
        float(re.search(rf"{name} +(0\.\d+)", out)[1])
        for name in ("training error", "error on held-out rows")
    )
    assert training <= held_out < 0.5
    assert "held-out" not in call("fit", train, *args, "--no-held-out")[1]


def test_score_counts_what_predict_gets_wrong(call, model, train, tmp_path):
    test = tmp_path / "test.csv"
    test.write_text("\n".join(["sick,x,age,weight", "perhaps,0,1,1"]), encoding="utf-8")
    with test.open("a", encoding="utf-8") as file:
        for line in rows(50, seed=1):
            a, b, label = line.split(",")
            file.write(f"\n{label},0,{a},{b}")
    code, out, err = call("score", model, test, "--target", "sick")
    assert code == 0
    predictions = [line.split(",")[0] for line in call("predict", model, test)[1].splitlines()[1:]]
    labels = [line.split(",")[0] for line in test.read_text().splitlines()[1:]]
    wrong = sum(p != t for p, t in zip(predictions, labels, strict=True))
    assert f"{wrong / 51:.4f} ({wrong} rows)" in out
    assert "1 rows have labels that the model does not know (perhaps)" in err
    counts = [list(map(int, re.findall(r"\b\d+\b(?!\.)", line)))[:2]
              for line in out.splitlines() if re.match(r" +(no|yes) ", line)]  # fmt: skip
    assert np.sum(counts) == 50
    assert np.trace(np.array(counts)) == 51 - wrong
    assert "log loss" not in out
    assert "did you mean 'sick'?" in refusal(call("score", model, test, "--target", "Sick"))


def test_score_of_probabilities(call, train, tmp_path):
    path = tmp_path / "m.safetensors"
    args = ("--target", "sick", "--model", path, *QUICK, "--probabilities")
    assert call("fit", train, *args)[0] == 0
    out = call("score", path, train, "--target", "sick")[1]
    found = load_model(path)
    X = np.array([[float(x) for x in line.split(",")[:2]] for line in rows()])
    labels = [line.split(",")[2] for line in rows()]
    with pytest.warns(UserWarning, match="feature names"):
        p = found.predict_proba(X)[np.arange(60), np.searchsorted(["no", "yes"], labels)]
    assert f"{-np.log(p).mean():.4f}" in out
    assert f"{2 * ((1 - p) ** 2).mean():.4f}" in out


def test_explain_adds_up_to_the_decision(call, model, train):
    code, out, _ = call("explain", model, train, "--row", 3, "--row", 1, "--votes", 2)
    assert code == 0
    assert re.findall(r"^row (\d+): (\w+)$", out, re.MULTILINE) == [
        (str(row), prediction_of(call, model, train, row)[0]) for row in (3, 1)
    ]
    for block, row in zip(out.split("\n\n"), (3, 1), strict=True):
        *parts, total = [float(x) for x in re.findall(r"([+-]\d+\.\d+)$", block, re.MULTILINE)]
        assert sum(parts) == pytest.approx(total, abs=3e-4)
        label, decision = prediction_of(call, model, train, row)
        assert total == pytest.approx(decision if label == "yes" else -decision, abs=1e-4)
    assert call("explain", model, train)[1].count("vote for") == 5
    assert "has 60 rows" in refusal(call("explain", model, train, "--row", 61))


def prediction_of(call, model, train, row):
    label, decision = call("predict", model, train)[1].splitlines()[row].split(",")
    return label, float(decision)


def test_inspect_says_what_summary_says(call, model):
    out = call("inspect", model)[1]
    facts = load_model(model)[-1].summary().facts
    for name in ("rows", "training error", "penalties", "probabilities", "support vectors"):
        assert re.search(rf"{name} +{re.escape(facts[name])}", out), name


def test_models_of_another_kind_are_refused_and_inspected(call, train, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 2))
    kernel = Gaussian((1.0,))
    model = CalibratedClassifierCV(VotedKernelClassifier(kernel), cv=2).fit(X, X[:, 0] > 0)
    path = tmp_path / "other.safetensors"
    save_model(model, path)
    assert call("inspect", path)[0] == 0
    for command in ("predict", "explain"):
        line = refusal(call(command, path, train))
        assert "holds a CalibratedClassifierCV, but this command needs a" in line
    assert "needs a VotedKernelClassifier" in refusal(
        call("score", path, train, "--target", "sick")
    )


def test_an_interrupt_says_what_was_kept(call, train, tmp_path, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    path, page = tmp_path / "m.safetensors", tmp_path / "r.html"
    args = ("fit", train, "--target", "sick", "--model", path, *QUICK, "--report", page)
    fit = import_module("votedkernels.cli.fit")
    monkeypatch.setattr(fit, "model_report", interrupt)
    code, _, err = call(*args)
    assert code == 130
    assert err.splitlines()[-1] == (
        f"votedkernels: stopped; the model is in {path}, and {page} was not written."
    )
    assert path.exists()
    monkeypatch.setattr(fit, "fit_model", interrupt)
    code, _, err = call(*args)
    assert code == 130
    assert err.splitlines()[-1].startswith(f"votedkernels: stopped; {path} is unchanged. With")


def test_tables_fit_the_terminal_and_pipes_are_plain(call, model):
    piped = call("inspect", model)[1]
    assert "\x1b" not in piped
    assert any(len(line) > 50 for line in piped.splitlines())
    code = f"from votedkernels.cli import main; main(['inspect', {str(model)!r}])"
    main_end, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": "50", "TERM": "xterm"}
    with subprocess.Popen([sys.executable, "-c", code], stdout=terminal, env=environment):
        os.close(terminal)
        received = b""
        while True:
            try:
                piece = os.read(main_end, 4096)
            except OSError:
                break
            if not piece:
                break
            received += piece
    os.close(main_end)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", received.decode())
    assert max(len(line.rstrip("\r")) for line in shown.split("\n")) <= 50
