"""A kernel given by a function of two lists of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .base import FloatArray, KernelFamily, Rows, count_rows, is_number


class Similarity(KernelFamily):
    """One kernel, computed by your own function.

    Parameters
    ----------
    function : callable
        ``function(A, B)`` returns an array of shape ``(len(A), len(B))``. A and B are arrays, or
        lists of objects if X is a list of objects. Row a, column b is the similarity of ``A[a]`` to
        the centre ``B[b]``. It need not be symmetric or positive definite. Arrays are copies, so
        the function may overwrite them; other objects are not copied and must not be changed. Time
        limits are checked between calls. With ``pairwise``, ``function(a, b)`` compares one sample
        with one centre and returns a number.
    name : str, default=None
        Name in tables and messages; by default the name of the function.
    positive_definite : bool, default=False
        Declare that the function is a positive definite kernel. The trace complexity is then
        allowed, and stable rank needs no singular values.
    bound : float, default=None
        Declare that no value exceeds this number in absolute value. If a value does, an error
        is raised.
    pairwise : bool, default=False
        Whether the function compares two samples rather than two lists. It is called for every
        pair, in plain Python, so a function of two lists is usually faster. Progress is written to
        the logger ``votedkernels``, and time limits are checked every few rows.
    symmetric : bool, default=False
        Declare that swapping sample and centre changes nothing. Only half of the similarities
        between training rows are then computed. If this proves false, an error is raised.

    Examples
    --------
    >>> from votedkernels import Similarity, VotedKernelClassifier
    >>> def common_letters(a, b):
    ...     return len(set(a) & set(b)) / len(set(a) | set(b))
    >>> words = ["stone", "stones", "stony", "river", "rivers", "riverside"]
    >>> kinds = ["solid", "solid", "solid", "liquid", "liquid", "liquid"]
    >>> family = Similarity(common_letters, pairwise=True, symmetric=True)
    >>> VotedKernelClassifier(family).fit(words, kinds).predict(["atone", "driver"]).tolist()
    ['solid', 'liquid']
    """

    accepts_objects = True
    is_costly = True

    def __init__(
        self,
        function: Callable[[Any, Any], ArrayLike],
        *,
        name: str | None = None,
        positive_definite: bool = False,
        bound: float | None = None,
        pairwise: bool = False,
        symmetric: bool = False,
    ) -> None:
        self.function = function
        self.name = name
        self.positive_definite = positive_definite
        self.bound = bound
        self.pairwise = pairwise
        self.symmetric = symmetric

    @property
    def is_symmetric(self) -> bool:  # type: ignore[override]
        """Whether the user declared the function symmetric."""
        return self.symmetric

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        """How many rows to compute at once: fewer for a function of two samples, which is slow.

        In a thread, a call cannot be interrupted, so limits and Ctrl-C wait until it ends.
        """
        return 16 if self.pairwise else 32

    @property
    def is_positive_definite(self) -> bool:
        """Whether the user declared the function positive definite."""
        return self.positive_definite

    def fit(self, X: Rows, sample_weight: FloatArray) -> Self:
        """Check the parameters and name the kernel; nothing depends on the sample."""
        del X, sample_weight
        if not callable(self.function):
            raise TypeError(f"function of Similarity must be callable, got {self.function!r}.")
        for flag in ("pairwise", "symmetric"):
            if not isinstance(getattr(self, flag), bool | np.bool_):
                raise ValueError(
                    f"{flag} of Similarity must be True or False, got {getattr(self, flag)!r}."
                )
        if self.bound is not None and not (is_number(self.bound) and self.bound > 0):
            raise ValueError(f"bound of Similarity must be a positive number, got {self.bound!r}.")
        name = self.name or getattr(self.function, "__name__", type(self.function).__name__)
        self.names_ = [str(name)]
        return self

    def base(self, X: Rows, centers: Rows) -> FloatArray:
        """Return function(X, centers) as float64, after checks."""
        shape = (count_rows(X), count_rows(centers))
        name = self.names_[0]
        if self.pairwise:
            values = self._of_pairs(_copied(X), _copied(centers))
        else:
            values = np.asarray(self.function(_copied(X), _copied(centers)))
        if values.shape != shape:
            raise ValueError(
                f"kernel {name} returned an array of shape {values.shape} for {shape[0]} rows and "
                f"{shape[1]} centres; function(A, B) must return shape (len(A), len(B)). If your "
                "function compares two samples, use Similarity(function, pairwise=True)."
            )
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"kernel {name} returned values of dtype {values.dtype}; "
                "function(A, B) must return real numbers."
            )
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"kernel {name} returned {values[row, column]} for "
                f"{_named(X, row, centers, column)}; it must return finite numbers."
            )
        if self.bound is not None and np.abs(values).max(initial=0.0) > self.bound:
            row, column = np.argwhere(np.abs(values) > self.bound)[0]
            raise ValueError(
                f"kernel {name} returned {values[row, column]:.6g} for "
                f"{_named(X, row, centers, column)}, above its declared bound={self.bound:g}; use "
                "a larger bound, or None."
            )
        return values

    def _of_pairs(self, X: Rows, centers: Rows) -> FloatArray:
        """Return the function's value for every pair, after checking that it is a number."""
        values = np.empty((count_rows(X), count_rows(centers)))
        for i, x in enumerate(X):
            for j, center in enumerate(centers):
                try:
                    value = self.function(x, center)
                except Exception as error:
                    error.add_note(f"This was for {_named(X, i, centers, j)}.")
                    raise
                try:
                    values[i, j] = value
                except (TypeError, ValueError):
                    raise ValueError(
                        f"kernel {self.names_[0]} returned {value!r:.80} for "
                        f"{_named(X, i, centers, j)}; with pairwise=True, function(a, b) must "
                        "return a number. If your function compares two lists, use "
                        "Similarity(function)."
                    ) from None
        return values

    def supremum(self, radius: float | None) -> FloatArray | None:
        """Return the bound that the user declared."""
        del radius
        return None if self.bound is None else np.array([float(self.bound)])

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return the base itself."""
        del k
        return base


def _copied(rows: Rows) -> Rows:
    """Return the rows with arrays copied, so that the function may overwrite them."""
    if isinstance(rows, list):
        return [row.copy() if isinstance(row, np.ndarray) else row for row in rows]
    return rows.copy()


def _named(X: Rows, row: int, centers: Rows, column: int) -> str:
    """Return the words for a sample and a centre; preparation has changed the numbers of rows."""
    return f"the sample {X[row]!r:.60} and the centre {centers[column]!r:.60}"
