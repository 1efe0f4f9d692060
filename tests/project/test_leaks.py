"""Many fits in one process leave nothing behind."""

import os
import sys
import threading

import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier, VotedKernelClassifierCV


def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_two_hundred_and_fifty_fits_leak_nothing():
    random = np.random.default_rng(0)
    X = random.standard_normal((120, 5))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * random.standard_normal(120) > 0, 1, -1)
    penalties = 10.0 ** -np.arange(1, 6)
    families = (Polynomial((1, 2, 3)), Gaussian((0.1, 1.0)))
    memory, files, threads = [], [], []
    for number in range(1, 251):
        if number % 50 == 0:
            model = VotedKernelClassifierCV(
                families[0], complexity_penalties=[1e-2], l1_penalties=penalties, cv=3
            )
        else:
            model = VotedKernelClassifier(
                families[number % 2],
                complexity_penalty=float(penalties[number % 5]),
                fit_intercept=number % 3 == 0,
                n_jobs=1 + number % 2,
            )
        model.fit(X, y).predict(X)
        memory.append(resident_megabytes())
        files.append(len(os.listdir("/proc/self/fd")))
        threads.append(threading.active_count())
    assert memory[249] - memory[19] < 10
    assert files[249] <= files[19] + 1
    assert threads[249] <= threads[19]
