"""A vote that no longer needs its problem: it has its kernels and points, and can decide.

    f_p(x) = sum_t weights[p, t] K_{kernels[t]}(x, points[places[t]]) + intercepts[p]

Several votes p can share the same terms: one vote per one-vs-rest problem or, on a path, one per
pair of penalties and problem. The indices p are the leading axes of ``weights`` and ``intercepts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from ..kernels import LocalColumns, are_precomputed
from ..kernels.base import (
    FloatArray,
    IntArray,
    KernelFamily,
    Rows,
    RowsElsewhere,
    count_rows,
    take_rows,
)


@dataclass(frozen=True)
class Vote:
    """One or more votes over the same terms.

    Attributes
    ----------
    families : fitted kernel families
    support : index of each voting point among the training rows, or among the given centres
    points : the voting points; empty if X holds kernel values
    kernels : index of the kernel of each term
    places : index of the voting point of each term, in ``points``
    weights : array of shape (..., n_terms)
    intercepts : array of shape (...)
    """

    families: Sequence[KernelFamily]
    support: IntArray
    points: Rows
    kernels: IntArray
    places: IntArray
    weights: FloatArray
    intercepts: FloatArray

    @classmethod
    def gather(
        cls,
        votes: Sequence[HasTerms],
        intercepts: FloatArray,
        families: Sequence[KernelFamily],
        centers: Centers,
    ) -> Self:
        """Join votes on the columns of a problem into one `Vote` over the union of their terms.

        The weights of each vote may have leading axes, the same for all votes. The index of the
        vote becomes the last leading axis, as it is in ``intercepts``.
        """
        n_centers = len(centers.numbers)
        kernels, used, weights = union_of_terms(votes, n_centers)
        support, places = np.unique(centers.numbers[used], return_inverse=True)
        order = np.lexsort((places, kernels))
        source = centers.source
        return cls(
            families=families,
            support=support,
            points=np.empty((0, 0)) if source is None else take_rows(source, support),
            kernels=kernels[order],
            places=places[order],
            weights=weights[..., order],
            intercepts=intercepts,
        )

    @property
    def kernel_mass(self) -> FloatArray:
        """The sum of all absolute weights of each kernel."""
        sizes = np.abs(self.weights).sum(axis=tuple(range(self.weights.ndim - 1)))
        n_kernels = sum(family.n_kernels for family in self.families)
        # Without terms, bincount returns integers.
        return np.bincount(self.kernels, weights=sizes, minlength=n_kernels).astype(np.float64)

    def count_points(self) -> IntArray:
        """Return how many points have a weight in any of the votes along the last leading axis."""
        has_weight = (self.weights != 0).any(axis=-2)
        votes = np.zeros((*has_weight.shape[:-1], len(self.support)), bool)
        for term, place in enumerate(self.places):
            votes[..., place] |= has_weight[..., term]
        return np.asarray(votes.sum(axis=-1))

    def contributions(self, X: Rows) -> FloatArray:
        """Return the terms of f at every row, weight times kernel value, shape (n_rows, ..., T)."""
        if len(self.kernels) == 0:
            return np.zeros((count_rows(X), *self.weights.shape))
        values = self._columns(X).take(self.kernels, self.places)
        leading = self.weights.ndim - 1
        return np.asarray(values.reshape(len(values), *[1] * leading, -1) * self.weights)

    def _columns(self, X: Rows) -> LocalColumns:
        """Return the kernels over some rows and the voting points."""
        centers = self.support if are_precomputed(self.families) else self.points
        return LocalColumns(self.families, X, centers, for_bases=0)

    def decide(self, X: Rows) -> FloatArray:
        """Return f at every row, of shape (n_rows, ...); rows are evaluated in blocks."""
        leading = self.weights.shape[:-1]
        if len(self.kernels) == 0:
            return np.zeros((count_rows(X), *leading)) + self.intercepts
        columns = self._columns(X)
        # A reshape may change the memory order, and with it the last bit of a product.
        flat = self.weights if len(leading) == 1 else self.weights.reshape(-1, len(self.kernels))
        votes = columns.vote(self.kernels, self.places, flat.T)
        return np.asarray(votes.reshape(len(votes), *leading) + self.intercepts)


class HasTerms(Protocol):
    """Anything with weights on columns (kernel, centre)."""

    @property
    def kernels(self) -> IntArray:
        """Index of the kernel of each term."""

    @property
    def centers(self) -> IntArray:
        """Index of the centre of each term."""

    @property
    def weights(self) -> FloatArray:
        """Weights of the terms, of shape (..., n_terms)."""


@dataclass(frozen=True)
class Centers:
    """Where the centres of a problem come from.

    Attributes
    ----------
    numbers : index of each centre in ``source``
    source : the training rows, or the given centres; None if X holds kernel values
    """

    numbers: IntArray
    source: Rows | RowsElsewhere | None


def union_of_terms(
    votes: Sequence[HasTerms], n_centers: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the kernels and centres of all columns used by any vote, and the weights on them.

    Weights of shape (..., n_terms) become (..., n_votes, n_terms_of_union).
    """
    keys = [vote.kernels * n_centers + vote.centers for vote in votes]
    used = np.unique(np.concatenate([np.zeros(0, np.intp), *keys]))
    leading = votes[0].weights.shape[:-1] if votes else ()
    weights = np.zeros((*leading, len(votes), len(used)))
    for number, (vote, key) in enumerate(zip(votes, keys, strict=True)):
        weights[..., number, np.searchsorted(used, key)] = vote.weights
    kernels, centers = np.divmod(used, n_centers)
    return kernels, centers, weights
