"""
Accuracy and size, next to SVC
==============================

Both methods learn ``f(x)`` as a sum over support vectors. ``SVC`` keeps every row on or inside the
margin. The vote pays for each weight and keeps only a few. Each point in the figure is one model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from votedkernels import Gaussian, VotedKernelClassifier
from votedkernels.datasets import load_breastcancer, load_ionosphere

WIDTH = 0.3  # in multiples of gamma="scale"; the same for both methods
PENALTIES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


# %%
# The vote has fewer support vectors. On breastcancer it has a fifth as many and makes as many
# errors as ``SVC``. On ionosphere it has about two thirds as many and, with this one kernel, makes
# more errors.
#
# The means are over three folds. Both methods use the same Gaussian kernel, so they differ only in
# how they penalise weights.


def sizes_and_errors(models, X, y):
    """Return the mean number of support vectors and the mean test error of each model."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    results = np.zeros((len(models), 2))
    for train, test in folds.split(X, y):
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        for row, model in enumerate(models):
            model.fit(A, y[train])
            error = 1 - accuracy_score(y[test], model.predict(B))
            results[row] += np.array([len(model.support_), error]) / folds.n_splits
    return results.T


data_sets = {"ionosphere": load_ionosphere, "breastcancer": load_breastcancer}
figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
for ax, (name, load) in zip(panels, data_sets.items(), strict=True):
    X, y = load(return_X_y=True)
    gamma = WIDTH / X.shape[1]  # for standardised features
    machines = [SVC(C=cost, gamma=gamma) for cost in COSTS]
    votes = [
        VotedKernelClassifier(
            Gaussian(gammas=(gamma,), unit=1.0), complexity_penalty=0.0, l1_penalty=penalty
        )
        for penalty in PENALTIES
    ]
    n_machine, machine_errors = sizes_and_errors(machines, X, y)
    n_vote, vote_errors = sizes_and_errors(votes, X, y)
    ax.plot(n_machine, 100 * machine_errors, "s--", color="#D55E00", label="SVC, C from 0.1 to 30")
    ax.plot(
        n_vote,
        100 * vote_errors,
        "o-",
        color="#0072B2",
        label="vote, l1_penalty from 0.1 to 0.0003",
    )
    ax.set(title=name, xlabel="support vectors", ylabel="test error, %", xscale="log")
    ax.set_ylim(bottom=0)
    ax.set_xticks([3, 10, 30, 100], [3, 10, 30, 100])
    ax.minorticks_off()
    ax.grid(color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    print(f"{name}: SVC {100 * machine_errors.min():.1f} % with", end=" ")
    print(f"{n_machine[machine_errors.argmin()]:.0f} support vectors,", end=" ")
    print(f"vote {100 * vote_errors.min():.1f} % with {n_vote[vote_errors.argmin()]:.0f}")
panels[0].legend(fontsize="small")
plt.show()
