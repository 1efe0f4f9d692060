"""
The terms of the guarantee
==========================

``generalization_bound`` returns a bound on the probability of error on new rows. The figure stacks
its terms, next to the test error, as the sample grows. A bound of 1 or more says nothing.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.preprocessing import normalize

from votedkernels import BoundDisplay, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

SAMPLE_SIZES = (1_000, 4_000, 16_000, 64_000)
N_TEST = 50_000

# %%
# There are two problems. In the first the classes lie far apart; in the waveform problem they
# overlap. Each row is scaled to length one on its own, so the radius is known. A scaler that is
# fitted on the sample would void the guarantee.


def far_apart(n, seed):
    """Return two clouds in four dimensions, on opposite sides of the origin."""
    corners = [[-1.0] * 4, [1.0] * 4]
    X, y = make_blobs(n, centers=corners, cluster_std=0.7, random_state=seed)
    return normalize(X), y


def waveform(n, seed):
    """Return noisy waves, with the mean of each row subtracted."""
    X, y = make_waveform(n, random_state=seed)
    return normalize(X - X.mean(axis=1, keepdims=True)), y


# %%
# The model uses one simple kernel and a large ``l1_penalty``. This keeps the sum of the weights
# small and so the margins wide.


def bounds_and_errors(draw):
    """Return the bound and the test error for each sample size."""
    X, y = draw(max(SAMPLE_SIZES), seed=0)
    X_test, y_test = draw(N_TEST, seed=1)
    kernel = Polynomial(degrees=(1,), gamma=1.0, coef0=0.0)
    model = VotedKernelClassifier(
        kernel, complexity_penalty=0.0, l1_penalty=0.1, centers=500, random_state=0
    )
    bounds, errors = [], []
    for m in SAMPLE_SIZES:
        model.fit(X[:m], y[:m])
        bounds.append(model.generalization_bound(X[:m], y[:m]))
        errors.append(1 - model.score(X_test, y_test))
    return bounds, errors


# %%
# The bound falls as the sample grows. Most of what lies above the margin error is the complexity of
# the kernel, which falls with the root of the number of rows.

problems = {"Classes far apart": far_apart, "Waveform: classes overlap": waveform}
figure, panels = plt.subplots(1, 2, figsize=(11, 4.8), sharey=True, layout="constrained")
for ax, (title, draw) in zip(panels, problems.items(), strict=True):
    bounds, errors = bounds_and_errors(draw)
    BoundDisplay.from_bounds(bounds, errors=errors, ax=ax)
    ax.set_title(title)
    print(f"{title}, {bounds[-1].n_samples} rows: test error {errors[-1]:.4f}\n{bounds[-1]}\n")
panels[0].get_legend().remove()  # both panels use the same colours
panels[1].set_ylabel("")
panels[0].set_ylim(0, 1.15)
plt.show()
