"""Why a model decided as it did: the votes of the training examples, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..problem import Vote

#: How many votes a table lists if no number is given.
LISTED = 10


@dataclass(frozen=True)
class Explanation:
    """The terms of f(x) = sum_t contributions_t + intercept, for each of some rows.

    `VotedKernelClassifier.explain` returns it. Printing it shows the table of the first row.

    Attributes
    ----------
    contributions : array of shape (n_rows, n_problems, n_terms)
        a_t K_t(x, c_t) for each row, one-vs-rest problem and term. Two classes make one problem, in
        which positive contributions are votes for the second class.
    intercepts : array of shape (n_problems,)
    support : array of shape (n_terms,)
        The training row behind each term, as in ``support_``, or the number of your own centre.
    kernels : list of str
        The kernel of each term.
    classes : array of shape (n_classes,)
    """

    contributions: FloatArray
    intercepts: FloatArray
    support: IntArray
    kernels: list[str]
    classes: Any

    @property
    def decisions(self) -> FloatArray:
        """The votes, as `decision_function` returns them."""
        votes = np.asarray(self.contributions.sum(axis=-1) + self.intercepts)
        return votes[:, 0] if votes.shape[1] == 1 else votes

    @property
    def examples(self) -> IntArray:
        """The training rows that vote, each once."""
        return np.unique(self.support)

    def by_example(self) -> FloatArray:
        """Return the contributions summed over kernels, one column for each of ``examples``.

        Returns
        -------
        array of shape (n_rows, n_problems, n_examples)
        """
        examples, places = np.unique(self.support, return_inverse=True)
        sums = np.zeros((*self.contributions.shape[:2], len(examples)))
        for term, place in enumerate(places):
            sums[:, :, place] += self.contributions[:, :, term]
        return sums

    def predictions(self) -> Any:
        """Return the class of each row.

        Returns
        -------
        array of shape (n_rows,)
        """
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
            The class whose vote is explained; None is the class that was predicted.

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
        shown = sum(ballot.contribution for ballot in listed)
        rest = np.count_nonzero(mine) - len(listed)
        lines = [
            (f"training row {ballot.example}", ballot.kernel, f"{ballot.contribution:+.4f}")
            for ballot in listed
        ]
        if rest > 0:
            others = "1 other vote" if rest == 1 else f"{rest} other votes"
            lines.append((others, "", f"{mine.sum() - shown:+.4f}"))
        constant = sign * self.intercepts[column]
        if constant:
            lines.append(("constant", "", f"{constant:+.4f}"))
        lines.append((f"vote for {label}", "", f"{mine.sum() + constant:+.4f}"))
        widths = [max(len(line[place]) for line in lines) for place in range(3)]
        return "\n".join(
            f"{who:<{widths[0]}}  {kernel:<{widths[1]}}  {amount:>{widths[2]}}"
            for who, kernel, amount in lines
        )

    def __str__(self) -> str:
        return self.table() if len(self.contributions) else "no rows"

    def _winners(self) -> IntArray:
        decisions = self.decisions
        if decisions.ndim == 1:
            return (decisions > 0).astype(np.intp)
        return np.asarray(decisions.argmax(axis=1))

    def _side(self, row: int, label: Any) -> tuple[int, float, Any]:
        """Return the problem and the sign of a vote for a class, and the class."""
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
        The training row, as in ``support_``.
    kernel : str
    contribution : float
        What it adds to the vote for the class; negative if it votes against it.
    """

    example: int
    kernel: str
    contribution: float


def explain_votes(vote: Vote, X: Any, kernel_names: list[str], classes: Any) -> Explanation:
    """Return the explanation of a vote on validated rows."""
    return Explanation(
        contributions=vote.contributions(X),
        intercepts=np.asarray(vote.intercepts),
        support=vote.support[vote.places],
        kernels=[kernel_names[k] for k in vote.kernels],
        classes=classes,
    )
