"""Kernel families on the command line: ``polynomial``, ``polynomial:1-5``, ``gaussian:0.1,1``."""

from collections.abc import Sequence

import click

from votedkernels import Gaussian, Polynomial

HELP = "'polynomial', 'gaussian', 'all', 'polynomial:1-5' (degrees) or 'gaussian:0.1,1,10' (widths)"


def families_of(specs: Sequence[str]) -> list[Polynomial | Gaussian]:
    """Return the kernel families that the options name."""
    families: list[Polynomial | Gaussian] = []
    for spec in specs:
        kind, colon, values = spec.partition(":")
        if colon and kind in ("polynomial", "gaussian"):
            families.append(_family(spec, kind, values))
        elif spec == "all":
            families += [Polynomial(), Gaussian()]
        elif spec in ("polynomial", "gaussian"):
            families.append(Polynomial() if kind == "polynomial" else Gaussian())
        else:
            raise click.BadParameter(f"{spec!r} is not a valid kernel; use {HELP}.")
    return families


def _family(spec: str, kind: str, values: str) -> Polynomial | Gaussian:
    try:
        if kind == "gaussian":
            return Gaussian(tuple(float(value) for value in values.split(",")))
        return Polynomial(tuple(degree for part in values.split(",") for degree in _degrees(part)))
    except ValueError:
        raise click.BadParameter(f"{spec!r} is not a valid kernel; use {HELP}.") from None


def _degrees(part: str) -> range:
    first, dash, last = part.partition("-")
    degrees = range(int(first), int(last if dash else first) + 1)
    if not 1 <= len(degrees) <= 100:
        raise ValueError(part)
    return degrees
