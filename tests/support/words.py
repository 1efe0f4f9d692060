"""Strings to learn from."""

import numpy as np


def words(n=60, seed=0):
    """Return words whose ending determines their class."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    stems = ["".join(random.choice(list("bdklmnrst"), 4)) for _ in range(n)]
    return [stem + ("ia" if label else "o") for stem, label in zip(stems, y, strict=True)], y
