"""Kernels from edit distances between strings, at several scales.

    K_k(x, c) = exp(-d(x, c) / scale_k),     or     K(x, c) = 1 - d(x, c) / (largest possible d)

rapidfuzz computes the base d. We ask it for float64: its default integers are unsigned, so -d would
wrap around.

References
----------
.. [1] R. Hamming (1950). Error detecting and error correcting codes. Bell System Technical
   Journal 29.
.. [2] F. Damerau (1964). A technique for computer detection and correction of spelling errors.
   Communications of the ACM 7.
.. [3] V. Levenshtein (1966). Binary codes capable of correcting deletions, insertions, and
   reversals. Soviet Physics Doklady 10.
.. [4] M. Jaro (1989). Advances in record-linkage methodology as applied to matching the 1985 census
   of Tampa, Florida. Journal of the American Statistical Association 84.
.. [5] W. Winkler (1990). String comparator metrics and enhanced decision rules in the
   Fellegi-Sunter model of record linkage. Proceedings of the Section on Survey Research Methods,
   American Statistical Association.
"""

from __future__ import annotations

from types import ModuleType
from typing import Self

import numpy as np

from .base import FloatArray, KernelFamily, Numbers, Rows, as_tuple, count_rows, is_number
from .sums import StoredBase, sum_gaussians

#: The metrics' names for users, and in `rapidfuzz.distance`.
METRICS = {
    "levenshtein": "Levenshtein",
    "damerau-levenshtein": "DamerauLevenshtein",
    "osa": "OSA",
    "indel": "Indel",
    "hamming": "Hamming",
    "jaro": "Jaro",
    "jaro-winkler": "JaroWinkler",
}


class EditDistance(KernelFamily):
    """Kernels ``exp(-distance / scale)`` on strings, one per scale.

    X is a list of strings (or an array, or a column of a data frame). The kernels are symmetric but
    in general not positive definite, which the vote does not require. rapidfuzz computes the
    distances: ``pip install 'votedkernels[strings]'``.

    Parameters
    ----------
    scales : tuple of float or None, default=(1.0, 3.0, 10.0)
        Scales in units of the distance; each defines one kernel. None stands for the single kernel
        ``1 - normalised distance``; ``normalised`` is then ignored.
    metric : str, default="levenshtein"
        ``"levenshtein"`` counts insertions, deletions and substitutions. ``"osa"`` also counts
        swaps of neighbouring characters, and ``"damerau-levenshtein"`` swaps with edits in between.
        ``"indel"`` counts only insertions and deletions. ``"hamming"`` counts the positions that
        differ (all positions beyond the end of the shorter string differ). ``"jaro"`` and
        ``"jaro-winkler"`` are 1 minus the similarity of that name, between 0 and 1.
    normalised : bool, default=False
        Divide each distance by the largest possible distance for strings of these lengths, so that
        it is between 0 and 1. Scales such as 0.1 and 0.3 are then suitable.

    Notes
    -----
    The empty string is allowed: its distance to itself is 0, and to a string of length n it is n
    (1 if normalised). Case and white space matter.

    Examples
    --------
    >>> from votedkernels import EditDistance, VotedKernelClassifier
    >>> words = ["stone", "stones", "stony", "river", "rivers", "riverside"]
    >>> kinds = ["solid", "solid", "solid", "liquid", "liquid", "liquid"]
    >>> model = VotedKernelClassifier(EditDistance(scales=(1.0, 3.0))).fit(words, kinds)
    >>> model.predict(["atone", "driver"]).tolist()
    ['solid', 'liquid']
    """

    accepts_objects = True
    takes_strings = True

    def __init__(
        self,
        scales: Numbers | None = (1.0, 3.0, 10.0),
        *,
        metric: str = "levenshtein",
        normalised: bool = False,
    ) -> None:
        self.scales = scales
        self.metric = metric
        self.normalised = normalised

    def fit(self, X: Rows, sample_weight: FloatArray) -> Self:
        """Check the parameters and name the kernels; nothing depends on the sample."""
        del X, sample_weight
        if not isinstance(self.metric, str) or self.metric not in METRICS:
            raise ValueError(
                f"metric of EditDistance must be one of {', '.join(map(repr, METRICS))}, got "
                f"{self.metric!r}; for another, use Similarity(function)."
            )
        if not isinstance(self.normalised, bool | np.bool_):
            raise ValueError(
                f"normalised of EditDistance must be True or False, got {self.normalised!r}."
            )
        _distances_of(self.metric)  # raises here, before any work, if rapidfuzz is missing
        if self.scales is None:
            self.rates_ = None
            self.names_ = [f"1 - {self._distance_name}"]
            return self
        scales = as_tuple(self.scales, parameter="scales of EditDistance")
        for scale in scales:
            if not (is_number(scale) and scale > 0):
                raise ValueError(
                    f"scales of EditDistance must be positive numbers, or None for 1 - normalised "
                    f"distance, got {scale!r}."
                )
        if len(set(scales)) < len(scales):
            raise ValueError(f"scales of EditDistance has repeated entries: {scales}.")
        self.rates_ = 1.0 / np.array([float(scale) for scale in scales])
        self.names_ = [f"{self._distance_name}(scale={scale:g})" for scale in scales]
        return self

    @property
    def _is_normalised(self) -> bool:
        return self.scales is None or bool(self.normalised)

    @property
    def _distance_name(self) -> str:
        return f"normalised {self.metric}" if self._is_normalised else self.metric

    def base(self, X: Rows, centers: Rows) -> FloatArray:
        """Return the distances."""
        from rapidfuzz.process import cdist

        if count_rows(X) == 0 or count_rows(centers) == 0:
            return np.zeros((count_rows(X), count_rows(centers)))
        metric = _distances_of(self.metric)
        scorer = metric.normalized_distance if self._is_normalised else metric.distance
        # One worker: our own threads share the blocks.
        return np.asarray(cdist(X, centers, scorer=scorer, dtype=np.float64, workers=1))

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return exp(-base / scales[k]), or 1 - base."""
        if self.rates_ is None:
            return 1.0 - base
        values = base * -self.rates_[k]
        return np.asarray(np.exp(values, out=values))

    @property
    def is_symmetric(self) -> bool:  # type: ignore[override]
        """Whether the distance is symmetric; Jaro's matching is not known to be."""
        return not self.metric.startswith("jaro")

    @property
    def has_fused(self) -> bool:  # type: ignore[override]
        """Whether the compiled loop applies: it needs exponentials of a symmetric distance."""
        return self.rates_ is not None and self.is_symmetric

    def correlate_fused(self, base: FloatArray | StoredBase, v: FloatArray) -> FloatArray:
        """Return `correlate`, computed by a compiled loop."""
        assert self.rates_ is not None  # see has_fused
        return sum_gaussians(base, v, self.rates_)

    def supremum(self, radius: float | None) -> FloatArray | None:
        """Return 1, which no value exceeds."""
        del radius
        return np.ones(self.n_kernels)

    def largest(self, X: Rows, centers: Rows) -> FloatArray:
        """Return 1, which no value exceeds."""
        del X, centers
        return np.ones(self.n_kernels)

    def diagonal(self, X: Rows, itself: Rows) -> FloatArray:
        """Return 1: the distance from a string to itself is 0."""
        del itself
        return np.ones((self.n_kernels, count_rows(X)))


def _distances_of(metric: str) -> ModuleType:
    """Return rapidfuzz's module for a metric."""
    try:
        from rapidfuzz import distance
    except ImportError as error:
        raise ImportError(
            "EditDistance needs rapidfuzz; install it with pip install 'votedkernels[strings]'."
        ) from error
    module: ModuleType = getattr(distance, METRICS[metric])
    return module
