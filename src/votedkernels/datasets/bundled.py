"""The two data sets that come with the package.

The last column of their files is the name of the class. ``data/README.md`` says where the rows
come from.
"""

import csv
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

TARGET_NAMES = {"breastcancer": ("benign", "malignant"), "ionosphere": ("bad", "good")}


def load_ionosphere(*, return_X_y: bool = False) -> Any:
    """Load the ionosphere data: radar returns with or without evidence of structure.

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
    bunch = read_bundled("ionosphere")
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_breastcancer(*, return_X_y: bool = False, drop_incomplete: bool = True) -> Any:
    """Load the original Wisconsin breast cancer data: nine grades of cell samples.

    These are the 699 cases of 1992, not the 569 cases of 1995 that scikit-learn includes.

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
        Leave out the 16 rows in which ``bare_nuclei`` is missing. If False, the value is NaN.

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
    bunch = read_bundled("breastcancer")
    if drop_incomplete:
        complete = ~np.isnan(bunch.data).any(axis=1)
        bunch.data, bunch.target = bunch.data[complete], bunch.target[complete]
    return (bunch.data, bunch.target) if return_X_y else bunch


def bundled_file(name: str) -> Traversable:
    """Return the file of a bundled data set."""
    return _folder() / f"{name}.csv"


def read_bundled(name: str) -> Bunch:
    """Read the file of a bundled data set: a header, the features, and the class name last."""
    text = bundled_file(name).read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    values = [[float(field) if field else np.nan for field in row[:-1]] for row in rows]
    negative, positive = TARGET_NAMES[name]
    signs = {negative: -1, positive: 1}
    return Bunch(
        data=np.array(values),
        target=np.array([signs[row[-1]] for row in rows], dtype=np.int64),
        feature_names=header[:-1],
        target_names=np.array(TARGET_NAMES[name]),
        DESCR=(_folder() / "README.md").read_text(encoding="utf-8"),
    )


def _folder() -> Traversable:
    return files("votedkernels.datasets") / "data"
