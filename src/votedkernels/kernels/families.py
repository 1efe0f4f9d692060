"""From what a user gives as ``kernels`` to a list of families."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from .base import KernelFamily
from .continuous_gaussian import ContinuousGaussian
from .gaussian import Gaussian
from .polynomial import Polynomial

#: scikit-learn writes names of parameters into its HTML as they are, so no name may be markup; a
#: name can come out of a file of somebody else's.
PLAIN = re.compile(r"[\w .,:=/%-]+")


def is_named_list(kernels: Any) -> bool:
    """Whether ``kernels`` is a list of (name, family) pairs."""
    return (
        isinstance(kernels, list | tuple)
        and len(kernels) > 0
        and all(
            isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in kernels
        )
    )


def clone_families(kernels: Any) -> list[tuple[str | None, KernelFamily]]:
    """Return unfitted copies of the families, each with its name or None.

    ``kernels`` is None (polynomials of degree 1 to 3 and Gaussians), a family, a list of families,
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
            "ContinuousGaussian must be the last of the kernel families, and there can be one "
            "only: its members are chosen during the fit. Reorder kernels, or widen its range."
        )
    families = [(name, clone(family)) for name, family in pairs]
    if len(families) > 1 and are_precomputed([family for _, family in families]):
        raise ValueError(
            "Precomputed() cannot stand beside other families: X holds its kernel values. "
            "Precompute the others too, or use Similarity(function)."
        )
    return families


def check_names(names: list[str]) -> None:
    """Raise for a name of a family that cannot be part of the names of parameters."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"kernels has two families named {name!r}; names must differ.")
        if "__" in name or not name:
            raise ValueError(
                f"the name {name!r} of a kernel family must not be empty or have '__' in it."
            )
        if not PLAIN.fullmatch(name):
            raise ValueError(
                f"the name {name!r} of a kernel family may have letters, digits, spaces and "
                "_ . , : = / % - only: it is part of the names of parameters."
            )


def are_precomputed(families: Iterable[KernelFamily]) -> bool:
    """Whether X is a matrix of kernel values, and a centre the number of a column of it."""
    return any(family.is_precomputed for family in families)


def continuous_family(families: Iterable[KernelFamily]) -> ContinuousGaussian | None:
    """Return the family with infinitely many members, of which there is at most one."""
    return next((family for family in families if isinstance(family, ContinuousGaussian)), None)
