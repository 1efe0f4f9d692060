"""
The solvers against the clock
=============================

Objective and dual bound of four solvers, and the gap between them. Column generation and
coordinate descent close it; so does the whole linear program, later. The coordinate descent that
the paper prints stalls, because its rule sees no step where several weights must move at once.
"""

import matplotlib.pyplot as plt

from votedkernels import ConvergenceDisplay, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

# %%
# Waveform data, 400 rows, polynomial kernels of degree 1 to 10.

X, y = make_waveform(400, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0) / X.shape[1] ** 0.5
model = VotedKernelClassifier(Polynomial(gamma=1.0), complexity_penalty=1e-3, l1_penalty=1e-4)

# %%
# A full symbol at the end is a proof: the gap is within ``tol``. An open one says that the solver
# stopped short of it.

figure, (above, below) = plt.subplots(2, 1, figsize=(8, 7.5), sharex=True, layout="constrained")
display = ConvergenceDisplay.from_estimator(
    model,
    X,
    y,
    solvers=("column-generation", "coordinate-descent", "coordinate-descent-paper", "lp"),
    kind="objective",
    ax=above,
)
display.plot(below, kind="gap")
below.get_legend().remove()  # the colours are those above
above.set_xlabel("")
plt.show()

# %%
# The same in numbers.

for solver, seconds, gaps, reason in zip(
    display.solvers, display.seconds, display.relative_gaps, display.stop_reasons, strict=True
):
    print(f"{solver}: {reason}, gap {gaps[-1]:.1e} after {seconds[-1]:.3f} s")
