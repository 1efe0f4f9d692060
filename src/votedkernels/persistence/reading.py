"""What a header says, read with the type that is due: a wrong one is a `ModelFileError`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..exceptions import ModelFileError

#: Numbers that JSON does not have.
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def number_to_json(value: Any) -> float | str:
    """Return a number as JSON has it; the shortest text of a double reads back the same."""
    number = float(value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


class Record:
    """An object of the header.

    Parameters
    ----------
    value : what JSON gave
    where : str
        Its name in messages.
    """

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise ModelFileError(f"{where} is not a JSON object.")
        self.value = value
        self.where = where

    def expect(self, *keys: str) -> None:
        """Raise unless these keys are there, and no others."""
        if set(self.value) != set(keys):
            wrong = sorted(set(self.value) ^ set(keys))
            raise ModelFileError(f"{self.where} lacks, or does not know, {wrong[0][:80]!r}.")

    def wrong(self, key: str, due: str) -> ModelFileError:
        """Return the error that an entry is not what it should be."""
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
        return self._get(key, "", lambda value: True) is None

    def choice(self, key: str, allowed: Any) -> str:
        """Return a string that is one of those allowed."""
        text = self.text(key)
        if text not in allowed:
            raise self.wrong(key, f"one of {', '.join(allowed)}")
        return text

    def flag(self, key: str) -> bool:
        """Return a truth value."""
        return bool(self._get(key, "true or false", lambda value: type(value) is bool))

    def count(self, key: str, *, at_least: int = 0) -> int:
        """Return an integer that can number something."""
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
    """The arrays of a file, each to be taken once and with the dtype and shape that are due."""

    def __init__(self, arrays: dict[str, Any], transposed: list[str]) -> None:
        turned = set(transposed)
        if turned - set(arrays) or len(turned) < len(transposed):
            raise ModelFileError("the header names a transposed array that is not there.")
        self.arrays = {name: array.T if name in turned else array for name, array in arrays.items()}

    def take(self, name: str, kind: str, shape: tuple[int | None, ...] | None = None) -> Any:
        """Return an array; ``kind`` is of NumPy's letters, None in ``shape`` is any length."""
        if name not in self.arrays:
            raise ModelFileError(f"there is no array {name}.")
        array = self.arrays.pop(name)
        if array.dtype.kind not in kind:
            raise ModelFileError(f"the array {name} is of dtype {array.dtype}.")
        if shape is not None and (
            array.ndim != len(shape)
            or any(due is not None and n != due for n, due in zip(array.shape, shape, strict=True))
        ):
            raise ModelFileError(f"the array {name} has shape {array.shape}, not {shape}.")
        if array.dtype.kind == "f" and not _is_finite(array):
            raise ModelFileError(f"the array {name} holds a number that is not finite.")
        return array

    def doubles(self, name: str, shape: tuple[int | None, ...]) -> Any:
        """Return finite doubles."""
        if name in self.arrays and self.arrays[name].dtype.itemsize != 8:
            raise ModelFileError(f"the array {name} is of dtype {self.arrays[name].dtype}.")
        return self.take(name, "f", shape)

    def indices(self, name: str, n: int, limit: int) -> Any:
        """Return n integers from 0 to limit - 1."""
        array = self.take(name, "i", (n,))
        if n and not (array.min() >= 0 and array.max() < limit):
            raise ModelFileError(f"the array {name} holds numbers outside 0 to {limit - 1}.")
        return array

    def finish(self) -> None:
        """Raise where an array is left."""
        if self.arrays:
            raise ModelFileError(f"there is an array too many, {min(self.arrays)[:80]!r}.")


def _is_finite(array: Any) -> bool:
    """Whether all are finite, without a second array of their size."""
    flat = array.reshape(-1) if array.flags.c_contiguous else array.T.reshape(-1)
    step = 2**16
    return all(
        bool(np.isfinite(flat[start : start + step]).all()) for start in range(0, len(flat), step)
    )
