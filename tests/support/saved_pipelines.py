"""Small fitted pipelines of every step that a model file can store, and new rows for them.

Run as a script, it writes those of the present format version into ``tests/persistence/models``.
"""

import json
import warnings

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from support.saved_models import FOLDER

from votedkernels import (
    Gaussian,
    Polynomial,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    save_model,
)

random = np.random.RandomState(1)
X = random.randn(48, 4).round(2)
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
THREE = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
GAPS = np.where(random.rand(48, 4) < 0.1, np.nan, X)
FRAME = pd.DataFrame(X[:, :2], columns=["length", "width"]).assign(
    colour=random.choice(["red", "green", "blue"], 48),
    size=random.choice(["S", "M", "L"], 48),
    count=random.randint(3, size=48),
    note=random.choice(["good wood", "bad paint", "good paint"], 48),
)
DOCUMENTS = ["the cat sat", "a dog ran", "the dog sat", "a cat ran away", "birds fly", "we swim"]


def vote(kernels=None, **parameters):
    return VotedKernelClassifier(kernels or Gaussian((0.3, 1.0)), l1_penalty=1e-2, **parameters)


def fitted(*steps, X=X, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(*steps) if len(steps) > 1 else steps[0]
        return model.fit(X, y)


def with_gaps():
    frame = FRAME.copy()
    frame.loc[3, "colour"] = np.nan
    frame.loc[5, "length"] = np.nan
    return frame


def by_columns():
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    colours = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    return ColumnTransformer([
        ("numbers", numbers, ["length", "width"]),
        ("colours", colours, ["colour"]),
        ("sizes", OrdinalEncoder(categories=[["S", "M", "L"]]), ["size"]),
        ("words", TfidfVectorizer(), "note"),
        ("none", StandardScaler(), []),
    ], remainder="passthrough")  # fmt: skip


def by_numbers():
    return ColumnTransformer(
        [
            (
                "texts",
                OneHotEncoder(drop="first", dtype=np.float32, sparse_output=False),
                make_column_selector("size"),
            ),
            ("numbers", RobustScaler(), slice(0, 2)),
            ("out", "drop", [2, 5]),
        ],
        remainder=OneHotEncoder(handle_unknown="ignore", drop=[2], sparse_output=False),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")


#: By name: a function that fits the model, and new rows to classify.
PIPELINES = {
    "robust-pca": (lambda: fitted(RobustScaler(), PCA(3), vote()), X),
    "whitened": (lambda: fitted(MaxAbsScaler(), PCA(2, whiten=True), vote(), y=THREE), X),
    "gaps": (lambda: fitted(SimpleImputer(), MinMaxScaler(), vote(), X=GAPS), GAPS),
    "columns": (lambda: fitted(by_columns(), vote(), X=with_gaps()), with_gaps()),
    "column-numbers": (lambda: fitted(by_numbers(), vote(), X=FRAME, y=THREE), FRAME),
    "calibrated": (
        lambda: fitted(CalibratedClassifierCV(make_pipeline(StandardScaler(), vote()), cv=2)),
        X,
    ),
    "isotonic": (
        lambda: fitted(
            StandardScaler(), CalibratedClassifierCV(vote(), method="isotonic", cv=3), y=THREE
        ),
        X,
    ),
    "searched": (
        lambda: fitted(
            GridSearchCV(
                Pipeline([("scale", RobustScaler()), ("nothing", "passthrough"), ("vote", vote())]),
                {"vote__l1_penalty": [0.1, 0.01]}, cv=2,
            )
        ),
        X,
    ),
    "text": (
        lambda: fitted(TfidfVectorizer(), vote(Polynomial((1,))), X=DOCUMENTS * 4, y=[1, 0] * 12),
        DOCUMENTS,
    ),
    "counts": (
        lambda: fitted(
            CountVectorizer(ngram_range=(1, 2), vocabulary=["cat", "the dog", "ran"]),
            VotedKernelClassifierCV(Polynomial((1,)), cv=2), X=DOCUMENTS * 4, y=[1, 0] * 12,
        ),
        DOCUMENTS,
    ),
}  # fmt: skip


def decide(model, rows):
    """Return the decisions of a model, or its probabilities if it has no others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(model, "decision_function"):
            return model.decision_function(rows)
        return model.predict_proba(rows)


def main():
    for name, (make, new) in PIPELINES.items():
        model = make()
        save_model(model, FOLDER / f"v2-{name}.safetensors")
        expected = {
            "decisions": decide(model, new).tolist(),
            "predictions": model.predict(new).tolist(),
        }
        text = json.dumps(expected, indent=1)
        (FOLDER / f"v2-{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
