"""Small real data sets, and a generator, to try the classifiers on without a network.

The labels are -1 and +1; +1 is what one looks for (a malignant sample, a good radar return).
Where the rows come from is told in ``data/README.md`` beside them.
"""

import csv
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

__all__ = ["load_breastcancer", "load_ionosphere", "make_waveform"]

# Three triangular waves over the 21 positions, of height 6, told apart by where they peak.
_POSITIONS = np.arange(1, 22)
_EARLY, _MIDDLE, _LATE = (np.maximum(6.0 - np.abs(_POSITIONS - peak), 0.0) for peak in (7, 11, 15))


def load_ionosphere(*, return_X_y: bool = False) -> Any:
    """Load the ionosphere data: radar returns that do or do not show structure.

    =================   ==============
    Classes                          2
    Samples per class   126 bad (-1), 225 good (+1)
    Samples total                  351
    Features            34, in [-1, 1]
    =================   ==============

    The second feature is 0 in every row, as in the original.

    Parameters
    ----------
    return_X_y : bool, default=False
        If True, return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch` or tuple
        With ``data`` (351, 34), ``target`` (351,) of -1 and +1, ``feature_names``,
        ``target_names`` (the names of -1 and +1, in this order) and ``DESCR``.

    References
    ----------
    V. Sigillito, S. Wing, L. Hutton, K. Baker: Ionosphere. UCI Machine Learning Repository,
    1989. https://doi.org/10.24432/C5W01B. CC BY 4.0.

    Examples
    --------
    >>> from votedkernels.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> X.shape
    (351, 34)
    """
    bunch = _load("ionosphere", target_names=("bad", "good"))
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_breastcancer(*, return_X_y: bool = False, drop_incomplete: bool = True) -> Any:
    """Load the original Wisconsin breast cancer data: nine grades given to cells.

    These are the 699 cases of 1992, not the 569 of 1995 that scikit-learn carries.

    =================   ==============
    Classes                          2
    Samples per class   444 benign (-1), 239 malignant (+1)
    Samples total       683 (699 with the incomplete ones: 458 and 241)
    Features            9, whole numbers from 1 to 10
    =================   ==============

    Parameters
    ----------
    return_X_y : bool, default=False
        If True, return ``(X, y)`` instead of a Bunch.

    drop_incomplete : bool, default=True
        Leave out the 16 rows whose ``bare_nuclei`` is missing. If False, the value is NaN.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch` or tuple
        With ``data`` (683, 9), ``target`` (683,) of -1 and +1, ``feature_names``,
        ``target_names`` (the names of -1 and +1, in this order) and ``DESCR``.

    References
    ----------
    W. Wolberg: Breast Cancer Wisconsin (Original). UCI Machine Learning Repository, 1990.
    https://doi.org/10.24432/C5HP4Z. CC BY 4.0.

    Examples
    --------
    >>> from votedkernels.datasets import load_breastcancer
    >>> load_breastcancer().data.shape
    (683, 9)
    """
    bunch = _load("breastcancer", target_names=("benign", "malignant"))
    if drop_incomplete:
        complete = ~np.isnan(bunch.data).any(axis=1)
        bunch.data, bunch.target = bunch.data[complete], bunch.target[complete]
    return (bunch.data, bunch.target) if return_X_y else bunch


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


def _load(name: str, *, target_names: tuple[str, str]) -> Bunch:
    """Read ``data/<name>.csv``: a header, the features, and last the name of the class."""
    folder = files(__name__) / "data"
    text = (folder / f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    values = [[float(field) if field else np.nan for field in row[:-1]] for row in rows]
    negative, positive = target_names
    signs = {negative: -1, positive: 1}
    return Bunch(
        data=np.array(values),
        target=np.array([signs[row[-1]] for row in rows], dtype=np.int64),
        feature_names=header[:-1],
        target_names=np.array(target_names),
        DESCR=(folder / "README.md").read_text(encoding="utf-8"),
    )
