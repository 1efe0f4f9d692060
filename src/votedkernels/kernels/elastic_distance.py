"""Kernels from elastic distances between time series, such as dynamic time warping.

    K(x, c) = exp(-d(x, c) / (scale * unit))

Distances for each window are computed once and shared by all scales. The base has a last axis over
the windows. None of these kernels is positive definite in general.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, cast

import numpy as np

from .base import (
    FloatArray,
    IntArray,
    KernelFamily,
    Numbers,
    Rows,
    as_tuple,
    count_rows,
    is_number,
    take_rows,
)

#: The metrics, and the numbers of their dynamic programs in `_elastic`.
METRICS = {"dtw": 0, "ddtw": 0, "erp": 1, "msm": 2, "twe": 3}
#: The unit is the median distance between this many training series.
SERIES_FOR_UNIT = 40
#: To have slopes, a series needs at least this many times.
TIMES_FOR_SLOPES = 3


class ElasticDistance(KernelFamily):
    """Exponentials of an elastic distance between time series, one kernel per window and scale.

    X is a table with one series per row, an array of shape (n_series, n_channels, n_times), or a
    list of series of any lengths, each of shape (n_times,) or (n_channels, n_times).

    Parameters
    ----------
    metric : {"dtw", "ddtw", "erp", "msm", "twe"}, default="dtw"
        Dynamic time warping of squared differences (``"dtw"``), dynamic time warping of slopes
        (``"ddtw"``), edit distance with real penalty (``"erp"``), move-split-merge (``"msm"``), or
        time warp edit distance (``"twe"``).
    windows : tuple of float, default=(0.1,)
        How far two series may be warped against each other, as fractions (from 0 to 1) of their
        length. With ``"dtw"`` and a window of 0, the distance between series of equal length is the
        squared Euclidean distance.
    scales : tuple of float, default=(0.03, 0.1, 0.3, 1.0, 3.0)
        Scales of the exponential, in units of ``unit``.
    unit : float or "median", default="median"
        ``"median"`` is the median distance between up to 40 training series, for each window.
    cost : float, default=1.0
        Cost of a split or merge in ``"msm"``, and of a deletion in ``"twe"``.
    stiffness : float, default=0.001
        How much ``"twe"`` charges per step in time.
    gap : float, default=0.0
        The value with which ``"erp"`` compares deleted values.

    Notes
    -----
    To let several families vote together, pass them in a list, such as
    ``[ElasticDistance("dtw"), ElasticDistance("msm")]``.

    Examples
    --------
    >>> import numpy as np
    >>> from votedkernels import ElasticDistance, VotedKernelClassifier
    >>> times = np.linspace(0, 1, 30)
    >>> X = [np.sin((6 + 6 * (i % 2)) * times[: 20 + i] + 0.1 * i) for i in range(10)]
    >>> y = ["slow", "fast"] * 5
    >>> model = VotedKernelClassifier(ElasticDistance("msm", windows=(0.2,))).fit(X, y)
    >>> model.predict([np.sin(6 * times + 0.35), np.sin(12 * times + 0.35)]).tolist()
    ['slow', 'fast']
    """

    accepts_objects = True
    is_costly = True
    is_symmetric = True
    rows_at_once = 16

    def __init__(
        self,
        metric: str = "dtw",
        *,
        windows: Numbers = (0.1,),
        scales: Numbers = (0.03, 0.1, 0.3, 1.0, 3.0),
        unit: float | str = "median",
        cost: float = 1.0,
        stiffness: float = 0.001,
        gap: float = 0.0,
    ) -> None:
        self.metric = metric
        self.windows = windows
        self.scales = scales
        self.unit = unit
        self.cost = cost
        self.stiffness = stiffness
        self.gap = gap

    def fit(self, X: Rows, sample_weight: FloatArray) -> Self:
        """Check the parameters, find the unit, and name the kernels."""
        del sample_weight
        self._check()
        _compiled_distances()
        self.check_objects(X, "X")  # tables, which are not checked elsewhere
        self.windows_ = np.array(as_tuple(self.windows, parameter="windows of ElasticDistance"))
        self.scales_ = np.array(as_tuple(self.scales, parameter="scales of ElasticDistance"))
        self.names_ = [
            f"{self.metric}(window={window:g}, scale={scale:g})"
            for window in self.windows_
            for scale in self.scales_
        ]
        if isinstance(self.unit, str):
            n = count_rows(X)
            few = take_rows(X, np.linspace(0, n - 1, min(n, SERIES_FOR_UNIT)).astype(np.intp))
            order = np.arange(count_rows(few))
            base = self.whole_base(few, few, order, _in_turn)
            distances = base[np.triu_indices(len(order), 1)]
            medians = np.median(distances, axis=0) if len(distances) else np.ones(1)
            self.units_ = np.where(medians > 0, medians, 1.0) * np.ones(len(self.windows_))
        else:
            self.units_ = np.full(len(self.windows_), float(self.unit))
        return self

    def _check(self) -> None:
        if not isinstance(self.metric, str) or self.metric not in METRICS:
            raise ValueError(
                f"metric of ElasticDistance must be one of {', '.join(map(repr, METRICS))}, got "
                f"{self.metric!r}; for another, use Similarity(function)."
            )
        for name, largest in (("windows", 1.0), ("scales", np.inf)):
            values = as_tuple(getattr(self, name), parameter=f"{name} of ElasticDistance")
            for value in values:
                positive = is_number(value) and (value > 0 or (name == "windows" and value == 0))
                if not positive or value > largest:
                    range_ = "between 0 and 1" if name == "windows" else "that are positive"
                    raise ValueError(
                        f"{name} of ElasticDistance must be numbers {range_}, got {value!r}."
                    )
            if len(set(values)) < len(values):
                raise ValueError(f"{name} of ElasticDistance has repeated entries: {values}.")
        if self.unit != "median" and not (is_number(self.unit) and self.unit > 0):
            raise ValueError(
                f"unit of ElasticDistance must be 'median' or a positive number, got {self.unit!r}."
            )
        for name in ("cost", "stiffness", "gap"):
            value = getattr(self, name)
            if not is_number(value) or (value < 0 and name != "gap"):
                sign = "" if name == "gap" else " >= 0"
                raise ValueError(
                    f"{name} of ElasticDistance must be a number{sign}, got {value!r}."
                )

    @property
    def set_by_sample(self) -> tuple[str, ...]:
        """The unit, if it is the median distance."""
        return ("unit",) if isinstance(self.unit, str) else ()

    @property
    def base_axes(self) -> tuple[int, ...]:
        """One number per window."""
        return (len(self.windows_),)

    def check_objects(self, X: Rows, name: str) -> Rows:
        """Return the series as arrays; raise if a row is not a series."""
        if isinstance(X, list):
            X = [_as_series(row, number, name) for number, row in enumerate(X)]
        channels = [np.atleast_2d(row).shape[0] for row in X]
        for number, row in enumerate(X):
            if channels[number] != channels[0]:
                raise ValueError(
                    f"{name} has a series of {channels[number]} channels at row {number} (counted "
                    f"from 0), but row 0 has {channels[0]}; all series need the same channels."
                )
            if self.metric == "ddtw" and np.shape(row)[-1] < TIMES_FOR_SLOPES:
                raise ValueError(
                    f"{name} has a series of {np.shape(row)[-1]} values at row {number} (counted "
                    f"from 0), but slopes need {TIMES_FOR_SLOPES}; use a metric other than 'ddtw'."
                )
            if not np.isfinite(row).all():
                raise ValueError(
                    f"{name} has NaN or infinity in the series at row {number} (counted from 0); "
                    "fill gaps first, for example by interpolation."
                )
        return X

    def base(self, X: Rows, centers: Rows) -> FloatArray:
        """Return the distances, shape (n_rows, n_centers, n_windows)."""
        fill_distances = _compiled_distances()
        out = np.empty((count_rows(X), count_rows(centers), len(self.windows_)))
        numbers = float(self.cost), float(self.stiffness), float(self.gap)
        joined = *self._joined(X), *self._joined(centers)
        fill_distances(METRICS[self.metric], *joined, self.windows_, *numbers, out)
        return out

    def _joined(self, X: Rows) -> tuple[FloatArray, IntArray]:
        """Return all series joined into one array (times by channels), and where each begins."""
        series = [np.atleast_2d(np.asarray(row, dtype=np.float64)).T for row in X]
        if self.metric == "ddtw":
            series = [slopes(row) for row in series]
        ends = np.cumsum([0] + [len(row) for row in series])
        if not series:
            return np.zeros((0, 1)), ends
        return np.ascontiguousarray(np.concatenate(series)), ends

    def _place(self, k: int) -> tuple[int, float]:
        """Return the window of member k, and its rate."""
        window, scale = divmod(k, len(self.scales_))
        return window, float(1.0 / (self.scales_[scale] * self.units_[window]))

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return exp(-distance / scale) for the window and scale of member k."""
        window, rate = self._place(k)
        values = base[..., window] * -rate
        return np.asarray(np.exp(values, out=values))

    def supremum(self, radius: float | None) -> FloatArray | None:
        """Return 1, which no value exceeds."""
        del radius
        return np.ones(self.n_kernels)

    def largest(self, X: Rows, centers: Rows) -> FloatArray:
        """Return 1, which no value exceeds."""
        del X, centers
        return np.ones(self.n_kernels)


def _in_turn(work: Callable[[slice], None], n: int, size: int) -> None:
    """Call a function on the blocks of range(n), one after the other."""
    for start in range(0, n, size):
        work(slice(start, min(start + size, n)))


def _compiled_distances() -> Callable[..., None]:
    """Return the function that computes distances, which numba compiles when it is first called."""
    try:
        from ._elastic import fill_distances
    except ImportError as error:
        raise ImportError(
            "ElasticDistance needs numba; install it with pip install 'votedkernels[series]'."
        ) from error
    return cast(Callable[..., None], fill_distances)


def slopes(series: FloatArray) -> FloatArray:
    """Return the mean of the backward and central differences, without the two ends."""
    left, right = series[1:-1] - series[:-2], series[2:] - series[:-2]
    return np.asarray((left + right / 2) / 2)


def _as_series(row: object, number: int, name: str) -> FloatArray:
    """Return a row as an array with one or two axes."""
    shown = f"{name} has {row!r:.60} at row {number} (counted from 0), but ElasticDistance"
    if isinstance(row, str | bytes) or not isinstance(row, Sequence | np.ndarray):
        raise ValueError(f"{shown} needs series of numbers.")
    try:
        series = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{shown} needs series of numbers.") from None
    if series.ndim not in (1, 2) or series.size == 0:
        raise ValueError(
            f"{shown} needs series of shape (n_times,) or (n_channels, n_times) with at least one "
            f"value; its shape is {series.shape}."
        )
    return series
