"""A vote that is independent of its problem: it has its own kernels and points, and evaluates f.

    f_p(x) = sum_t weights[p, t] K_{kernels[t]}(x, points[places[t]]) + intercepts[p]

A term of a family of rules, such as a threshold, has a level instead of a point (`kernels.coded`).

Several votes p can share the same terms: one vote per one-vs-rest problem or, on a path, one per
pair of penalties and problem. The indices p are the leading axes of ``weights`` and ``intercepts``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from ..kernels import CodedFamily, Columns, LocalColumns, are_precomputed
from ..kernels.base import (
    FloatArray,
    IntArray,
    KernelFamily,
    Rows,
    RowsElsewhere,
    count_rows,
    take_rows,
)
from ..kernels.columns import blocks

#: Rules are evaluated at this many rows at a time.
RULE_ROWS = 4096


@dataclass(frozen=True)
class Vote:
    """One or more votes over the same terms.

    Attributes
    ----------
    families : fitted kernel families
    support : index of each voting point among the training rows, or among the user's centres
    points : the voting points; empty if X holds kernel values
    kernels : index of the kernel of each term
    places : index of the voting point of each term, in ``points``; -1 for a rule
    levels : the level of each term that is a rule, NaN for others
    weights : array of shape (..., n_terms)
    intercepts : array of shape (...)
    """

    families: Sequence[KernelFamily]
    support: IntArray
    points: Rows
    kernels: IntArray
    places: IntArray
    levels: FloatArray
    weights: FloatArray
    intercepts: FloatArray

    @classmethod
    def gather(
        cls,
        votes: Sequence[HasTerms],
        intercepts: FloatArray,
        columns: Columns,
        centers: Centers,
    ) -> Self:
        """Join votes on the columns of a problem into one `Vote` over the union of their terms.

        The weights of each vote may have leading axes, the same for all votes. The index of the
        vote becomes the last leading axis, as it is in ``intercepts``.
        """
        kernels, used, weights = union_of_terms(votes, len(centers.numbers))
        levels = columns.levels(kernels, used)
        is_rule = ~np.isnan(levels)
        if is_rule.any():
            kernels, used, levels, weights = merge_rules(kernels, used, levels, weights)
            is_rule = ~np.isnan(levels)
        support, at_points = np.unique(centers.numbers[used[~is_rule]], return_inverse=True)
        places = np.full(len(kernels), -1, np.intp)
        places[~is_rule] = at_points
        order = np.lexsort((levels, places, kernels))
        source = centers.source
        return cls(
            families=[family.without_sample() for family in columns.families],
            support=support,
            points=np.empty((0, 0)) if source is None else take_rows(source, support),
            kernels=kernels[order],
            places=places[order],
            levels=levels[order],
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
            if place >= 0:
                votes[..., place] |= has_weight[..., term]
        return np.asarray(votes.sum(axis=-1))

    def contributions(self, X: Rows) -> FloatArray:
        """Return the terms of f at every row, weight times kernel value, shape (n_rows, ..., T)."""
        values = np.empty((count_rows(X), len(self.kernels)))
        at_points, rules = self.places >= 0, list(self._rules())
        if at_points.any():
            columns = self._columns(X)
            values[:, at_points] = columns.take(self.kernels[at_points], self.places[at_points])
        for family, terms, members in rules:
            values[:, terms] = family.rules(X, members, self.levels[terms])
        leading = self.weights.ndim - 1
        return np.asarray(values.reshape(len(values), *[1] * leading, -1) * self.weights)

    def _columns(self, X: Rows) -> LocalColumns:
        """Return the kernels over some rows and the voting points."""
        centers = self.support if are_precomputed(self.families) else self.points
        return LocalColumns(self.families, X, centers, for_bases=0)

    def _rules(self) -> Iterator[tuple[CodedFamily, IntArray, IntArray]]:
        """Yield each family of rules, its terms, and their members."""
        first = 0
        for family in self.families:
            if isinstance(family, CodedFamily):
                members = self.kernels - first
                terms = np.flatnonzero((members >= 0) & (members < family.n_kernels))
                if len(terms):
                    yield family, terms, members[terms]
            first += family.n_kernels

    def describe_rules(
        self,
        feature_names: Sequence[str],
        category_of: Callable[[int, float], str | None] = lambda _feature, _code: None,
    ) -> list[str]:
        """Return the text of each term that is a rule, and an empty string for others.

        ``category_of`` returns the category that a code of a feature stands for, or None.
        """
        texts = [""] * len(self.kernels)
        for family, terms, members in self._rules():
            for term, member in zip(terms, members, strict=True):
                feature = int(family.features_[member])
                name = feature_names[feature] if feature >= 0 else ""
                level = float(self.levels[term])
                category = category_of(feature, level) if feature >= 0 else None
                texts[term] = family.rule(int(member), level, name, category)
        return texts

    def decide(self, X: Rows) -> FloatArray:
        """Return f at every row, of shape (n_rows, ...); rows are evaluated in blocks."""
        leading = self.weights.shape[:-1]
        if len(self.kernels) == 0:
            return np.zeros((count_rows(X), *leading)) + self.intercepts
        # A reshape may change the memory order, and with it the last bit of a product.
        flat = self.weights
        if len(leading) != 1:
            flat = flat.reshape(math.prod(leading), len(self.kernels))
        rules = list(self._rules())
        if not rules:
            votes = self._columns(X).vote(self.kernels, self.places, flat.T)
            return np.asarray(votes.reshape(len(votes), *leading) + self.intercepts)
        votes = np.zeros((count_rows(X), len(flat)))
        at_points = np.flatnonzero(self.places >= 0)
        if len(at_points):
            kernels, places = self.kernels[at_points], self.places[at_points]
            votes += self._columns(X).vote(kernels, places, flat[:, at_points].T)
        for family, terms, members in rules:
            for rows in blocks(len(votes), RULE_ROWS):
                values = family.rules(take_rows(X, rows), members, self.levels[terms])
                votes[rows] += values @ flat[:, terms].T
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
    source : the training rows, or the user's centres; None if X holds kernel values
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
    used = np.unique(np.concatenate([np.empty(0, np.intp), *keys]))
    leading = votes[0].weights.shape[:-1] if votes else ()
    weights = np.zeros((*leading, len(votes), len(used)))
    for number, (vote, key) in enumerate(zip(votes, keys, strict=True)):
        weights[..., number, np.searchsorted(used, key)] = vote.weights
    kernels, centers = np.divmod(used, n_centers)
    return kernels, centers, weights


def merge_rules(
    kernels: IntArray, centers: IntArray, levels: FloatArray, weights: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Merge terms that are the same rule at different centres, and add up their weights."""
    keys = np.stack([kernels, np.where(np.isnan(levels), centers, -1), np.nan_to_num(levels)])
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    merged = np.zeros((*weights.shape[:-1], len(first)))
    for term, place in enumerate(group.ravel()):
        merged[..., place] += weights[..., term]
    return kernels[first], centers[first], levels[first], merged
