"""Learns a factor for each feature, so that distances reflect the features that matter.

A Gaussian kernel treats all features alike. If the target changes fast along a few of them and
slowly along the others, a vote needs many more centres than it would on scaled features. So
features are scaled: a vote f of one wide Gaussian is fitted, and feature j gets the scale
sqrt(mean_i |df/dx_j (x_i)|). This is repeated with the scaled features. Scales are at least `LEAST`
times the largest one: a feature that seems irrelevant to a rough vote is not dropped. (This follows
A. Radhakrishnan et al., recursive feature machines, 2024, but uses only the directions of the
features.)
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from ..kernels.base import FloatArray
from ..problem.losses import Pinball, best_constant
from ..problem.relaxed import triangular_root
from ..solvers.greedy import choose_columns

#: Votes are fitted to at most this many rows.
MOST_ROWS = 1000
#: Number of centres, which is at most this share of the rows.
MOST_CENTERS, SHARE_OF_CENTERS = 100, 1 / 3
#: The width (it is divided by the number of features) and the squared penalty of the vote.
GAMMA, RHO = 0.5, 1e-4
REPETITIONS = 3
LEAST = 0.05
#: Targets are clipped at this distance from their median, in units of the mean distance.
FARTHEST = 6.0


def learn_feature_scales(X: FloatArray, targets: FloatArray, w: FloatArray) -> tuple[float, ...]:
    """Return a scale for each feature.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    targets : array of shape (n_samples,)
        The targets, in any unit.
    w : array of shape (n_samples,)
        Weights of the rows.
    """
    X, targets, w = _distinct(X, targets, w)
    hinges = Pinball(0.5).hinges(targets, w)
    assert hinges.goals is not None
    targets = targets - best_constant(hinges.signs, hinges.weights, hinges.goals)
    targets = targets / (float(w @ np.abs(targets)) or 1.0)
    targets = np.clip(targets, -FARTHEST, FARTHEST)
    means = np.asarray(w @ X)
    with np.errstate(over="ignore"):
        spreads = np.sqrt(w @ (X - means) ** 2)
    if not np.isfinite(spreads).all():
        return (1.0,) * len(means)
    spreads = np.where(spreads > 0, spreads, 1.0)
    Z = (X - means) / spreads
    scales = np.ones(X.shape[1])
    for _ in range(REPETITIONS):
        slopes = _mean_slopes(Z, scales, targets, w)
        if not slopes.max() > 0:
            break
        scales = np.maximum(np.sqrt(slopes / slopes.max()), LEAST)
        scales *= np.sqrt(len(scales) / (scales @ scales))
    return tuple(float(scale) for scale in scales / spreads)


def _distinct(
    X: FloatArray, targets: FloatArray, w: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return distinct rows, at most `MOST_ROWS`: a weight of 2 must act like two copies."""
    rows = np.flatnonzero(w)
    unit = max(float(np.abs(targets[rows]).max(initial=0.0)), 1e-300)
    table = np.column_stack([X[rows], targets[rows] / unit])
    table, places = np.unique(table, axis=0, return_inverse=True)
    sums = np.bincount(places.ravel(), w[rows], len(table))
    if len(table) > MOST_ROWS:
        some = np.random.default_rng(0).choice(len(table), MOST_ROWS, replace=False)
        table, sums = table[np.sort(some)], sums[np.sort(some)]
    return table[:, :-1], table[:, -1], sums / sums.sum()


def _mean_slopes(
    Z: FloatArray, scales: FloatArray, targets: FloatArray, w: FloatArray
) -> FloatArray:
    """Return the mean of |df/dz_j| over the rows, for a vote of one Gaussian."""
    scaled, rate = Z * scales, GAMMA / len(scales)
    values = np.exp(-rate * cdist(scaled, scaled, "sqeuclidean"))
    n_centers = max(1, min(MOST_CENTERS, int(SHARE_OF_CENTERS * len(Z))))
    chosen = choose_columns(values, targets, w, np.zeros(0, np.intp), n_centers)
    if len(chosen) == 0:
        return np.zeros(len(scales))
    columns = values[:, chosen]
    root = triangular_root(columns[chosen])
    B = linalg.solve_triangular(root, columns.T, trans=1).T
    mean = w @ B
    B = (B - mean) * np.sqrt(w)[:, None]
    right = B.T @ (np.sqrt(w) * (targets - w @ targets))
    z = linalg.solve(B.T @ B + RHO * np.eye(len(chosen)), right, assume_a="pos")
    pulls = columns * linalg.solve_triangular(root, z)
    slopes = Z * pulls.sum(axis=1)[:, None] - pulls @ Z[chosen]
    return np.asarray(w @ np.abs(2.0 * rate * scales**2 * slopes))
