"""Where in the user's code a warning belongs."""

from __future__ import annotations

import sys


def user_stacklevel() -> int:
    """Return the stacklevel, for `warnings.warn`, of the first frame that is not ours."""
    level, frame = 1, sys._getframe(1)
    ours = ("votedkernels", "sklearn.callback", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
