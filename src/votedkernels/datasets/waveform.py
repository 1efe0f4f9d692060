"""A generator for the waveform problem of Breiman and others."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

# Three triangular waves of height 6 over the 21 positions, with different peaks.
_POSITIONS = np.arange(1, 22)
_EARLY, _MIDDLE, _LATE = (np.maximum(6.0 - np.abs(_POSITIONS - peak), 0.0) for peak in (7, 11, 15))


def make_waveform(
    n_samples: int = 1000, *, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw samples of the two-class waveform problem of Breiman, Friedman, Olshen and Stone.

    A sample is ``u * first + (1 - u) * second + noise`` at 21 positions. u is uniform on [0, 1],
    the noise is standard normal at each position, and first and second are two triangular waves
    that depend on the class. The original has three classes, numbered as in the UCI repository.
    Class 0 (waves with peaks at 7 and 15) is -1 here, and class 1 (peaks at 7 and 11) is +1.

    Parameters
    ----------
    n_samples : int, default=1000
        The number of samples.

    random_state : int, RandomState instance or None, default=None
        Seed or generator; pass an int to get the same data in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
        The samples.

    y : ndarray of shape (n_samples,)
        The labels, -1 or +1, each with probability one half.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone: Classification and Regression Trees.
    Wadsworth, 1984, section 2.6.2.

    Examples
    --------
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(300, random_state=0)
    >>> X.shape
    (300, 21)
    """
    rng = check_random_state(random_state)
    y = 2 * rng.randint(2, size=n_samples).astype(np.int64) - 1
    share = rng.uniform(size=(n_samples, 1))
    second = np.where(y[:, np.newaxis] == 1, _MIDDLE, _LATE)
    noise = rng.normal(size=(n_samples, _POSITIONS.size))
    return share * _EARLY + (1.0 - share) * second + noise, y
