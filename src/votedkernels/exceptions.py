"""Every exception class of the package.

The first group is for users to catch. The second passes between the rooms of the package.
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
    """A limit on time, rounds or memory ended a fit before it had found any vote.

    The estimator is left as it was before the call. With a larger limit, the same fit returns its
    best model so far.
    """


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or has a newer format.

    The message names the file and what is wrong with it.
    """


class ExportError(ValueError):
    """A model that cannot be exported; the message says why, and what to do instead."""


class DataFileError(ValueError):
    """A data file that is not what it should be; the message names the file and the line."""


class DataNotFoundError(FileNotFoundError):
    """A data set that is neither on disk nor available; the message says what to do."""


class DownloadError(OSError):
    """A download that failed; the message names the address."""


class RecordError(ValueError):
    """A file of records that cannot be used; the message names the file and the line."""


class OutOfTime(Exception):
    """A pass over the columns reached its deadline."""


class Infeasible(Exception):
    """A method claims that a linear program has no feasible point."""


class SolverInterrupted(KeyboardInterrupt):
    """Ctrl-C during a solve; carries the best solution so far."""

    def __init__(self, solution: Solution) -> None:
        super().__init__()
        self.solution = solution


class NotPlainError(ValueError):
    """A value that a model file cannot hold."""


class DownloadTooLarge(Exception):
    """A download that is larger than it may be."""
