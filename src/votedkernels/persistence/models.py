"""`save_model` and `load_model`: write a fitted classifier to a file, and read it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ..exceptions import ModelFileError
from .building import build
from .container import Container, encode, read_container, with_name, write_whole
from .describing import describe


def save_model(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file.

    The file contains only numbers and text, no code. It includes the training rows that have a
    vote. If writing fails, an existing file is left unchanged. See :doc:`/model-files`.

    Parameters
    ----------
    model : classifier or regressor of this library, Pipeline or CalibratedClassifierCV
        A fitted model. The steps of a pipeline can be scalers, imputers, encoders, PCA, text
        vectorizers and ColumnTransformer, followed by a classifier or a regressor of this library.
        A `VotedKernelClassifierCV` is saved as the classifier it chose, and a `GridSearchCV` as its
        best estimator.
    path : str or path-like
        The file. Its usual extension is ``.safetensors``.

    Raises
    ------
    ValueError
        If a part of the model is neither numbers nor text, such as your own kernel family, or
        rows that are objects other than strings; or if a step is of another kind.

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
    # A saved model must be loadable, so the model is rebuilt before anything is written.
    plain = json.loads(json.dumps(header, allow_nan=False))
    try:
        build(Container(plain, {}, dict(arrays), ""), functions)
    except ModelFileError as error:
        raise ValueError(f"this model cannot be saved: {error}") from error
    write_whole(Path(path), encode(header, arrays))


def load_model(
    path: str | PathLike[str], *, functions: Mapping[str, Callable[..., object]] | None = None
) -> Any:
    """Load a model that was written by `save_model`.

    Loading runs no code that the file could choose. The loaded model has the same fitted
    attributes. On the same machine, its decisions are the same, bit for bit.

    Parameters
    ----------
    path : str or path-like
    functions : dict of str to callable, default=None
        The functions of `Similarity` families, by the family's ``name`` or, without one, by the
        name of the function. A file contains no code, so they must be passed again.

    Returns
    -------
    VotedKernelClassifier, or the Pipeline or CalibratedClassifierCV that was saved

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, has a newer format, or needs a function
        that was not passed.
    """
    given = functions or {}
    for name, function in given.items():
        if not callable(function):
            raise TypeError(f"functions[{name!r}] is {function!r}, not a function.")
    return with_name(path, lambda: build(read_container(Path(path)), given))
