"""All exception classes of the package.

Users may catch the exceptions listed in ``__all__``. The others are internal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .problem import Solution

__all__ = [
    "DataFileError",
    "DataNotFoundError",
    "DownloadError",
    "ExportError",
    "FitLimitError",
    "ModelFileError",
    "RecordError",
]


class FitLimitError(RuntimeError):
    """A limit on time, rounds or memory ended a fit before it found any vote.

    The estimator is left as it was before the call. Try again with a larger limit.
    """


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or has a newer format.

    The message names the file and says what is wrong with it.
    """


class ExportError(ValueError):
    """A model that cannot be exported. The message says why, and what to do instead."""


class DataFileError(ValueError):
    """A data file with unexpected contents. The message names the file and the line."""


class DataNotFoundError(FileNotFoundError):
    """A data set that is not on disk and was not downloaded. The message says what to do."""


class DownloadError(OSError):
    """A download that failed. The message names the address."""


class RecordError(ValueError):
    """A file of records that cannot be used. The message names the file and the line."""


class OutOfTime(Exception):
    """A pass over the columns reached its deadline."""


class Infeasible(Exception):
    """A method claims that a linear program is infeasible."""


class LPFailed(Exception):
    """No method solved a linear program that has a solution, although there was time left."""


class SolverInterrupted(KeyboardInterrupt):
    """Ctrl-C was pressed while a solver was running. Carries the best solution so far."""

    def __init__(self, solution: Solution) -> None:
        super().__init__()
        self.solution = solution


class SeveralInterrupted(KeyboardInterrupt):
    """Ctrl-C was pressed while problems were solved together. Carries their best solutions."""

    def __init__(self, solutions: list[Solution]) -> None:
        super().__init__()
        self.solutions = solutions


class NotPlainError(ValueError):
    """A value that a model file cannot hold."""


class DownloadTooLarge(Exception):
    """A download that is larger than allowed."""
