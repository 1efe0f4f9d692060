"""Spectrum kernels: strings compared by the pieces of n characters that they hold.

    K_n(x, c) = <phi_n(x), phi_n(c)> / (||phi_n(x)|| ||phi_n(c)||)

phi_n(x) counts how often each piece occurs in x. A string of fewer than n characters has none:
its K_n is 0 with every string, itself included, as the inner product of a vector of zeros is.

Each length has a matrix of its own, so the base has a last axis over the lengths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse

from .base import (
    FloatArray,
    IntArray,
    KernelFamily,
    as_tuple,
    count_rows,
    is_number,
)


class Spectrum(KernelFamily):
    """Cosine of the counts of n-character pieces of two strings, one kernel per length n.

    X is a list of strings (or an array or a column of a data frame). The kernels are positive
    definite, and 1 at most.

    Parameters
    ----------
    lengths : tuple of int, default=(1, 2, 3)
        Lengths of the pieces; each is one kernel.

    Notes
    -----
    Pieces are taken from the string as it is: case and white space count. A piece that no
    training string holds counts in the norm of a new string, so the kernel of two strings does
    not depend on the training data. A string of fewer than n characters, such as the empty one,
    has similarity 0 to every string in the kernel of length n, to itself too.

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

    def __init__(self, lengths: Any = (1, 2, 3)) -> None:
        self.lengths = lengths

    @property
    def is_positive_definite(self) -> bool:
        """Inner products are positive definite."""
        return True

    def fit(self, X: Any, sample_weight: FloatArray) -> Self:
        """Count the pieces of the training strings, once for all blocks of a fit."""
        lengths = as_tuple(self.lengths, parameter="lengths of Spectrum")
        for length in lengths:
            if not is_number(length) or length != int(length) or length < 1:
                raise ValueError(f"lengths of Spectrum must be integers >= 1, got {length!r}.")
        if len(set(lengths)) < len(lengths):
            raise ValueError(f"lengths of Spectrum has repeated entries: {lengths}.")
        self.lengths_ = [int(length) for length in lengths]
        longest = max(map(len, X))
        for length in self.lengths_:
            if length > longest:
                raise ValueError(
                    f"kernel spectrum(length={length}) is 0 everywhere: no training string has "
                    f"more than {longest} characters; leave out lengths above {longest}."
                )
        self.names_ = [f"spectrum(length={length})" for length in self.lengths_]
        self._known = {text: row for row, text in enumerate(dict.fromkeys(X))}
        self._vectors = [_unit_counts(list(self._known), n, {}) for n in self.lengths_]
        return self

    def __getstate__(self) -> Any:
        # The counts of the training strings save work during a fit; a stored model has no use
        # for them, and should not carry the training data.
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_known", None)
        state.pop("_vectors", None)
        return state

    @property
    def base_axes(self) -> tuple[int, ...]:
        """A number for each length."""
        return (len(self.lengths_),)

    def base(self, X: Any, centers: Any) -> FloatArray:
        """Return the cosines, shape (n_rows, n_centers, n_lengths)."""
        out = np.empty((count_rows(X), count_rows(centers), len(self.lengths_)))
        rows, columns = self._numbers(X), self._numbers(centers)
        for k, n in enumerate(self.lengths_):
            if rows is not None and columns is not None:
                left, right = self._vectors[k][rows], self._vectors[k][columns]
            else:
                # Only pieces of the centres matter in the product.
                vocabulary: dict[str, int] = {}
                right = _unit_counts(centers, n, vocabulary)
                left = _unit_counts(X, n, vocabulary, grow=False)
            out[:, :, k] = (left @ right.T).toarray()
        # Rounding must not take a cosine above the bound that `supremum` gives.
        return np.minimum(out, 1.0, out=out)

    def _numbers(self, strings: Sequence[str]) -> list[int] | None:
        """Return the places of strings among the training strings; None if one is new."""
        known = getattr(self, "_known", {})
        numbers = [known.get(text, -1) for text in strings]
        return None if -1 in numbers else numbers

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return the cosines of one length."""
        return np.ascontiguousarray(base[..., k])

    def correlate(self, base: FloatArray, v: FloatArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for all lengths by one product."""
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
        """No cosine exceeds 1."""
        return np.ones(self.n_kernels)

    def largest(self, X: Any, centers: Any) -> FloatArray:
        """No cosine exceeds 1."""
        return np.ones(self.n_kernels)

    def diagonal(self, X: Any, itself: Any) -> FloatArray:
        """Return 1 where a string is long enough to hold a piece, else 0."""
        sizes = np.array([len(text) for text in X])
        return np.stack([(sizes >= n).astype(np.float64) for n in self.lengths_])


def _unit_counts(
    strings: Sequence[str], n: int, vocabulary: dict[str, int], *, grow: bool = True
) -> Any:
    """Return the counts of pieces divided by their norm, as a sparse matrix.

    ``vocabulary`` numbers the pieces, and takes in new ones if ``grow``. A piece outside of it
    counts in the norm only.
    """
    values: list[float] = []
    places: list[int] = []
    ends = [0]
    for text in strings:
        counts = Counter(text[start : start + n] for start in range(len(text) - n + 1))
        norm = sum(count * count for count in counts.values()) ** 0.5
        for piece, count in counts.items():
            place = vocabulary.setdefault(piece, len(vocabulary)) if grow else vocabulary.get(piece)
            if place is not None:
                values.append(count / norm)
                places.append(place)
        ends.append(len(places))
    shape = (len(strings), max(1, len(vocabulary)))
    return sparse.csr_matrix((values, places, ends), shape=shape, dtype=np.float64)
