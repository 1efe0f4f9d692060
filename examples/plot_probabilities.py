"""
Probabilities by calibration
============================

The vote has a sign and a size, but it is not a probability. scikit-learn's
``CalibratedClassifierCV`` learns probabilities from votes on held-out rows.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.metrics import brier_score_loss

from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

X, y = make_waveform(600, random_state=0)
X_test, y_test = make_waveform(10_000, random_state=1)

# %%
# Calibrate in five folds, by a sigmoid of the vote and by isotonic regression.

vote = VotedKernelClassifier(Polynomial(degrees=(1, 2, 3)), complexity_penalty=1e-2)
calibrated = {
    method: CalibratedClassifierCV(vote, method=method, cv=5).fit(X, y)
    for method in ("sigmoid", "isotonic")
}
for method, model in calibrated.items():
    brier = brier_score_loss(y_test, model.predict_proba(X_test)[:, 1])
    print(f"{method}: Brier score {brier:.4f}")

# %%
# For rows with similar predicted probabilities, the figure shows the share that belongs to the
# class. Near the diagonal you can take the probabilities at face value. The dashed curve treats the
# vote itself, clipped to [-1, 1] and mapped to [0, 1], as a probability.

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
