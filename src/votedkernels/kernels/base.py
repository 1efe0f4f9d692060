"""The base class of kernel families: members that are functions of one shared base.

A family holds p kernels K_1, ..., K_p with

    K_k(x, c) = g_k(B(x, c)),

where the base B is the same for all of them: x.c for polynomials, the squared distance for
Gaussians, the similarity itself if there is only one kernel. B is the expensive part. It is
computed once for a block of rows and centres, and the members are computed from it elementwise.

Families know nothing about labels, penalties or solvers.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence, Sized
from numbers import Real
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeGuard, cast, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from .sums import SeveralWeights, StoredBase

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
SparseMatrix: TypeAlias = sparse.csr_matrix | sparse.csr_array
#: Rows of numbers.
Table: TypeAlias = FloatArray | SparseMatrix
#: Rows or centres of any kind. An array holds them along its first axis. The centres of a
#: precomputed kernel are column numbers.
Rows: TypeAlias = NDArray[np.generic] | SparseMatrix | list[object] | list[str]
#: Which rows to take.
RowNumbers: TypeAlias = IntArray | slice | list[int]
#: One number or several, as users write them.
Numbers: TypeAlias = float | Sequence[float] | NDArray[np.integer | np.floating]


class RowsElsewhere(Protocol):
    """Rows that are fetched when they are needed, such as those on a cluster."""

    def __getitem__(self, wanted: IntArray, /) -> FloatArray:
        """Return the requested rows."""


class HasShape(Protocol):
    """Anything whose shape begins with the number of rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""


logger = logging.getLogger("votedkernels")

# A tile of this many float64 values stays in the second-level cache with room for its powers.
TILE_ROWS = 512
TILE_CENTERS = 64
# A base of up to this many values is kept even if it is cheap to recompute.
SMALL_BASE = 2**22
FEW_FEATURES = 64


def is_sparse(X: object) -> TypeGuard[SparseMatrix]:
    """Whether X is a sparse matrix."""
    return bool(sparse.issparse(X))


def is_dask(X: object) -> bool:
    """Whether X is a Dask collection; does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


@overload
def take_rows(X: Rows, rows: RowNumbers) -> Rows: ...


@overload
def take_rows(X: Rows | RowsElsewhere, rows: IntArray) -> Rows: ...


def take_rows(X: Rows | RowsElsewhere, rows: RowNumbers) -> Rows:
    """Return some rows of an array, a sparse matrix or a list of objects."""
    if isinstance(X, list):
        return [X[i] for i in np.arange(len(X))[rows]]
    return X[rows]  # type: ignore[index] # see the overloads


def count_rows(X: Sized | HasShape) -> int:
    """Count the rows of an array, a sparse matrix or a list of objects."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def in_moderate_units(sample_weight: FloatArray) -> tuple[FloatArray, float]:
    """Return moderate weights, and a root such that weights * root^2 equals the original weights.

    Sums over weights of 1e300 overflow; sums over moderate weights do not. The root is a power of
    two, so the change of unit is exact.
    """
    largest = float(np.max(sample_weight, initial=0.0))
    half = math.frexp(largest)[1] // 2
    return np.ldexp(sample_weight, -2 * half), math.ldexp(1.0, half)


def weighted_variance(X: Table, sample_weight: FloatArray) -> float:
    """Return the variance of all entries of X, each row counted ``sample_weight`` times."""
    sample_weight, _ = in_moderate_units(sample_weight)
    total = float(sample_weight.sum()) * int(X.shape[1])
    if is_sparse(X):
        mean = float((X.T @ sample_weight).sum()) / total
        return max(float((X.multiply(X).T @ sample_weight).sum()) / total - mean * mean, 0.0)
    mean = float((sample_weight @ X).sum()) / total
    variance = float((sample_weight @ (X - mean) ** 2).sum()) / total
    # A constant table differs from its mean only by rounding errors.
    return variance if variance > (8 * np.finfo(np.float64).eps * mean) ** 2 else 0.0


def squared_norms(X: Table) -> FloatArray:
    """Return ||x||^2 for each row of a dense or sparse matrix.

    scikit-learn's ``row_norms`` sums sparse rows in a different order, which changes last digits.
    """
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def is_number(value: object) -> TypeGuard[float]:
    """Whether a parameter is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def resolve_scale(
    value: float | str, X: Table, sample_weight: FloatArray, *, parameter: str
) -> float:
    """Turn ``"scale"`` into 1 / (n_features * variance of X), as scikit-learn's SVC does."""
    if isinstance(value, str):
        if value != "scale":
            raise ValueError(f"{parameter} must be 'scale' or a positive number, got {value!r}.")
        variance = weighted_variance(X, sample_weight)
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0 else 1.0
    if not (is_number(value) and value > 0):
        raise ValueError(f"{parameter} must be 'scale' or a positive number, got {value!r}.")
    return float(value)


def inner_products(X: Table, centers: Table, out: FloatArray | None = None) -> FloatArray:
    """Return the dense matrix of x.c for dense or sparse rows and centres."""
    if not (is_sparse(X) or is_sparse(centers)):
        return np.asarray(np.matmul(X, centers.T, out=out))
    product = X @ centers.T
    return np.asarray(product.toarray() if is_sparse(product) else product)


class KernelFamily(BaseEstimator):
    """Base class of kernel families.

    A subclass defines `fit` (which must set ``names_``), `base` and `member`. It overrides
    `correlate`, `columns` and `diagonal` if its members can share work.
    """

    #: Rows may be any Python objects, kept in a list.
    accepts_objects = False
    #: Rows must be strings.
    takes_strings = False
    #: Rows may be a SciPy sparse matrix.
    accepts_sparse = False
    #: X holds kernel values, and a centre is a column number of X.
    is_precomputed = False

    #: Each column depends on one feature, and is priced without a matrix; see `coded`.
    is_coded = False

    #: Rows may have gaps (NaN).
    accepts_gaps = False

    #: `fit` learns scales or values, which a search must not learn from held-out rows.
    learns_from_rows = False

    #: There are infinitely many members, and the solver chooses among them.
    is_continuous = False

    #: B(x, c) = B(c, x), and `correlate_fused` expects transposed blocks of B.
    has_fused = False

    #: B(x, c) = B(c, x), so that half of a square matrix is enough.
    is_symmetric = False

    #: How many rows of a base to compute between two checks of the deadline.
    rows_at_once = 256

    #: One value may take arbitrarily long to compute, so the deadline is checked before each block.
    is_costly = False

    #: Members are positive definite by their formula, not by the user's declaration.
    is_definite_by_formula = False

    #: No member ever has a negative value.
    is_nonnegative = False

    names_: list[str]

    @property
    def is_positive_definite(self) -> bool:
        """Whether every member is a positive definite kernel."""
        return False

    @property
    def n_kernels(self) -> int:
        """Number of members of the fitted family."""
        return len(self.names_)

    def fit(self, X: Rows, sample_weight: FloatArray) -> Self:
        """Resolve parameters that depend on the sample; set ``names_``."""
        raise NotImplementedError

    @property
    def base_axes(self) -> tuple[int, ...]:
        """Shape of the base for one row and one centre; () for a single number.

        Members that share nothing may each have their own entry along a third axis of the base.
        """
        return ()

    def base(self, X: Rows, centers: Rows) -> FloatArray:
        """Return the shared base B(x, c), shape (n_rows, n_centers)."""
        raise NotImplementedError

    def whole_base(
        self,
        X: Rows,
        centers: Rows,
        center_of: IntArray | None,
        in_blocks: Callable[[Callable[[slice], None], int, int], object],
    ) -> FloatArray:
        """Return the base of all rows and centres.

        If it is symmetric and the rows are in the order of their centres, each block of rows leaves
        out the centres of earlier blocks. The missing values are copied from those blocks.

        Parameters
        ----------
        X, centers : rows and centres
        center_of : the number of the centre at each row, if every row is a centre
        in_blocks : takes a function, n and a size; calls the function on blocks of range(n)
        """
        n_rows = count_rows(X)
        out = np.empty((n_rows, count_rows(centers), *self.base_axes))
        order = center_of if self.is_symmetric else None
        if order is None or np.any(np.diff(order) < 0):
            order = np.zeros(n_rows, np.intp)

        def work(rows: slice) -> None:
            points = take_rows(centers, slice(order[rows.start], None))
            out[rows, order[rows.start] :] = self.base(take_rows(X, rows), points)
            if self.is_costly:
                logger.debug("%s: %d of %d rows compared", self.names_[0], rows.stop, n_rows)

        in_blocks(work, n_rows, self.rows_at_once)
        if n_rows and order[-1] > 0:
            self._mirror(out, order)
        return out

    def _mirror(self, base: FloatArray, center_of: IntArray) -> None:
        """Copy the values of a symmetric base that were left out."""
        _, row_of = np.unique(center_of, return_index=True)
        for start in range(0, len(base), self.rows_at_once):
            rows = slice(start, start + self.rows_at_once)
            first, mine = center_of[start], center_of[rows]
            base[rows, :first] = np.swapaxes(base[np.ix_(row_of[:first], mine)], 0, 1)
            square = base[rows][:, mine]
            if not np.allclose(square, np.swapaxes(square, 0, 1)):
                raise ValueError(
                    f"kernel {self.names_[0]} is declared symmetric, but K(x, c) and K(c, x) "
                    "differ for some training rows; use symmetric=False."
                )

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Compute the values of member k elementwise from the base."""
        raise NotImplementedError

    def left_factor(self, X: Rows) -> FloatArray | None:
        """Return the base's left factor, or None if the base is not a product (see `multiply`)."""
        del X
        return None

    def right_factor(self, centers: Rows) -> FloatArray:
        """Return the right factor of the base, for use with `left_factor`."""
        raise NotImplementedError

    def multiply(
        self, left: FloatArray, right: FloatArray, out: FloatArray | None = None
    ) -> FloatArray:
        """Compute the base from its factors."""
        return inner_products(left, right, out)

    def largest(self, X: Rows, centers: Rows) -> FloatArray:
        """Return the approximate maximum of ``|K_k|`` on these points for each member."""
        few = range(min(count_rows(X), 256)), range(min(count_rows(centers), 256))
        base = self.base(take_rows(X, list(few[0])), take_rows(centers, list(few[1])))
        return np.array([np.abs(self.member(base, k)).max() for k in range(self.n_kernels)])

    def largest_sums(self, X: Rows, centers: Rows, v: FloatArray) -> FloatArray:
        """Return a bound on ``max_j sum_i |v_i K_k(x_i, c_j)|`` for each member."""
        return self.largest(X, centers) * float(np.abs(v).sum())

    def error_growth(self, X: Rows) -> FloatArray:
        """Return the factor by which each K_k's rounding error exceeds that of a single number."""
        del X
        return np.ones(self.n_kernels)

    def without_sample(self) -> Self:
        """Return the family without the data that only training needs."""
        return self

    @property
    def needs_radius(self) -> bool:
        """Whether `supremum` depends on the radius of a ball that contains all rows."""
        return False

    @property
    def set_by_sample(self) -> tuple[str, ...]:
        """Names of the parameters that were computed from the training sample."""
        return ()

    def supremum(self, radius: float | None) -> FloatArray | None:
        """Return ``sup |K_k|`` over all rows of norm <= radius; None if it is unknown."""
        del radius
        return None

    def check_objects(self, X: Rows, name: str) -> Rows:
        """Return objects in the form that this family needs; raise if one is not suitable.

        ``name`` is what the user calls the rows. The rows are in the user's order.
        """
        del name
        return X

    def check_range(self, X: Rows, centers: Rows) -> None:
        """Raise if a member would overflow on these points."""

    def diagonal(self, X: Rows, itself: Rows) -> FloatArray:
        """Return K_k(x_i, x_i), shape (n_kernels, n_rows).

        ``itself`` holds the same rows as centres: X again, or column numbers for a precomputed
        kernel.
        """
        n = count_rows(X)
        out = np.empty((self.n_kernels, n))
        step = 64
        for start in range(0, n, step):
            block = slice(start, min(start + step, n))
            base = np.diagonal(self.base(take_rows(X, block), take_rows(itself, block)))
            for k in range(self.n_kernels):
                out[k, block] = self.member(base, k)
        return out

    def members(self, base: FloatArray) -> Iterator[FloatArray]:
        """Yield the values of each member in turn; each array may be overwritten by the next."""
        for k in range(self.n_kernels):
            yield self.member(base, k)

    def correlate(self, base: FloatArray, v: FloatArray) -> FloatArray:
        """Return sum_i v_i K_k(x_i, c_j) for all members at once, shape (n_kernels, n_centers)."""
        return np.stack([v @ self.member(base, k) for k in range(self.n_kernels)])

    def correlate_fused(self, base: FloatArray | StoredBase, v: FloatArray) -> FloatArray:
        """Compute `correlate` with compiled loops; a base that is not stored is transposed."""
        raise NotImplementedError

    def correlate_several(self, base: FloatArray, several: SeveralWeights) -> FloatArray:
        """Return `correlate` for several v, shape (n_kernels, n_vectors, n_centers)."""
        weights = several.dense()
        return np.stack([weights @ values for values in self.members(base)])

    def keeps_base(self, n_values: int) -> bool:
        """Whether to keep a base of this many values rather than recompute it."""
        del n_values
        return True

    def columns(self, base: FloatArray, members: IntArray, positions: IntArray) -> FloatArray:
        """Return the columns K_{members[t]}(., c_{positions[t]}), shape (n_rows, n_terms)."""
        out = np.empty((base.shape[0], len(members)))
        for k in np.unique(members):
            chosen = np.flatnonzero(members == k)
            out[:, chosen] = self.member(np.take(base, positions[chosen], axis=1), int(k))
        return out

    def vote(
        self, base: FloatArray, members: IntArray, positions: IntArray, weights: FloatArray
    ) -> FloatArray:
        """Return `columns` times weights, without storing the columns; may overwrite the base."""
        out = np.zeros((base.shape[0], *weights.shape[1:]))
        for k in np.unique(members):
            chosen = np.flatnonzero(members == k)
            where = positions[chosen]
            picked = base if are_all(where, base) else np.take(base, where, axis=1)
            out += self.member(picked, int(k)) @ weights[chosen]
        return out


def are_all(positions: IntArray, base: FloatArray) -> bool:
    """Whether these are the positions of all columns of a base, in order."""
    return len(positions) == base.shape[1] and np.array_equal(positions, np.arange(len(positions)))


def as_tuple(values: Numbers, *, parameter: str) -> tuple[float, ...]:
    """Return a number, a sequence or an array as a non-empty tuple."""
    if np.ndim(values) == 0:
        return (cast(float, values),)
    entries: tuple[float, ...] = tuple(np.asarray(values).tolist())
    if not entries:
        raise ValueError(f"{parameter} is empty; pass at least one value.")
    return entries


def hash_rows(X: Table) -> NDArray[np.uint64]:
    """Hash each row of a dense or sparse matrix by its non-zero entries and their columns."""
    if is_sparse(X):
        csr = X.tocsr().copy()
        csr.sum_duplicates()
        mixed = _mix(csr.data.astype(np.float64), csr.indices)
        mixed[csr.data == 0] = 0
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        return np.asarray(total[csr.indptr[1:]] - total[csr.indptr[:-1]])
    out = np.zeros(X.shape[0], np.uint64)
    for column in range(X.shape[1]):
        values = np.ascontiguousarray(X[:, column], dtype=np.float64)
        if np.isnan(values).any():
            values = np.where(np.isnan(values), np.nan, values)  # all NaNs have the same bits
        out += np.where(values != 0, _mix(values, np.array(column)), np.uint64(0))
    return out


def _mix(values: FloatArray, columns: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Spread the bits of a value and its column number over 64 bits (splitmix64's finaliser)."""
    with np.errstate(over="ignore"):
        z = values.view(np.uint64) + (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
