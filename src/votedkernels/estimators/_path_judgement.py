"""How the default search judges votes on rows, in classification and in regression.

In classification, the loss of a vote is its error plus the log-loss at its best scale, as errors
alone are few and noisy. In regression, it is the absolute error, or the pinball loss of a quantile,
in units of the targets' spread.
"""

from __future__ import annotations

import numpy as np

from ..kernels.base import FloatArray, IntArray
from ..preparation.training import Training

LOGLOSS = 10.0
#: The price if all rows are centres: added to the loss of classes, a share of the loss of numbers.
#: It is higher with more than two classes, and if votes are thinned.
SIZE, HIGH_SIZE, SIZE_OF_NUMBERS = 0.12, 0.3, 0.1
SCALES = 2.0 ** np.arange(-2, 4.5, 0.5)


def goodness_of(training: Training, decisions: FloatArray, codes: IntArray) -> FloatArray:
    """Return how well votes of shape (..., n_rows, n_problems) fit each row; larger is better."""
    if training.numbers is None:
        return margins_of(decisions, codes)
    return -training.numbers.errors(decisions[..., 0], codes)


def losses_of(training: Training, decisions: FloatArray, codes: IntArray) -> FloatArray:
    """Return the loss of each setting's votes on each row; smaller is better."""
    goodness = goodness_of(training, decisions, codes)
    return -goodness if training.numbers is not None else losses_of_margins(goodness)


def with_price_of_size(training: Training, losses: FloatArray, share: float) -> FloatArray:
    """Return mean losses plus the price of the centres, which are a ``share`` of the rows."""
    if training.numbers is not None:
        return losses * (1.0 + SIZE_OF_NUMBERS * share)
    return losses + (HIGH_SIZE if training.n_problems > 1 or may_thin(training) else SIZE) * share


def may_thin(training: Training) -> bool:
    """Whether centres are removed again: some kernel other than a rule is not positive definite."""
    families = training.columns.families
    indefinite = any(not (f.is_positive_definite or f.is_coded) for f in families)
    return indefinite and training.numbers is None


def losses_of_margins(margins: FloatArray) -> FloatArray:
    """Return the error of each row plus its log-loss at each setting's best scale."""
    scaled = margins / (np.std(margins, axis=-1, keepdims=True) + 1e-12)
    means = np.array([np.logaddexp(0.0, -scale * scaled).mean(axis=-1) for scale in SCALES])
    best = SCALES[means.argmin(axis=0)]
    return np.asarray((margins <= 0) + LOGLOSS * np.logaddexp(0.0, -best[:, None] * scaled))


def margins_of(decisions: FloatArray, codes: IntArray) -> FloatArray:
    """Return the margin of each row: positive if the row is classified correctly.

    ``decisions`` has shape (..., n_rows, n_problems). With two classes, the margin is y f. With
    more, it is half the lead of the right class over the best other class.
    """
    if decisions.shape[-1] == 1:
        return np.asarray(np.where(codes == 1, 1.0, -1.0) * decisions[..., 0])
    places = np.broadcast_to(codes[:, None], (*decisions.shape[:-1], 1))
    right = np.take_along_axis(decisions, places, axis=-1)
    others = decisions.copy()
    np.put_along_axis(others, places, -np.inf, axis=-1)
    return np.asarray((right[..., 0] - others.max(axis=-1)) / 2)
