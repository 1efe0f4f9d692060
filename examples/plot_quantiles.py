"""
A noisy sine, and where 80 per cent of it lies
==============================================

The same kind of vote can predict numbers. With the pinball loss, it estimates quantiles. Several
quantiles that are fitted together never cross. The noise of these data grows from left to right.
"""

import matplotlib.pyplot as plt
import numpy as np

from votedkernels import Gaussian, VotedKernelRegressor

random = np.random.default_rng(0)
X = random.uniform(0, 6, (250, 1))
y = np.sin(X[:, 0]) + random.normal(0, 0.05 + 0.06 * X[:, 0])

# %%
# Three quantiles with two kernels are fitted in one problem. The gap proves that its solution is
# optimal.

model = VotedKernelRegressor(
    Gaussian((0.3, 3.0)), loss="quantile", quantiles=(0.1, 0.5, 0.9), complexity_penalty=0.01
).fit(X, y)
print(f"{len(model.support_)} of {len(X)} rows vote, gap {model.dual_gap_:.0e}")
for quantile, values in zip(model.quantiles, model.predict_quantiles(X).T, strict=True):
    print(f"{quantile}: {np.mean(y <= values + 1e-9):.0%} of the rows below")

# %%
# Rings mark the rows that vote.

grid = np.linspace(0, 6, 300)[:, None]
low, middle, high = model.predict_quantiles(grid).T
figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.fill_between(grid[:, 0], low, high, alpha=0.2, label="10 % to 90 %")
ax.plot(grid[:, 0], middle, label="median")
ax.plot(grid[:, 0], np.sin(grid[:, 0]), "k:", linewidth=1, label="sine without noise")
ax.plot(X[:, 0], y, ".", color="0.5", markersize=4)
voters = model.support_
ax.plot(X[voters, 0], y[voters], "o", color="C3", fillstyle="none", label="voting rows")
ax.legend(loc="lower left")
plt.show()
