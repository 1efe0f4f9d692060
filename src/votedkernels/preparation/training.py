"""From a user's data to the problems to be solved.

`Training.prepare` does once what every fit on some data shares, whatever the penalties: it
validates, merges identical rows, fits the kernel families, chooses the centres and measures the
complexities. `Training.problems` then gives the one-vs-rest problems of a pair of penalties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .._system.byte_sizes import parse_memory
from ..complexity import admitted_columns, measure_with_errors, memory_needed
from ..exceptions import OutOfTime
from ..kernels import Gram, are_precomputed, clone_families, continuous_family
from ..kernels.base import (
    FloatArray,
    IntArray,
    KernelFamily,
    count_rows,
    in_moderate_units,
    take_rows,
)
from ..kernels.columns import BLOCK_BYTES, DEFAULT_MEMORY, UNLIMITED
from ..kernels.definiteness import check_definite
from ..problem import Centers, Continuum, Problem
from ..solvers import least_memory
from .canonical_rows import CanonicalSample, canonical_sample
from .validation import (
    is_table,
    validate_centers,
    validate_labels,
    validate_rows,
    validate_weights,
)


@dataclass(frozen=True)
class Training:
    """Data made ready for learning.

    Attributes
    ----------
    classes : the class labels
    gram : the kernels over distinct rows and centres
    codes : class code of each row of ``gram``
    w : weight of each row in the loss; they sum to 1
    complexities, complexity_errors : r_k of each kernel, and its standard error
    allowed : which columns (kernel, centre) may vote; None for all
    centers : what the centres are to the user
    center_rows : which row of ``gram`` each centre is; None without a hybrid norm
    fit_intercept : bool
    """

    classes: Any
    gram: Gram
    codes: IntArray
    w: FloatArray
    complexities: FloatArray
    complexity_errors: FloatArray
    allowed: NDArray[np.bool_] | None
    centers: Centers
    center_rows: IntArray | None
    fit_intercept: bool

    @classmethod
    def prepare(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        deadline: float | None = None,
        check_size: Callable[[int, int, int], None] | None = None,
    ) -> Self:
        """Validate and prepare the data for an estimator with our parameters.

        ``check_size`` gets the numbers of rows, kernels and centres before work starts on them,
        and may raise.
        """
        named = clone_families(estimator.kernels)
        families = [family for _, family in named]
        X = validate_rows(estimator, X, families, reset=True)
        classes, codes = validate_labels(X, y)
        weights = validate_weights(sample_weight, X, codes)
        sample = canonical_sample(X, codes, weights, precomputed=are_precomputed(families))
        factors = class_factors(estimator.class_weight, classes, sample.codes, sample.weights)
        rows = take_rows(X, sample.rows)
        for name, family in named:
            family.fit(rows, sample.weights)
            if name is not None:
                family.names_ = [f"{name}: {kernel}" for kernel in family.names_]
        centers, numbers = choose_centers(estimator, X, sample, families)
        center_rows = None
        if getattr(estimator, "l2_penalty", 0.0) > 0:
            center_rows = find_center_rows(estimator, families, sample, numbers)
        if check_size is not None:
            n_kernels = sum(family.n_kernels for family in families)
            check_size(len(sample.rows), n_kernels, count_rows(centers))
        outside = find_outside(estimator, X, sample, families, centers)
        gram = build_gram(estimator, families, rows, centers, sample, deadline, outside)
        gram.work *= len(classes) if len(classes) > 2 else 1
        try:
            if center_rows is not None:
                check_definite(gram, center_rows)
            complexities, errors = measure_with_errors(estimator.complexity, gram, sample.weights)
            allowed = admitted_columns(estimator.complexity, gram, sample.weights)
        except OutOfTime:  # no penalties, so no solver will run either
            complexities = errors = np.full(gram.n_kernels, np.nan)
            allowed = None
        if allowed is not None and continuous_family(families) is not None:
            raise ValueError(
                "filter=True of the complexity measure chooses among finitely many kernels, and "
                "ContinuousGaussian has a continuum of them; use filter=False, or Gaussian."
            )
        w = loss_weights(sample.weights, factors, sample.codes)
        own = gives_centers(estimator)
        return cls(
            classes=classes,
            gram=gram,
            codes=sample.codes,
            w=w,
            complexities=complexities,
            complexity_errors=errors,
            allowed=allowed,
            centers=Centers(numbers, None if are_precomputed(families) else centers if own else X),
            center_rows=center_rows,
            fit_intercept=bool(estimator.fit_intercept),
        )

    def problems(
        self, complexity_penalty: float, l1_penalty: float, l2_penalty: float = 0.0
    ) -> list[Problem]:
        """Return one problem for two classes, one per class for more."""
        penalties = complexity_penalty * self.complexities + l1_penalty
        continuum = self._continuum(penalties)
        if l2_penalty > 0 and np.any(penalties == 0):
            name = self.gram.names[int(np.argmin(penalties))]
            raise ValueError(
                f"l2_penalty > 0 is a term beside the l1 norm, and kernel {name} has no l1 "
                "penalty; set l1_penalty > 0, as small as 1e-6 if need be."
            )
        positives = [1] if len(self.classes) == 2 else range(len(self.classes))
        return [
            Problem(
                self.gram,
                np.where(self.codes == code, 1.0, -1.0),
                self.w,
                penalties,
                self.fit_intercept,
                self.allowed,
                continuum,
                l2_penalty,
                self.center_rows,
            )
            for code in positives
        ]

    def _continuum(self, penalties: FloatArray) -> Continuum | None:
        family = continuous_family(self.gram.families)
        if family is None:
            return None
        at_knots = penalties[-family.n_kernels :]
        if (at_knots <= 0).any():
            raise ValueError(
                "ContinuousGaussian needs a positive penalty at every width: with none, a "
                "continuum of kernels can fit anything and nothing can be proved. Set "
                "l1_penalty > 0 (or complexity_penalty > 0)."
            )
        return Continuum(family.knots_, at_knots)


def find_center_rows(
    estimator: Any, families: Sequence[KernelFamily], sample: CanonicalSample, numbers: IntArray
) -> IntArray:
    """Return which row each centre is, as the hybrid norm needs; raise where it does not apply."""
    if continuous_family(families) is not None:
        raise ValueError(
            "l2_penalty > 0 needs finitely many kernels, and ContinuousGaussian has a continuum "
            "of them; use Gaussian."
        )
    for family in families:
        if not family.is_positive_definite:
            raise ValueError(
                f"l2_penalty > 0 needs positive definite kernels, and {family.names_[0]} is not "
                "known to be; use l2_penalty=0, or declare the kernel positive definite if it is."
            )
    if gives_centers(estimator):
        raise ValueError(
            "l2_penalty > 0 needs centres that are training rows, and centers gives others; use "
            "centers=None or a number of rows to draw."
        )
    order = np.argsort(sample.rows)
    places = np.searchsorted(sample.rows, numbers, sorter=order)
    center_rows = order[np.minimum(places, len(order) - 1)]
    if not np.array_equal(sample.rows[center_rows], numbers):
        raise ValueError("l2_penalty > 0 needs a symmetric kernel matrix, and X is not symmetric.")
    return center_rows


def build_gram(
    estimator: Any,
    families: Sequence[KernelFamily],
    rows: Any,
    centers: Any,
    sample: CanonicalSample,
    deadline: float | None = None,
    outside: tuple[Any, Any] | None = None,
) -> Gram:
    """Bind fitted families to rows and centres, within the memory limit."""
    n_jobs = effective_n_jobs(estimator.n_jobs)
    limit, n_rows = DEFAULT_MEMORY, len(sample.rows)
    smallest = 0
    if estimator.memory_limit is not None:
        layers = max(math.prod(family.base_axes) for family in families)
        smallest = 2 * n_jobs * BLOCK_BYTES * layers
        limit = parse_memory(estimator.memory_limit) - smallest
        if limit < 0:
            raise ValueError(
                f"memory_limit={estimator.memory_limit!r} is too small for one block of kernel "
                f"values in each of {n_jobs} threads; give at least {smallest / 1e6:.0f}MB."
            )
    # What a measure holds, it holds while there are no blocks.
    measuring = memory_needed(estimator.complexity, families, n_rows, limit + smallest) - smallest
    solving = least_memory(estimator.solver, n_rows)
    reserved = max(0, measuring, solving)
    if reserved > limit and estimator.memory_limit is not None:
        needs = "the complexity measure" if measuring > solving else "the solver's columns"
        raise ValueError(
            f"memory_limit={estimator.memory_limit!r} is too small for {needs} on {n_rows} rows; "
            f"give at least {math.ceil((smallest + reserved) / 1e6)}MB."
        )
    gram = Gram(
        families,
        rows,
        centers,
        itself=sample.rows if are_precomputed(families) else None,
        outside=outside,
        memory_limit=limit,
        reserved=min(reserved, limit),
        n_jobs=n_jobs,
        deadline=deadline,
    )
    gram.block_memory = smallest
    if estimator.memory_limit is None:
        gram.memory_left = UNLIMITED
    return gram


def class_factors(
    class_weight: Any, classes: Any, codes: IntArray, weights: FloatArray
) -> FloatArray:
    """Return the factor of each class in the loss."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}."
            )
        weights, _ = in_moderate_units(weights)
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        return np.asarray(mass.sum() / (len(classes) * mass))
    unknown = [label for label in class_weight if label not in set(np.asarray(classes).tolist())]
    if unknown and len(unknown) == len(class_weight):
        raise ValueError(
            f"The classes, {unknown}, in class_weight are not in the data, which has "
            f"{list(classes)}."
        )
    factors = np.array(
        [float(class_weight.get(label, 1.0)) for label in np.asarray(classes).tolist()]
    )
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ValueError(f"class_weight must hold positive numbers, got {class_weight!r}.")
    return factors


def weighted_classes(weights: FloatArray, factors: FloatArray, codes: IntArray) -> FloatArray:
    """Return the products of sample weights and class factors, in some unit: none overflows."""
    products = in_moderate_units(weights)[0] * in_moderate_units(factors)[0][codes]
    return np.asarray(products)


def loss_weights(weights: FloatArray, factors: FloatArray, codes: IntArray) -> FloatArray:
    """Return w_i, which sum to 1; raise where a weight is lost beside the others."""
    w = weighted_classes(weights, factors, codes)
    w /= w.sum()
    if w.min() < np.finfo(np.float64).tiny:
        raise ValueError(
            "sample_weight, multiplied by class_weight, spans more orders of magnitude than double "
            "precision has: the smallest weight counts for nothing beside the largest. Use weights "
            "of similar sizes, or a weight of 0 for rows that shall not count."
        )
    return w


def gives_centers(estimator: Any) -> bool:
    """Whether the user gives points as centres, rather than a number of rows or nothing."""
    return estimator.centers is not None and not isinstance(estimator.centers, int | np.integer)


def choose_centers(
    estimator: Any, X: Any, sample: CanonicalSample, families: Sequence[KernelFamily]
) -> tuple[Any, IntArray]:
    """Return the centres and their numbers: of training rows, or of the array given."""
    given = estimator.centers
    if given is None:
        numbers = sample.centers
    elif isinstance(given, int | np.integer) and not isinstance(given, bool):
        if given < 1:
            raise ValueError(f"centers must be at least 1, got {given}.")
        random = check_random_state(estimator.random_state)
        chosen = random.permutation(len(sample.centers))[:given]
        numbers = sample.centers[np.sort(chosen)]
    elif are_precomputed(families):
        numbers = np.asarray(given)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) == 0:
            raise ValueError(
                "centers of a precomputed kernel must be column numbers of X, in one dimension."
            )
        if numbers.min() < 0 or numbers.max() >= X.shape[1]:
            raise ValueError(f"centers must lie between 0 and {X.shape[1] - 1}.")
    else:
        centers = validate_centers(estimator, given, families, as_table=is_table(X))
        return centers, np.arange(count_rows(centers))
    return (numbers if are_precomputed(families) else take_rows(X, numbers)), numbers


def find_outside(
    estimator: Any,
    X: Any,
    sample: CanonicalSample,
    families: Sequence[KernelFamily],
    centers: Any,
) -> tuple[Any, Any] | None:
    """Return the centres that are no training rows, as rows and as centres; None without any."""
    if not gives_centers(estimator):
        return None
    if not are_precomputed(families):
        return centers, centers
    others = np.setdiff1d(centers, sample.rows)
    return (take_rows(X, others), others) if len(others) else None
