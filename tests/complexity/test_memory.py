"""The memory that measures say they need, in addition to blocks of kernel values."""

import numpy as np
import pytest

from votedkernels import Empirical, Gaussian, Massart, Trace
from votedkernels.complexity.base import memory_needed
from votedkernels.complexity.local import _spectrum_bytes


@pytest.mark.parametrize("measure", [Trace(), Massart(), Empirical(), [1.0, 2.0]], ids=repr)
def test_sums_over_blocks_need_no_memory_of_their_own(measure):
    X = np.zeros((10, 2))
    family = Gaussian((0.5, 1.0)).fit(X, np.ones(10))
    assert memory_needed(measure, [family], 10**6, 10**9) == 0


def test_a_spectrum_needs_three_matrices_of_doubles():
    family = Gaussian((0.5, 1.0)).fit(np.zeros((10, 2)), np.ones(10))
    n_matrices = 1 + 2  # the base that all members share, a member, and a copy for its eigenvalues
    assert _spectrum_bytes(family, 100) == n_matrices * np.zeros((100, 100)).nbytes
