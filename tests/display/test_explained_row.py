"""The picture of an explanation: its bars are the parts of the vote."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from votedkernels import ExplanationDisplay, Gaussian, VotedKernelClassifier

MODEL = make_pipeline(
    StandardScaler(), VotedKernelClassifier(Gaussian((1.0, 3.0)), l1_penalty=1e-3)
)


def drawn(display):
    return sorted(bar.get_width() for bars in display.bars_ for bar in bars)


@pytest.mark.parametrize("with_features", [False, True])
@pytest.mark.parametrize("as_frame", [False, True])
def test_bars_sum_to_the_vote(moons, with_features, as_frame):
    X, y = moons
    X = pd.DataFrame(X, columns=["length", "width"]) if as_frame else X
    model = MODEL.fit(X, y)
    display = ExplanationDisplay.from_estimator(
        model, X, row=7, n=3, background=X[:20] if with_features else None
    )
    vote = model.decision_function(X)[7]
    assert sum(drawn(display)) == pytest.approx(abs(vote), abs=1e-9)
    assert display.label == model.predict(X)[7]
    texts = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert texts == list(display.names)
    expected = {"x0", "x1", "mean vote"} if with_features else {texts[0], texts[1], texts[2]}
    assert expected <= set(texts)
    assert len(texts) <= 4
    display.figure_.canvas.draw()


def test_from_an_explanation_and_for_another_class(moons):
    X, y = moons
    model = VotedKernelClassifier(Gaussian((1.0,))).fit(X, y)
    explanation = model.explain(X[:5])
    label = next(c for c in model.classes_ if c != model.predict(X)[2])
    display = ExplanationDisplay.from_explanation(explanation, row=2, label=label, n=None)
    assert sum(drawn(display)) == pytest.approx(-abs(model.decision_function(X)[2]), abs=1e-9)
    assert len(drawn(display)) == np.count_nonzero(explanation.contributions[2])
    again = display.plot(bar_kw={"color": "k"})
    assert again.bars_[0].patches[0].get_facecolor() == (0.0, 0.0, 0.0, 1.0)


def test_only_for_votes(moons):
    X, y = moons
    with pytest.raises(TypeError, match=r"ExplanationDisplay\.from_estimator needs a fitted"):
        ExplanationDisplay.from_estimator(SVC().fit(X, y), X)
