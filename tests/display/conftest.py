"""Data and searches that several files draw."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import make_moons


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")  # other files may have left some
    yield
    plt.close("all")


@pytest.fixture(scope="package")
def moons():
    return make_moons(80, noise=0.2, random_state=0)
