"""Amounts of memory, as users write them."""

from __future__ import annotations

import re
from numbers import Real

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def parse_memory(amount: object) -> int:
    """Return the bytes in a number or a string like ``"2GB"`` (2e9) or ``"2GiB"`` (2 * 2**30)."""
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", amount)
        if match and match[2].upper() in _UNITS:
            return _positive(float(match[1]) * _UNITS[match[2].upper()], amount)
    elif isinstance(amount, Real) and not isinstance(amount, bool):
        return _positive(float(amount), amount)
    raise ValueError(
        "memory_limit must be a number of bytes or a string such as '2GB' or '512MiB', got "
        f"{amount!r}."
    )


def _positive(n_bytes: float, amount: object) -> int:
    if not 1 <= n_bytes < 2**62:
        raise ValueError(f"memory_limit must be a positive amount of memory, got {amount!r}.")
    return int(n_bytes)
