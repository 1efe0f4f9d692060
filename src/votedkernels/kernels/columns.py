"""All kernels of a problem over its rows and centres, evaluated in blocks.

Column (k, j) of the problem is K_k(., c_j). `Gram` answers the questions that learning
asks of these p * n_centers columns (their correlation with a vector, some of them, a vote of
them, and what complexities need), and never holds p Gram matrices: the bases of the
families are kept where memory allows, else recomputed block by block.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from typing import Any

import numpy as np

from ..exceptions import OutOfTime
from .base import FloatArray, IntArray, KernelFamily, count_rows, take_rows

# The partition into blocks is fixed, so that sums do not depend on the number of threads.
BLOCK_ROWS = 4096
BLOCK_CENTERS = 256
VOTE_ROWS = 1024  # a block of votes stays in cache
FUSED_ROWS = 256
BASE_ROWS = 256  # of a base that is to be kept; between blocks the deadline is looked at
BLOCK_BYTES = 8 * BLOCK_ROWS * BLOCK_CENTERS
DEFAULT_MEMORY = 2**30
UNLIMITED = 2**62
#: The part of the time until the deadline that may go into bases to keep.
BASES_SHARE = 0.25
#: Kernel values of one block between two looks at the clock, where there is a deadline.
VALUES_AT_ONCE = 2**25
#: Kernel values (of one pass, for all problems to be solved) from which compiled loops pay.
FUSED_WORK = 5 * 10**8


class Gram:
    """Columns K_k(., c_j) of fitted kernel families over rows X and centres.

    Parameters
    ----------
    families : sequence of fitted KernelFamily
    X : rows, as the families take them
    centers : centres, in the same form (column numbers for a precomputed kernel)
    itself : the rows in the form of centres; X by default
    outside : centres that need not be rows, in the forms of rows and of centres; None if all are
    memory_limit : int
        Bytes that may be allocated here; `memory_left` says how many are left for others.
    reserved : int
        Bytes of these that bases may not take.
    n_jobs : int
        Threads that share the blocks.
    deadline : float
        Of `time.perf_counter`; passes stop there with `OutOfTime`.
    """

    def __init__(
        self,
        families: Sequence[KernelFamily],
        X: Any,
        centers: Any,
        *,
        itself: Any = None,
        outside: tuple[Any, Any] | None = None,
        memory_limit: int = DEFAULT_MEMORY,
        reserved: int = 0,
        n_jobs: int = 1,
        deadline: float | None = None,
    ) -> None:
        self.families = list(families)
        self.X = X
        self.centers = centers
        self.itself = X if itself is None else itself
        self.outside = outside
        self.n_rows = count_rows(X)
        self.n_centers = count_rows(centers)
        self.n_jobs = n_jobs
        self.deadline = deadline
        self._number_kernels()
        #: Kernel values of one pass for each problem to be solved; kept by `restricted`.
        self.work = self.n_kernels * self.n_rows * self.n_centers
        #: Kernel values evaluated so far by `correlate`.
        self.n_values = 0
        for family in self.families:
            family.check_range(X, centers)
        self._bases = self._cached_bases(memory_limit - reserved)
        kept = sum(base.nbytes for base in self._bases if base is not None)
        self.memory_left = memory_limit - kept

    #: Bytes that complexity measures and solvers may allocate, one after the other.
    memory_left = UNLIMITED
    #: Bytes that are set aside for blocks, beside these.
    block_memory = 0

    def _number_kernels(self) -> None:
        self.names = [name for family in self.families for name in family.names_]
        self.n_kernels = len(self.names)
        sizes = [family.n_kernels for family in self.families]
        self._family_of = np.repeat(np.arange(len(sizes)), sizes)
        self._member_of = np.concatenate([np.arange(size) for size in sizes])

    @property
    def is_compiled(self) -> bool:
        """Whether the work ahead is large enough for compiled loops, here and in solvers."""
        return self.work >= FUSED_WORK and has_numba()

    # -- the questions ------------------------------------------------------------

    def correlate(self, v: FloatArray, centers: IntArray | None = None) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j), shape (n_kernels, n_centers): one pass.

        Only rows with v_i != 0 take part, and only some centres where these are given.
        """
        active = np.flatnonzero(v)
        n_centers = self.n_centers if centers is None else len(centers)
        self.n_values += self.n_kernels * n_centers * len(active)
        weights = v[active]

        fused = self.is_compiled
        factors = self._right_factors(active) if fused else []

        def work(cols: slice) -> FloatArray:
            chosen = cols if centers is None else centers[cols]
            out = np.zeros((self.n_kernels, len(range(n_centers)[cols])))
            for f, family in enumerate(self.families):
                mine = self.members_of(f)
                if not (fused and family.has_fused):
                    for rows in blocks(len(active), BLOCK_ROWS):
                        base = self.base(f, active[rows], chosen)
                        out[mine] += self._correlate_members(family, base, weights[rows])
                    continue
                for rows, base in self._turned_bases(f, active, chosen, factors[f]):
                    self.check_time()
                    out[mine] += family.correlate_fused(base, weights[rows])
            return out

        return np.concatenate(self._map(work, n_centers, BLOCK_CENTERS), axis=1)

    def _correlate_members(
        self, family: KernelFamily, base: FloatArray, v: FloatArray
    ) -> FloatArray:
        """Return what the family's `correlate` does; of very many members, one by one in time."""
        if self.deadline is None or family.n_kernels * base.size <= VALUES_AT_ONCE:
            return family.correlate(base, v)
        out = np.empty((family.n_kernels, base.shape[1]))
        for k in range(family.n_kernels):
            self.check_time()
            out[k] = v @ family.member(base, k)
        return out

    def worst_columns(
        self, v: FloatArray, penalties: FloatArray
    ) -> tuple[FloatArray, IntArray | None]:
        """Return `correlate` of all centres, or of some, and which: the largest over L_k.

        Where the centres are elsewhere, only columns that may be of use come from there; the
        largest ratio of all is always among them.
        """
        return self.correlate(v), None

    def _right_factors(self, active: IntArray) -> list[FloatArray | None]:
        """Return the factor of some rows in the base of each family, where that is a product."""
        factors: list[FloatArray | None] = []
        X, few = take_rows(self.X, active), take_rows(self.X, slice(0, 1))
        for family, base in zip(self.families, self._bases, strict=True):
            is_product = family.has_fused and base is None and family.left_factor(few) is not None
            factors.append(family.right_factor(X) if is_product else None)
        return factors

    def _turned_bases(
        self, f: int, active: IntArray, chosen: IntArray | slice, right: FloatArray | None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Give the base of centres by rows, in blocks that stay in cache."""
        family, points = self.families[f], take_rows(self.centers, chosen)
        left = None if right is None else family.left_factor(points)
        buffer = np.empty((count_rows(points), FUSED_ROWS))
        for rows in blocks(len(active), FUSED_ROWS):
            if left is not None and right is not None:
                part = right[rows]
                # The rest of the rows, fewer than a block, get an array of their own.
                out = buffer if len(part) == FUSED_ROWS else None
                yield rows, family.multiply(left, part, out)
            elif self._bases[f] is not None:
                yield rows, np.ascontiguousarray(self.base(f, active[rows], chosen).T)
            else:
                yield rows, family.base(points, take_rows(self.X, active[rows]))

    @property
    def most_rows(self) -> int:
        """How many rows `restricted` should be asked for at most."""
        return self.n_rows

    def at_hand(self) -> Gram:
        """Return a copy with all rows and centres in this process."""
        return copy(self)

    def until(self, deadline: float | None) -> Gram:
        """Return the same with another deadline."""
        other = copy(self)
        other.deadline = deadline
        return other

    def restricted(self, rows: IntArray, centers: IntArray) -> Gram:
        """Return the same kernels over some of the rows and centres."""
        part = copy(self)
        part.X, part.centers = take_rows(self.X, rows), take_rows(self.centers, centers)
        part.itself = take_rows(self.itself, rows)
        part.n_rows, part.n_centers, part.n_values = len(rows), len(centers), 0
        part._bases = [
            None if base is None else base[np.ix_(rows, centers)] for base in self._bases
        ]
        return part

    def with_last(self, family: KernelFamily, *, alone: bool = False) -> Gram:
        """Return the same with other members of the last family, which share its base."""
        part = copy(self)
        first = len(self.families) - 1 if alone else 0
        part.families = [*self.families[first:-1], family]
        part._bases = self._bases[first:]
        part._number_kernels()
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

        ``signs`` has a row for each draw t; the result a row for each member.
        """
        family = self.families[f]

        def work(cols: slice) -> FloatArray:
            width = len(range(self.n_centers)[cols])
            sums = np.zeros((family.n_kernels, len(signs), width))
            for rows in blocks(self.n_rows, BLOCK_ROWS):
                base = self.base(f, np.arange(self.n_rows)[rows], cols)
                for k, values in enumerate(family.members(base)):
                    self.check_time()
                    sums[k] += signs[:, rows] @ values
            return np.asarray(np.abs(sums).max(axis=2))

        return np.asarray(np.maximum.reduce(self._map(work, self.n_centers, BLOCK_CENTERS)))

    def _correlate_of(
        self, function: Callable[[FloatArray], FloatArray], v: FloatArray, f: int
    ) -> FloatArray:
        active, family = np.flatnonzero(v), self.families[f]

        def work(cols: slice) -> FloatArray:
            out = np.zeros((family.n_kernels, len(range(self.n_centers)[cols])))
            for rows in blocks(len(active), BLOCK_ROWS):
                base = self.base(f, active[rows], cols)
                for k in range(family.n_kernels):
                    self.check_time()
                    with np.errstate(over="ignore"):  # infinite, for the caller to refuse
                        out[k] += v[active[rows]] @ function(family.member(base, k))
            return out

        return np.concatenate(self._map(work, self.n_centers, BLOCK_CENTERS), axis=1)

    def columns(
        self, kernels: IntArray, centers: IntArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the columns (kernels[t], centers[t]) on some rows, shape (n_rows, n_terms)."""
        if rows is None:
            rows = np.arange(self.n_rows)
        out = np.empty((len(rows), len(kernels)))
        for f, terms, members, used, positions in self._terms_by_family(kernels, centers):
            for block in blocks(len(rows), BLOCK_ROWS):
                base = self.base(f, rows[block], used)
                out[block, terms] = self.families[f].columns(base, members, positions)
        return out

    def sums(self, v: FloatArray, kernels: IntArray, centers: IntArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for the columns (kernels[t], centers[t]) only."""
        active = np.flatnonzero(v)
        total = np.zeros(len(kernels))
        for block in blocks(len(active), BLOCK_ROWS):
            rows = active[block]
            total += v[rows] @ self.columns(kernels, centers, rows)
        return total

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
        n = self.n_rows if rows is None else len(rows)
        used_by_family = list(self._terms_by_family(kernels, centers))
        points = {f: take_rows(self.centers, used) for f, _, _, used, _ in used_by_family}

        def work(block: slice) -> FloatArray:
            out = np.zeros((len(range(n)[block]), *weights.shape[1:]))
            for f, terms, members, used, positions in used_by_family:
                if rows is None and self._bases[f] is None:
                    base = self.families[f].base(take_rows(self.X, block), points[f])
                else:
                    mine = np.arange(n)[block] if rows is None else rows[block]
                    base = self.base(f, mine, used)
                out += self.families[f].vote(base, members, positions, weights[terms])
            return out

        if n == 0:
            return np.zeros((0, *weights.shape[1:]))
        return np.concatenate(self._map(work, n, VOTE_ROWS))

    def _terms_by_family(
        self, kernels: IntArray, centers: IntArray
    ) -> Iterator[tuple[int, IntArray, IntArray, IntArray, IntArray]]:
        """Give (family, its terms, their members, the centres used, their positions in these)."""
        for f in range(len(self.families)):
            terms = np.flatnonzero(self._family_of[kernels] == f)
            if len(terms):
                used, positions = np.unique(centers[terms], return_inverse=True)
                yield f, terms, self._member_of[kernels[terms]], used, positions

    def largest(self) -> FloatArray:
        """Return a bound on ``|K_k|`` for each kernel, or about."""
        parts = []
        for family, base in zip(self.families, self._bases, strict=True):
            if base is None or not family.is_costly:
                parts.append(family.largest(self.X, self.centers))
            else:
                parts.append(np.array([np.abs(values).max() for values in family.members(base)]))
        return np.concatenate(parts)

    def error_growth(self) -> FloatArray:
        """Return by how much rounding errors of each kernel exceed those of numbers of its size."""
        return np.concatenate([f.error_growth(self.X) for f in self.families])

    def diagonal(self, f: int) -> FloatArray:
        """Return K_k(x_i, x_i) for the members of family f, shape (n_members, n_rows)."""
        return self.families[f].diagonal(self.X, self.itself)

    def diagonal_range(self, f: int, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Return the smallest and the largest K_k(x, x) of each member, and their sum over rows.

        The first two are over rows and centres.
        """
        diagonal = self.diagonal(f)
        ends = diagonal.min(axis=1), diagonal.max(axis=1)
        return *self._with_outside(f, *ends), diagonal @ weights

    def _with_outside(
        self, f: int, smallest: FloatArray, largest: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest K_k(x, x) once centres that are no rows count too."""
        if self.outside is None:
            return smallest, largest
        diagonal = self.families[f].diagonal(*self.outside)
        return (
            np.minimum(smallest, diagonal.min(axis=1, initial=np.inf)),
            np.maximum(largest, diagonal.max(axis=1, initial=-np.inf)),
        )

    def family_of(self, kernel: int) -> KernelFamily:
        """Return the family of a kernel."""
        return self.families[int(self._family_of[kernel])]

    def members_of(self, f: int) -> IntArray:
        """Return the numbers of the kernels of family f."""
        return np.flatnonzero(self._family_of == f)

    # -- blocks ------------------------------------------------------------------------

    def _map(self, work: Callable[[slice], Any], n: int, size: int) -> list[Any]:
        """Do ``work`` for the blocks of range(n), shared by threads; stop at the deadline."""

        def in_time(part: slice) -> Any:
            self.check_time()
            return work(part)

        parts = list(blocks(n, size))
        if self.n_jobs == 1 or len(parts) == 1:
            return [in_time(part) for part in parts]
        with ThreadPoolExecutor(self.n_jobs) as pool:
            try:
                return list(pool.map(in_time, parts))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def check_time(self) -> None:
        """Raise `OutOfTime` once the deadline has passed."""
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            raise OutOfTime

    def base(self, f: int, rows: IntArray, cols: IntArray | slice) -> FloatArray:
        """Return the base of family f on some rows and centres, from memory if it is kept."""
        base = self._bases[f]
        if base is not None:
            return base[rows, cols] if isinstance(cols, slice) else base[np.ix_(rows, cols)]
        if self.families[f].is_costly:
            self.check_time()
        return self.families[f].base(take_rows(self.X, rows), take_rows(self.centers, cols))

    def _cached_bases(self, memory_limit: int) -> list[FloatArray | None]:
        """Return the bases worth keeping, as far as memory allows."""
        bases: list[FloatArray | None] = []
        n_values = self.n_rows * self.n_centers
        end = np.inf
        if self.deadline is not None:
            now = time.perf_counter()
            end = now + BASES_SHARE * (self.deadline - now)
        for family in self.families:
            size = 8 * n_values * math.prod(family.base_axes)
            if size > memory_limit or not family.keeps_base(n_values):
                bases.append(None)
                continue
            memory_limit -= size
            base = np.empty((self.n_rows, self.n_centers, *family.base_axes))
            for rows in blocks(self.n_rows, BASE_ROWS):
                if time.perf_counter() >= end:
                    bases.append(None)
                    break
                base[rows] = family.base(take_rows(self.X, rows), self.centers)
            else:
                bases.append(base)
        return bases


@cache
def has_numba() -> bool:
    """Whether numba can be imported; asked only when there is work for it."""
    try:
        from . import _fused  # noqa: F401
    except ImportError:
        return False
    return True


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices that cut range(n) into parts of one size."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
