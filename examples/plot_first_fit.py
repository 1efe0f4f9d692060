"""
A first fit and its certificate
===============================

This example fits a vote over polynomial kernels. It then looks at the proof that the vote is
optimal, and at the kernels that have a weight.
"""

# %%
# The data are radar returns from the ionosphere: 351 rows with 34 features. They come with the
# package. Scale the features first, because kernels of high degree turn large features into very
# large numbers.

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from votedkernels import KernelMassDisplay, Polynomial, VotedKernelClassifier
from votedkernels.datasets import load_ionosphere

X, y = load_ionosphere(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
pipeline = make_pipeline(
    StandardScaler(),
    VotedKernelClassifier(Polynomial(degrees=(1, 2, 3, 4, 5)), complexity_penalty=1e-3),
).fit(X_train, y_train)
model = pipeline[-1]

print(f"test accuracy    {pipeline.score(X_test, y_test):.3f}")
print(f"support vectors  {len(model.support_)} of {len(X_train)} rows")

# %%
# The certificate
# ---------------
#
# ``objective_`` is the objective value of the model. No vote over these kernels and centres can
# have a value below ``dual_bound_``, which is recomputed from the data and not taken from the
# solver. So a longer search could gain at most the gap between the two.

print(f"objective   {model.objective_:.10f}")
print(f"dual bound  {model.dual_bound_:.10f}")
print(f"gap         {model.dual_gap_:.1e}, {model.stop_reason_}")

# %%
# Where the weight went
# ---------------------
#
# The mass of a kernel is the sum of its absolute weights. Richer kernels cost more, and the richest
# got little mass.

KernelMassDisplay.from_estimator(model)
plt.show()
