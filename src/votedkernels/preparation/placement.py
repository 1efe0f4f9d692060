"""Rows and centres that are ready for learning, in this process or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import Columns
from ..kernels.base import FloatArray, IntArray
from ..problem import Centers
from .numbers import NumberTargets

#: Class labels, of whatever type the user chose.
Labels = NDArray[np.generic]


@dataclass(frozen=True)
class Placement:
    """The data as prepared by `local` or `remote`.

    Attributes
    ----------
    classes : the class labels or, for regression, the distinct targets
    columns : the kernels over distinct rows and centres
    codes : index of the class, or of the target, of each row of ``columns``
    weights : sample weight of each row, summed over identical rows
    w : weight of each row in the loss; they sum to 1
    centers : where the centres are in the user's data
    center_rows : the row of ``columns`` for each centre; None without a hybrid norm
    places : the row of ``columns`` for each row passed to fit, -1 for weight 0; None on a cluster
    center_of : the centre at each row of ``columns``; None unless all rows are centres
    numbers : the targets of regression; None for classes
    """

    classes: Labels
    columns: Columns
    codes: IntArray
    weights: FloatArray
    w: FloatArray
    centers: Centers
    center_rows: IntArray | None = None
    places: IntArray | None = None
    center_of: IntArray | None = None
    numbers: NumberTargets | None = None
