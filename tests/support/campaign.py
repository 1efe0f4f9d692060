"""Random problems, each determined by its seed, and the same problems on plain arrays.

`Case.plain` writes out the kernels, the complexities and the weights from their definitions, so
that not only the optimisation is checked, but also the objective itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from support.oracles import PlainProblem

from votedkernels import Gaussian, Polynomial, Precomputed, Similarity, VotedKernelClassifier

N_CASES = 1000
N_DEGENERATE = 300  # the first ones


def skewed(A, B):
    # Neither symmetric nor positive definite.
    return np.tanh(A @ np.roll(B, 1, axis=1).T - 0.3 * B[:, 0])


def is_degenerate(seed):
    return seed < N_DEGENERATE


@dataclass(frozen=True)
class Case:
    X: np.ndarray
    y: np.ndarray
    sample_weight: Any
    kernels: Any
    #: A measure, numbers, or "formula": trace for positive definite families, massart for others.
    complexity: Any
    complexity_penalty: float
    l1_penalty: float
    fit_intercept: bool

    @property
    def families(self):
        families = self.kernels if isinstance(self.kernels, list) else [self.kernels]
        return [entry[1] if isinstance(entry, tuple) else entry for entry in families]

    @property
    def measures(self):
        if self.complexity == "formula":
            definite = [isinstance(family, Polynomial | Gaussian) for family in self.families]
            return ["trace" if is_definite else "massart" for is_definite in definite]
        return [self.complexity] * len(self.families)

    def classifier(self, **changes):
        parameters = {
            "complexity": self.measures if self.complexity == "formula" else self.complexity,
            "complexity_penalty": self.complexity_penalty,
            "l1_penalty": self.l1_penalty,
            "fit_intercept": self.fit_intercept,
            "tol": 1e-8,
        }
        return VotedKernelClassifier(self.kernels, **(parameters | changes))

    @cached_property
    def plain(self):
        s = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        alive = s > 0
        s, X = s[alive], self.X[alive]
        points = X
        if isinstance(self.families[0], Precomputed):
            X = X[:, alive]
            points = X.T
        n_centers = len(np.unique(points, axis=0))
        matrices, complexities = [], []
        for family, measure in zip(self.families, self.measures, strict=True):
            members = plain_kernels(family, X, s)
            matrices += members
            complexities += [plain_complexity(measure, K, s, n_centers) for K in members]
        if not isinstance(self.complexity, str):
            complexities = self.complexity
        return PlainProblem(
            matrices,
            self.y[alive],
            s / s.sum(),
            self.complexity_penalty * np.array(complexities) + self.l1_penalty,
            self.fit_intercept,
        )


def plain_kernels(family, X, s):
    if isinstance(family, Precomputed):
        return [X]
    if isinstance(family, Similarity):
        return [family.function(X, X)]
    mean = np.average(X.mean(axis=1), weights=s)
    variance = np.average(((X - mean) ** 2).mean(axis=1), weights=s)
    # The variance of a constant table is computed with rounding errors.
    scale = 1 / (X.shape[1] * variance) if np.ptp(X) > 0 else 1.0
    if isinstance(family, Polynomial):
        gamma = scale if family.gamma == "scale" else family.gamma
        degrees = np.atleast_1d(family.degrees).tolist()
        return [(gamma * (X @ X.T) + family.coef0) ** d for d in degrees]
    unit = scale if family.unit == "scale" else family.unit
    return [np.exp(-g * unit * cdist(X, X, "sqeuclidean")) for g in family.gammas]


def plain_complexity(measure, K, s, n_centers):
    if measure == "trace":
        return np.sqrt(K.diagonal().max() * (s @ K.diagonal())) / s.sum()
    if measure == "massart":
        return np.sqrt((s @ K**2).max() * 2 * np.log(2 * n_centers)) / s.sum()
    return np.nan


def draw_case(seed):
    rng = np.random.default_rng(20_000 + seed)
    degenerate = is_degenerate(seed)
    m = int(rng.integers(2, 6)) if degenerate and seed % 4 == 0 else int(rng.integers(6, 61))
    X = rng.standard_normal((m, int(rng.integers(1, 8))))
    y = _labels(rng, X)
    if degenerate:
        X, y = _degenerate(rng, X, y, seed % 4)
    kernels = _kernels(rng)
    if isinstance(kernels, Precomputed):
        X = _kernel_matrix(rng, X, equal_columns=degenerate)
    weights = _weights(rng, y)
    complexity: str | tuple[float, ...] = "formula"
    if rng.random() < 0.15:
        complexity = "massart"
    elif rng.random() < 0.1 and not isinstance(kernels, list):
        n_kernels = {"degrees", "gammas"} & set(kernels.get_params())
        size = len(getattr(kernels, n_kernels.pop())) if n_kernels else 1
        complexity = tuple(rng.uniform(0.1, 2.0, size).tolist())
    return Case(
        X,
        y,
        weights,
        kernels,
        complexity,
        float(10 ** rng.uniform(-6, 0)),
        float(10 ** rng.uniform(-6, 0)),
        bool(rng.random() < 0.35),
    )


def _labels(rng, X):
    score = X @ rng.standard_normal(X.shape[1]) + np.sin(3 * X[:, 0])
    y = np.where(score + rng.normal(0, rng.choice([0.1, 1.0]), len(X)) > 0, 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    return y


def _degenerate(rng, X, y, kind):
    if kind == 1:  # repeated rows, some with the other label
        again = rng.integers(0, len(X), len(X))
        X = np.vstack([X, X[again]])[: max(60, len(X))]
        flips = rng.choice([1.0, 1.0, -1.0], len(again))
        y = np.concatenate([y, y[again] * flips])[: len(X)]
    elif kind == 2:  # equal, opposite and constant features
        X = np.column_stack([X, X[:, 0], -X[:, 0], np.full(len(X), rng.normal())])
    elif kind == 3:  # few distinct points, sometimes only one
        X = np.round(X[:, :2]) if rng.random() < 0.8 else np.full_like(X, 0.7)
    return X, y


def _kernels(rng):
    kind = int(rng.integers(0, 7))
    degrees = tuple(sorted(rng.choice(np.arange(1, 8), rng.integers(1, 5), False).tolist()))
    gammas = tuple(sorted(rng.choice([0.03, 0.1, 0.3, 1.0, 3.0, 10.0], 2, False).tolist()))
    if kind == 0:
        return Polynomial(tuple(range(1, 11)))
    if kind == 1:
        return Polynomial(degrees, gamma=float(rng.choice([0.1, 0.5])), coef0=float(kind))
    if kind == 2:
        return Polynomial(degrees, coef0=0.0)
    if kind == 3:
        return Gaussian(gammas)
    if kind == 4:
        return Precomputed()
    if kind == 5:
        return [Polynomial(degrees), Gaussian(gammas, unit=0.5)]
    return [("gauss", Gaussian(gammas)), ("skewed", Similarity(skewed))]


def _kernel_matrix(rng, X, *, equal_columns):
    K = rng.uniform(-1, 1, (len(X), len(X)))
    if rng.random() < 0.5:
        K = K + K.T  # symmetric, indefinite
    if equal_columns:
        K = K[:, rng.integers(0, len(X), len(X))]
    return K


def _weights(rng, y):
    kind = rng.random()
    if kind < 0.6:
        return None
    weights = rng.integers(0, 4, len(y)) if kind < 0.8 else rng.uniform(0.1, 3.0, len(y))
    weights = weights.astype(float)
    weights[[0, -1]] = 1.0  # keep both classes
    return weights
