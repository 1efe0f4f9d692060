import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votedkernels import (
    EditDistance,
    Gaussian,
    ModelFileError,
    VotedKernelRegressor,
    VotedKernelRegressorCV,
    load_model,
    read_summary,
    save_model,
)
from votedkernels.persistence.building import build
from votedkernels.persistence.container import Container
from votedkernels.persistence.describing import describe

X = np.random.default_rng(0).standard_normal((50, 2))
Y = 7 + 3 * X[:, 0] + X[:, 1] ** 2
WORDS = ["a" * (i % 7) + "b" * (i // 7) for i in range(50)]


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (VotedKernelRegressor(), X),
        (VotedKernelRegressor(Gaussian((0.3,), feature_scales=(2.0, 0.5))), X),
        (VotedKernelRegressor(loss="quantile", quantile=0.7), X),
        (make_pipeline(StandardScaler(), VotedKernelRegressorCV(Gaussian((0.1,)), cv=2)), X),
        (VotedKernelRegressor(EditDistance()), WORDS),
    ],
)
def test_a_loaded_regressor_predicts_the_same_bits(model, rows, tmp_path):
    model.fit(rows, Y)
    path = tmp_path / "model.safetensors"
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    ours, theirs = (m[-1] if hasattr(m, "steps") else m for m in (model, loaded))
    for name in ("objective_", "dual_bound_", "target_scale_", "penalties_", "kernel_names_"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    assert getattr(theirs, "epsilon_", None) == getattr(ours, "epsilon_", None)
    summary = read_summary(path)
    assert summary["classes"] is None
    assert summary["n_support"] == len(ours.support_)


def test_damaged_headers_are_refused():
    header, arrays, functions = describe(VotedKernelRegressor().fit(X, Y))
    for key, value in (("classes", {"dtype": "<i8", "values": [0, 1]}), ("problems", [])):
        damaged = header | {"tree": header["tree"] | {key: value}}
        with pytest.raises(ModelFileError):
            build(Container(damaged, {}, dict(arrays), ""), functions)
    parameters = header["tree"]["parameters"] | {"quantile": 2.0}
    damaged = header | {"tree": header["tree"] | {"parameters": parameters}}
    with pytest.raises(ModelFileError, match="quantile"):
        build(Container(damaged, {}, dict(arrays), ""), functions)
