"""Loops compiled from C, for work that NumPy does slowly: sums of kernel values, and pivots.

`loops` is None where the package was installed without a compiler. NumPy then does the same work,
several times more slowly, with the same results up to rounding. The environment variable
VOTEDKERNELS_CPU makes tests compute like other computers: ``generic`` uses no vector extensions of
the CPU, and ``none`` uses no compiled loops.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

loops: Any = None
if os.environ.get("VOTEDKERNELS_CPU") != "none":
    try:
        loops = import_module("votedkernels._native._loops")
    except ImportError:
        loops = None
