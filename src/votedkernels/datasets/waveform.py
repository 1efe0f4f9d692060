"""The waveform problem of Breiman and others, drawn as often as one likes."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

# Three triangular waves over the 21 positions, of height 6, told apart by where they peak.
_POSITIONS = np.arange(1, 22)
_EARLY, _MIDDLE, _LATE = (np.maximum(6.0 - np.abs(_POSITIONS - peak), 0.0) for peak in (7, 11, 15))


def make_waveform(
    n_samples: int = 1000, *, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw from the two-class waveform problem of Breiman, Friedman, Olshen and Stone.

    A sample is ``u * first + (1 - u) * second + noise`` at 21 positions: u is uniform on
    [0, 1], the noise standard normal at each position, first and second two triangular waves
    that depend on the class. Of the three classes of the original, numbered as in the UCI
    repository, class 0 (waves that peak at 7 and 15) becomes -1 and class 1 (7 and 11) becomes +1.

    Parameters
    ----------
    n_samples : int, default=1000
        The number of samples.

    random_state : int, RandomState instance or None, default=None
        Seed or generator; pass an int for the same data in every call.

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
