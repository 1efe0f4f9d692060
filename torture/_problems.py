"""Random problems over all options, each determined by its seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from votedkernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
    VotedKernelClassifier,
)


@dataclass(frozen=True)
class Drawn:
    """A model and the data to fit it to."""

    model: Any
    X: Any
    y: np.ndarray
    sample_weight: Any


def skewed(A, B):
    """Neither symmetric nor positive definite."""
    return np.tanh(A @ np.roll(B, 1, axis=1).T - 0.3 * B[:, 0])


def common_letters(A, B):
    """Return the share of the letters of b that occur in a; it is not symmetric."""
    return np.array([[len(set(a) & set(b)) / max(1, len(set(b))) for b in B] for a in A])


def draw_problem(seed, most_rows=26):
    """Return a problem; all options occur, and a third of the data is degenerate."""
    rng = np.random.default_rng((7, seed))
    n = int(rng.integers(2, 7)) if rng.random() < 0.1 else int(rng.integers(7, most_rows + 1))
    n_classes = 3 if n >= 9 and rng.random() < 0.2 else 2
    kind = rng.choice(list(_KINDS), p=list(_KINDS.values()))
    X, score = _strings(rng, n) if kind == "strings" else _table(rng, n)
    y = _labels(rng, score, n_classes)
    if isinstance(X, np.ndarray) and rng.random() < 0.35:
        X, y = _degenerate(rng, X, y)
    kernels = _kernels(rng, kind, X)
    if kind == "precomputed":
        X = _matrix(rng, X)
    # Names do not matter to the mathematics, so a few families have one.
    options = _options(rng, kind, kernels, X, y)
    return Drawn(VotedKernelClassifier(kernels, **options), X, y, _weights(rng, y))


_KINDS = {
    "polynomial": 0.22,
    "gaussian": 0.18,
    "precomputed": 0.14,
    "similarity": 0.12,
    "mixed": 0.16,
    "strings": 0.15,
    "continuous": 0.03,
}


def _table(rng, n):
    X = rng.standard_normal((n, int(rng.integers(1, 6))))
    return X, X @ rng.standard_normal(X.shape[1]) + np.sin(3 * X[:, 0]) + rng.normal(0, 0.5, n)


def _strings(rng, n):
    words = ["".join(rng.choice(list("abc"), rng.integers(0, 7))) for _ in range(n)]
    words[0] = "abcab"
    return words, np.array([word.count("a") - len(word) / 3 for word in words]) + rng.normal(
        0, 0.4, n
    )


def _labels(rng, score, n_classes):
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    codes = np.searchsorted(edges, score)
    codes[:n_classes] = np.arange(n_classes)
    return codes if rng.random() < 0.5 else np.array(["x", "y", "z"])[codes]


def _degenerate(rng, X, y):
    kind = int(rng.integers(0, 5))
    if kind == 0:  # repeated rows, some with another label
        again = rng.integers(0, len(X), len(X) // 2 + 1)
        other = np.where(rng.random(len(again)) < 0.3, rng.permutation(y[again]), y[again])
        return np.vstack([X, X[again]]), np.concatenate([y, other])
    if kind == 1:  # equal, opposite, constant features
        return np.column_stack([X, X[:, 0], -X[:, 0], np.full(len(X), 0.7)]), y
    if kind == 2:  # few distinct points
        return np.round(X), y
    if kind == 3:  # one point only
        return np.full_like(X, rng.choice([0.0, 0.7, 3.0])), y
    return X[:, :1], y


def _kernels(rng, kind, X):
    degrees = tuple(sorted(rng.choice(np.arange(1, 7), rng.integers(1, 4), False).tolist()))
    gammas = tuple(sorted(rng.choice([0.03, 0.1, 0.3, 1.0, 3.0, 10.0], 2, False).tolist()))
    if kind == "polynomial":
        return Polynomial(
            tuple(range(1, 11)) if rng.random() < 0.2 else degrees,
            gamma="scale" if rng.random() < 0.6 else float(rng.choice([0.1, 1.0])),
            coef0=float(rng.choice([0.0, 1.0, 1.0, 2.0])),
        )
    if kind == "gaussian":
        return Gaussian(gammas, unit="scale" if rng.random() < 0.7 else 0.5)
    if kind == "precomputed":
        return Precomputed()
    if kind == "similarity":
        return Similarity(skewed)
    if kind == "continuous":
        return ContinuousGaussian(0.1, 10.0)
    if kind == "strings":
        longest = max(map(len, X))
        lengths = tuple(n for n in (1, 2, 3) if n <= longest)
        choices = [
            EditDistance((1.0, 4.0)),
            Spectrum(lengths),
            [EditDistance((2.0,)), Similarity(common_letters)],
        ]
        return choices[int(rng.integers(0, 3))]
    return [("poly", Polynomial(degrees)), ("gauss", Gaussian(gammas)), ("s", Similarity(skewed))][
        int(rng.integers(0, 2)) :
    ]


def _matrix(rng, X):
    K = rng.uniform(-1, 1, (len(X), len(X)))
    shape = rng.random()
    if shape < 0.3:
        K = K + K.T
    elif shape < 0.6:
        K = K[:, rng.integers(0, len(X), len(X))]
    return K


def _options(rng, kind, kernels, X, y):
    options = {
        "complexity_penalty": float(rng.choice([0.0, 10 ** rng.uniform(-6, 0)], p=[0.15, 0.85])),
        "l1_penalty": float(10 ** rng.uniform(-6, 0)),
        "fit_intercept": bool(rng.random() < 0.3),
        "tol": float(rng.choice([1e-4, 1e-6, 1e-8])),
        "solver": str(
            rng.choice(["column-generation", "lp", "coordinate-descent"], p=[0.7, 0.22, 0.08])
        ),
        "n_jobs": 2 if rng.random() < 0.03 else None,
        "random_state": 0,
    }
    if rng.random() < 0.2:
        options["class_weight"] = (
            "balanced" if rng.random() < 0.5 else dict.fromkeys(y[:1].tolist(), 2.0)
        )
    options["complexity"] = _measure(rng, kind, kernels)
    if rng.random() < 0.2:
        options["centers"] = int(rng.integers(1, 12))
    elif rng.random() < 0.1 and kind not in ("precomputed", "continuous"):
        options["centers"] = [*X[:4], "ab"] if isinstance(X, list) else X[: len(X) // 2 + 1] + 0.1
    positive_definite = kind == "gaussian" or (kind == "polynomial" and kernels.coef0 >= 0)
    if positive_definite and rng.random() < 0.06 and not isinstance(options.get("centers"), list):
        options["l2_penalty"] = float(10 ** rng.uniform(-4, 0))
        options["solver"] = "coordinate-descent"
        options["centers"] = None
    if kind == "continuous":
        options["complexity"], options["tol"] = "trace", 1e-4
        options["solver"] = "column-generation"
    return options


def _measure(rng, kind, kernels):
    choice = rng.random()
    if choice < 0.55:
        return "auto"
    if choice < 0.7:
        return "massart"
    if choice < 0.8:
        return "empirical"
    if choice < 0.85 and kind in ("polynomial", "gaussian"):
        return "local"
    if choice < 0.9 and kind == "polynomial":
        return "dimension"
    if kind in ("precomputed", "similarity"):
        return (float(rng.uniform(0.0, 2.0)),)
    return "auto"


def _weights(rng, y):
    kind = rng.random()
    if kind < 0.6:
        return None
    weights = rng.integers(0, 4, len(y)) if kind < 0.8 else rng.uniform(0.1, 3.0, len(y))
    weights = weights.astype(float)
    for label in np.unique(y):  # keep all classes
        weights[np.flatnonzero(y == label)[0]] = 1.0
    return weights
