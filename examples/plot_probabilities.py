"""
Probabilities
=============

``VotedKernelClassifierCV`` has ``predict_proba``: a sigmoid of the vote, fitted to votes on the
held-out rows of the search. Are the probabilities right?
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import brier_score_loss

from votedkernels import Gaussian, VotedKernelClassifierCV
from votedkernels.datasets import make_waveform

X, y = make_waveform(600, random_state=0)
X_test, y_test = make_waveform(10_000, random_state=1)

model = VotedKernelClassifierCV(Gaussian((0.01, 0.1, 1.0))).fit(X, y)
probabilities = model.predict_proba(X_test)[:, 1]
print(f"Brier score {brier_score_loss(y_test, probabilities):.3f}")

# %%
# For rows with similar predicted probabilities, the figure shows the share that belongs to the
# class. Near the diagonal, you can take the probabilities at face value. The dashed curve treats
# the vote itself, clipped to [-1, 1] and mapped to [0, 1], as a probability.

figure, ax = plt.subplots(figsize=(6, 5.4), layout="constrained")
clipped = model.decision_function(X_test).clip(-1, 1) / 2 + 0.5
CalibrationDisplay.from_predictions(
    y_test, clipped, n_bins=10, ax=ax, name="vote, clipped", color="0.45", linestyle="--"
)
CalibrationDisplay.from_predictions(
    y_test, probabilities, n_bins=10, ax=ax, name="predict_proba", color="#0072B2", marker="o"
)
ax.set(xlabel="mean of the probabilities given", ylabel="share of the class", aspect="equal")
plt.show()
