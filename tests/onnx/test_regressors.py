import numpy as np
import pytest
from onnxruntime import InferenceSession
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votedkernels import Gaussian, Polynomial, VotedKernelRegressor, VotedKernelRegressorCV
from votedkernels.onnx import to_onnx


@pytest.mark.parametrize(
    "model",
    [
        VotedKernelRegressor(),
        VotedKernelRegressor(Gaussian((0.3, 1.0), feature_scales=(2.0, 0.5, 0.0))),
        VotedKernelRegressor(Polynomial((1,)), loss="quantile", relaxation="auto"),
        make_pipeline(StandardScaler(), VotedKernelRegressorCV(Gaussian((0.1, 1.0)), cv=2)),
    ],
)
def test_a_runtime_predicts_the_same_numbers(model):
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 3))
    model.fit(X, 50 + X[:, 0] ** 2 + random.normal(0, 0.1, 60))
    graph = to_onnx(model)
    assert [output.name for output in graph.graph.output] == ["prediction"]
    session = InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    unseen = random.standard_normal((20, 3))
    (found,) = session.run(None, {"X": unseen})
    np.testing.assert_allclose(found, model.predict(unseen), rtol=1e-10)
