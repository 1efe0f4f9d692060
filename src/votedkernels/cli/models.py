"""Models from files, as commands use them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sklearn.pipeline import Pipeline

from votedkernels import load_model


def load_classifier(path: Path) -> Any:
    """Load a model; raise if it is not a classifier with votes of its own."""
    model = load_model(path)
    inner = classifier_of(model)
    if not hasattr(inner, "decision_function") or not hasattr(inner, "explain"):
        raise click.ClickException(
            f"{path} holds a {type(inner).__name__}, but this command needs a classifier that was "
            "saved without anything around it but a pipeline; use load_model in Python."
        )
    return model


def classifier_of(model: Any) -> Any:
    """Return the classifier of a loaded model, which may be a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def features_for(model: Any, X: Any) -> Any:
    """Return rows as the classifier of a model gets them."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) else X


@contextmanager
def rows_without_names() -> Iterator[None]:
    """Do not warn that rows of numbers have no feature names: columns were matched before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
