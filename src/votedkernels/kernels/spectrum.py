"""Spectrum kernels: strings compared by their substrings of n characters (n-grams).

    K_n(x, c) = <phi_n(x), phi_n(c)> / (||phi_n(x)|| ||phi_n(c)||)

phi_n(x) counts how often each n-gram occurs in x. A string with fewer than n characters has no
n-grams: its K_n with every string, including itself, is 0. In blended kernels, phi_n also counts
all shorter substrings [2]_. With positions, it counts pairs of a substring and its position, as in
the weighted degree kernel [3]_. With ends, two extra characters mark where strings begin and end.

The lengths share nothing, so the base has a last axis over the lengths.

References
----------
.. [1] C. Leslie, E. Eskin, W. Noble (2002). The spectrum kernel: a string kernel for SVM protein
   classification. Pacific Symposium on Biocomputing 7.
.. [2] J. Shawe-Taylor, N. Cristianini (2004). Kernel methods for pattern analysis. Cambridge
   University Press, section 11.2.
.. [3] G. Rätsch, S. Sonnenburg (2004). Accurate splice site detection for Caenorhabditis elegans.
   In Kernel methods in computational biology, MIT Press.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Self, TypeAlias

import numpy as np
from scipy import sparse

from .base import (
    FloatArray,
    IntArray,
    KernelFamily,
    Numbers,
    Rows,
    SparseMatrix,
    as_tuple,
    count_rows,
    is_number,
)

#: These mark the ends of strings; Unicode assigns no characters to these code points.
START, END = "\ufdd0", "\ufdd1"
#: A substring, or a pair of position and substring.
Piece: TypeAlias = str | tuple[int, str]


class Spectrum(KernelFamily):
    """Cosine similarity of the n-gram counts of two strings, one kernel per length n.

    X is a list of strings (or an array, or a column of a data frame). The kernels are positive
    definite and at most 1.

    Parameters
    ----------
    lengths : tuple of int, default=(1, 2, 3)
        Lengths n of the n-grams, in characters; each defines one kernel.
    blended : bool, default=False
        Whether kernel n also counts all shorter substrings.
    positions : bool, default=False
        Whether n-grams count as the same only at the same position from the start. Useful for
        aligned strings, such as windows of DNA.
    ends : bool, default=False
        Whether to mark where a string begins and ends, with two extra characters. An n-gram at the
        start or end of a string then counts as different from the same n-gram elsewhere.

    Notes
    -----
    Strings are used as they are: case and white space matter. An n-gram that occurs in no training
    string still counts in the norm of a new string, so the kernel of two strings does not depend on
    the training data. A string without n-grams, such as the empty string, has similarity 0 to every
    string, including itself.

    Examples
    --------
    >>> from votedkernels import Spectrum, VotedKernelClassifier
    >>> words = ["stone", "stones", "stony", "river", "rivers", "riverside"]
    >>> kinds = ["solid", "solid", "solid", "liquid", "liquid", "liquid"]
    >>> model = VotedKernelClassifier(Spectrum(lengths=(2, 3))).fit(words, kinds)
    >>> model.predict(["atone", "driver"]).tolist()
    ['solid', 'liquid']
    """

    accepts_objects = True
    takes_strings = True

    is_definite_by_formula = True

    def __init__(
        self,
        lengths: Numbers = (1, 2, 3),
        *,
        blended: bool = False,
        positions: bool = False,
        ends: bool = False,
    ) -> None:
        self.lengths = lengths
        self.blended = blended
        self.positions = positions
        self.ends = ends

    @property
    def is_positive_definite(self) -> bool:
        """Always true: the kernels are inner products."""
        return True

    # If `takes_strings` is true, rows are strings. Other families have other kinds of rows.

    def fit(self, X: Sequence[str], sample_weight: FloatArray) -> Self:  # type: ignore[override]
        """Check the parameters, and number the training strings."""
        del sample_weight
        lengths = as_tuple(self.lengths, parameter="lengths of Spectrum")
        for length in lengths:
            if not is_number(length) or length != int(length) or length < 1:
                raise ValueError(f"lengths of Spectrum must be integers >= 1, got {length!r}.")
        if len(set(lengths)) < len(lengths):
            raise ValueError(f"lengths of Spectrum has repeated entries: {lengths}.")
        flags = ("blended", "positions", "ends")
        for flag in flags:
            if not isinstance(getattr(self, flag), bool | np.bool_):
                raise ValueError(
                    f"{flag} of Spectrum must be True or False, got {getattr(self, flag)!r}."
                )
        self.lengths_ = [int(length) for length in lengths]
        options = "".join(f", {flag}" for flag in flags if getattr(self, flag))
        self.names_ = [f"spectrum(length={length}{options})" for length in self.lengths_]
        longest = max(map(len, X)) + self._extra
        for length, name in zip(self.lengths_, self.names_, strict=True):
            if length > longest and not (self.blended and longest):
                raise ValueError(
                    f"kernel {name} is 0 everywhere: no training string has more than {longest} "
                    f"characters; leave out lengths above {longest}."
                )
        self._known = {text: row for row, text in enumerate(dict.fromkeys(X))}
        self._vectors: dict[int, SparseMatrix] = {}
        return self

    @property
    def _extra(self) -> int:
        """How many characters mark the ends of a string."""
        return 2 if self.ends else 0

    def __getstate__(self) -> dict[str, object]:
        # The counts of the training strings save work during a fit. A stored model does not need
        # them, and should not contain the training data.
        state: dict[str, object] = dict(super().__getstate__())
        state.pop("_known", None)
        state.pop("_vectors", None)
        return state

    @property
    def base_axes(self) -> tuple[int, ...]:
        """One number per length."""
        return (len(self.lengths_),)

    def base(self, X: Sequence[str], centers: Sequence[str]) -> FloatArray:  # type: ignore[override]
        """Return the cosines, shape (n_rows, n_centers, n_lengths)."""
        out = np.empty((count_rows(X), count_rows(centers), len(self.lengths_)))
        rows, columns = self._numbers(X), self._numbers(centers)
        for k, n in enumerate(self.lengths_):
            if rows is not None and columns is not None:
                vectors = self._vectors_of_known(n)
                left, right = vectors[rows], vectors[columns]
            else:
                # Only n-grams of the centres matter in the product.
                vocabulary: dict[Piece, int] = {}
                right = self._unit_counts(centers, n, vocabulary)
                left = self._unit_counts(X, n, vocabulary, grow=False)
            out[:, :, k] = (left @ right.T).toarray()
        # Rounding must not lift a cosine above `supremum`.
        return np.minimum(out, 1.0, out=out)

    def _numbers(self, strings: Sequence[str]) -> list[int] | None:
        """Return the positions of strings among the training strings; None if one is new."""
        known = getattr(self, "_known", {})
        numbers = [known.get(text, -1) for text in strings]
        return None if -1 in numbers else numbers

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return the cosines of one length."""
        return np.ascontiguousarray(base[..., k])

    def correlate(self, base: FloatArray, v: FloatArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for all lengths, in one product."""
        flat = v @ base.reshape(len(base), -1)
        return np.asarray(flat.reshape(base.shape[1:]).T)

    def columns(self, base: FloatArray, members: IntArray, positions: IntArray) -> FloatArray:
        """Return the columns (members[t], positions[t])."""
        return np.asarray(base[:, positions, members])

    def vote(
        self, base: FloatArray, members: IntArray, positions: IntArray, weights: FloatArray
    ) -> FloatArray:
        """Return `columns` times weights."""
        return np.asarray(self.columns(base, members, positions) @ weights)

    def supremum(self, radius: float | None) -> FloatArray | None:
        """Return 1, which no cosine exceeds."""
        del radius
        return np.ones(self.n_kernels)

    def largest(self, X: Rows, centers: Rows) -> FloatArray:
        """Return 1, which no cosine exceeds."""
        del X, centers
        return np.ones(self.n_kernels)

    def diagonal(self, X: Sequence[str], itself: Rows) -> FloatArray:  # type: ignore[override]
        """Return 1 for strings that have n-grams, 0 for the others."""
        del itself
        sizes = np.array([len(text) for text in X]) + self._extra
        least = [1 if self.blended else n for n in self.lengths_]
        return np.stack([(sizes >= n).astype(np.float64) for n in least])

    def _vectors_of_known(self, n: int) -> SparseMatrix:
        """Return the counts of the training strings, computed once for all blocks of a fit."""
        if n not in self._vectors:
            self._vectors[n] = self._unit_counts(list(self._known), n, {})
        return self._vectors[n]

    def _pieces(self, text: str, n: int) -> Iterator[Piece]:
        """Yield the pieces of a string that are counted."""
        if self.ends:
            text = f"{START}{text}{END}"
        for length in range(1 if self.blended else n, min(n, len(text)) + 1):
            for start in range(len(text) - length + 1):
                piece = text[start : start + length]
                yield (start, piece) if self.positions else piece

    def _unit_counts(
        self, strings: Sequence[str], n: int, vocabulary: dict[Piece, int], *, grow: bool = True
    ) -> SparseMatrix:
        """Return the counts of n-grams divided by their norm, as a sparse matrix.

        ``vocabulary`` numbers the n-grams; new ones are added if ``grow`` is true. Others
        count only in the norm.
        """
        values: list[float] = []
        places: list[int] = []
        ends = [0]
        for text in strings:
            counts = Counter(self._pieces(text, n))
            norm = sum(count * count for count in counts.values()) ** 0.5
            for piece, count in counts.items():
                if grow:
                    place: int | None = vocabulary.setdefault(piece, len(vocabulary))
                else:
                    place = vocabulary.get(piece)
                if place is not None:
                    values.append(count / norm)
                    places.append(place)
            ends.append(len(places))
        shape = (len(strings), max(1, len(vocabulary)))
        return sparse.csr_matrix((values, places, ends), shape=shape, dtype=np.float64)
