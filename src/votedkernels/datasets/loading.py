"""Load any of the data sets of the paper, from wherever it is.

A data set is one file, ``<name>.csv`` or ``<name>.csv.gz``. The folders are searched in the order
of `folders`; then come the files of the package itself, then the network.
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

    The file ``<name>.csv`` or ``<name>.csv.gz`` is searched in ``data_dir``, in the folder that
    the environment variable ``VOTEDKERNELS_DATA`` names, in the user's cache, and in the package,
    which has breastcancer and ionosphere. The format is a header, numeric features, and last a
    column ``target`` of -1 and 1; an empty field is a missing value. Wherever the data come from,
    the values must be those of the catalogue, or loading fails.

    Parameters
    ----------
    name : str
        One of breastcancer, climate, diabetes, german, ionosphere, musk, ocr49, phishing,
        retinopathy, vertebral, waveform01.

    data_dir : path-like, default=None
        The folder to search first.

    download : bool, default=True
        Whether to download what is not found, which needs pooch
        (``pip install votedkernels[cli]``), and to keep it in the user's cache. There is no
        public address for ocr49.

    drop_incomplete : bool, default=True
        Leave out the rows with a missing value, of which only breastcancer has any (16 of 699).
        If False, such a value is NaN.

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
        If a file is not in the format, or has other values than it should.

    DataNotFoundError
        If the data are not here and are not to be, or cannot be, downloaded.

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
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        feature_names=list(facts.feature_names),
        target_names=np.array(facts.target_names),
        DESCR=facts.description(),
        licence=facts.licence,
        citation=facts.citation,
    )


def locate(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """Find the file from which :func:`load` would read, without reading it.

    Parameters
    ----------
    name : str
        The name of a data set of the catalogue.

    data_dir : path-like, default=None
        The folder to search first.

    Returns
    -------
    path : Path or None
        None where the data set would have to be downloaded.
    """
    facts = known(name)
    found = _search(facts.name, data_dir)
    if found is None and name in TARGET_NAMES:
        return Path(str(bundled_file(name)))
    return found


def known(name: str) -> DataSet:
    """The catalogue's entry of this name."""
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def folders(data_dir: str | os.PathLike[str] | None) -> Iterator[Path]:
    """The folders to search, in order; those that the user named must exist."""
    for source, folder in (("data_dir", data_dir), (VARIABLE, os.environ.get(VARIABLE))):
        if folder is None or folder == "":
            continue
        path = Path(folder).expanduser()
        if not path.is_dir():
            raise NotADirectoryError(f"{source} is {str(folder)!r}, which is not a folder.")
        yield path
    cache = cache_folder()
    if cache is not None:
        yield cache


def _samples(
    facts: DataSet, data_dir: str | os.PathLike[str] | None, download: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    path = _search(facts.name, data_dir)
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
        f"the {facts.name} data are not here: {_why_not(facts)} Put {facts.name}.csv into a "
        f"folder and name it by data_dir or by the environment variable {VARIABLE}."
    )


def _why_not(facts: DataSet) -> str:
    if facts.address is None:
        return f"there is no address to download them from. They are {facts.about}"
    return f"they can be downloaded from {facts.address}, but download=False."


def _search(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    for folder in folders(data_dir):
        for path in (folder / f"{name}.csv", folder / f"{name}.csv.gz"):
            if path.is_file():
                return path
    return None
