"""Typed access to the header and the arrays of a file: a wrong type is a `ModelFileError`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat

import numpy as np

from ..exceptions import ModelFileError
from ..kernels.base import FloatArray, IntArray
from .container import Array

#: Numbers that JSON cannot represent, and the strings that stand for them.
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def number_to_json(value: SupportsFloat) -> float | str:
    """Return a number in a form that JSON writes and reads back unchanged."""
    number = float(value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


class Record:
    """An object in the header.

    Parameters
    ----------
    value : the parsed JSON
    where : str
        Its name in error messages.
    """

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ModelFileError(f"{where} is not a JSON object.")
        self.value = value
        self.where = where

    def expect(self, *keys: str) -> None:
        """Raise unless the object has exactly these keys."""
        if set(self.value) != set(keys):
            wrong = sorted(set(self.value) ^ set(keys))
            found = "an unknown" if wrong[0] in self.value else "no"
            raise ModelFileError(f"{self.where} has {found} entry {wrong[0][:80]!r}.")

    def wrong(self, key: str, due: str) -> ModelFileError:
        """Return the error for an entry that is not valid."""
        return ModelFileError(f"{key} of {self.where} must be {due}.")

    def _get(self, key: str, due: str, holds: Callable[[Any], bool]) -> Any:
        if key not in self.value:
            raise ModelFileError(f"{self.where} has no {key}.")
        if not holds(self.value[key]):
            raise self.wrong(key, due)
        return self.value[key]

    def text(self, key: str) -> str:
        """Return a string."""
        return str(self._get(key, "a string", lambda value: type(value) is str))

    def text_or_none(self, key: str) -> str | None:
        """Return a string or None."""
        return None if self.is_none(key) else self.text(key)

    def is_none(self, key: str) -> bool:
        """Whether an entry is null."""
        return self._get(key, "", lambda _value: True) is None

    def choice(self, key: str, allowed: Iterable[str]) -> str:
        """Return a string that must be one of those allowed."""
        text = self.text(key)
        if text not in allowed:
            raise self.wrong(key, f"one of {', '.join(allowed)}")
        return text

    def flag(self, key: str) -> bool:
        """Return a boolean."""
        return bool(self._get(key, "true or false", lambda value: type(value) is bool))

    def count(self, key: str, *, at_least: int = 0) -> int:
        """Return an integer of ``at_least`` or more, but below 2^48."""
        return int(
            self._get(
                key,
                f"an integer from {at_least} to 2^48",
                lambda value: type(value) is int and at_least <= value < 2**48,
            )
        )

    def number(self, key: str) -> float:
        """Return a number, which may be NaN or infinite."""
        value = self._get(
            key, "a number", lambda value: type(value) is float or str(value) in _SPECIAL
        )
        if isinstance(value, str):
            return _SPECIAL[value]
        if not math.isfinite(value):  # 1e999
            raise self.wrong(key, "a number")
        return float(value)

    def positive(self, key: str) -> float:
        """Return a finite number above 0."""
        value = self.number(key)
        if not (math.isfinite(value) and value > 0):
            raise self.wrong(key, "a positive number")
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        return list(
            self._get(
                key,
                "a list of strings",
                lambda value: type(value) is list and all(type(entry) is str for entry in value),
            )
        )

    def record(self, key: str) -> Record:
        """Return an object."""
        value = self._get(key, "a JSON object", lambda value: type(value) is dict)
        return Record(value, f"{key} of {self.where}")

    def records(self, key: str) -> list[Record]:
        """Return a list of objects."""
        values = self._get(key, "a list", lambda value: type(value) is list)
        return [
            Record(value, f"{key}[{number}] of {self.where}") for number, value in enumerate(values)
        ]


class Arrays:
    """The arrays of a file. Each must be taken exactly once, with the expected dtype and shape."""

    def __init__(self, arrays: dict[str, Array], transposed: list[str]) -> None:
        turned = set(transposed)
        if turned - set(arrays) or len(turned) < len(transposed):
            raise ModelFileError(
                "the header lists a transposed array twice, or one that is missing."
            )
        self.arrays = {name: array.T if name in turned else array for name, array in arrays.items()}

    def take(
        self,
        name: str,
        kind: str,
        shape: tuple[int | None, ...] | None = None,
        *,
        gaps: bool = False,
    ) -> Array:
        """Return an array; ``kind`` lists NumPy dtype kinds, None in ``shape`` allows any length.

        Numbers must be finite or, with ``gaps``, finite or NaN.
        """
        if name not in self.arrays:
            raise ModelFileError(f"there is no array {name}.")
        array = self.arrays.pop(name)
        if array.dtype.kind not in kind:
            raise ModelFileError(f"the array {name} has the wrong dtype, {array.dtype}.")
        if shape is not None and (
            array.ndim != len(shape)
            or any(due is not None and n != due for n, due in zip(array.shape, shape, strict=True))
        ):
            raise ModelFileError(f"the array {name} has shape {array.shape}, not {shape}.")
        if array.dtype.kind == "f" and not _is_finite(array[~np.isnan(array)] if gaps else array):
            raise ModelFileError(f"the array {name} contains a number that is not finite.")
        return array

    def doubles(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return finite doubles."""
        if name in self.arrays and self.arrays[name].dtype.itemsize != 8:
            dtype = self.arrays[name].dtype
            raise ModelFileError(f"the array {name} has the wrong dtype, {dtype}.")
        return self.take(name, "f", shape)

    def indices(self, name: str, n: int, limit: int, least: int = 0) -> IntArray:
        """Return n integers from ``least`` to limit - 1."""
        array = self.take(name, "i", (n,))
        if n and not (array.min() >= least and array.max() < limit):
            raise ModelFileError(f"the array {name} has entries outside {least} to {limit - 1}.")
        return array

    def within(self, prefix: str) -> Arrays:
        """Return the arrays whose names begin with a prefix, and remove it. They count as taken."""
        names = [name for name in self.arrays if name.startswith(prefix)]
        return Arrays({name[len(prefix) :]: self.arrays.pop(name) for name in names}, [])

    def finish(self) -> None:
        """Raise if an array was not taken."""
        if self.arrays:
            raise ModelFileError(f"the model does not use the array {min(self.arrays)[:80]!r}.")


def _is_finite(array: Array) -> bool:
    """Whether all entries are finite, without allocating a second array of that size."""
    flat = array.reshape(-1) if array.flags.c_contiguous else array.T.reshape(-1)
    step = 2**16
    return all(
        bool(np.isfinite(flat[start : start + step]).all()) for start in range(0, len(flat), step)
    )
