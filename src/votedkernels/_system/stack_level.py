"""Finds the line of the user's code that a warning should point to."""

from __future__ import annotations

import sys


def user_stacklevel() -> int:
    """Return the stacklevel for `warnings.warn` that points to the caller of the package."""
    level, frame = 1, sys._getframe(1)
    ours = ("votedkernels", "sklearn.callback", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
