"""A call of fit changes its estimator completely or not at all."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self


class FitAttempt:
    """Holds back the last fitted model of an estimator while a new one is made.

    A context manager. Inside, the estimator has no fitted attributes but those that this fit sets.
    An exception brings back those it had before, unless the fit has asked to `keep` a partial
    model, as it does at Ctrl-C.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._before: dict[str, Any] = {}
        self._kept = False

    def __enter__(self) -> Self:
        attributes = vars(self._estimator)
        self._before = fitted_attributes(self._estimator)
        for name in self._before:
            del attributes[name]
        return self

    def publish(self, attributes: dict[str, Any]) -> None:
        """Set fitted attributes."""
        vars(self._estimator).update(attributes)

    def keep(self, attributes: dict[str, Any]) -> None:
        """Set those of a partial model, which stays whatever is raised."""
        self.publish(attributes)
        self._kept = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None or self._kept:
            return
        attributes = vars(self._estimator)
        for name in fitted_attributes(self._estimator):
            del attributes[name]
        attributes.update(self._before)


def is_fitted(name: str) -> bool:
    """Whether an attribute of that name comes from fit, by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the attributes that come from fit."""
    return {name: value for name, value in vars(estimator).items() if is_fitted(name)}
