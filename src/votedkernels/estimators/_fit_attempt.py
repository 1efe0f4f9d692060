"""Makes a call to fit change its estimator completely or not at all."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self


class FitAttempt:
    """Context manager that sets aside the last fitted model of an estimator during a new fit.

    Inside, the estimator has only the fitted attributes that this fit sets. If an exception is
    raised, its earlier attributes are restored, unless the fit has called `keep` with a partial
    model, as it does on Ctrl-C.
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
        """Set the attributes of a partial model, which stay even if an exception is raised."""
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
    """Whether an attribute of this name is a fitted one, by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator."""
    return {name: value for name, value in vars(estimator).items() if is_fitted(name)}
