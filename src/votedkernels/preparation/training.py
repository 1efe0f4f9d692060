"""Turns a user's data into problems to solve.

`Training.prepare` does the work that does not depend on the penalties: it validates the data,
merges identical rows, fits the kernel families, chooses the centres and measures the complexities.
`Training.problems` then returns the one-vs-rest problems for some penalties, and
`resolve_penalties` turns ``"auto"`` into numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from .._system.budget import Budget
from ..complexity import admitted_columns, measure_with_errors
from ..exceptions import OutOfTime
from ..kernels import Columns, LocalColumns, clone_families, continuous_family
from ..kernels.base import FloatArray, IntArray, is_dask
from ..kernels.definiteness import check_definite
from ..kernels.families import is_for_tables
from ..problem import Centers, Continuum, Problem, union_of_terms
from ..problem.losses import Hinge, Hinges
from ..problem.vote import HasTerms
from .local import place_locally
from .numbers import NumberTargets
from .parameters import Parameters, Penalties
from .sample import Labels, Placement
from .tables import families_for

#: c in the formula of `resolve_penalties`. A second stage for the weights undoes the shrinkage of
#: the l1 norm and has a penalty of its own, so more terms may vote.
SHARE, SHARE_IF_RELAXED = 3e-3, 1e-3
#: kappa_k is measured on this many rows, which are the same on a cluster.
ROWS = 256
#: Sample weights may have any size, but penalties for more rows than this would vanish.
MOST_ROWS = 1e12


@dataclass(frozen=True)
class Training:
    """Data that are ready for learning.

    Attributes
    ----------
    classes : the class labels or, for regression, the distinct targets
    columns : the kernels over distinct rows and centres
    codes : index of the class, or of the target, of each row of ``columns``
    weights : sample weight of each row of ``columns``
    w : weight of each row in the loss; they sum to 1
    n_samples : number of rows passed to fit
    m : number of rows, as the default penalties count them
    complexities, complexity_errors : r_k of each kernel, and its standard error
    allowed : which columns (kernel, centre) may vote; None for all
    centers : where the centres are in the user's data
    center_rows : the row of ``columns`` for each centre; None without a hybrid norm
    fit_intercept : bool
    places, center_of, numbers : as in `Placement`
    """

    classes: Labels
    columns: Columns
    codes: IntArray
    weights: FloatArray
    w: FloatArray
    n_samples: int
    m: float
    complexities: FloatArray
    complexity_errors: FloatArray
    allowed: NDArray[np.bool_] | None
    centers: Centers
    center_rows: IntArray | None
    fit_intercept: bool
    places: IntArray | None = None
    center_of: IntArray | None = None
    numbers: NumberTargets | None = None

    @classmethod
    def prepare(
        cls,
        estimator: Parameters,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        budget: Budget,
    ) -> Self:
        """Validate and prepare the data for an estimator with the parameters of our classifier.

        The deadline comes from ``budget``; limits on memory and threads come from the estimator.
        """
        kernels = estimator.kernels
        named = clone_families(families_for(X) if is_for_tables(kernels) else kernels)
        budget = replace(budget, n_jobs=effective_n_jobs(estimator.n_jobs))
        if is_dask(X):
            from .remote import place_remotely as place
        else:
            place = place_locally
        placement = place(estimator, named, X, y, sample_weight, budget)
        columns = placement.columns
        complexities, errors, allowed = measure(estimator, columns, placement)
        return cls(
            classes=placement.classes,
            columns=columns,
            codes=placement.codes,
            weights=placement.weights,
            w=placement.w,
            n_samples=placement.n_samples,
            m=effective_rows(placement.weights),
            complexities=complexities,
            complexity_errors=errors,
            allowed=allowed,
            centers=placement.centers,
            center_rows=placement.center_rows,
            fit_intercept=bool(estimator.fit_intercept),
            places=placement.places,
            center_of=placement.center_of,
            numbers=placement.numbers,
        )

    @cached_property
    def squares(self) -> FloatArray:
        """Return sum_i w_i K_k(x_i, c_j)^2 for every column, which the elastic net needs."""
        if self.are_rules.any():
            raise ValueError(
                "l2_penalty > 0 does not work with rules such as Threshold: equal rules at several "
                "training rows are merged, which changes a squared norm. Use l2_penalty=0."
            )
        columns = self.columns.at_hand()
        every = [columns.squares(self.w, f) for f in range(len(columns.families))]
        return np.concatenate(every)

    @property
    def n_problems(self) -> int:
        """Number of problems: one for regression or two classes, one per class for more."""
        return 1 if self.numbers is not None else count_problems(self.classes)

    @property
    def unit(self) -> float:
        """The unit of F: 1 in classification, the scale of the targets in regression."""
        return 1.0 if self.numbers is None else self.numbers.scale

    @property
    def positives(self) -> Sequence[int]:
        """The class that is +1 in each problem."""
        return [1] if self.n_problems == 1 else range(self.n_problems)

    def hinges(self, codes: IntArray, w: FloatArray) -> list[Hinges]:
        """Return the loss of each problem, for rows with these codes and weights."""
        if self.numbers is not None:
            return [self.numbers.loss.hinges(self.numbers.scaled(codes), w)]
        return [Hinge().hinges(np.where(codes == code, 1.0, -1.0), w) for code in self.positives]

    def relaxed_hinges(self, codes: IntArray, w: FloatArray) -> list[Hinges]:
        """Return the loss of each problem for relaxed weights."""
        if self.numbers is None:
            return self.hinges(codes, w)
        return [self.numbers.relaxed_loss.hinges(self.numbers.scaled(codes), w)]

    def decisions(self, terms: Sequence[HasTerms], intercepts: FloatArray) -> FloatArray:
        """Return the votes of all problems on the training rows, shape (n_rows, n_problems).

        No deadline interrupts this.
        """
        columns = self.columns.within(self.columns.budget.until(math.inf))
        kernels, centers, weights = union_of_terms(terms, columns.n_centers)
        return columns.vote(kernels, centers, weights.T) + intercepts

    def error(self, decisions: FloatArray) -> float:
        """Return the error of votes on the training rows, weighted by ``weights``.

        It is the share of misclassified rows or, in regression, the mean loss without a tube.
        """
        if self.numbers is not None:
            errors = self.unit * self.numbers.errors(decisions[:, 0], self.codes)
        elif self.n_problems == 1:
            errors = (decisions[:, 0] > 0) != (self.codes == 1)
        else:
            errors = decisions.argmax(axis=1) != self.codes
        return float(np.average(errors, weights=self.weights))

    @property
    def are_rules(self) -> NDArray[np.bool_]:
        """Whether each kernel is a rule about one feature (`kernels.coded`)."""
        columns = self.columns
        return np.array([columns.family_of(k).is_coded for k in range(columns.n_kernels)])

    def centers_of(self, rows: IntArray) -> IntArray:
        """Return the centres at some rows, or all centres if some rows are not centres."""
        if self.center_of is None:
            return np.arange(self.columns.n_centers)
        return np.unique(self.center_of[rows])

    def values_at_centers(self, kernels: IntArray, centers: IntArray) -> FloatArray:
        """Return K_t(c_s), the value of each column t at the centre of each column s."""
        if self.center_of is None:
            points = self.columns.centers_at(centers)
            own = LocalColumns(self.columns.families, points, points, for_bases=0)
            return own.take(kernels, np.arange(len(centers)))
        row_of = np.empty(self.columns.n_centers, np.intp)
        row_of[self.center_of] = np.arange(len(self.center_of))
        return self.columns.take(kernels, centers, row_of[centers])

    def some_rows(self, n: int) -> Self:
        """Return a copy with a fair draw of n distinct rows, and their centres."""
        rows = self.columns.at_hand().draw(n)
        number = np.full(len(self.codes) + 1, -1, np.intp)  # the last entry is for places of -1
        number[rows] = np.arange(len(rows))
        centers = self.centers_of(rows)
        center_of = self.center_of
        w = self.w[rows]
        return replace(
            self,
            columns=self.columns.restricted(rows, centers),
            codes=self.codes[rows],
            weights=self.weights[rows],
            w=w / w.sum(),
            allowed=None if self.allowed is None else self.allowed[:, centers],
            centers=replace(self.centers, numbers=self.centers.numbers[centers]),
            center_rows=None,
            places=None if self.places is None else number[self.places],
            center_of=None if center_of is None else np.searchsorted(centers, center_of[rows]),
        )

    def within(self, budget: Budget) -> Self:
        """Return a copy with another budget."""
        return replace(self, columns=self.columns.within(budget))

    def penalties_of(self, estimator: Penalties) -> tuple[float, float]:
        """Return the complexity penalty and the l1 penalty of an estimator as numbers."""
        penalties = estimator.complexity_penalty, estimator.l1_penalty
        relaxed = self.numbers is None and estimator.relaxation is not None
        share = SHARE_IF_RELAXED if relaxed else SHARE
        return resolve_penalties(*penalties, self.columns, self.complexities, self.m, share)

    def problems(
        self, complexity_penalty: float, l1_penalty: float, l2_penalty: float = 0.0
    ) -> list[Problem]:
        """Return one problem for two classes, one per class for more."""
        penalties = complexity_penalty * self.complexities + l1_penalty
        continuum = self._continuum(penalties)
        if l2_penalty > 0 and np.any(penalties == 0):
            name = self.columns.names[int(np.argmin(penalties))]
            raise ValueError(
                f"l2_penalty > 0 also needs an l1 penalty, but kernel {name} has none; set "
                "l1_penalty > 0, which can be as small as 1e-6."
            )
        return [
            Problem.of_hinges(
                self.columns,
                hinges,
                penalties,
                fit_intercept=self.fit_intercept,
                allowed=self.allowed,
                continuum=continuum,
                l2_penalty=l2_penalty,
                center_rows=self.center_rows,
                squares=self.squares if l2_penalty > 0 and self.center_rows is None else None,
            )
            for hinges in self.hinges(self.codes, self.w)
        ]

    def _continuum(self, penalties: FloatArray) -> Continuum | None:
        family = continuous_family(self.columns.families)
        if family is None:
            return None
        at_knots = penalties[-family.n_kernels :]
        if (at_knots <= 0).any():
            raise ValueError(
                "ContinuousGaussian needs a positive penalty at every width: without one, a "
                "continuum of kernels can fit anything, and nothing can be proved. Set "
                "l1_penalty > 0 (or complexity_penalty > 0)."
            )
        return Continuum(family.knots_, at_knots)


def count_problems(classes: Labels) -> int:
    """Return the number of one-vs-rest problems; two classes need one."""
    return len(classes) if len(classes) > 2 else 1


def measure(
    estimator: Parameters, columns: Columns, placement: Placement
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_] | None]:
    """Return the complexities, their standard errors, and which columns may vote (None for all).

    If time runs out, the complexities are NaN. No solver runs in that case.
    """
    weights = placement.weights
    try:
        if placement.center_rows is not None:
            check_definite(columns.at_hand(), placement.center_rows)
        complexities, errors = measure_with_errors(estimator.complexity, columns, weights)
        allowed = admitted_columns(estimator.complexity, columns, weights)
    except OutOfTime:
        return np.full(columns.n_kernels, np.nan), np.full(columns.n_kernels, np.nan), None
    if allowed is not None and continuous_family(columns.families) is not None:
        raise ValueError(
            "filter=True of the complexity measure chooses among finitely many kernels, but "
            "ContinuousGaussian has a continuum of them; use filter=False, or Gaussian."
        )
    return complexities, errors, allowed


def effective_rows(sample_weight: FloatArray) -> float:
    """Return m: the number of rows, counted with their weights, clipped to the range 1 to 1e12."""
    return min(max(float(sample_weight.sum()), 1.0), MOST_ROWS)


def resolve_penalties(
    complexity_penalty: float | str,
    l1_penalty: float | str,
    columns: Columns,
    complexities: FloatArray,
    m: float,
    share: float = SHARE,
) -> tuple[float, float]:
    """Return lambda and beta as numbers; if time runs out, ``"auto"`` is NaN and no solver runs.

    A column correlates with random labels by about kappa sqrt(log(n) / m), where kappa is the
    largest value of its kernel, n the number of columns and m the number of rows. Weights that cost
    less than this fit noise. So the price of the cheapest kernel is set to a share of that level.
    The share c was chosen on data sets that no report uses
    (docs/decisions/penalties-by-sample-size.md):

        lambda min_k (r_k / kappa_k) = c sqrt(log(n) / m)

    All other kernels then cost more, in proportion to their complexities. Since only ratios of r_k
    matter, the rule works with every measure of complexity. Beta is 0, unless a kernel would then
    have no penalty at all, as with lambda = 0. In that case it is the level on the right, times the
    median of kappa_k.

    Parameters
    ----------
    complexity_penalty, l1_penalty : float or "auto"
    columns : Columns
    complexities : array of shape (n_kernels,)
    m : float
        The number of rows, from `effective_rows`.
    share : float
        c.
    """
    if not isinstance(complexity_penalty, str) and not isinstance(l1_penalty, str):
        return float(complexity_penalty), float(l1_penalty)
    try:
        kappa = largest_values(columns)
    except OutOfTime:
        kappa = np.full(columns.n_kernels, np.nan)
        complexities = kappa
    level = share * math.sqrt(math.log(max(2, columns.n_kernels * columns.n_centers)) / m)
    if isinstance(complexity_penalty, str):
        complexity_penalty = level / cheapest(complexities, kappa)
    if isinstance(l1_penalty, str):
        prices = complexity_penalty * complexities
        is_free = (prices == 0) & (kappa > 0)
        l1_penalty = level * float(np.median(kappa[kappa > 0])) if is_free.any() else 0.0
    return float(complexity_penalty), float(l1_penalty)


def cheapest(complexities: FloatArray, kappa: FloatArray) -> float:
    """Return the smallest r_k / kappa_k that is not 0; infinity if there is none."""
    ratios = [r / largest for r, largest in zip(complexities, kappa, strict=True) if r and largest]
    return float(min(ratios, default=math.inf))


def largest_values(columns: Columns) -> FloatArray:
    """Return the largest ``|K_k|`` on a fair draw of rows, for each kernel."""
    return np.array([
        float(np.abs(values).max(initial=0.0))
        for f, family in enumerate(columns.families)
        for values in family.members(columns.base_of_sample(f, ROWS))
    ])  # fmt: skip
