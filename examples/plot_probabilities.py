"""
Probabilities by calibration
============================

The vote has a sign and a size, and no probabilities. scikit-learn's ``CalibratedClassifierCV``
learns them from votes on rows that were held out.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.metrics import brier_score_loss

from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

X, y = make_waveform(600, random_state=0)
X_test, y_test = make_waveform(10_000, random_state=1)

# %%
# A sigmoid of the vote, fitted in five folds, and the same by isotonic regression.

vote = VotedKernelClassifier(Polynomial(degrees=(1, 2, 3)), complexity_penalty=1e-2)
calibrated = {
    method: CalibratedClassifierCV(vote, method=method, cv=5).fit(X, y)
    for method in ("sigmoid", "isotonic")
}
for method, model in calibrated.items():
    brier = brier_score_loss(y_test, model.predict_proba(X_test)[:, 1])
    print(f"{method}: Brier score {brier:.4f}")

# %%
# Of the rows that were given a probability, the share that had the class: near the diagonal they
# can be taken at their word. The dashed curve takes the vote itself, brought from between -1 and +1
# to between 0 and 1, for a probability.

figure, ax = plt.subplots(figsize=(6, 5.4), layout="constrained")
plain = vote.fit(X, y).decision_function(X_test).clip(-1, 1) / 2 + 0.5
CalibrationDisplay.from_predictions(
    y_test, plain, n_bins=10, ax=ax, name="vote, clipped", color="0.45", linestyle="--"
)
for (method, model), colour, marker in zip(
    calibrated.items(), ("#0072B2", "#D55E00"), ("o", "s"), strict=True
):
    CalibrationDisplay.from_estimator(
        model, X_test, y_test, n_bins=10, ax=ax, name=method, color=colour, marker=marker
    )
ax.set(xlabel="mean of the probabilities given", ylabel="share of the class", aspect="equal")
plt.show()
