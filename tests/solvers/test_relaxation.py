"""The second stage: slopes of its rounded losses."""

import numpy as np
import pytest

from votedkernels.problem.losses import EpsilonInsensitive, Pinball
from votedkernels.solvers.relaxation import WIDTH_OF_NUMBERS, slopes_of


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Pinball(0.3)], ids=repr)
def test_slopes_are_those_of_the_rounded_loss(loss):
    targets, w = np.zeros(9), np.linspace(1.0, 2.0, 9)
    decision = np.array([-4.0, -0.5, -0.35, -0.2, 0.0, 0.15, 0.3, 0.7, 5.0])
    hinges = loss.hinges(targets, w)

    def losses(f):
        h = hinges.goals - hinges.signs * f[hinges.rows]
        d = WIDTH_OF_NUMBERS
        rounded = np.where(h < d, np.maximum(h, 0.0) ** 2 / (2 * d), h - d / 2)
        return np.bincount(hinges.rows, hinges.weights * rounded)

    step = 1e-6
    expected = -(losses(decision + step) - losses(decision - step)) / (2 * step)
    np.testing.assert_allclose(slopes_of(hinges, decision), expected, atol=1e-5)
