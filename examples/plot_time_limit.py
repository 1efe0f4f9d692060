"""
When the time is up
===================

A fit with ``time_limit`` ends in time, keeps the best model so far, and says how far from the
optimum this model can be. You do not need another fit to find out.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from votedkernels import Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform
from votedkernels.exceptions import FitLimitError

X, y = make_waveform(300, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0) / X.shape[1] ** 0.5
settings = {"complexity_penalty": 1e-3, "l1_penalty": 1e-4}
model = VotedKernelClassifier(Polynomial(gamma=1.0), solver="coordinate-descent", **settings)

# %%
# A small first fit loads the compiled code, so that the limits below are spent on the problem.

VotedKernelClassifier(solver="coordinate-descent").fit(X[:50], y[:50])

# %%
# When the time is up, ``stop_reason_`` is ``"time-limit"``, and a warning reports the certificate.
# A limit too short for any vote raises an error.

limits, objectives, bounds = [], [], []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", ConvergenceWarning)
    for limit in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6):
        try:
            model.set_params(time_limit=limit).fit(X, y)
        except FitLimitError as error:
            print(f"{limit} s: {error}")
            continue
        limits.append(limit)
        objectives.append(model.objective_)
        bounds.append(model.dual_bound_)
        print(f"{limit} s: {model.stop_reason_}, gap {model.dual_gap_ / model.objective_:.1%}")
for warning in caught[:1]:
    print(warning.message)

# %%
# Each fit encloses the optimum between two numbers. Column generation finds the optimum, to check
# this.

optimum = VotedKernelClassifier(Polynomial(gamma=1.0), **settings).fit(X, y).objective_
assert max(bounds) <= optimum * (1 + 1e-6)
assert optimum <= min(objectives) * (1 + 1e-6)

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
places = np.arange(len(limits))
bounds = np.maximum(bounds, 2e-4)  # a logarithmic scale cannot show a bound of 0
ax.vlines(places, bounds, objectives, color="0.8", linewidth=7)
ax.plot(places, objectives, "v", color="#D55E00", markersize=9, label="objective of the model")
ax.plot(places, bounds, "^", color="#0072B2", markersize=9, label="proved lower bound")
ax.axhline(optimum, color="0.15", linestyle="--", linewidth=1.2, label="the optimum")
ax.set_xticks(places, limits)
ax.set(xlabel="time_limit (s)", ylabel="objective", yscale="log", ylim=(1e-4, 2))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(loc="lower right")
plt.show()
