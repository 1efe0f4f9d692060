"""Models from files, as commands use them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.pipeline import Pipeline


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
