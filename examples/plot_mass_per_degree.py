"""
Complex kernels without overfitting
===================================

A vote can use kernels of high degree and still generalise, because each kernel pays for its
complexity. This example fits polynomials of degree 1 to 10 to waveform data, with a small and a
large complexity penalty. For comparison it fits degree 10 alone.
"""

import matplotlib.pyplot as plt

from votedkernels import KernelMassDisplay, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform

X, y = make_waveform(300, random_state=0)
X_test, y_test = make_waveform(5_000, random_state=1)

# %%
# With a penalty close to zero, every degree from three to ten has a weight. With a larger penalty,
# nearly all the mass is on degrees two and three, the test error is lower, and there are half as
# many support vectors.

ALL = tuple(range(1, 11))
offers = {
    "degrees 1 to 10, small penalty": (ALL, 1e-6),
    "degrees 1 to 10, large penalty": (ALL, 1e-2),
    "degree 10 alone": ((10,), 1e-6),
}
models = {}
for name, (degrees, penalty) in offers.items():
    models[name] = VotedKernelClassifier(
        Polynomial(degrees), complexity_penalty=penalty, l1_penalty=1e-6, complexity="trace"
    ).fit(X, y)
    error = 1 - models[name].score(X_test, y_test)
    print(f"{name}: test error {error:.3f}, {len(models[name].support_)} support vectors")

# %%
# The price per unit of weight is ``complexity_penalty`` times the complexity of the kernel, plus
# ``l1_penalty``. The complexities grow fast with the degree.

large = models["degrees 1 to 10, large penalty"]
for name, complexity in zip(large.kernel_names_, large.complexities_, strict=True):
    print(f"{name:24}{complexity:12.3g}")

# %%
# The figure shows the masses of the two votes, each on its own scale.

figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for ax, name in zip(panels, list(offers)[:2], strict=True):
    KernelMassDisplay.from_estimator(models[name], ax=ax)
    ax.set_title(f"{name}\ntest error {1 - models[name].score(X_test, y_test):.3f}")
panels[1].set_ylabel("")
plt.show()
