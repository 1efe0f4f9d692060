"""
Support vectors along the path
==============================

``voted_kernel_path`` solves the problem for every pair of penalties and returns plain arrays. The
figure shows the number of support vectors against each penalty.
"""

import matplotlib.pyplot as plt

from votedkernels import Polynomial, SupportPathDisplay, voted_kernel_path
from votedkernels.datasets import make_waveform

X, y = make_waveform(300, random_state=0)
path = voted_kernel_path(
    X,
    y,
    Polynomial(degrees=(1, 2, 3, 4)),
    complexity_penalties=(1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    l1_penalties=(1e-1, 1e-2, 1e-3, 1e-4),
)

# %%
# Each point of the path has its own certificate.

print(f"{path.n_support.size} models, largest gap {path.dual_gaps.max():.1e}")

# %%
# The penalties act together: a unit of weight on kernel k costs
# ``complexity_penalty * r_k + l1_penalty``. If one penalty is small, the other one decides.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
display = SupportPathDisplay.from_path(path, ax=left)
display.plot(right, x="l1_penalty")
right.set_ylabel("")
plt.show()
