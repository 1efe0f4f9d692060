"""The two stages of the default search on one sample: a training fold, or all rows.

Stage one chooses centres. An l1 path over all kernels starts at the penalty where the first column
gets a weight (`solvers.levels`) and moves to smaller ones. Once the vote starts to interpolate, the
rows that a relaxed vote fits worst are added instead, which needs no LP (in regression, the rows
whose columns best fit the remaining error, `solvers.greedy`). Stage two fits new weights to the
centres, with one kernel at a time (`solvers.relaxation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._system.budget import Budget
from ..exceptions import OutOfTime, SolverInterrupted
from ..kernels import Columns
from ..kernels.base import FloatArray, IntArray
from ..kernels.stacked_columns import StackedColumns, stack_columns
from ..preparation.training import Training
from ..problem import Problem, Solution
from ..problem.relaxed import RelaxedVote
from ..solvers import Master, solve_by_column_generation
from ..solvers.greedy import choose_columns
from ..solvers.levels import first_entry
from ..solvers.relaxation import ChosenColumns, slopes_of
from ._path_judgement import goodness_of

#: How many rows to add, as a fraction of the number of centres so far.
GROWTH = 0.5
#: In regression, at most this many rows and centres are compared to choose which to add.
MOST_COMPARED = 2000
#: Votes that are only compared are solved until a step changes P by less than this fraction.
ROUGHLY = 1e-4
#: Solving with this rho first is a warm start for smaller values.
FIRST_RHO = 1e-2


#: Stands in place of a kernel: only the rules are used.
RULES_ONLY = -1


@dataclass(frozen=True)
class Setting:
    """What defines a relaxed vote: its kernel (or `RULES_ONLY`) and rho."""

    kernel: int
    rho: float

    def name_among(self, kernel_names: Sequence[str]) -> str:
        """Return the name of the kernel."""
        return "rules only" if self.kernel == RULES_ONLY else kernel_names[self.kernel]


@dataclass(frozen=True)
class RelaxedVotes:
    """Relaxed votes for all problems, over the same terms.

    ``centers`` are indices into the centres of all rows.
    """

    kernels: IntArray
    centers: IntArray
    votes: tuple[RelaxedVote, ...]

    @property
    def weights(self) -> FloatArray:
        """Weights of the terms, shape (n_terms, n_problems)."""
        return np.array([vote.weights for vote in self.votes]).T

    @property
    def intercepts(self) -> FloatArray:
        """The intercepts, one per problem."""
        return np.array([vote.intercept for vote in self.votes])

    def decide(self, values: FloatArray) -> FloatArray:
        """Return the decisions, shape (n_rows, n_problems), given the values of the terms."""
        return np.asarray(values @ self.weights + self.intercepts)


class PathSample:
    """One sample and the centres chosen on it, level by level.

    Parameters
    ----------
    training : Training
        The data, with all rows.
    w : array
        Weight of each row of ``training``. Rows of weight 0 are left out, and their points are
        centres only if a row with nonzero weight has the same point.
    tol : float
        Relative gap of the l1 votes.
    stack : bool
        Whether to store all values of the columns, unless there are too many.
    """

    def __init__(
        self, training: Training, w: FloatArray, tol: float, *, stack: bool = False
    ) -> None:
        self.training, self.tol = training, tol
        self.rows = np.flatnonzero(w)
        self.w = w[self.rows] / w[self.rows].sum()
        self.centers = training.centers_of(self.rows)
        columns = part_of(training.columns, self.rows, self.centers)
        self.columns = stack_columns(columns) if stack else columns
        self.codes = training.codes[self.rows]
        allowed = training.allowed
        self.problems = [
            Problem.of_hinges(
                self.columns,
                hinges,
                training.complexities,
                fit_intercept=training.fit_intercept,
                allowed=None if allowed is None else allowed[:, self.centers],
            )
            for hinges in training.hinges(self.codes, self.w)
        ]
        self._masters = [Master(problem) for problem in self.problems]
        #: The l1 votes of the last level, one per problem.
        self.solutions: list[Solution] = []
        #: The chosen centres, as indices into ``centers``.
        self.chosen = np.zeros(0, np.intp)
        #: The penalty of the last level of the l1 path.
        self.penalty = np.inf
        #: The chosen rules: their kernels and centres.
        self.rules = np.zeros((2, 0), np.intp)
        #: The rough votes of some settings, and the chosen centres to which they belong.
        self._votes: dict[Setting, RelaxedVotes] = {}
        self._voters = self.chosen

    def first_entry(self) -> float:
        """Return the level above which no column has a weight."""
        return max(first_entry(p, self.training.complexities) for p in self.problems)

    def follow_path(
        self,
        level: float,
        budget: Budget,
        tol: float | None = None,
        max_iter: int | None = None,
    ) -> None:
        """Go down to another level of the l1 path, and choose the centres that vote there."""
        penalties = level * self.training.complexities
        try:
            solutions = [
                solve_by_column_generation(
                    replace(problem, penalties=penalties).within(budget),
                    tol=self.tol if tol is None else tol,
                    max_iter=max_iter,
                    master=master,
                )
                for problem, master in zip(self.problems, self._masters, strict=True)
            ]
        except SolverInterrupted:
            raise KeyboardInterrupt from None
        if any(solution.stop_reason == "time-limit" for solution in solutions):
            raise OutOfTime
        self.solutions, self.penalty = solutions, level
        terms = [[solution.terms.kernels, solution.terms.centers] for solution in self.solutions]
        kernels, centers = np.unique(np.concatenate(terms, axis=1), axis=1)
        is_rule = self.training.are_rules[kernels]
        self.chosen = np.unique(centers[~is_rule])
        self.rules = np.array([kernels[is_rule], centers[is_rule]])

    def grow(self, setting: Setting) -> None:
        """Make centres of the rows that a setting's relaxed vote fits worst."""
        votes = self._vote_of(setting)
        values = self.columns.take(votes.kernels, np.searchsorted(self.centers, votes.centers))
        n = int(np.ceil(GROWTH * len(self.chosen)))
        decisions = votes.decide(values)
        if self.training.numbers is not None and setting.kernel != RULES_ONLY:
            self.chosen = np.union1d(self.chosen, self._best_columns(setting, decisions[:, 0], n))
            return
        goodness = goodness_of(self.training, decisions, self.codes)
        places = self.places_of_rows()
        order = places[np.argsort(goodness, kind="stable")]
        fresh = order[~np.isin(order, self.chosen)]
        _, first = np.unique(fresh, return_index=True)
        fresh = fresh[np.sort(first)]
        self.chosen = np.union1d(self.chosen, fresh[:n])

    def fill(self) -> None:
        """Make centres of all rows."""
        self.chosen = np.unique(self.places_of_rows())

    def thin(self, setting: Setting, kept: float) -> None:
        """Keep a share of the centres: those that a setting's relaxed vote needs most."""
        weights = self._vote_of(setting).weights
        terms = self._terms(setting.kernel)
        costs = terms.whitening.removal_costs(weights)
        n = len(terms.centers) - self.rules.shape[1]
        order = np.argsort(-costs[:n], kind="stable")
        self.chosen = np.sort(self.chosen[order[: int(np.ceil(kept * n))]])

    def _best_columns(self, setting: Setting, decision: FloatArray, n: int) -> IntArray:
        """Return the n centres whose columns best fit the remaining error in regression."""
        (hinges,) = self.training.relaxed_hinges(self.codes, self.w)
        slopes = slopes_of(hinges, decision) / self.w
        rows = evenly(np.arange(len(self.rows)), MOST_COMPARED)
        others = np.setdiff1d(np.arange(len(self.centers)), self.chosen)
        pool = np.append(self.chosen, evenly(others, MOST_COMPARED))
        values = self.columns.take(np.full(len(pool), setting.kernel), pool, rows)
        chosen = np.arange(len(self.chosen))
        best = pool[choose_columns(values, slopes[rows], self.w[rows], chosen, n)]
        # The columns of a wide kernel may all be combinations of the chosen columns.
        places = self.places_of_rows()
        worst = places[np.argsort(-np.abs(slopes), kind="stable")] if len(best) < n else best
        worst = worst[~np.isin(worst, np.append(self.chosen, best))]
        return np.append(best, list(dict.fromkeys(worst.tolist()))[: n - len(best)]).astype(np.intp)

    def places_of_rows(self) -> IntArray:
        """Return the index of each row's centre, or all indices if some rows are not centres."""
        center_of = self.training.center_of
        if center_of is None:
            return np.arange(len(self.centers))
        return np.searchsorted(self.centers, center_of[self.rows])

    @property
    def can_grow(self) -> bool:
        """Whether more rows can become centres."""
        return self.training.center_of is not None and 0 < len(self.chosen) < len(self.centers)

    @property
    def n_terms(self) -> float:
        """Mean number of terms in the l1 votes."""
        return float(np.mean([len(solution.terms.kernels) for solution in self.solutions]))

    @property
    def loss(self) -> float:
        """Mean loss of the l1 votes."""
        losses = []
        for problem, solution in zip(self.problems, self.solutions, strict=True):
            decision = problem.decision(solution.terms)
            losses.append(float(problem.w @ np.maximum(0.0, problem.shortfalls(decision))))
        return float(np.mean(losses))

    def relax(
        self, kernel: int, rhos: Sequence[float], tol: float | None = None
    ) -> list[RelaxedVotes]:
        """Return the relaxed votes of one kernel on the chosen centres, for decreasing rhos.

        The chosen rules are included for every kernel.

        Without ``tol``, the votes are solved roughly and not certified.
        """
        terms = self._terms(kernel)
        by_problem = [
            terms.relax(hinges, rhos, tol=tol or ROUGHLY, certify=tol is not None)
            for hinges in self.training.relaxed_hinges(self.codes, self.w)
        ]
        centers = self.centers[terms.centers]
        found = [
            RelaxedVotes(terms.kernels, centers, votes) for votes in zip(*by_problem, strict=True)
        ]
        if tol is None:
            self._keep({Setting(kernel, rho): v for rho, v in zip(rhos, found, strict=True)})
        return found

    def _vote_of(self, setting: Setting) -> RelaxedVotes:
        """Return a setting's rough vote on the chosen centres, which may be known already."""
        if self._voters is not self.chosen or setting not in self._votes:
            return self.compare(setting.kernel, [setting.rho])[0]
        return self._votes[setting]

    def compare(self, kernel: int, rhos: Sequence[float]) -> list[RelaxedVotes]:
        """Return rough votes for decreasing rhos, after one for a larger rho as a warm start."""
        warm = [FIRST_RHO] if rhos[0] < FIRST_RHO else []
        return self.relax(kernel, [*warm, *rhos])[len(warm) :]

    def _keep(self, votes: dict[Setting, RelaxedVotes]) -> None:
        """Keep rough votes until other centres are chosen."""
        if self._voters is not self.chosen:
            self._votes, self._voters = {}, self.chosen
        self._votes |= votes

    def _terms(self, kernel: int) -> ChosenColumns:
        """Return the chosen centres with one kernel, then the chosen rules."""
        chosen = self.chosen[:0] if kernel == RULES_ONLY else self.chosen
        n_plain = len(chosen)
        kernels = np.append(np.full(n_plain, kernel), self.rules[0])
        centers = np.append(chosen, self.rules[1])
        # Rules are not whitened by their values at centres, and need not have a centre.
        at_centers = np.zeros((len(kernels), len(kernels)))
        plain = slice(n_plain)
        at_centers[plain, plain] = self.training.values_at_centers(
            kernels[plain], self.centers[chosen]
        )
        return ChosenColumns.gather(self.columns, self.w, kernels, centers, at_centers)


def evenly(numbers: IntArray, most: int) -> IntArray:
    """Return at most ``most`` of the numbers, evenly spaced."""
    step = -(-len(numbers) // most)
    return numbers[:: max(1, step)]


def part_of(columns: Columns, rows: IntArray, centers: IntArray) -> Columns:
    """Return the columns over some rows and centres, with their values if they are stored."""
    if isinstance(columns, StackedColumns):
        return columns.part(rows, centers)
    return columns.restricted(rows, centers)
