"""Kernel names on an axis: sorted by their numbers, without the parts that all names share."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any


def split_names(families: list[list[str]]) -> tuple[list[str], list[str]]:
    """Return the part that all names of a family share, and the parts that differ.

    >>> split_names([["polynomial(degree=1)", "polynomial(degree=2)"], ["precomputed"]])
    (['polynomial', 'precomputed'], ['degree=1', 'degree=2', 'precomputed'])
    """
    heads, members = [], []
    for names in families:
        head = names[0].partition("(")[0]
        if len(names) > 1 and all(n.startswith(f"{head}(") and n.endswith(")") for n in names):
            members += [name[len(head) + 1 : -1] for name in names]
        else:
            members += names
        heads.append(head if len(names) > 1 else names[0])
    return heads, members


def axis_of_kernels(names: list[str]) -> tuple[list[str], str]:
    """Return a short label for each kernel, and the label of the axis.

    >>> axis_of_kernels(["gaussian(gamma=0.1)", "gaussian(gamma=1)"])
    (['gamma=0.1', 'gamma=1'], 'kernel: gaussian')
    """
    groups = [list(group) for _, group in groupby(names, lambda name: name.partition("(")[0])]
    heads, members = split_names(groups)
    shared = [head for head, group in zip(heads, groups, strict=True) if len(group) > 1]
    if not shared or len(set(members)) < len(members):
        return names, "kernel"
    return members, f"kernel: {', '.join(shared)}"


def by_numbers(name: str) -> list[Any]:
    """Return a key that sorts names by the numbers in them.

    >>> sorted(["degree=10", "degree=2"], key=by_numbers)
    ['degree=2', 'degree=10']
    """
    parts = re.split(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)", name)
    return [float(part) if place % 2 else part for place, part in enumerate(parts)]
