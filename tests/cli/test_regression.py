"""The command line with numbers as targets."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votedkernels import Gaussian, VotedKernelRegressor, load_model, save_model
from votedkernels.cli import main

QUICK = ("--kernels", "gaussian:1", "--no-cv")


@pytest.fixture
def call(capsys):
    """Return a function that runs a command and returns exit code, output and error output."""

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


def numbers(n=60):
    X = np.random.default_rng(0).standard_normal((n, 2)).round(4)
    return X, (10 + X[:, 0] + X[:, 1] ** 2).round(4)


@pytest.fixture
def table(tmp_path):
    path, (X, y) = tmp_path / "train.csv", numbers()
    lines = [f"{a!r},{b!r},{t!r}" for (a, b), t in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["age,weight,cost", *lines]), encoding="utf-8")
    return path


def refusal(result):
    code, _, err = result
    assert code != 0
    return err.strip().splitlines()[-1]


def test_fit_predict_score_inspect_and_explain(call, table, tmp_path):
    path = tmp_path / "m.safetensors"
    task = ("fit", table, "--target", "cost", "--task", "regression", "--model", path)
    code, out, _ = call(*task, *QUICK)
    assert code == 0
    assert "error on held-out rows" in out
    assert "mean absolute error" in out
    (X, y), model = numbers(), load_model(path)
    code, out, _ = call("predict", path, table, "--keep", "cost")
    lines = out.splitlines()
    assert lines[0] == "cost,prediction"
    found = np.array([float(line.split(",")[1]) for line in lines[1:]])
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-6)
    code, out, _ = call("score", path, table, "--target", "cost")
    assert f"{np.abs(model.predict(X) - y).mean():.4g}"[:4] in out
    assert "R2" in out
    assert call("inspect", path)[0] == 0
    code, out, _ = call("explain", path, table, "--row", 1)
    assert code == 0
    assert out.startswith("row 1: ")
    assert "no probabilities" in refusal(call("predict", path, table, "--probabilities"))


def test_a_search_and_options_for_classes(call, table, tmp_path):
    path = tmp_path / "m.safetensors"
    task = ("fit", table, "--target", "cost", "--task", "regression", "--model", path)
    code, out, _ = call(*task, "--kernels", "gaussian:1")
    assert code == 0
    assert "cross-validated error" in out
    assert "--report is for classes" in refusal(call(*task, "--report", tmp_path / "r.html"))
    assert "--probabilities is for classes" in refusal(call(*task, "--probabilities"))


def test_numbers_without_the_task_and_words_with_it(call, table, tmp_path):
    path = tmp_path / "m.safetensors"
    line = refusal(call("fit", table, "--target", "cost", "--model", path))
    assert "--task regression" in line
    for word in ("cheap", "inf"):
        table.write_text(f"age,cost\n1,2.5\n2,{word}\n", encoding="utf-8")
        arguments = ("--target", "cost", "--task", "regression", "--model", path, "--no-cv")
        line = refusal(call("fit", table, *arguments))
        assert f"cost is '{word}', which is not a finite number" in line


def test_several_quantiles(call, table, tmp_path):
    X, y = numbers()
    regressor = VotedKernelRegressor(
        Gaussian((1.0,)), loss="quantile", quantiles=(0.1, 0.5, 0.9), conformal=True
    )
    model = make_pipeline(StandardScaler(), regressor).fit(X, y)
    path = tmp_path / "m.safetensors"
    save_model(model, path)
    code, out, _ = call("predict", path, table, "--keep", "cost")
    assert code == 0
    assert out.splitlines()[0] == "cost,quantile_0.1,quantile_0.5,quantile_0.9"
    code, out, _ = call("score", path, table, "--target", "cost")
    assert code == 0
    assert "quantile 0.9" in out
    features = tmp_path / "features.csv"
    features.write_text("age,weight\n1,2\n", encoding="utf-8")
    assert "several quantiles" in refusal(call("explain", path, features))
