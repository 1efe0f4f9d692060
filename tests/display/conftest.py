"""Data and searches that several files draw."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import make_moons

from votedkernels import Gaussian, VotedKernelClassifierCV


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")  # other files may have left some
    yield
    plt.close("all")


@pytest.fixture(scope="package")
def moons():
    return make_moons(80, noise=0.2, random_state=0)


@pytest.fixture(scope="package")
def default_search(moons):
    """A search without a grid, with more kernels than it keeps until the end."""
    return VotedKernelClassifierCV(Gaussian((0.03, 0.3, 1.0, 3.0, 10.0)), cv=3).fit(*moons)
