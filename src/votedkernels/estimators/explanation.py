"""Why a model decided as it did: the votes of the training examples, or what each feature adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..problem import Vote
from ._shapley import shapley_values

#: How many votes a table lists if no number is given.
LISTED = 10
#: A table says that votes cancel if their sizes add up to more than so many times the decision, or
#: this number if the decision is below 1, the goal of every training row.
CANCELLING = 50.0
#: A line of a table: which example, which kernel, how much.
Line = tuple[str, str, float]


@dataclass(frozen=True)
class Explanation:
    """The terms of f(x) = sum_t contributions_t + intercept, for each explained row.

    `VotedKernelClassifier.explain` returns it. Printing it shows the votes on the first row and, if
    there are background rows, what each feature adds.

    Attributes
    ----------
    contributions : array of shape (n_rows, n_problems, n_terms)
        a_t K_t(x, c_t) for each row, one-vs-rest problem and term. Two classes make one problem, in
        which positive contributions are votes for the second class.
    intercepts : array of shape (n_problems,)
    support : array of shape (n_terms,)
        The training row behind each term, as in ``support_``, or the number of your own centre; -1
        for a rule.
    kernels : list of str
        The kernel of each term, or the text of a rule.
    classes : array of shape (n_classes,), or None for regression
    shapley_values : array of shape (n_rows, n_problems, n_features), or None
        What each feature adds to the vote, compared with background rows; None without such rows.
    baseline : array of shape (n_problems,), or None
        The mean vote on the background rows. Together with the Shapley values of a row, it sums to
        the vote on that row.
    features : list of str, or None
        The names of the features, or x0, x1, ...
    """

    contributions: FloatArray
    intercepts: FloatArray
    support: IntArray
    kernels: list[str]
    classes: Any
    shapley_values: FloatArray | None = None
    baseline: FloatArray | None = None
    features: list[str] | None = None

    @property
    def decisions(self) -> FloatArray:
        """The votes, as `decision_function` returns them."""
        votes = np.asarray(self.contributions.sum(axis=-1) + self.intercepts)
        return votes[:, 0] if votes.shape[1] == 1 else votes

    @property
    def examples(self) -> IntArray:
        """The training rows that vote, each listed once."""
        return np.unique(self.support[self.support >= 0])

    def by_example(self) -> FloatArray:
        """Return the contributions summed over kernels, one column for each of ``examples``.

        Returns
        -------
        array of shape (n_rows, n_problems, n_examples)
        """
        examples, at_rows = self.examples, np.flatnonzero(self.support >= 0)
        places = np.searchsorted(examples, self.support[at_rows])
        sums = np.zeros((*self.contributions.shape[:2], len(examples)))
        for term, place in zip(at_rows, places, strict=True):
            sums[:, :, place] += self.contributions[:, :, term]
        return sums

    def predictions(self) -> Any:
        """Return the class of each row or, for regression, its prediction.

        Returns
        -------
        array of shape (n_rows,)
        """
        if self.classes is None:
            return self.decisions
        return np.asarray(self.classes)[self._winners()]

    def largest(self, row: int = 0, n: int | None = LISTED, label: Any = None) -> list[Ballot]:
        """Return the largest contributions to the vote on a row, largest first.

        Parameters
        ----------
        row : int, default=0
            The number of the row among those explained.
        n : int, default=10
            How many to return; None returns all.
        label : a class, default=None
            The class whose vote is explained; None means the predicted class.

        Returns
        -------
        list of Ballot
        """
        column, sign, _ = self._side(row, label)
        mine = sign * self.contributions[row, column]
        order = np.argsort(-np.abs(mine), kind="stable")
        order = order[mine[order] != 0][:n]
        return [Ballot(int(self.support[t]), self.kernels[t], float(mine[t])) for t in order]

    def table(self, row: int = 0, n: int | None = LISTED, label: Any = None) -> str:
        """Return the largest contributions to the vote on a row, as lines of text.

        Parameters
        ----------
        row, n, label : as for `largest`

        Returns
        -------
        str
        """
        column, sign, label = self._side(row, label)
        mine = sign * self.contributions[row, column]
        listed = self.largest(row, n, label)
        lines = [
            (f"training row {ballot.example}", ballot.kernel, ballot.contribution)
            if ballot.example >= 0
            else (ballot.kernel, "", ballot.contribution)
            for ballot in listed
        ]
        lines += _rest("vote", int(np.count_nonzero(mine)) - len(listed), mine.sum(), lines)
        constant = sign * self.intercepts[column]
        if constant:
            lines.append(("constant", "", constant))
        total = mine.sum() + constant
        text = _as_text([*lines, (f"vote for {label}", "", total)])
        size = float(np.abs(mine).sum())
        if self.classes is None or size <= CANCELLING * max(1.0, abs(total)):
            return text
        return (
            f"{text}\nThese votes cancel: their sizes add up to {size:.3g}, so single votes say "
            "little. A plain vote, without relaxation, has smaller ones."
        )

    def feature_table(self, row: int = 0, n: int | None = LISTED, label: Any = None) -> str:
        """Return the largest Shapley values of a row, as lines of text.

        Parameters
        ----------
        row, n, label : as for `largest`

        Returns
        -------
        str
        """
        names, mine, baseline, label = self.effects(row, label)
        order = np.argsort(-np.abs(mine), kind="stable")[:n]
        lines = [(f"mean vote for {label}", "", baseline)]
        shown = [(names[i], "", float(mine[i])) for i in order]
        shown += _rest("feature", len(mine) - len(order), mine.sum(), shown)
        return _as_text([*lines, *shown, (f"vote for {label}", "", mine.sum() + baseline)])

    def effects(self, row: int = 0, label: Any = None) -> tuple[list[str], FloatArray, float, Any]:
        """Return what the features add to the vote for a class.

        Parameters
        ----------
        row, label : as for `largest`

        Returns
        -------
        names of the features, their Shapley values, the mean vote on background rows, the class
        """
        if self.shapley_values is None or self.baseline is None or self.features is None:
            raise ValueError(
                "this explanation has no Shapley values; call explain(X, background=rows), with "
                "some rows to compare with, such as 100 training rows."
            )
        column, sign, label = self._side(row, label)
        values = sign * self.shapley_values[row, column]
        return self.features, values, float(sign * self.baseline[column]), label

    def parts(
        self, row: int = 0, label: Any = None
    ) -> tuple[list[str], FloatArray, tuple[str, float], Any]:
        """Return what makes up the vote for a class: features if known, else training examples.

        Parameters
        ----------
        row, label : as for `largest`

        Returns
        -------
        names, what each adds, the name and the amount of the constant, the class
        """
        if self.shapley_values is not None:
            names, values, baseline, label = self.effects(row, label)
            return names, values, ("mean vote", baseline), label
        column, sign, label = self._side(row, label)
        pairs = zip(self.support, self.kernels, strict=True)
        names = [f"row {row}, {name}" if row >= 0 else name for row, name in pairs]
        constant = float(sign * self.intercepts[column])
        return names, sign * self.contributions[row, column], ("constant", constant), label

    def __str__(self) -> str:
        if not len(self.contributions):
            return "no rows"
        if self.shapley_values is None:
            return self.table()
        return f"{self.table()}\n\n{self.feature_table()}"

    def _winners(self) -> IntArray:
        decisions = self.decisions
        if decisions.ndim == 1:
            return (decisions > 0).astype(np.intp)
        return np.asarray(decisions.argmax(axis=1))

    def _side(self, row: int, label: Any) -> tuple[int, float, Any]:
        """Return the problem and the sign of a vote for a class, and the class."""
        if self.classes is None:
            return 0, 1.0, "the target"
        if label is None:
            label = self.predictions()[row]
        found = np.flatnonzero(np.asarray(self.classes) == label)
        if len(found) == 0:
            raise ValueError(f"label must be one of {list(self.classes)}, got {label!r}.")
        if len(self.intercepts) == 1:
            return 0, 1.0 if found[0] == 1 else -1.0, label
        return int(found[0]), 1.0, label


@dataclass(frozen=True)
class Ballot:
    """One vote: a training example, the kernel through which it votes, and how much it adds.

    Attributes
    ----------
    example : int
        The training row, as in ``support_``; -1 for a rule.
    kernel : str
    contribution : float
        What it adds to the vote for the class; negative if it votes against that class.
    """

    example: int
    kernel: str
    contribution: float


def _rest(what: str, n: int, total: float, lines: list[Line]) -> list[Line]:
    """Return a line for the n entries that are not listed, if any."""
    if n <= 0:
        return []
    amount = total - sum(line[2] for line in lines)
    return [(f"1 other {what}" if n == 1 else f"{n} other {what}s", "", amount)]


def _as_text(lines: list[Line]) -> str:
    texts = [(who, what, f"{amount:+.4f}") for who, what, amount in lines]
    widths = [max(len(line[place]) for line in texts) for place in range(3)]
    return "\n".join(
        f"{who:<{widths[0]}}  {what:<{widths[1]}}  {amount:>{widths[2]}}"
        for who, what, amount in texts
    )


def explain_votes(
    vote: Vote,
    X: Any,
    kernel_names: list[str],
    rules: list[str],
    classes: Any,
    background: Any = None,
    features: Any = None,
) -> Explanation:
    """Return the explanation of a vote on validated rows."""
    names = [rule or kernel_names[k] for rule, k in zip(rules, vote.kernels, strict=True)]
    values = baseline = None
    if background is not None:
        values, baseline = shapley_values(vote, X, background)
        features = [f"x{i}" for i in range(X.shape[1])] if features is None else list(features)
    return Explanation(
        contributions=vote.contributions(X),
        intercepts=np.asarray(vote.intercepts),
        support=np.array([vote.support[j] if j >= 0 else -1 for j in vote.places], np.intp),
        kernels=names,
        classes=classes,
        shapley_values=values,
        baseline=baseline,
        features=features if background is not None else None,
    )
