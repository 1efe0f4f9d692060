"""Linear programs in the form that our solvers use.

max  cost.x     s.t.  0 <= x <= upper,   row_lower <= A x <= row_upper
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...kernels.base import FloatArray

#: Basis statuses: at the lower bound, between the bounds, at the upper bound.
LOWER, BASIC, UPPER = 0, 1, 2


@dataclass(frozen=True)
class Basis:
    """Basis statuses (LOWER, BASIC, UPPER) of columns and rows."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]


@dataclass(frozen=True)
class LPResult:
    """A solution: x, the row duals (of the maximisation), and the basis."""

    x: FloatArray
    row_dual: FloatArray
    basis: Basis
    iterations: int


@dataclass(frozen=True)
class LinearProgram:
    """max cost.x  s.t.  0 <= x <= upper, row_lower <= A x <= row_upper."""

    cost: FloatArray
    upper: FloatArray
    matrix: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
