"""Load the paper's data sets by name.

A data set is one file, ``<name>.csv`` or ``<name>.csv.gz``. `load` looks for it in the folders that
`folders` yields, then in the package, then on the network.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from votedkernels.datasets.bundled import TARGET_NAMES, bundled_file, read_bundled
from votedkernels.datasets.catalogue import CATALOGUE, DataSet
from votedkernels.datasets.fetching import cache_folder, fetch
from votedkernels.datasets.reading import check_content, read_samples
from votedkernels.exceptions import DataNotFoundError

VARIABLE = "VOTEDKERNELS_DATA"
"""The environment variable that names a folder of data files."""


def load(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    drop_incomplete: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load one of the eleven data sets of the paper's experiments.

    The file ``<name>.csv`` or ``<name>.csv.gz`` is searched for in ``data_dir``, in the folder
    named by the environment variable ``VOTEDKERNELS_DATA``, in the user's cache, and in the
    package (breastcancer and ionosphere). It has a header, numeric features, and a last column
    ``target`` of -1 and 1; an empty field is a missing value. Its values must match the catalogue.

    Parameters
    ----------
    name : str
        One of breastcancer, climate, diabetes, german, ionosphere, musk, ocr49, phishing,
        retinopathy, vertebral, waveform01.
    data_dir : path-like, default=None
        The folder to search first.
    download : bool, default=True
        Whether to download a missing data set to the user's cache. This needs pooch
        (``pip install votedkernels[cli]``). There is no public address for ocr49.
    drop_incomplete : bool, default=True
        Leave out rows with a missing value; only breastcancer has any (16 of 699). If False,
        missing values are NaN.
    return_X_y : bool, default=False
        If True, return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch` or tuple
        With ``data``, ``target`` of -1 and +1, ``feature_names``, ``target_names`` (the names of
        -1 and +1, in this order), ``licence``, ``citation`` and ``DESCR``.

    Raises
    ------
    DataFileError
        If a file has the wrong format or the wrong values.
    DataNotFoundError
        If the data are not on this machine and cannot, or must not, be downloaded.

    Examples
    --------
    >>> from votedkernels.datasets import load
    >>> load("breastcancer", download=False).data.shape
    (683, 9)
    """
    facts = known(name)
    X, y = _samples(facts, data_dir, download)
    if drop_incomplete:
        complete = ~np.isnan(X).any(axis=1)
        X, y = X[complete], y[complete]
    return (X, y) if return_X_y else _as_bunch(X, y, facts)


def locate(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """Find the file from which :func:`load` would read, without reading it.

    Parameters
    ----------
    name : str
        The name of a data set in the catalogue.

    data_dir : path-like, default=None
        The folder to search first.

    Returns
    -------
    path : Path or None
        None if the data set would have to be downloaded.
    """
    facts = known(name)
    found = find_file(facts.name, data_dir)
    if found is None and name in TARGET_NAMES:
        return Path(str(bundled_file(name)))
    return found


def known(name: str) -> DataSet:
    """Return the catalogue's entry with this name."""
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; use one of {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def folders(data_dir: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield the folders to search, in order; raise if one that the user named does not exist."""
    for source, folder in (("data_dir", data_dir), (VARIABLE, os.environ.get(VARIABLE))):
        if folder is None or folder == "":
            continue
        path = Path(folder).expanduser()
        if not path.is_dir():
            raise NotADirectoryError(
                f"{source} is {str(folder)!r}, which is not a folder; name an existing one."
            )
        yield path
    cache = cache_folder()
    if cache is not None:
        yield cache


def find_file(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return the data file of this name in the first folder that has one; None if none has."""
    for folder in folders(data_dir):
        for path in (folder / f"{name}.csv", folder / f"{name}.csv.gz"):
            if path.is_file():
                return path
    return None


def _as_bunch(X: NDArray[np.float64], y: NDArray[np.int64], facts: DataSet) -> Bunch:
    return Bunch(
        data=X,
        target=y,
        feature_names=list(facts.feature_names),
        target_names=np.array(facts.target_names),
        DESCR=facts.description(),
        licence=facts.licence,
        citation=facts.citation,
    )


def _samples(
    facts: DataSet, data_dir: str | os.PathLike[str] | None, download: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    path = find_file(facts.name, data_dir)
    if path is not None:
        found = read_samples(path)
        check_content(found.X, found.y, facts, str(path))
        return found.X, found.y
    if facts.name in TARGET_NAMES:
        bunch = read_bundled(facts.name)
        return bunch.data, bunch.target
    if facts.address is not None and download:
        fetched = fetch(facts)
        return fetched.X, fetched.y
    raise DataNotFoundError(
        f"the {facts.name} data are not on this machine: {_why_not(facts)} Put {facts.name}.csv "
        f"into a folder, and name the folder with data_dir or the environment variable {VARIABLE}."
    )


def _why_not(facts: DataSet) -> str:
    if facts.address is None:
        return f"there is no address to download them from. They are {facts.about}"
    return f"they can be downloaded from {facts.address}, but download=False."
