"""
Which points vote
=================

The vote ``f(x)`` is a sum of kernel functions centred at a few training rows. In two dimensions you
can see these rows next to the boundary that they make.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris, make_moons

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier, VotingBoundaryDisplay

# %%
# Two classes
# -----------
#
# Large symbols are the points that vote. Their area shows the sum of their absolute weights, and
# their colour the class they vote for. On the dashed lines ``f`` is -1 and +1. Unlike the support
# vectors of an SVM, voting points need not lie near the boundary.

X, y = make_moons(300, noise=0.25, random_state=0)
model = VotedKernelClassifier(
    [Polynomial(degrees=(1, 2, 3)), Gaussian(gammas=(1.0, 3.0))], l1_penalty=3e-3
).fit(X, y)
print(f"{len(model.support_)} of {len(X)} rows vote")
display = VotingBoundaryDisplay.from_estimator(model, X, y)

# %%
# Three classes
# -------------
#
# With more classes there is one vote per class, against the rest. A point may vote in several of
# them. Its colour is that of the vote in which it has the most weight, and it is hollow if it votes
# against that class.

iris = load_iris(as_frame=True)
X, y = iris.data[["petal length (cm)", "petal width (cm)"]], iris.target_names[iris.target]
model = VotedKernelClassifier(
    [Polynomial(degrees=(1, 2, 3)), Gaussian(gammas=(1.0, 3.0))], l1_penalty=3e-3
).fit(X, y)
print(f"{len(model.support_)} of {len(X)} rows vote")
display = VotingBoundaryDisplay.from_estimator(model, X, y)
plt.show()
