"""The interface to the columns of a problem.

Column (k, j) is K_k(., c_j), kernel k at centre j. Solvers use columns only through `Columns`, so
they need not know where the rows are. `LocalColumns` implements this interface in the current
process, and `distributed.DaskColumns` on a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Self

import numpy as np

from .._system.budget import Budget
from .base import FloatArray, IntArray, KernelFamily, Rows
from .design import Design, LocalDesign

if TYPE_CHECKING:
    from .coded import Codes
    from .local_columns import LocalColumns


class Columns(ABC):
    """Columns of fitted kernel families over rows and centres.

    Parameters
    ----------
    families : sequence of fitted KernelFamily
    n_rows, n_centers : int
    outside : tuple or None
        Centres that need not be rows, in the form of rows and of centres; None if all are rows.
    budget : Budget
        Time, memory and threads for the columns and for the solvers that use them.
    """

    def __init__(
        self,
        families: Sequence[KernelFamily],
        n_rows: int,
        n_centers: int,
        *,
        outside: tuple[Rows, Rows] | None,
        budget: Budget,
    ) -> None:
        self.n_rows, self.n_centers = n_rows, n_centers
        self.outside = outside
        self.budget = budget
        self._set_families(families)

    def _set_families(self, families: Sequence[KernelFamily]) -> None:
        self.families = list(families)
        self.names = [name for family in self.families for name in family.names_]
        self.n_kernels = len(self.names)
        sizes = [family.n_kernels for family in self.families]
        self._family_of = np.repeat(np.arange(len(sizes)), sizes)
        self._member_of = np.concatenate([np.arange(size) for size in sizes])

    def family_of(self, kernel: int) -> KernelFamily:
        """Return the family of a kernel."""
        return self.families[int(self._family_of[kernel])]

    def members_of(self, f: int) -> IntArray:
        """Return the indices of the kernels of family f."""
        return np.flatnonzero(self._family_of == f)

    def _slice_of(self, f: int) -> slice:
        """Return the same indices as a slice, for views of arrays."""
        members = self.members_of(f)
        return slice(int(members[0]), int(members[-1]) + 1)

    # -- rules, see `coded` ------------------------------------------------------------

    def coded(self) -> Iterator[tuple[int, Codes]]:
        """Yield the number and the codes of each family of rules."""
        yield from ()

    def codes_of(self, f: int) -> Codes | None:
        """Return the codes of family f; None if it is not a family of rules."""
        return dict(self.coded())[f] if self.families[f].is_coded else None

    def add_rules(self, out: FloatArray, v: FloatArray, centers: IntArray | None) -> FloatArray:
        """Write the sums of all rules into the array that `correlate` returns."""
        for f, codes in self.coded():
            self.budget.check_time()
            codes.correlate(
                v,
                slice(None) if centers is None else centers,
                out=out[self._slice_of(f)],
            )
        return out

    def levels(self, kernels: IntArray, centers: IntArray) -> FloatArray:
        """Return the level of each column that is a rule, NaN for all others."""
        out = np.full(len(kernels), np.nan)
        for f, codes in self.coded():
            mine = np.flatnonzero(self._family_of[kernels] == f)
            out[mine] = codes.levels[self._member_of[kernels[mine]], centers[mine]]
        return out

    #: Sums of all columns may be kept from one pass to the next, in the memory of this process.
    keeps_sums = False

    def sum_kernels(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return what `correlate` returns, but 0 for all rules."""
        out = self.correlate(v, centers)
        for f, _ in self.coded():
            out[self._slice_of(f)] = 0.0
        return out

    def sum_several(self, vectors: FloatArray) -> FloatArray:
        """Return `sum_kernels` for each row v of ``vectors``, (n_vectors, n_kernels, n_centers)."""
        return np.stack([self.sum_kernels(v) for v in vectors])

    @property
    def learn_from_rows(self) -> bool:
        """Whether a family has learned scales or values from the rows."""
        return any(family.learns_from_rows for family in self.families)

    @property
    def n_values(self) -> int:
        """The number of kernel values in one pass over all rows and columns."""
        return self.n_kernels * self.n_rows * self.n_centers

    @property
    def most_rows(self) -> int:
        """The largest number of rows to request from `restricted`."""
        return self.n_rows

    # -- sums over rows ----------------------------------------------------------------

    @abstractmethod
    def correlate(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j), of shape (n_kernels, n_centers), in one pass.

        Kernels are evaluated only at rows with v_i != 0 and, if ``centers`` is given, only at these
        centres. A rule that repeats one at an earlier centre is reported as 0; see `coded`.
        """

    def worst_columns(
        self,
        v: FloatArray,
        penalties: FloatArray,
        of_kernels: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray | None]:
        """Return correlations, and the indices of their centres (None for all centres).

        ``of_kernels`` is the result of `sum_kernels`, if it is known.

        Columns that would not help may be left out: on a cluster, and if all families are rules.
        The column whose correlation is largest relative to its penalty L_k is always returned. Of
        rules that rows with v_i != 0 cannot tell apart, all but one are left out or reported as 0.
        """
        del penalties
        found = [
            (kernel, *of_kernel)
            for f, codes in self.coded()
            for kernel, of_kernel in zip(self.members_of(f), codes.distinguishable(v), strict=True)
        ]
        if len(found) == self.n_kernels:
            chosen = np.unique(np.concatenate([centers for _, centers, _ in found]))
            out = np.zeros((self.n_kernels, len(chosen)))
            for kernel, centers, sums in found:
                out[kernel, np.searchsorted(chosen, centers)] = sums
            return out, chosen
        out = self.sum_kernels(v) if of_kernels is None else of_kernels.copy()
        for kernel, centers, sums in found:
            out[kernel, centers] = sums
        return out, None

    @abstractmethod
    def sums(self, v: FloatArray, kernels: IntArray, centers: IntArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for the columns (kernels[t], centers[t]) only."""

    @abstractmethod
    def diagonal_range(self, f: int, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Return the smallest and the largest K_k(x, x) of each member of family f, and their sum.

        The extremes are over all rows and centres; the sum is over rows, with these weights.
        """

    def _with_outside(
        self, f: int, smallest: FloatArray, largest: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest K_k(x, x), including centres that are not rows."""
        if self.outside is None:
            return smallest, largest
        diagonal = self.families[f].diagonal(*self.outside)
        return (
            np.minimum(smallest, diagonal.min(axis=1, initial=np.inf)),
            np.maximum(largest, diagonal.max(axis=1, initial=-np.inf)),
        )

    # -- values ------------------------------------------------------------------------

    @abstractmethod
    def take(
        self, kernels: IntArray, centers: IntArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the columns (kernels[t], centers[t]) on some rows, shape (n_rows, n_terms)."""

    def design(self, kernels: IntArray, centers: IntArray) -> Design:
        """Return the columns (kernels[t], centers[t]) at all rows, for sums over the rows."""
        return LocalDesign(self.take(kernels, centers))

    @abstractmethod
    def centers_at(self, numbers: IntArray) -> Rows:
        """Return the centres with these numbers."""

    def distinct_centers(self, numbers: IntArray) -> IntArray:
        """Return, for each of these centres, the first of them that is the same point.

        Centres coincide only if they are rows on a cluster, which preparation does not merge.
        """
        return numbers

    @abstractmethod
    def vote(
        self,
        kernels: IntArray,
        centers: IntArray,
        weights: FloatArray,
        rows: IntArray | None = None,
    ) -> FloatArray:
        """Return sum_t weights[t] K_{kernels[t]}(x_i, c_{centers[t]}) for every row.

        ``weights`` may have a second axis, for several votes over the same terms.
        """

    @abstractmethod
    def largest(self) -> FloatArray:
        """Return the approximate maximum of ``|K_k|`` for each kernel."""

    def largest_sums(self, v: FloatArray) -> FloatArray:
        """Return a bound on ``max_j sum_i |v_i K_k(x_i, c_j)|`` for each kernel."""
        return self.largest() * float(np.abs(v).sum())

    @abstractmethod
    def error_growth(self) -> FloatArray:
        """Return the factor by which each K_k's rounding error exceeds that of a single number."""

    @abstractmethod
    def points(self, rows: IntArray) -> tuple[Rows, Rows]:
        """Return the requested rows, as rows and as centres."""

    def distinct_rows(self) -> tuple[IntArray, IntArray]:
        """Return one row of each group of identical rows of one class, and the group of each row.

        The order of the groups depends only on their content, and is as good as random.
        """
        everyone = np.arange(self.n_rows)  # preparation has merged identical rows and ordered them
        return everyone, everyone

    def sample(self, n: int) -> tuple[Rows, Rows]:
        """Return a fair draw of up to n rows, as rows and as centres.

        The draw depends only on the content of the rows, not on the order in which the user passes
        them.
        """
        return self.points(self.distinct_rows()[0][:n])

    def base_of_sample(self, f: int, n: int) -> FloatArray:
        """Return the base of family f for all pairs in a fair draw of up to n rows.

        If `only_with_centers` is true, a pair is a drawn row and one of up to n centres.
        """
        self.budget.check_time()
        return self.families[f].base(*self.sample(n))

    def only_with_centers(self, f: int) -> bool:
        """Whether values of family f may exist only for a row and a centre, not for two rows.

        This is the case if a user passes both the function and the centres, which may be objects of
        another kind.
        """
        family = self.families[f]
        return (
            self.outside is not None and family.accepts_objects and not family.is_positive_definite
        )

    # -- variants of these columns -----------------------------------------------------

    def within(self, budget: Budget) -> Self:
        """Return the same columns with another budget."""
        other = copy(self)
        other.budget = budget
        return other

    @abstractmethod
    def restricted(self, rows: IntArray, centers: IntArray) -> LocalColumns:
        """Return the same kernels over some of the rows and centres, in this process."""

    @abstractmethod
    def at_hand(self) -> LocalColumns:
        """Return the same columns with all rows and centres in this process."""


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices that divide range(n) into parts of the given size."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def evenly(total: int, n: int) -> IntArray:
    """Return up to n evenly spaced indices below ``total``."""
    return np.linspace(0, total - 1, min(n, total)).round().astype(np.intp)
