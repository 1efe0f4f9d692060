"""Chooses columns one by one: orthogonal least squares.

Some columns have been chosen already. For each of the others, let q_j be the part that is
orthogonal to the chosen ones. The next column is the one that most reduces the squared distance
to a target r, that is, the one with the largest

    (q_j . r)^2 / (|q_j|^2 + delta)

Products are weighted sums over the rows, and a constant counts as chosen. delta excludes columns
that are nearly sums of chosen ones and would need huge weights. Each choice costs two passes over
the matrix, because q_j . r and |q_j|^2 of all columns are updated (S. Chen, S. Billings, W. Luo:
Orthogonal least squares methods, 1989).
"""

from __future__ import annotations

import numpy as np

from ..kernels.base import FloatArray, IntArray

#: delta, as a fraction of the mean squared norm of the columns.
DELTA = 1e-4
#: A column with |q_j|^2 below this fraction of its squared norm depends on the chosen ones.
DEPENDENT = 1e-10


def choose_columns(
    values: FloatArray, target: FloatArray, w: FloatArray, chosen: IntArray, n: int
) -> IntArray:
    """Return up to n columns to add to the chosen ones, in the order in which they are chosen.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
    target : array of shape (n_rows,)
    w : array of shape (n_rows,)
        Weights of the rows.
    chosen : indices of the columns chosen so far
    n : how many to add
    """
    roots = np.sqrt(w)
    V = np.asfortranarray(values * roots[:, None])
    fixed = np.column_stack([roots, V[:, chosen]])
    Q = np.linalg.qr(fixed)[0]
    r = target * roots
    r = r - Q @ (Q.T @ r)
    whole = np.einsum("ij,ij->j", V, V)
    left = np.maximum(whole - np.einsum("ij,ij->j", Q.T @ V, Q.T @ V), 0.0)
    pull = V.T @ r
    delta = DELTA * float(whole.mean())
    allowed = left > DEPENDENT * whole
    allowed[chosen] = False
    basis = np.empty((len(V), Q.shape[1] + n), order="F")
    basis[:, : Q.shape[1]] = Q
    added: list[int] = []
    while len(added) < n and allowed.any():
        free = np.flatnonzero(allowed)
        j = int(free[(pull[free] ** 2 / (left[free] + delta)).argmax()])
        allowed[j] = False
        known = basis[:, : Q.shape[1] + len(added)]
        q = V[:, j]
        for _ in range(2):  # once is not enough after rounding
            q = q - known @ (known.T @ q)
        size = float(np.linalg.norm(q))
        if size**2 <= DEPENDENT * whole[j]:
            continue
        q /= size
        basis[:, known.shape[1]] = q
        added.append(j)
        along = V.T @ q
        pull -= along * float(q @ r)
        r = r - q * float(q @ r)
        left = np.maximum(left - along**2, 0.0)
        allowed &= left > DEPENDENT * whole
    return np.array(added, dtype=np.intp)
