"""
Support vectors along the path
==============================

``voted_kernel_path`` solves the problem for every pair of penalties and hands out plain arrays.
Here are the numbers of support vectors, against either penalty.
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
# Every point of the path has its own certificate.

print(f"{path.n_support.size} models, largest gap {path.dual_gaps.max():.1e}")

# %%
# Penalties act together: a weight of kernel k costs ``complexity_penalty * r_k + l1_penalty``, so
# where one of the two is small the other decides.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
display = SupportPathDisplay.from_path(path, ax=left)
display.plot(right, x="l1_penalty")
right.set_ylabel("")
plt.show()
