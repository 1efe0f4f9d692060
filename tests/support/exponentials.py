"""The error of the compiled exponential, in this process or in one for another CPU."""

import math
from decimal import Decimal

import numpy as np

from votedkernels import _native


def error_of_exponentials():
    """Return the largest relative error over the whole range, compared with decimal numbers."""
    halfway = (np.arange(1021) + 0.5) * math.log(2)  # where the power of two changes
    x = -np.concatenate([
        np.linspace(0, 708, 10_001), np.linspace(0, 2, 10_001), np.logspace(-20, 2.85, 2000),
        halfway, np.nextafter(halfway, 0), np.nextafter(halfway, 1000),
    ])  # fmt: skip
    out = np.empty_like(x)
    _native.loops.exponentials(x[None], out)
    exact = [Decimal(power).exp() for power in x.tolist()]
    return max(abs(float(Decimal(o) / e - 1)) for o, e in zip(out.tolist(), exact, strict=True))
