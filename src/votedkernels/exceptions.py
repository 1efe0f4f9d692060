"""Errors that users of the library may want to catch."""

from __future__ import annotations


class FitLimitError(RuntimeError):
    """A limit of time or of rounds ended a fit before it had found any vote.

    The estimator is left as it was before the call. With a larger limit, the same fit returns its
    best model so far.
    """
