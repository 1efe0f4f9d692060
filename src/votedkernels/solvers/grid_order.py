"""The order in which a grid of penalties is solved, and which solution each pair starts from."""

from __future__ import annotations

import numpy as np

from ..kernels.base import FloatArray

#: The penalties of the paper's experiments.
DEFAULT_PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
#: Penalties that suit many data sets: with a time limit, a grid is solved from here outwards.
USUAL_PAIR = (1e-2, 3e-3)
#: The length of a decade down, if that of a decade up is 1.
DOWN = 1.5
#: Stands for a penalty of 0 when decades are counted.
SMALLEST = 1e-20

#: A pair of penalties, as indices into the two lists.
Pair = tuple[int, int]


class Frontier:
    """Chooses the next pair of penalties, and the solved pair that it starts from.

    This is Prim's algorithm for a minimum spanning tree (Shortest connection networks and some
    generalizations, Bell System Technical Journal 36, 1957). Its distances estimate how much the
    solution changes: by how much the penalties of the kernels differ, on a logarithmic scale and
    averaged over the kernels. Half of the average is weighted by what each kernel contributes to
    the price of the solved vote. If that vote has no loss, it stays optimal when all
    penalties become smaller by the same factor, so such a factor adds nothing to the distance.

    Parameters
    ----------
    prices : array of shape (n_pairs, n_kernels)
        The penalty of each kernel at each pair.
    """

    def __init__(self, prices: FloatArray) -> None:
        self._logs = np.log(np.maximum(prices, SMALLEST))
        self._waiting = np.ones(len(prices), bool)
        self._distances: dict[int, FloatArray] = {}  # from each pair that others may start from

    def __len__(self) -> int:
        """Return the number of pairs not yet chosen."""
        return int(self._waiting.sum())

    def choose(self) -> tuple[int, int | None]:
        """Return the next pair, and the one that it starts from: None if there is none."""
        if not self._distances:
            chosen = int(np.where(self._waiting, self._logs.sum(axis=1), -np.inf).argmax())
            self._waiting[chosen] = False
            return chosen, None
        starts = list(self._distances)
        distances = np.array([self._distances[start] for start in starts])
        distances[:, ~self._waiting] = np.inf
        row, chosen = divmod(int(distances.argmin()), len(self._waiting))
        self._waiting[chosen] = False
        return chosen, starts[row]

    def add_start(self, pair: int, shares: FloatArray, *, has_loss: bool) -> None:
        """Let others start from a solved pair; ``shares`` are the kernels' shares of its price."""
        weights = (shares + 1 / len(shares)) / (shares.sum() + 1)
        change = self._logs - self._logs[pair]
        if not has_loss:
            change -= np.minimum(change @ weights, 0.0)[:, None]
        self._distances[pair] = np.abs(change) @ weights

    def remove_start(self, pair: int) -> None:
        """Let no further pair start from this one."""
        del self._distances[pair]


def walk_outwards(
    complexity_penalties: FloatArray, l1_penalties: FloatArray
) -> list[tuple[int, int]]:
    """Return the pairs by their distance in decades from the usual pair, larger penalties first.

    If time runs out, the pairs solved so far still cover a sensible range. Smaller penalties take
    longer to solve, so a decade down counts as farther than a decade up.
    """
    decades = np.log10(np.maximum(complexity_penalties, SMALLEST))[:, None]
    l1_decades = np.log10(np.maximum(l1_penalties, SMALLEST))[None, :]
    up, l1_up = decades - np.log10(USUAL_PAIR[0]), l1_decades - np.log10(USUAL_PAIR[1])
    distance = np.maximum(np.maximum(up, -DOWN * up), np.maximum(l1_up, -DOWN * l1_up))
    order = np.lexsort((-(decades + l1_decades).ravel(), np.round(distance, 9).ravel()))
    return [(int(i), int(j)) for i, j in zip(*np.divmod(order, len(l1_penalties)), strict=True)]
