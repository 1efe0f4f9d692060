"""Edit distances of strings, at several scales.

    K_k(x, c) = exp(-d(x, c) / scale_k),     or     K(x, c) = 1 - d(x, c) / its largest value

The base d is computed by rapidfuzz, in float64: its own integers are unsigned, and exp(-d) of
these wraps around.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .base import FloatArray, KernelFamily, as_tuple, count_rows, is_number

#: Names that users type, and those of `rapidfuzz.distance`.
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
    """Kernels ``exp(-distance / scale)`` of strings, one per scale.

    X is a list of strings (or an array or a column of a data frame). The kernels are symmetric
    and not positive definite in general; the vote needs no repair for that. rapidfuzz computes
    the distances: ``pip install 'votedkernels[strings]'``.

    Parameters
    ----------
    scales : tuple of float or None, default=(1.0, 3.0, 10.0)
        Each is one kernel, in the unit of the distance. None is the single kernel ``1 -
        normalised distance``, whatever ``normalised`` says.
    metric : str, default="levenshtein"
        ``"levenshtein"`` counts insertions, deletions and substitutions, ``"osa"`` swaps of
        neighbours too, ``"damerau-levenshtein"`` swaps with edits in between, ``"indel"``
        insertions and deletions only, ``"hamming"`` places that differ (the shorter string is
        taken to go on with places that differ). ``"jaro"`` and ``"jaro-winkler"`` are 1 minus
        these similarities, and lie between 0 and 1.
    normalised : bool, default=False
        Divide a distance by the largest that strings of these lengths can have, so that it lies
        between 0 and 1. Scales such as 0.1 and 0.3 suit that.

    Notes
    -----
    The empty string is a string: its distance to itself is 0, to a string of length n it is n,
    or 1 where normalised. Case and white space count.

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
        scales: Any = (1.0, 3.0, 10.0),
        *,
        metric: str = "levenshtein",
        normalised: bool = False,
    ) -> None:
        self.scales = scales
        self.metric = metric
        self.normalised = normalised

    def fit(self, X: Any, sample_weight: FloatArray) -> Self:
        """Check the parameters and name the kernels; nothing is taken from the sample."""
        if not isinstance(self.metric, str) or self.metric not in METRICS:
            raise ValueError(
                f"metric of EditDistance must be one of {', '.join(map(repr, METRICS))}, got "
                f"{self.metric!r}; for another, use Similarity(function)."
            )
        if not isinstance(self.normalised, bool | np.bool_):
            raise ValueError(
                f"normalised of EditDistance must be True or False, got {self.normalised!r}."
            )
        _distances_of(self.metric)  # fails here, before any work, where rapidfuzz is missing
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

    def base(self, X: Any, centers: Any) -> FloatArray:
        """Return the distances."""
        from rapidfuzz.process import cdist

        if count_rows(X) == 0 or count_rows(centers) == 0:
            return np.zeros((count_rows(X), count_rows(centers)))
        metric = _distances_of(self.metric)
        scorer = metric.normalized_distance if self._is_normalised else metric.distance
        # One worker: the blocks are shared by our own threads.
        return np.asarray(cdist(X, centers, scorer=scorer, dtype=np.float64, workers=1))

    def member(self, base: FloatArray, k: int) -> FloatArray:
        """Return exp(-base / scales[k]), or 1 - base."""
        if self.rates_ is None:
            return 1.0 - base
        values = base * -self.rates_[k]
        return np.asarray(np.exp(values, out=values))

    @property
    def has_fused(self) -> bool:  # type: ignore[override]
        """Exponentials have compiled loops; Jaro's matching is not known to be symmetric."""
        return self.rates_ is not None and not self.metric.startswith("jaro")

    def correlate_fused(self, base: FloatArray, v: FloatArray) -> FloatArray:
        """Return `correlate` of the turned base by a compiled loop."""
        from . import _fused

        out = np.zeros((self.n_kernels, base.shape[0]))
        _fused.add_gaussians(base, v, self.rates_, out)
        return out

    def supremum(self, radius: float | None) -> FloatArray | None:
        """No value exceeds 1."""
        return np.ones(self.n_kernels)

    def largest(self, X: Any, centers: Any) -> FloatArray:
        """No value exceeds 1."""
        return np.ones(self.n_kernels)

    def diagonal(self, X: Any, itself: Any) -> FloatArray:
        """Every string is at distance 0 of itself."""
        return np.ones((self.n_kernels, count_rows(X)))


def _distances_of(metric: str) -> Any:
    """Return rapidfuzz's module of a metric."""
    try:
        from rapidfuzz import distance
    except ImportError as error:
        raise ImportError(
            "EditDistance needs rapidfuzz; install it with pip install 'votedkernels[strings]'."
        ) from error
    return getattr(distance, METRICS[metric])
