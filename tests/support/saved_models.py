"""Small fitted models of every family, for the tests of model files.

Run as a script, it writes those of the present format version into
``tests/persistence/models``. Files of older versions stay unchanged, because users have such files.
"""

import json
import warnings

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from support.paths import TESTS

from votedkernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    save_model,
)

FOLDER = TESTS / "persistence" / "models"


def letters_in_common(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)


def negated_distances(A, B):
    return -np.abs(np.asarray(A)[:, None] - np.asarray(B)[None]).reshape(len(A), len(B), -1).sum(-1)


FUNCTIONS = {"letters_in_common": letters_in_common, "distances": negated_distances}

random = np.random.RandomState(0)
X = random.randn(40, 3).round(3)
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 1, -1)
THREE = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
NEW = random.randn(25, 3).round(3)
WORDS = ["tree", "three", "house", "", "mouse", "straße", "東京", "æther"] * 2
WORD_LABELS = np.array([True, True, False, False, False, True, True, False] * 2)


def fit(kernels, X=X, y=SIGNS, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return VotedKernelClassifier(kernels, **{"l1_penalty": 1e-2, **parameters}).fit(X, y)


def search(y):
    model = VotedKernelClassifierCV(
        {"polynomial": Polynomial((1, 2)), "gaussian": Gaussian()},
        complexity_penalties=(0.1, 0.01), l1_penalties=(0.01,), cv=2, random_state=0,
    )  # fmt: skip
    return model.fit(X, y)


def pipeline(scaler, kernels, y):
    return make_pipeline(scaler, VotedKernelClassifier(kernels, l1_penalty=1e-2)).fit(X, y)


#: By name: a function that fits the model, and new rows to classify.
MODELS = {
    "polynomial": (lambda: fit(None), NEW),
    "gaussian": (lambda: fit(Gaussian((0.3, 3.0)), y=THREE), NEW),
    "continuous-gaussian": (lambda: fit(ContinuousGaussian(0.1, 10.0)), NEW),
    "precomputed": (lambda: fit(Precomputed(), X=X @ X.T), NEW @ X.T),
    "similarity": (lambda: fit(Similarity(letters_in_common), WORDS, WORD_LABELS), WORDS[:9]),
    "edit-distance": (
        lambda: fit([EditDistance((1.0, 3.0)), EditDistance(None, metric="indel")], WORDS,
                    WORD_LABELS),
        WORDS[:9],
    ),
    "spectrum": (lambda: fit(Spectrum((1, 2)), WORDS, WORD_LABELS), ["", "trees", *WORDS[:7]]),
    "named-mixture": (
        lambda: fit([
            ("p", Polynomial([2, 1], gamma=0.5, coef0=0)),
            ("s", Similarity(negated_distances, name="distances", bound=100.0)),
        ], fit_intercept=True, class_weight={-1: 2.0, 1: 1.0}),
        NEW,
    ),
    "sparse": (
        lambda: fit([Polynomial((1, 2)), Gaussian()], X=sparse.csr_matrix(np.maximum(X, 0))),
        sparse.csr_matrix(np.maximum(NEW, 0)),
    ),
    "standard-scaling": (lambda: pipeline(StandardScaler(), Gaussian(), THREE), NEW),
    "range-scaling": (lambda: pipeline(MinMaxScaler((-1, 1)), Polynomial((1, 3)), SIGNS), NEW),
    "search": (lambda: search(SIGNS * 1.0), NEW),
    "constant": (lambda: fit(Gaussian(), y=THREE, l1_penalty=10.0), NEW),
}  # fmt: skip


def main():
    for name, (make, new) in MODELS.items():
        model = make()
        save_model(model, FOLDER / f"v1-{name}.safetensors")
        expected = {
            "decisions": model.decision_function(new).tolist(),
            "predictions": model.predict(new).tolist(),
        }
        text = json.dumps(expected, indent=1)
        (FOLDER / f"v1-{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
