"""`save_model` and `load_model`: from a fitted classifier to a file, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ..exceptions import ModelFileError
from .building import build
from .container import Container, encode, read_container, with_name, write_whole
from .describing import describe


def save_model(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model into a file.

    The file holds numbers and text only, no code, and the training rows that got a vote. It
    appears under its name when it is complete; where writing fails, an older file of that name
    is left as it was. See :doc:`/model-files`.

    Parameters
    ----------
    model : VotedKernelClassifier, VotedKernelClassifierCV or Pipeline
        Fitted. A pipeline has two steps: StandardScaler or MinMaxScaler, and one of our
        classifiers. A `VotedKernelClassifierCV` is saved as the classifier that it chose.
    path : str or path-like
        The file, by custom ending in ``.safetensors``.

    Raises
    ------
    ValueError
        Where the model has something that is neither number nor text: a kernel family of
        the user's own, or rows that are other objects than strings.

    Examples
    --------
    >>> import tempfile, os
    >>> from votedkernels import VotedKernelClassifier, load_model, save_model
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(60, random_state=0)
    >>> model = VotedKernelClassifier(l1_penalty=0.1).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "waves.safetensors")
    >>> save_model(model, path)
    >>> bool((load_model(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    header, arrays, functions = describe(model)
    # Promised: what was saved can be loaded. So it is, before a byte is written.
    plain = json.loads(json.dumps(header, allow_nan=False))
    try:
        build(Container(plain, {}, dict(arrays), ""), functions)
    except ModelFileError as error:
        raise ValueError(f"this model cannot be saved: {error}") from error
    write_whole(Path(path), encode(header, arrays))


def load_model(path: str | PathLike[str], *, functions: Mapping[str, Any] | None = None) -> Any:
    """Load a model that `save_model` has written.

    Loading runs nothing that the file could have chosen. The loaded model has the same fitted
    attributes, and the same decisions, bit for bit on the same machine.

    Parameters
    ----------
    path : str or path-like
    functions : dict of str to callable, default=None
        The functions of `Similarity` families, by name: the family's ``name``, else the name that
        the function has. A file holds no code, so it does not hold them.

    Returns
    -------
    VotedKernelClassifier, or Pipeline where one was saved

    Raises
    ------
    ModelFileError
        Where the file is no model file, is damaged, is of a newer format, or needs a function
        that was not given.
    """
    given = functions or {}
    for name, function in given.items():
        if not callable(function):
            raise TypeError(f"functions[{name!r}] is {function!r}, not a function.")
    return with_name(path, lambda: build(read_container(Path(path)), given))
