"""Columns over rows and centres in this process, evaluated in blocks.

The p Gram matrices are never stored. If memory allows, the bases of the families (inner products,
squared distances) are stored; otherwise they are computed again, block by block, in each pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
from sklearn.base import clone

from .._system.budget import Budget
from ..exceptions import OutOfTime
from .base import (
    FloatArray,
    IntArray,
    KernelFamily,
    Rows,
    Table,
    count_rows,
    inner_products,
    take_rows,
)
from .coded import CodedFamily, Codes
from .columns import Columns, blocks, evenly
from .families import are_precomputed
from .several_sums import sum_for_several
from .sums import StoredBase, has_loops

Result = TypeVar("Result")

# Blocks have fixed sizes, so that sums do not depend on the number of threads.
BLOCK_ROWS = 4096
BLOCK_CENTERS = 256
VOTE_ROWS = 1024  # a block of votes stays in cache
MOST_REPEATED = 1.25
FUSED_ROWS = 256
BLOCK_BYTES = 8 * BLOCK_ROWS * BLOCK_CENTERS
DEFAULT_MEMORY = 2**30
#: Computing the bases to store may take up to 1 / BASES of the time left until the deadline.
BASES = 4
#: The largest number of kernel values to compute between two checks of a deadline.
VALUES_AT_ONCE = 2**25


class LocalColumns(Columns):
    """Columns of fitted kernel families over rows and centres in this process.

    Parameters
    ----------
    families : sequence of fitted KernelFamily
    X : rows, in the form that the families need
    centers : centres, in the same form (column numbers for a precomputed kernel)
    itself : the rows in the form of centres; X by default
    center_of : the index of the centre at each row; None if unknown or if a row is not a centre
    outside : as for `Columns`
    for_bases : int
        Bytes that stored bases may use.
    budget : Budget
        As for `Columns`; the memory of stored bases is deducted from it.
    """

    def __init__(
        self,
        families: Sequence[KernelFamily],
        X: Rows,
        centers: Rows,
        *,
        itself: Rows | None = None,
        center_of: IntArray | None = None,
        outside: tuple[Rows, Rows] | None = None,
        for_bases: int = DEFAULT_MEMORY,
        budget: Budget = Budget(),  # noqa: B008 - immutable
    ) -> None:
        super().__init__(
            families, count_rows(X), count_rows(centers), outside=outside, budget=budget
        )
        self.X = X
        self.centers = centers
        self.itself = X if itself is None else itself
        self._center_of = center_of
        for family in self.families:
            family.check_range(X, centers)
        self._codes: dict[int, Codes] = {}
        self._bases = self._cached_bases(for_bases)
        kept = sum(base.nbytes for base in self._bases if base is not None)
        self.budget = replace(budget, memory=budget.memory - kept)

    # -- the interface ------------------------------------------------------------

    keeps_sums = True

    def correlate(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) in one pass; see `Columns`."""
        return self.add_rules(self.sum_kernels(v, centers), v, centers)

    def sum_kernels(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return what `correlate` returns, but 0 for all rules."""
        active = np.flatnonzero(v)
        n_centers = self.n_centers if centers is None else len(centers)
        weights = v[active]

        fused = has_loops()
        factors = self._right_factors(active) if fused else []

        out = np.zeros((self.n_kernels, n_centers))
        plain = [f for f, family in enumerate(self.families) if not family.is_coded]

        def work(cols: slice) -> None:
            chosen = cols if centers is None else centers[cols]
            for f in plain:
                family, mine = self.families[f], out[self._slice_of(f), cols]
                stored = self._stored(f, active, chosen) if fused and family.has_fused else None
                if stored is not None:
                    mine += family.correlate_fused(stored, weights)
                    continue
                if not (fused and family.has_fused):
                    for rows in blocks(len(active), BLOCK_ROWS):
                        base = self.base(f, active[rows], chosen)
                        mine += self._correlate_members(family, base, weights[rows])
                    continue
                for rows, base in self._turned_bases(f, active, chosen, factors[f]):
                    self.budget.check_time()
                    mine += family.correlate_fused(base, weights[rows])

        if plain:
            self._map(work, n_centers, BLOCK_CENTERS)
        return out

    def sum_several(self, vectors: FloatArray) -> FloatArray:
        """Return `sum_kernels` for each row v of ``vectors``, in one pass."""
        return sum_for_several(self, vectors)

    def coded(self) -> Iterator[tuple[int, Codes]]:
        """Yield the number and the codes of each coded family."""
        for f, family in enumerate(self.families):
            if isinstance(family, CodedFamily):
                if f not in self._codes:
                    X, centers = cast(Table, self.X), cast(Table, self.centers)
                    self._codes[f] = Codes.of(family, X, centers)
                yield f, self._codes[f]

    def _correlate_members(
        self, family: KernelFamily, base: FloatArray, v: FloatArray
    ) -> FloatArray:
        """Return `family.correlate`; with many values, check the deadline before each member."""
        if math.isinf(self.budget.deadline) or family.n_kernels * base.size <= VALUES_AT_ONCE:
            return family.correlate(base, v)
        out = np.empty((family.n_kernels, base.shape[1]))
        for k in range(family.n_kernels):
            self.budget.check_time()
            out[k] = v @ family.member(base, k)
        return out

    def _stored(self, f: int, rows: IntArray, cols: IntArray | slice) -> StoredBase | None:
        """Return the base of family f at some rows and consecutive centres, if it is stored."""
        base = self._bases[f]
        if base is None or not isinstance(cols, slice) or base.dtype != np.float64:
            return None
        if not base.flags.c_contiguous:
            return None
        self.budget.check_time()
        first, last, _ = cols.indices(self.n_centers)
        return StoredBase(base, rows, first, last - first)

    def _right_factors(self, active: IntArray) -> list[FloatArray | None]:
        """Return each family's right factor for some rows, or None if its base is not a product."""
        factors: list[FloatArray | None] = []
        X, few = take_rows(self.X, active), take_rows(self.X, slice(0, 1))
        for family, base in zip(self.families, self._bases, strict=True):
            is_product = family.has_fused and base is None and family.left_factor(few) is not None
            factors.append(family.right_factor(X) if is_product else None)
        return factors

    def _turned_bases(
        self, f: int, active: IntArray, chosen: IntArray | slice, right: FloatArray | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the transposed base, centres by rows, in blocks that stay in cache."""
        family, points = self.families[f], take_rows(self.centers, chosen)
        left = None if right is None else family.left_factor(points)
        buffer = np.empty((count_rows(points), FUSED_ROWS))
        for rows in blocks(len(active), FUSED_ROWS):
            if left is not None and right is not None:
                part = right[rows]
                # The last block may be smaller; it then gets its own array.
                out = buffer if len(part) == FUSED_ROWS else None
                yield rows, inner_products(left, part, out)
            elif self._bases[f] is not None:
                yield rows, np.ascontiguousarray(self.base(f, active[rows], chosen).T)
            else:
                yield rows, family.base(points, take_rows(self.X, active[rows]))

    def centers_at(self, numbers: IntArray) -> Rows:
        """Return the centres with these numbers."""
        return take_rows(self.centers, numbers)

    def points(self, rows: IntArray) -> tuple[Rows, Rows]:
        """Return the requested rows, as rows and as centres."""
        return take_rows(self.X, rows), take_rows(self.itself, rows)

    def sample(self, n: int) -> tuple[Rows, Rows]:
        """Return n rows: the first rows of a table, since tables are sorted by hash.

        Strings are sorted alphabetically, and kernel matrices keep the user's order. For
        these, evenly spaced rows are returned.
        """
        rows = self.draw(n)
        return take_rows(self.X, rows), take_rows(self.itself, rows)

    def base_of_sample(self, f: int, n: int) -> FloatArray:
        """Return the base of family f on `sample`; costly values are not computed again."""
        rows = self.draw(n)
        if self.only_with_centers(f):
            self.budget.check_time()
            return self.base(f, rows, evenly(self.n_centers, n))
        if self._bases[f] is None or self._center_of is None or not self.families[f].is_costly:
            return super().base_of_sample(f, n)
        return self.base(f, rows, self._center_of[rows])

    def draw(self, n: int) -> IntArray:
        """Return the indices of the rows that `sample` returns."""
        is_hashed = not isinstance(self.X, list) and self.X.ndim == 2
        if is_hashed and not are_precomputed(self.families):
            return np.arange(min(n, self.n_rows))
        return evenly(self.n_rows, n)

    def at_hand(self) -> LocalColumns:
        """Return these columns, which are already in this process."""
        return self

    def restricted(self, rows: IntArray, centers: IntArray) -> LocalColumns:
        """Return the same kernels over some of the rows and centres."""
        part = copy(self)
        part.X, part.centers = take_rows(self.X, rows), take_rows(self.centers, centers)
        part.itself = take_rows(self.itself, rows)
        part._center_of = None  # noqa: SLF001 - a copy of itself
        part._codes = {f: codes.restricted(rows, centers) for f, codes in self.coded()}  # noqa: SLF001
        part.n_rows, part.n_centers = len(rows), len(centers)
        if not covers((self.n_rows, self.n_centers), rows, centers):  # else the bases are shared
            part._bases = [  # noqa: SLF001 - a copy of itself
                None if base is None else base[np.ix_(rows, centers)] for base in self._bases
            ]
        return part

    def with_last(self, family: KernelFamily, *, alone: bool = False) -> LocalColumns:
        """Return the same columns with other members of the last family; these share its base.

        With ``alone``, only the columns of these members are returned.
        """
        part = copy(self)
        first = len(self.families) - 1 if alone else 0
        part._bases = self._bases[first:]  # noqa: SLF001 - a copy of itself
        part._set_families([*self.families[first:-1], family])  # noqa: SLF001
        return part

    def relearned(self, rows: IntArray, sample_weight: FloatArray) -> LocalColumns:
        """Return the same columns; families that learn from rows are refitted to the given ones."""
        part, families = copy(self), list(self.families)
        part._bases = list(self._bases)  # noqa: SLF001 - a copy of itself
        for f, family in enumerate(self.families):
            if family.learns_from_rows:
                families[f] = clone(family).fit(take_rows(self.X, rows), sample_weight)
                families[f].names_ = family.names_
                if self._bases[f] is not None:
                    part._bases[f] = families[f].base(self.X, self.centers)  # noqa: SLF001
        part._set_families(families)  # noqa: SLF001
        return part

    def squares(self, v: FloatArray, f: int) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j)^2 for the members of family f."""
        return self._correlate_of(np.square, v, f)

    def correlate_sizes(self, v: FloatArray) -> FloatArray:
        """Return ``sum_i v_i |K_k(x_i, c_j)|``."""
        parts = [self._correlate_of(np.abs, v, f) for f in range(len(self.families))]
        return np.concatenate(parts)

    def suprema(self, signs: FloatArray, f: int) -> FloatArray:
        """Return ``max_j |sum_i signs_ti K_k(x_i, c_j)|`` for the members of family f.

        ``signs`` has a row for each draw t, and the result has a row for each member.
        """
        family = self.families[f]
        codes = self.codes_of(f)
        if codes is not None:
            return np.stack([np.abs(codes.correlate(v)).max(axis=1) for v in signs], axis=1)

        def work(cols: slice) -> FloatArray:
            width = len(range(self.n_centers)[cols])
            sums = np.zeros((family.n_kernels, len(signs), width))
            for rows in blocks(self.n_rows, BLOCK_ROWS):
                base = self.base(f, np.arange(self.n_rows)[rows], cols)
                for k, values in enumerate(family.members(base)):
                    self.budget.check_time()
                    sums[k] += signs[:, rows] @ values
            return np.asarray(np.abs(sums).max(axis=2))

        return np.asarray(np.maximum.reduce(self._map(work, self.n_centers, BLOCK_CENTERS)))

    def _correlate_of(
        self, function: Callable[[FloatArray], FloatArray], v: FloatArray, f: int
    ) -> FloatArray:
        codes = self.codes_of(f)
        if codes is not None:  # values are 0, 1 and -1, so absolute values are squares
            return codes.correlate_sizes(v)
        active, family = np.flatnonzero(v), self.families[f]

        def work(cols: slice) -> FloatArray:
            out = np.zeros((family.n_kernels, len(range(self.n_centers)[cols])))
            for rows in blocks(len(active), BLOCK_ROWS):
                base = self.base(f, active[rows], cols)
                for k in range(family.n_kernels):
                    self.budget.check_time()
                    with np.errstate(over="ignore"):  # the caller rejects infinite values
                        out[k] += v[active[rows]] @ function(family.member(base, k))
            return out

        return np.concatenate(self._map(work, self.n_centers, BLOCK_CENTERS), axis=1)

    def take(
        self, kernels: IntArray, centers: IntArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the columns (kernels[t], centers[t]) on some rows."""
        if rows is None:
            rows = np.arange(self.n_rows)
        out = np.empty((len(rows), len(kernels)))
        for f, terms, members, used, positions in self._terms_by_family(kernels, centers):
            family = self.families[f]
            for block in blocks(len(rows), BLOCK_ROWS):
                if isinstance(family, CodedFamily):
                    X = take_rows(self.X, rows[block])
                    out[block, terms] = family.rules(
                        X, members, self.levels(kernels, centers)[terms]
                    )
                    continue
                base = self.base(f, rows[block], used)
                out[block, terms] = family.columns(base, members, positions)
        return out

    def sums(self, v: FloatArray, kernels: IntArray, centers: IntArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for the columns (kernels[t], centers[t]) only."""
        active = np.flatnonzero(v)
        total = np.zeros(len(kernels))
        for block in blocks(len(active), BLOCK_ROWS):
            rows = active[block]
            total += v[rows] @ self.take(kernels, centers, rows)
        return total

    def vote(
        self,
        kernels: IntArray,
        centers: IntArray,
        weights: FloatArray,
        rows: IntArray | None = None,
    ) -> FloatArray:
        """Return sum_t weights[t] K_{kernels[t]}(x_i, c_{centers[t]}) for every row."""
        n = self.n_rows if rows is None else len(rows)
        used_by_family = list(self._terms_by_family(kernels, centers))
        points = {f: take_rows(self.centers, used) for f, _, _, used, _ in used_by_family}
        levels = self.levels(kernels, centers)

        def work(block: slice) -> FloatArray:
            out = np.zeros((len(range(n)[block]), *weights.shape[1:]))
            for f, terms, members, used, positions in used_by_family:
                family = self.families[f]
                if isinstance(family, CodedFamily):
                    X = take_rows(self.X, block if rows is None else rows[block])
                    out += family.rules(X, members, levels[terms]) @ weights[terms]
                    continue
                if rows is None and self._bases[f] is None:
                    base = family.base(take_rows(self.X, block), points[f])
                else:
                    mine = np.arange(n)[block] if rows is None else rows[block]
                    base = self.base(f, mine, used)
                out += family.vote(base, members, positions, weights[terms])
            return out

        if n == 0:
            return np.zeros((0, *weights.shape[1:]))
        return np.concatenate(self._map(work, n, VOTE_ROWS))

    def _terms_by_family(
        self, kernels: IntArray, centers: IntArray
    ) -> Iterator[tuple[int, IntArray, IntArray, IntArray, IntArray]]:
        """Yield (family, terms, their members, the centres used, each term's position in these)."""
        for f in range(len(self.families)):
            terms = np.flatnonzero(self._family_of[kernels] == f)
            if len(terms):
                used, positions = np.unique(centers[terms], return_inverse=True)
                if len(terms) <= MOST_REPEATED * len(used) and not self.families[f].is_costly:
                    # To repeat a few centres takes less time than to gather columns of the base.
                    used, positions = centers[terms], np.arange(len(terms))
                yield f, terms, self._member_of[kernels[terms]], used, positions

    def largest(self) -> FloatArray:
        """Return the approximate maximum of ``|K_k|`` for each kernel."""
        parts = []
        for family, base in zip(self.families, self._bases, strict=True):
            if base is None or not family.is_costly:
                parts.append(family.largest(self.X, self.centers))
            else:
                parts.append(np.array([np.abs(values).max() for values in family.members(base)]))
        return np.concatenate(parts)

    def largest_sums(self, v: FloatArray) -> FloatArray:
        """Return a bound on ``max_j sum_i |v_i K_k(x_i, c_j)|`` for each kernel."""
        parts = []
        for f, family in enumerate(self.families):
            if family.is_costly:
                parts.append(self.largest()[self._slice_of(f)] * float(np.abs(v).sum()))
            else:
                parts.append(family.largest_sums(self.X, self.centers, v))
        return np.concatenate(parts)

    def error_growth(self) -> FloatArray:
        """Return the factor by which each K_k's rounding error exceeds that of a single number."""
        return np.concatenate([f.error_growth(self.X) for f in self.families])

    def diagonal(self, f: int) -> FloatArray:
        """Return K_k(x_i, x_i) for the members of family f, shape (n_members, n_rows)."""
        return self.families[f].diagonal(self.X, self.itself)

    def diagonal_range(self, f: int, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Return the smallest and the largest K_k(x, x), and the weighted sum over rows."""
        diagonal = self.diagonal(f)
        ends = diagonal.min(axis=1), diagonal.max(axis=1)
        return *self._with_outside(f, *ends), diagonal @ weights

    # -- blocks ------------------------------------------------------------------------

    def for_blocks_of_centers(self, work: Callable[[slice], None], size: int) -> None:
        """Call ``work`` on blocks of the centres, in several threads; stop at the deadline."""
        self._map(work, self.n_centers, size)

    def _map(
        self, work: Callable[[slice], Result], n: int, size: int, budget: Budget | None = None
    ) -> list[Result]:
        """Call ``work`` on the blocks of range(n), in several threads; stop at the deadline."""
        budget = budget or self.budget

        def in_time(part: slice) -> Result:
            budget.check_time()
            return work(part)

        parts = list(blocks(n, size))
        n_jobs = budget.n_jobs
        if n_jobs == 1 or len(parts) == 1:
            return [in_time(part) for part in parts]
        with ThreadPoolExecutor(n_jobs) as pool:
            try:
                return list(pool.map(in_time, parts))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def stores_base(self, f: int) -> bool:
        """Whether the base of family f is stored."""
        return self._bases[f] is not None

    def base(self, f: int, rows: IntArray, cols: IntArray | slice) -> FloatArray:
        """Return the base of family f for some rows and centres, stored or computed."""
        base = self._bases[f]
        if base is not None:
            return base[rows, cols] if isinstance(cols, slice) else base[np.ix_(rows, cols)]
        if self.families[f].is_costly:
            self.budget.check_time()
        return self.families[f].base(take_rows(self.X, rows), take_rows(self.centers, cols))

    def _cached_bases(self, memory_limit: int) -> list[FloatArray | None]:
        """Return the bases worth storing, as far as memory and time allow; None for the others."""
        bases: list[FloatArray | None] = []
        size_of_one = self.n_rows * self.n_centers
        budget = self.budget.share(BASES)

        def in_blocks(work: Callable[[slice], None], n: int, size: int) -> None:
            self._map(work, n, size, budget)

        for family in self.families:
            size = 8 * size_of_one * math.prod(family.base_axes)
            if size > memory_limit or not family.keeps_base(size_of_one):
                bases.append(None)
                continue
            memory_limit -= size
            try:
                bases.append(family.whole_base(self.X, self.centers, self._center_of, in_blocks))
            except OutOfTime:
                bases.append(None)
        return bases


def covers(shape: tuple[int, int], rows: IntArray, centers: IntArray) -> bool:
    """Whether these are all rows and all centres, in order."""
    return all(
        len(numbers) == n and np.array_equal(numbers, np.arange(n))
        for n, numbers in zip(shape, (rows, centers), strict=True)
    )
