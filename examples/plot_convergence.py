"""
The solvers against the clock
=============================

The figure shows the objective and the dual bound of four solvers, and the gap between them. Column
generation and coordinate descent close the gap; the whole linear program does so too, but later.
The coordinate descent rule printed in the paper stalls: where several weights must move at once,
it finds no step.
"""

import matplotlib.pyplot as plt

from votedkernels import ConvergenceDisplay, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

# %%
# The data are 400 rows of waveform data; the kernels are polynomials of degree 1 to 10.

X, y = make_waveform(400, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0) / X.shape[1] ** 0.5
model = VotedKernelClassifier(Polynomial(gamma=1.0), complexity_penalty=1e-3, l1_penalty=1e-4)

# %%
# A filled symbol at the end of a curve is a proof: the gap is within ``tol``. An open symbol means
# that the solver stopped before that.

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
below.get_legend().remove()  # both panels use the same colours
above.set_xlabel("")
plt.show()

# %%
# Here are the same results as numbers.

for solver, seconds, gaps, reason in zip(
    display.solvers, display.seconds, display.relative_gaps, display.stop_reasons, strict=True
):
    print(f"{solver}: {reason}, gap {gaps[-1]:.1e} after {seconds[-1]:.3f} s")
