"""The results of an algorithm on one run: a row of numbers for each setting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .protocol import Split
from .records import Setting


@dataclass
class Outcomes:
    """The results of each setting.

    ``status`` is "ok", "cap" if a limit of iterations or time ended the fit, "imprecise" if double
    precision left a gap above the tolerance, or "failed" if there is no model. Models with "cap" or
    "imprecise" still count. A setting that failed counts as wrong on every row.
    """

    settings: list[Setting] = field(default_factory=list)
    validation_errors: list[int] = field(default_factory=list)
    test_errors: list[int] = field(default_factory=list)
    n_support: list[int] = field(default_factory=list)
    status: list[str] = field(default_factory=list)
    #: The largest relative duality gap, for algorithms that prove one.
    gap: float | None = None
    #: The sum of |weights| of each kernel, by setting, for votes over several kernels.
    mass: list[list[float]] | None = None
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0

    def add(
        self,
        split: Split,
        setting: Setting,
        validation: Any,
        test: Any,
        n_support: int,
        status: str = "ok",
    ) -> None:
        """Add a setting and count the errors of its predictions."""
        self.settings.append(setting)
        self.validation_errors.append(int(np.sum(np.asarray(validation) != split.y_validation)))
        self.test_errors.append(int(np.sum(np.asarray(test) != split.y_test)))
        self.n_support.append(int(n_support))
        self.status.append(status)

    def add_failure(self, split: Split, setting: Setting) -> None:
        """Add a setting without a model, which counts as wrong on every row."""
        self.settings.append(setting)
        self.validation_errors.append(len(split.y_validation))
        self.test_errors.append(len(split.y_test))
        self.n_support.append(len(split.y_train))
        self.status.append("failed")

    def extend(self, parts: Iterable[Outcomes]) -> None:
        """Add the settings of other outcomes."""
        for part in parts:
            for name in ("settings", "validation_errors", "test_errors", "n_support", "status"):
                getattr(self, name).extend(getattr(part, name))
            self.fit_seconds += part.fit_seconds
            self.predict_seconds += part.predict_seconds
            if part.gap is not None:
                self.gap = max(part.gap, self.gap or 0.0)
            if self.mass is not None:
                self.mass = None if part.mass is None else [*self.mass, *part.mass]
