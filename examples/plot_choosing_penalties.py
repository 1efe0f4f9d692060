"""
Choosing the penalties by cross-validation
==========================================

``VotedKernelClassifierCV`` solves the whole grid of penalties in each fold, with hot restarts.
The heat map shows the result.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from votedkernels import PenaltyGridDisplay, Polynomial, VotedKernelClassifierCV
from votedkernels.datasets import load_ionosphere

X, y = load_ionosphere(return_X_y=True)
X = StandardScaler().fit_transform(X)

# %%
# The one-standard-error rule
# ---------------------------
#
# Scores of folds are noisy, and the best mean score is partly luck. ``prefer="sparse"`` considers
# all models whose mean score is within one standard error of the best, and chooses the one with the
# fewest support vectors.

model = VotedKernelClassifierCV(
    Polynomial(degrees=(1, 2, 3)),
    complexity_penalties=(1e-1, 3e-2, 1e-2, 3e-3, 1e-3),
    l1_penalties=(1e-1, 3e-2, 1e-2, 3e-3, 1e-3),
    cv=4,
    prefer="sparse",
).fit(X, y)
print(f"chosen: {model.best_params_}, score {model.best_score_:.3f}")
print(f"best score of all: {model.cv_results_['mean_test_score'].max():.3f}")

# %%
# The solid frame marks the choice, the dashed frame the best score. The right panel shows the
# numbers of support vectors: models are small at the upper right, where penalties are large.

figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.8), layout="constrained")
PenaltyGridDisplay.from_estimator(model, ax=left)
PenaltyGridDisplay.from_estimator(model, quantity="mean_n_support", ax=right)
plt.show()
