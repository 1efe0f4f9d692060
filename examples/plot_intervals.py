"""
Intervals for a real table that keep their promise
==================================================

From ten measurements, this example predicts how far diabetes progresses within a year. An 80 per
cent interval should contain the targets of 80 per cent of new patients. Intervals between plain
quantiles contain fewer, because quantiles adapt to the rows they are fitted to. Conformal shifts,
learned from held-out folds, correct this.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from votedkernels import Gaussian, Polynomial, VotedKernelRegressor

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Three quantiles are fitted together, so they cannot cross. ``conformal=True`` fits 20 more
# times, each without a twentieth of the rows.

kernels = [Polynomial((1,)), Gaussian((0.1, 1.0))]
settings = {"loss": "quantile", "quantiles": (0.1, 0.5, 0.9), "complexity_penalty": 0.003}
for conformal in (False, True):
    model = VotedKernelRegressor(kernels, conformal=conformal, tol=1e-4, **settings)
    low, high = model.fit(X_train, y_train).predict_interval(X_test, alpha=0.2).T
    inside = np.mean((low <= y_test) & (y_test <= high))
    print(
        f"conformal={conformal}: {inside:.0%} of the new patients, width {np.mean(high - low):.0f}"
    )

# %%
# The test patients are sorted by their predicted median. Each line is an interval; targets
# outside are drawn as crosses.

order = np.argsort(model.predict(X_test))
places = np.arange(len(order))
outside = ((y_test < low) | (y_test > high))[order]
figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.vlines(places, low[order], high[order], color="C0", alpha=0.3, label="80 % interval")
ax.plot(places, model.predict(X_test)[order], color="C0", label="median")
ax.plot(places[~outside], y_test[order][~outside], ".", color="0.4", label="target inside")
ax.plot(places[outside], y_test[order][outside], "x", color="C3", label="target outside")
ax.set(xlabel="patients, by predicted median", ylabel="progression of the disease")
ax.legend(loc="upper left")
plt.show()
