"""What an algorithm brings back from one run: a row of figures for each of its settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .protocol import Split


@dataclass
class Outcomes:
    """Figures by setting.

    ``status`` is "ok"; "cap" where a limit of iterations or time ended the fit, and "imprecise"
    where double precision left a gap above the tolerance, whose models still count; "failed"
    where there is no model, which counts as all wrong.
    """

    settings: list[dict[str, Any]] = field(default_factory=list)
    validation_errors: list[int] = field(default_factory=list)
    test_errors: list[int] = field(default_factory=list)
    n_support: list[int] = field(default_factory=list)
    status: list[str] = field(default_factory=list)
    #: Largest relative duality gap, of algorithms that prove one.
    gap: float | None = None
    #: Sum of |weights| of each kernel, by setting, of votes over several kernels.
    mass: list[list[float]] | None = None
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0

    def add(
        self,
        split: Split,
        setting: dict[str, Any],
        validation: Any,
        test: Any,
        n_support: int,
        status: str = "ok",
    ) -> None:
        """Count the errors of predicted classes."""
        self.settings.append(setting)
        self.validation_errors.append(int(np.sum(np.asarray(validation) != split.y_validation)))
        self.test_errors.append(int(np.sum(np.asarray(test) != split.y_test)))
        self.n_support.append(int(n_support))
        self.status.append(status)

    def add_failure(self, split: Split, setting: dict[str, Any]) -> None:
        """Count everything as wrong."""
        self.settings.append(setting)
        self.validation_errors.append(len(split.y_validation))
        self.test_errors.append(len(split.y_test))
        self.n_support.append(len(split.y_train))
        self.status.append("failed")

    def extend(self, parts: Iterable[Outcomes]) -> None:
        """Take over the settings of others."""
        for part in parts:
            for name in ("settings", "validation_errors", "test_errors", "n_support", "status"):
                getattr(self, name).extend(getattr(part, name))
            self.fit_seconds += part.fit_seconds
            self.predict_seconds += part.predict_seconds
            if part.gap is not None:
                self.gap = max(part.gap, self.gap or 0.0)
