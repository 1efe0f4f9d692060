"""From the parameter ``kernels`` to a list of families."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sklearn.base import clone

from .base import FloatArray, KernelFamily, Rows
from .continuous_gaussian import ContinuousGaussian
from .gaussian import Gaussian
from .polynomial import Polynomial

NamedFamilies = list[tuple[str | None, KernelFamily]]

#: scikit-learn writes parameter names into its HTML without escaping them, and a name can come from
#: an untrusted file. So names must not contain markup.
PLAIN = re.compile(r"[\w .,:=/%-]+")


def is_named_list(kernels: object) -> bool:
    """Whether ``kernels`` is a list of (name, family) pairs."""
    return (
        isinstance(kernels, list | tuple)
        and len(kernels) > 0
        and all(
            isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in kernels
        )
    )


def clone_families(kernels: object) -> NamedFamilies:
    """Return unfitted copies of the families, each with its name or None.

    ``kernels`` is None (polynomials of degrees 1 to 3 and Gaussians), a family, a list of families,
    or a list of (name, family) pairs.
    """
    if kernels is None:
        kernels = [Polynomial((1, 2, 3)), Gaussian()]
    if isinstance(kernels, KernelFamily):
        kernels = [kernels]
    if not isinstance(kernels, list | tuple):
        raise TypeError(
            f"kernels must be a kernel family, a list of families or a list of (name, family) "
            f"pairs, got {kernels!r}."
        )
    if len(kernels) == 0:
        raise ValueError("kernels is an empty list; give at least one kernel family.")
    pairs = list(kernels) if is_named_list(kernels) else [(None, family) for family in kernels]
    check_names([name for name, _ in pairs if name is not None])
    for _, family in pairs:
        if not isinstance(family, KernelFamily):
            raise TypeError(
                f"kernels must hold kernel families such as Polynomial() or Gaussian(), "
                f"got {family!r}; wrap a function in Similarity(function)."
            )
    if any(family.is_continuous for _, family in pairs[:-1]):
        raise ValueError(
            "ContinuousGaussian must be the last kernel family, and there can be only one: its "
            "members are chosen during the fit. Reorder kernels, or widen its range."
        )
    families = [(name, clone(family)) for name, family in pairs]
    if len(families) > 1 and are_precomputed([family for _, family in families]):
        raise ValueError(
            "Precomputed() cannot be combined with other families: X holds its kernel values. "
            "Precompute the others too, or use Similarity(function)."
        )
    return families


def check_names(names: list[str]) -> None:
    """Raise if a family's name cannot be part of parameter names."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"kernels has two families named {name!r}; names must differ.")
        if "__" in name or not name:
            raise ValueError(
                f"the name {name!r} of a kernel family must not be empty or contain '__'."
            )
        if not PLAIN.fullmatch(name):
            raise ValueError(
                f"the name {name!r} of a kernel family may contain only letters, digits, spaces "
                "and _ . , : = / % -, because it becomes part of parameter names."
            )


def are_precomputed(families: Iterable[KernelFamily]) -> bool:
    """Whether X is a matrix of kernel values, and centres are column numbers of X."""
    return any(family.is_precomputed for family in families)


def continuous_family(families: Iterable[KernelFamily]) -> ContinuousGaussian | None:
    """Return the family with infinitely many members, if there is one."""
    return next((family for family in families if isinstance(family, ContinuousGaussian)), None)


def fit_families(named: NamedFamilies, X: Rows, sample_weight: FloatArray) -> None:
    """Fit families to rows; names that a user gave come before those of the kernels."""
    for name, family in named:
        family.fit(X, sample_weight)
        if name is not None:
            family.names_ = [f"{name}: {kernel}" for kernel in family.names_]
