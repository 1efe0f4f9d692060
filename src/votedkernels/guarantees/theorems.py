"""Learning guarantees: the paper's Theorems 1 and 2, corrected.

For base functions with values in [-1, 1], rho in (0, 1] and K > 1 fixed beforehand, with
probability 1 - delta over m independent samples, for all f = sum_t alpha_t h_t with
sum_t alpha_t = 1 and every n >= 1:

    T1   R(f) <= R_rho(f) + (4/rho) sum_t alpha_t R_m(H_kt) + 2 exp(-n rho^2 / 32)
                 + sqrt(x_n / (2m))
    T2   R(f) <= K/(K-1) R_rho(f) + (12/rho) sum_t alpha_t R_m(H_kt) + 3/sqrt(m)
                 + (1 + K/(K-1)) exp(-n rho^2 / 32) + (2K + 14/3) x_n / m

with x_n = log C(n + p - 1, p - 1) + log n(n + 1) + log(1/delta): n functions are drawn from the
vote, and the bound holds however many of them come from each family. R_rho(f) is the share of
samples with y f(x) <= rho. docs/guarantees derives both theorems. n is free; rho and K come from
fixed grids over which delta is split, with half of it for each theorem.

A fitted vote f = sum_t a_t K_t + b becomes such a mixture when it is divided by
A = sum_t |a_t| sup|K_t| + |b|. A positive definite kernel has R_m(H / sup|K|) <= 1/sqrt(m) for
every distribution; for a kernel with n centres that do not depend on the sample, it is at most
sqrt(2 log(2n) / m), by Massart's lemma. Complexities measured on the sample are not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from ..kernels.base import FloatArray, IntArray

#: Fixed before any data is seen: margins relative to the largest possible margin, and factors K.
MARGINS = tuple(2.0 ** (-j / 2) for j in range(21))
FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0)
#: Radii are rounded up to powers of this number, and delta is split over the powers.
RADIUS_STEP = 1.1
#: The share of delta that the theorems reserve for n <= 22, where they exceed 1.
LEFT_BY_THEOREMS = 22 / 23


@dataclass(frozen=True)
class GeneralizationBound:
    """An upper bound on the probability of error, term by term.

    Attributes
    ----------
    value : float
        The bound: the sum of the terms. It holds with probability 1 - delta.
    terms : dict of str to float
        The terms, by name.
    theorem : str
        ``"Theorem 1"``, ``"Theorem 2"`` (the smaller of the two is reported), ``"constant"``,
        ``"sample compression"`` or ``"test rows"``.
    margin, factor, n : float, float or None, int
        The chosen rho, K and n.
    n_samples, n_families, delta : int, int, float
        m, p and delta of the theorem.
    is_guarantee : bool
        Whether all assumptions of the theorem are met; otherwise the number is heuristic.
    reasons : tuple of str
        Why the number is heuristic; empty for a guarantee.
    assumed : dict of str to object
        What the user declared without proof: the radius, bounds on kernels.
    as_printed : dict of str to float
        Theorems 1 and 2 as printed in the paper, with its errors, at the same margin. Not proved.
    n_support, n_bits : int, float
        For sample compression, the number of rows and of bits that describe the model.
    rounded : VotedKernelClassifier or None
        For sample compression, the model with rounded weights, to which the bound applies.
    """

    value: float
    terms: dict[str, float]
    theorem: str
    margin: float
    factor: float | None
    n: int
    n_samples: int
    n_families: int
    delta: float
    is_guarantee: bool
    reasons: tuple[str, ...] = ()
    assumed: dict[str, object] = field(default_factory=dict)
    as_printed: dict[str, float] = field(default_factory=dict)
    n_support: int = 0
    n_bits: float = 0.0
    rounded: object = None

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound is 1 or more, so that it says nothing."""
        return not self.value < 1.0

    def __repr__(self) -> str:
        width = max(map(len, self.terms))
        lines = [f"{self._headline()}", f"  {self._settings()}"]
        lines += [f"  {name:<{width}}  {value:.4g}" for name, value in self.terms.items()]
        lines += [f"  assumed {name} = {value}" for name, value in self.assumed.items()]
        lines += [f"  heuristic: {reason}" for reason in self.reasons]
        return "\n".join(lines)

    def _headline(self) -> str:
        kind = "guaranteed" if self.is_guarantee else "heuristic, not guaranteed"
        vacuous = "; vacuous" if self.is_vacuous else ""
        return f"error <= {self.value:.4g} ({kind}, {self.theorem}{vacuous})"

    def _settings(self) -> str:
        text = f"m = {self.n_samples}, p = {self.n_families}, delta = {self.delta:g}"
        if self.theorem == "sample compression":
            rows = "1 row" if self.n_support == 1 else f"{self.n_support} rows"
            return text + f", {rows} and {self.n_bits:.0f} bits"
        if self.theorem == "test rows":
            return f"m = {self.n_samples}, delta = {self.delta:g}"
        if self.theorem != "constant":
            text += f", rho = {self.margin:.3g}, n = {self.n}"
        return text + (f", K = {self.factor:g}" if self.factor is not None else "")

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{value:.4g}</td></tr>"
            for name, value in self.terms.items()
        )
        notes = [f"assumed {name} = {value}" for name, value in self.assumed.items()]
        notes += [f"heuristic: {reason}" for reason in self.reasons]
        listed = "".join(f"<li>{escape(str(note))}</li>" for note in notes)
        return (
            f"<div><b>{escape(self._headline())}</b><br>{escape(self._settings())}"
            f"<table>{rows}</table><ul>{listed}</ul></div>"
        )


def union_price(n: IntArray | int, p: int, delta: float) -> FloatArray:
    """Return x_n: the price of a bound for all draws of n functions from p families, and all n."""
    n = np.asarray(n, dtype=np.float64)
    log_types = -np.log(n + p) - betaln(n + 1.0, p)  # log C(n + p - 1, p - 1)
    return np.asarray(log_types + np.log(n) + np.log(n + 1) - math.log(delta))


def theorem_1(
    margin_error: float, complexity: float, rho: float, n: int, m: int, p: int, delta: float
) -> dict[str, float]:
    """Return the terms of the corrected Theorem 1."""
    return {
        "margin error": margin_error,
        "complexity": 4 / rho * complexity,
        "sampling the vote": 2 * math.exp(-n * rho**2 / 32),
        "confidence": math.sqrt(float(union_price(n, p, delta)) / (2 * m)),
    }


def theorem_2(
    margin_error: float,
    complexity: float,
    rho: float,
    n: int,
    m: int,
    p: int,
    delta: float,
    factor: float,
) -> dict[str, float]:
    """Return the terms of the corrected Theorem 2, with K = ``factor``."""
    inflation = factor / (factor - 1)
    return {
        "margin error": inflation * margin_error,
        "complexity": 12 / rho * complexity,
        "star hull": 3 / math.sqrt(m),
        "sampling the vote": (1 + inflation) * math.exp(-n * rho**2 / 32),
        "confidence": (2 * factor + 14 / 3) * float(union_price(n, p, delta)) / m,
    }


def printed_theorems(
    margin_error: float, complexity: float, rho: float, m: int, p: int, delta: float
) -> dict[str, float]:
    """Return both theorems as printed in the paper (with K = 2 in the second). Not proved."""
    log_p = math.log(max(2, p))
    n = math.ceil(4 / rho**2 * max(0.0, math.log(rho**2 * m / log_p)))
    first = margin_error + 4 / rho * complexity + 2 / rho * math.sqrt(log_p / m)
    first += math.sqrt(n * log_p / m + math.log(2 / delta) / (2 * m))
    K = 2.0
    n = math.ceil(8 / rho**2 * max(0.0, math.log(rho**2 * 3 * m / (40 * K * log_p))))
    second = K / (K - 1) * margin_error + 6 * K / rho * complexity
    second += 40 * K / rho**2 * log_p / m + 5 * K * math.log(2 / delta) / m
    second += 5 * K * n * log_p / m
    return {"Theorem 1, as printed": first, "Theorem 2, as printed": second}


def sample_sizes(rho: float, m: int) -> list[int]:
    """Return the numbers n of sampled functions to try: any n is allowed, but few matter."""
    most = 32 / rho**2 * math.log(10 * m + 10)
    return sorted({round(float(n)) for n in np.geomspace(1, max(2.0, most), 400)})


def smallest_bound(
    margins: FloatArray,
    complexity: float,
    p: int,
    delta: float,
    *,
    is_guarantee: bool = True,
    reasons: Sequence[str] = (),
    assumed: dict[str, object] | None = None,
) -> GeneralizationBound:
    """Return the smallest bound over the grids, with delta split over them.

    Parameters
    ----------
    margins : array of shape (m,)
        y f(x) / A for each sample.
    complexity : float
        sum_t alpha_t R_m(H_kt).
    p : int
        Number of families.
    """
    m = len(margins)
    first, second = delta / 2 / len(MARGINS), delta / 2 / (len(MARGINS) * len(FACTORS))
    best: tuple[float, dict[str, float], str, float, float | None, int] | None = None
    for rho in MARGINS:
        error, sizes = float(np.mean(margins <= rho)), sample_sizes(rho, m)
        misses = np.exp(-np.array(sizes) * rho**2 / 32)
        prices = union_price(np.array(sizes), p, 1.0)
        n = sizes[int(np.argmin(2 * misses + np.sqrt((prices - math.log(first)) / (2 * m))))]
        options: list[tuple[dict[str, float], str, float | None, int]] = [
            (theorem_1(error, complexity, rho, n, m, p, first), "Theorem 1", None, n)
        ]
        for K in FACTORS:
            inflation, slope = K / (K - 1), (2 * K + 14 / 3) / m
            n = sizes[int(np.argmin((1 + inflation) * misses + slope * prices))]
            terms = theorem_2(error, complexity, rho, n, m, p, second, K)
            options.append((terms, "Theorem 2", K, n))
        for terms, name, factor, n in options:
            total = sum(terms.values())
            if best is None or total < best[0]:
                best = (total, terms, name, rho, factor, n)
    assert best is not None
    total, terms, name, rho, factor, n = best
    printed = printed_theorems(float(np.mean(margins <= rho)), complexity, rho, m, p, delta)
    return GeneralizationBound(
        total, terms, name, rho, factor, n, m, p, delta, is_guarantee, tuple(reasons),
        dict(assumed or {}), printed,
    )  # fmt: skip


def constant_bound(errors: NDArray[np.bool_], delta: float) -> GeneralizationBound:
    """Return the bound for a vote that is one of the two constants.

    This is Hoeffding's inequality (Journal of the American Statistical Association 58, 1963), with
    the share of delta that the theorems leave: for n <= 22 they say nothing, and their share would
    be sum_n 1/(n (n + 1)) = 22/23 of it.
    """
    m = len(errors)
    terms = {
        "error": float(np.mean(errors)),
        "confidence": math.sqrt(math.log(2 / (LEFT_BY_THEOREMS * delta)) / (2 * m)),
    }
    return GeneralizationBound(
        sum(terms.values()), terms, "constant", 1.0, None, 0, m, 2, delta, is_guarantee=True
    )


def radius_on_grid(largest: float) -> tuple[float, float]:
    """Return a radius on the fixed grid, and the share of delta that it may use.

    Radii are RADIUS_STEP ** j for integers j; j = 0, 1, -1, 2, -2, ... get the numbers
    l = 1, 2, 3, ... and the shares 6 / (pi l)^2, which sum to 1.
    """
    j = math.ceil(math.log(largest) / math.log(RADIUS_STEP) - 1e-12) if largest > 0 else 0
    number = 2 * j if j > 0 else 1 - 2 * j
    return RADIUS_STEP**j, 6 / (math.pi * number) ** 2
