"""
Every width of a range
======================

A grid of widths is a guess. ``ContinuousGaussian`` lets every real width between two limits vote,
and its certificate covers all of them. So you can measure what a grid loses.
"""

import matplotlib.pyplot as plt
import numpy as np

from votedkernels import ContinuousGaussian, Gaussian, VotedKernelClassifier
from votedkernels.datasets import make_waveform

X, y = make_waveform(200, random_state=0)
SETTINGS = {"complexity_penalty": 0.0, "l1_penalty": 1e-2}
LOW, HIGH = 0.01, 100.0

# %%
# Fit the continuum, with its certificate.

continuum = VotedKernelClassifier(ContinuousGaussian(LOW, HIGH), **SETTINGS).fit(X, y)
print(f"objective {continuum.objective_:.6f}, no vote below {continuum.dual_bound_:.6f}")

# %%
# Fit finer and finer grids over the same range.

grid_sizes = (2, 3, 5, 9, 17, 33, 65)
losses = []
for size in grid_sizes:
    widths = tuple(np.geomspace(LOW, HIGH, size))
    grid = VotedKernelClassifier(Gaussian(gammas=widths), **SETTINGS).fit(X, y)
    losses.append(grid.objective_ / continuum.objective_ - 1)
    print(f"{size:3} widths: {100 * losses[-1]:.3f} % above the continuum")

# %%
# The left panel shows the widths that have a weight; dotted lines mark a grid of nine widths. The
# right panel shows what a grid loses.

family = continuum.kernels_[0]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.vlines(family.gammas_, 0, continuum.kernel_mass_, color="#0072B2", linewidth=2)
left.plot(family.gammas_, continuum.kernel_mass_, "o", color="#0072B2")
for width in np.geomspace(LOW, HIGH, 9):
    left.axvline(width, color="0.8", linestyle=":", zorder=0)
left.set(xscale="log", xlabel="gamma, in multiples of the unit", ylabel="kernel mass")
left.set(xlim=(0.25, 4), ylim=(0, None))
left.set_xticks([0.3, 1, 3], [0.3, 1, 3])
left.minorticks_off()
right.plot(grid_sizes, 100 * np.array(losses), "s-", color="#D55E00")
right.set(xscale="log", yscale="log", xlabel="widths in the grid", ylabel="loss of the grid, %")
right.set_xticks(grid_sizes, grid_sizes)
right.minorticks_off()
right.grid(color="0.9")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
