"""Models from files, as commands use them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from votedkernels import load_model


def load_vote(path: Path) -> Any:
    """Load a model; raise if it is not one of ours or a pipeline that ends in one."""
    model = load_model(path)
    inner = classifier_of(model)
    if not hasattr(inner, "explain"):
        raise click.ClickException(
            f"{path} holds a {type(inner).__name__}, but this command needs a "
            "VotedKernelClassifier, a VotedKernelRegressor or a pipeline that ends in one; use "
            "load_model in Python."
        )
    return model


def predicts_numbers(model: Any) -> bool:
    """Whether a model, which may be a pipeline, is a regressor."""
    return bool(is_regressor(classifier_of(model)))


def classifier_of(model: Any) -> Any:
    """Return the classifier of a loaded model, which may be a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def features_for(model: Any, X: Any) -> Any:
    """Return the rows that the classifier in a model receives."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) else X


@contextmanager
def rows_without_names() -> Iterator[None]:
    """Do not warn that rows of numbers have no feature names: columns are already matched."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
