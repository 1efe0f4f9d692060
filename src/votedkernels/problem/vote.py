"""A vote that has left its problem: it knows its kernels and its points, and evaluates itself.

    f_p(x) = sum_t weights[p, t] K_{kernels[t]}(x, points[places[t]]) + intercepts[p]

One or several votes p share the same terms: those of the one-vs-rest problems, or of all pairs of
penalties on a path, whose indices are then the leading axes of ``weights`` and ``intercepts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..kernels import Gram, are_precomputed
from ..kernels.base import FloatArray, IntArray, KernelFamily, count_rows, take_rows


@dataclass(frozen=True)
class Vote:
    """Votes over shared terms.

    Attributes
    ----------
    families : fitted kernel families
    support : number of each voting point, among the training rows or the centres given
    points : the voting points; empty where X holds the kernel values
    kernels : kernel of each term
    places : which voting point each term has
    weights : array of shape (..., n_terms)
    intercepts : array of shape (...)
    """

    families: Sequence[KernelFamily]
    support: IntArray
    points: Any
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
        """Return votes on the columns of a problem as votes over the union of their terms.

        The weights of each may have leading axes, all the same; the number of the vote becomes
        the last of these, as it is in ``intercepts``.
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
        """The sum of all |weights| of each kernel."""
        sizes = np.abs(self.weights).sum(axis=tuple(range(self.weights.ndim - 1)))
        n_kernels = sum(family.n_kernels for family in self.families)
        # bincount returns integers where there is nothing to count
        return np.bincount(self.kernels, weights=sizes, minlength=n_kernels).astype(np.float64)

    def count_points(self) -> IntArray:
        """Return how many points vote, for all votes along the last axis together."""
        has_weight = (self.weights != 0).any(axis=-2)
        votes = np.zeros((*has_weight.shape[:-1], len(self.support)), bool)
        for term, place in enumerate(self.places):
            votes[..., place] |= has_weight[..., term]
        return np.asarray(votes.sum(axis=-1))

    def decide(self, X: Any) -> FloatArray:
        """Return f at every row, shape (n_rows, ...); rows are evaluated in blocks."""
        leading = self.weights.shape[:-1]
        if len(self.kernels) == 0:
            return np.zeros((count_rows(X), *leading)) + self.intercepts
        centers = self.support if are_precomputed(self.families) else self.points
        gram = Gram(self.families, X, centers, memory_limit=0)
        # The order in memory decides the last bit of a product, so that two axes stay as they are.
        flat = self.weights if len(leading) == 1 else self.weights.reshape(-1, len(self.kernels))
        votes = gram.vote(self.kernels, self.places, flat.T)
        return np.asarray(votes.reshape(len(votes), *leading) + self.intercepts)


class HasTerms(Protocol):
    """Weights of columns (kernel, centre), of shape (..., n_terms)."""

    @property
    def kernels(self) -> IntArray:
        """Kernel of each term."""

    @property
    def centers(self) -> IntArray:
        """Centre of each term."""

    @property
    def weights(self) -> FloatArray:
        """Weight of each term."""


@dataclass(frozen=True)
class Centers:
    """What the centres of a problem are to a user.

    ``numbers`` counts them among the training rows, or among the centres given, which are
    ``source``; None where X holds the kernel values.
    """

    numbers: IntArray
    source: Any


def union_of_terms(
    votes: Sequence[HasTerms], n_centers: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return all columns that occur in some votes, and the weights of each vote over these.

    Weights of shape (..., n_terms) become (..., n_votes, n_terms of the union).
    """
    keys = [vote.kernels * n_centers + vote.centers for vote in votes]
    used = np.unique(np.concatenate([np.zeros(0, np.intp), *keys]))
    leading = votes[0].weights.shape[:-1] if votes else ()
    weights = np.zeros((*leading, len(votes), len(used)))
    for number, (vote, key) in enumerate(zip(votes, keys, strict=True)):
        weights[..., number, np.searchsorted(used, key)] = vote.weights
    kernels, centers = np.divmod(used, n_centers)
    return kernels, centers, weights
